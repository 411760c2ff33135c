"""Odd numbers and odd objects: refused by name, blamed on one side, or played to finite numbers."""

from __future__ import annotations

from importlib.util import find_spec

import hypothesis
import numpy as np
import pytest

import agents
from benchmarks.odd_runs import ADAPTERS, FAULTS, HARMLESS, Case, Ending, broken, cases, play, sweep

pytestmark = pytest.mark.wrong_arguments
OWN = tuple(id for id in agents.registered() if id not in ADAPTERS)


@hypothesis.settings(max_examples=150)
@hypothesis.given(cases(OWN))
def test_a_share_of_odd_runs(case: Case) -> None:
    assert broken(case, play(case)) is None


@pytest.mark.slow
def test_many_odd_runs() -> None:
    endings, found, _ = sweep(1_500, 0, OWN)
    assert found == {}
    # Most that is refused costs nothing: what is played must be a good part, or the sweep shows nothing.
    assert endings["done"] > 375
    assert endings["crashed: environment"] > 75


@pytest.mark.slow
@pytest.mark.parametrize("id", ADAPTERS)
def test_odd_runs_of_other_libraries(id: str) -> None:
    for module in ("optuna",) if id == "Optuna-TPE" else ("optuna", "botorch", "torch"):
        if find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    play(Case(id, arms=None, horizon=1))  # its import takes longer than a run may
    _, found, _ = sweep(40 if id == "Optuna-TPE" else 12, 0, (id,))
    assert found == {}


@pytest.mark.parametrize("fault", sorted(set(FAULTS) - set(HARMLESS)))
def test_every_fault_of_a_step_is_the_environments(fault: str) -> None:
    ending = play(Case("Uniform", fault=fault))
    assert ending.kind == "crashed"
    assert ending.reason.startswith("environment: step: ")
    assert fault == "ends" or "expected " in ending.reason
    assert fault == "ends" or " for evaluation 1 (action " in ending.reason
    assert ending.record is not None
    assert ending.record.final


@pytest.mark.parametrize("id", ["BBKB", "GP-TS", "BKB", "GP-UCB", "MAP-UCB"])
@pytest.mark.parametrize(("scale", "offset"), [(1e308, 0.0), (1e308, -1e308), (0.0, 1e60)])
def test_rewards_that_overflow_are_the_environments_fault(id: str, scale: float, offset: float) -> None:
    ending = play(Case(id, {}, arms="many", scale=scale, offset=offset, noise=0.0, means="none"))
    assert ending.kind == "crashed"
    assert ending.reason.startswith("environment: step: expected a finite reward or info['failed'], got ")
    assert ", beyond 1e+50 for evaluation " in ending.reason
    told = play(Case(id, {}, arms="many", scale=scale, offset=offset, noise=0.0))
    assert told.reason.startswith("environment: ")


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (Case("GP-UCB", stated={"noise_std": 1e300}), "ValueError: noise_std: expected a finite number >= 0, between "),
        (Case("GP-UCB", stated={"horizon": 10**400}), "ValueError: horizon: expected an integer from 1 to 10,000,000"),
        (Case("GP-UCB", arms="too far"), "ValueError: arms: expected finite features of at most 1e+50 in size, got "),
        (Case("GP-BUCB", {"c": 710.0}), "ValueError: c: expected a number from 0 to 100 or None, got 710.0"),
        (Case("MCMC-UCB", {"width": "theory"}), "TypeError: width: expected a finite number > 0, got 'theory'"),
        (Case("GP-UCB", {"lam": 1e-270}), "ValueError: lam: expected a finite number > 0 or None, between 1e-100 and"),
        (Case("GP-UCB", {"width": 10**400}), "ValueError: width: expected a finite number >= 0, got 1000000"),
        (Case("SM-UCB", {"n_simulations": 10**9}), "ValueError: n_simulations: expected an integer from 1 to 10,000"),
        (Case("GP-EI", {"candidates": 10**9}), "ValueError: candidates: expected an integer from 1 to 100,000, got "),
        (Case("BBKB", {"rule": {}}), "ValueError: rule: expected 'global' or 'global-local', got {}"),
        (Case("MAP-UCB", {"prior": {"noise_bounds": "x"}}), "TypeError: noise_bounds: expected finite numbers 0 < low"),
    ],
    ids=str,
)
def test_what_is_refused_where_it_is_given(case: Case, reason: str) -> None:
    ending = play(case)
    assert (ending.kind, ending.reason[: len(reason)]) == ("refused", reason)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"lam": 1e-15}, "agent: ValueError: lam: expected at least 1e-14 of the largest prior variance, 1, as"),
        (
            {"kernel": {"name": "polynomial", "degree": 300, "offset": 1e3}},
            "agent: ValueError: kernel: expected a largest prior variance that is finite and > 0, got inf",
        ),
        (
            {"kernel": {"name": "se", "lengthscale": [1.0] * 9}},
            "agent: ValueError: lengthscale: expected 2 entries, one per feature, got 9",
        ),
    ],
)
@pytest.mark.parametrize("id", ["GP-UCB", "BBKB", "GP-TS", "BPE"])
def test_what_is_refused_at_reset(id: str, settings: dict[str, object], reason: str) -> None:
    ending = play(Case(id, settings))
    assert (ending.kind, ending.reason[: len(reason)]) == ("crashed", reason)
    assert ending.record is not None
    assert len(ending.record.trace) == 0


@pytest.mark.parametrize("lam", [1e-14, 1e-12, 1e18, 1e100])  # from 1e15 on, 1 - var / prior is rounding
@pytest.mark.parametrize("arms", ["few", "twins", "near twins", "same"])
@pytest.mark.parametrize("id", ["GP-UCB", "BBKB", "BKB", "GP-TS", "BPE", "GP-AUCB"])
def test_the_smallest_and_largest_lam_are_played(id: str, arms: str, lam: float) -> None:
    case = Case(id, {"lam": lam}, arms=arms)
    ending = play(case)
    assert (ending.kind, broken(case, ending)) == ("done", None)


@pytest.mark.parametrize("id", ["SM-UCB", "SM-MEI", "NRB-UCB"])
def test_no_batch_is_planned_beyond_the_horizon(id: str) -> None:
    # Planning all of a batch of ten million, at each evaluation anew, took longer than anyone waits.
    ending = play(Case(id, {"batch_size": 10_000_000}, feedback="batch:1"))
    assert ending.kind == "done"
    assert ending.seconds < 2.0


def test_a_limit_stops_what_computes_for_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.odd_runs.SECONDS", 0.05)
    case = Case("MAP-UCB", {"fits": 10_000})
    ending = play(case)
    assert ending.kind == "timeout"
    assert "took longer than 0.05 s" in str(broken(case, ending))


def test_what_breaks_the_rule_is_found() -> None:
    case = Case("Uniform")
    ending = play(case)
    assert broken(case, ending) is None
    assert ending.record is not None
    blamed = Ending("crashed", "environment: step: no", 0.0, ending.record)
    assert broken(case, blamed) == "blames the environment: environment: step: no"
    raw = Ending("refused", "OverflowError: math range error")
    assert broken(case, raw) == "refused with OverflowError: math range error"
    ending.record.trace.loc[3, "regret"] = np.inf
    assert broken(case, ending) == "done with regret infinite"
