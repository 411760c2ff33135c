"""Corrupted feedback, noise by arm and means that are off, through every part of the harness."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leaderboards.audit.run_audit import audit_run
from leaderboards.play.run import run_spec
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.score.summary import summarise
from leaderboards.score.tasks import Task
from leaderboards.show.overview import knowledge_text
from leaderboards.show.rebuilt import task_theory
from leaderboards.store.store import Store
from leaderboards.verify.verify import verify
from leaderboards.work.executors import SerialExecutor
from leaderboards.work.schedule import run_missing
from tests.leaderboards.play.stops import assert_same_when_stopped

RKHS = {"n_arms": 40, "dim": 1}
CORRUPTED = Ref("GPBandit/RKHS-v0", {**RKHS, "corruption": {"name": "flip", "budget": 4.0}})
NEAR = Ref("GPBandit/RKHS-v0", {**RKHS, "misspecification": {"sup": 0.1}})
BY_ARM = Ref("GPBandit/RKHS-v0", {**RKHS, "noise": {"name": "by_arm", "low": 0.01, "high": 0.5}})


def spec(env: Ref, agent: str, feedback: str = "on_request", repetition: int = 0, **kwargs: Any) -> RunSpec:
    return RunSpec(env=env, agent=Ref(agent, kwargs), repetition=repetition, horizon=60, feedback=feedback)


@pytest.mark.parametrize(
    "played",
    [spec(CORRUPTED, "RGP-UCB"), spec(CORRUPTED, "RGP-PE", "geometric:4", lam=1.0), spec(BY_ARM, "VA-MVR", "delay:3")],
    ids=lambda played: f"{played.agent.id} {played.feedback}",
)
def test_stopped_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, played: RunSpec) -> None:
    """What is left of the budget is among what is saved."""
    assert_same_when_stopped(played, tmp_path, monkeypatch)


def test_rewards_are_corrupted_and_regret_is_clean() -> None:
    silent = Ref(CORRUPTED.id, {**CORRUPTED.kwargs, "noise_std": 0.0})
    trace = run_spec(spec(silent, "Uniform")).trace
    np.testing.assert_allclose(trace["regret"] + trace["mean"], trace["regret"][0] + trace["mean"][0], atol=1e-12)
    added = trace["reward"] - trace["mean"]
    assert np.abs(added).sum() == pytest.approx(4.0)
    np.testing.assert_allclose(added[:3], -2 * trace["mean"][:3], atol=1e-12)


@pytest.mark.parametrize(
    ("env", "robust", "kwargs", "plain", "why"),
    [
        (CORRUPTED, "RGP-UCB", {}, "GP-UCB", "its theorem does not allow for corrupted feedback"),
        (CORRUPTED, "RGP-PE", {"enlargement": "tight"}, "BPE", "its theorem does not allow for corrupted feedback"),
        (NEAR, "EC-GP-UCB", {}, "GP-UCB", "its theorem does not allow for a mean that is only close to the prior's"),
        (BY_ARM, "VA-PE", {}, "", ""),
    ],
    ids=lambda value: str(value)[:20],
)
def test_stored_runs_are_verified_and_audited(
    tmp_path: Path, env: Ref, robust: str, kwargs: dict[str, Any], plain: str, why: str
) -> None:
    store = Store(tmp_path / "runs")
    specs = [spec(env, robust, **kwargs)] + ([spec(env, plain)] if plain else [])
    run_missing(specs, store, SerialExecutor())
    verdicts = list(verify(store, store.keys(), tmp_path / "again", SerialExecutor()))
    assert {verdict.text for verdict in verdicts} == {"identical"}
    for one, expected in zip(specs, ("", why), strict=False):
        audit = audit_run(one, checkpoints=5, stored=store.trace(one.key))
        assert audit.facts.differs == ""
        assert audit.facts.no_guarantee == expected
    assert (audit_run(specs[0], checkpoints=5).checkpoints["violations"] == 0).all()


def test_pages_say_what_is_off_and_show_no_bound_that_is_not_proven(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs")
    specs = [spec(CORRUPTED, agent, repetition=r) for agent in ("GP-UCB", "RGP-UCB") for r in range(2)]
    run_missing(specs, store, SerialExecutor())
    summary = summarise(store)
    (name,) = summary.tasks
    assert knowledge_text(summary.tasks[name]).endswith("; corruption ≤ 4.00")
    report: Any = task_theory(summary, name)
    proven = {one.agent: one.proven.bound is not None for one in report.comparisons}
    assert proven == {"GP-UCB": False, "RGP-UCB": True}
    factor = Task(**{**vars(summary.tasks[name]), "knowledge": "misspecified", "misspecification": {"norm": 2.0}})
    assert knowledge_text(factor) == "misspecified: norm × 2.00"
