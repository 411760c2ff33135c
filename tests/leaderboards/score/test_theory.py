from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import leaderboards
from agents import RegretGuarantee
from agents.core.information import greedy_information, realised_information
from gpbandit_envs.gp import SE, Linear
from leaderboards.play.build import build_env
from leaderboards.play.spec import Ref
from leaderboards.score.summary import summarise
from leaderboards.show.rebuilt import task_theory
from leaderboards.store.store import Store
from tests.leaderboards.folders import folder, record

BATCHED = (("GP-BUCB", {"batch_size": 3, "c": 8.0}), "GP-AUCB")  # without c no bound is proven
ENV: tuple[str, dict[str, object]] = ("GPBandit/RKHS-v0", {"n_arms": 60, "dim": 1, "lengthscale": 0.2})


def rng(*key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(key))


@pytest.mark.parametrize("lam", [1e-3, 1.0])
def test_orthogonal_arms_under_the_linear_kernel_have_a_closed_form(lam: float) -> None:
    d, rounds = 5, 4
    found = greedy_information(Linear(), np.eye(d), lam, d * rounds)
    for m in range(1, rounds + 1):
        assert found.gain[m * d - 1] == pytest.approx(d / 2 * math.log1p(m / lam), rel=1e-9)
    assert found.d_eff == pytest.approx(d * rounds / (rounds + lam), rel=1e-9)


def test_the_realised_gain_is_the_log_determinant() -> None:
    X = rng(1).normal(size=(12, 2))
    actions = rng(2).integers(0, 12, 30)
    kernel, lam = SE(0.8), 0.05
    found = realised_information(kernel, X, lam, actions)
    for t in (1, 7, 30):
        K = kernel(X[actions[:t]], X[actions[:t]])
        assert found.gain[t - 1] == pytest.approx(0.5 * np.linalg.slogdet(np.eye(t) + K / lam)[1], rel=1e-8)
    assert found.d_eff == pytest.approx(np.trace(K @ np.linalg.inv(K + lam * np.eye(30))), rel=1e-8)


def test_greedy_gains_more_than_chance_and_at_least_its_share_of_the_best() -> None:
    X, kernel, lam = rng(3).normal(size=(9, 2)), SE(1.0), 0.1
    greedy = greedy_information(kernel, X, lam, 3).gain[-1]
    sets = [realised_information(kernel, X, lam, np.array(s)).gain[-1] for s in np.ndindex(9, 9, 9)]
    assert (1 - 1 / math.e) * max(sets) <= greedy <= max(sets) + 1e-12
    assert greedy >= np.median(sets)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: greedy_information(SE(1.0), np.eye(2), 0.1, 0), "T: expected at least 1"),
        (lambda: realised_information(SE(1.0), np.eye(2), 0.1, np.zeros(0, int)), "actions: expected at least one"),
    ],
)
def test_bad_input_is_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]


def test_real_runs_stay_below_what_was_proven_and_learn_no_more_than_there_is(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for agent in ("Uniform", ("GP-UCB", {"width": "theory"}), ("BBKB", {"width": "theory"}), "BPE", *BATCHED):
        for repetition in range(2):
            store.write(leaderboards.run(ENV, agent, repetition, 80))
    found = task_theory(summarise(store), "RKHS")
    assert found is not None
    assert found.t == 80
    compared = {comparison.agent: comparison for comparison in found.comparisons}
    assert compared["Uniform"].proven == RegretGuarantee()
    most = found.greedy.gain[-1] / (1 - 1 / math.e)
    # Its theorem asks for lam >= 1 and a dictionary that is larger than the default.
    assert compared["BBKB"].proven == RegretGuarantee()
    for name in ("GP-UCB", "BPE", "GP-BUCB", "GP-AUCB"):
        comparison = compared[name]
        assert comparison.proven.bound is not None
        assert comparison.measured.estimate < comparison.proven.bound
        assert comparison.proven.exponent == 0.5
        assert comparison.gain is not None
        assert comparison.d_eff is not None
        if name in ("GP-UCB", "GP-BUCB", "GP-AUCB"):
            assert 0 < comparison.gain <= most
            assert comparison.d_eff <= 2 * comparison.gain + 1e-9, "d_eff is at most logdet"
    sequential = compared["GP-UCB"].proven.bound or 0.0
    assert compared["GP-AUCB"].proven.bound == pytest.approx(2 * sequential), "its threshold is 2"
    assert (compared["GP-BUCB"].proven.bound or 0.0) > sequential
    assert compared["GP-BUCB"].proven.theorem == "Desautels et al. (2012), Theorem 1"


def test_a_draw_from_the_prior_has_the_bayesian_bounds_and_a_wrong_kernel_none(tmp_path: Path) -> None:
    store = Store(tmp_path)
    kwargs = {"n_arms": 50, "dim": 1}
    wrong = {**kwargs, "misspecification": {"lengthscale": 2.0}}
    for agent in (("GP-UCB", {"width": "bayes"}), ("GP-BUCB", {"width": "bayes", "batch_size": 1}), "BBKB"):
        store.write(leaderboards.run(("GPBandit/GPSample-v0", kwargs), agent, 0, 60))
        store.write(leaderboards.run(("GPBandit/GPSample-v0", wrong), agent, 0, 60))
    summary = summarise(store)
    reports = {task.knowledge: task_theory(summary, name) for name, task in summary.tasks.items()}
    assert reports.keys() == {"oracle", "misspecified"}
    true, other = reports["oracle"], reports["misspecified"]
    assert true is not None
    assert other is not None
    bounds = {comparison.agent: comparison for comparison in true.comparisons}
    assert bounds["GP-UCB"].proven.theorem == "Srinivas et al. (2010), Theorem 1"
    assert bounds["GP-UCB"].proven.bound == pytest.approx(bounds["GP-BUCB"].proven.bound), (
        "a batch of one is sequential"
    )
    assert bounds["GP-UCB"].measured.estimate < (bounds["GP-UCB"].proven.bound or 0.0)
    assert bounds["BBKB"].proven.bound is None
    assert all(comparison.proven.bound is None for comparison in other.comparisons)


def test_the_greedy_gain_is_that_of_the_instance_of_the_first_repetition(tmp_path: Path) -> None:
    store = folder(tmp_path, [Ref(*ENV)], [Ref("GP-UCB")], 2, T=1500)
    found = task_theory(summarise(store), "RKHS")
    assert found is not None
    assert 900 < found.t <= 1000
    problem = build_env(Ref(*ENV), 1500).unwrapped.problem  # type: ignore[attr-defined]
    expected = greedy_information(problem.kernel, problem.arms, problem.noise_std**2, found.t)
    np.testing.assert_allclose(found.greedy.gain, expected.gain)
    cell = summarise(store).scores["RKHS", "GP-UCB"]
    at = int(np.searchsorted(cell.t, found.t))
    assert found.comparisons[0].measured.estimate == pytest.approx(cell.curves["cumulative_regret"][:, at].mean())


def test_what_theory_does_not_reach_has_no_report_and_what_cannot_be_built_says_why(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write(record(Ref("object:thing", label="thing"), Ref("GP-UCB"), 0))
    store.write(record(Ref("GPBandit/Gone-v0"), Ref("GP-UCB"), 0))
    store.write(record(Ref("GPBandit/RKHS-v0", {"n_arm": 3}), Ref("GP-UCB"), 0))
    summary = summarise(store)
    assert task_theory(summary, "thing") is None
    assert task_theory(summary, "Gone") is None
    with pytest.raises(TypeError, match="n_arm"):
        task_theory(summary, "RKHS")
