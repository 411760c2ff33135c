"""The study of lemmas: its ratios by dense formulas, and figures that would be found wrong."""

from __future__ import annotations

import numpy as np
import pytest

import agents
from gpbandit_envs.gp.exact import ExactPosterior
from leaderboards.claims import lemmas
from leaderboards.claims.lemmas import Task, apart, draw_task, shrunk


@pytest.fixture(scope="module")
def task() -> Task:
    return draw_task(np.random.default_rng(3))


def posterior(task: Task, arms: np.ndarray) -> ExactPosterior:
    assert task.problem.kernel is not None
    assert task.problem.arms is not None
    found = ExactPosterior(task.problem.kernel, task.problem.arms, 1.0)
    for arm in arms:
        found.update(np.array([arm]), np.ones(1), np.zeros(1))
    return found


def test_how_far_variances_shrink_is_that_of_two_posteriors(task: Task) -> None:
    before, more = np.array([3, 3, 50, 120]), np.array([7, 7, 60])
    start = posterior(task, before)
    found = shrunk(start.variance.copy(), start.covariance(more), more)
    after = posterior(task, np.concatenate([before, more])).variance
    np.testing.assert_allclose(found, posterior(task, before).variance / after, rtol=1e-8)


def test_apart_is_the_larger_of_both_ratios() -> None:
    assert apart(np.array([1.0, 2.0]), np.array([1.0, 8.0])) == pytest.approx(4.0)
    assert apart(np.array([1.0, 8.0]), np.array([1.0, 2.0])) == pytest.approx(4.0)


def test_batches_are_seen_before_their_feedback(task: Task) -> None:
    agent = agents.make("GP-BUCB", batch_size=50, width=1.0)
    seen: list[tuple[int, np.ndarray]] = []
    for t, arms, exact in task.play(agent, 0):
        if t == 100:
            pulled = np.concatenate([arms for _, arms in seen])
            np.testing.assert_allclose(exact.variance, posterior(task, pulled).variance, rtol=1e-9)
        seen.append((t, arms))
    assert [(t, len(arms)) for t, arms in seen] == [(t, 50) for t in range(0, lemmas.HORIZON, 50)]


def test_a_band_that_misses_and_a_sketch_that_is_wrong_are_found(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    assert lemmas.bpe_run(task, 0)["held"] == 1.0
    shifted = Task(task.problem, task.f + 100.0 * (np.arange(len(task.f)) == 5), task.noise)
    assert lemmas.bpe_run(shifted, 0)["held"] == 0.0
    assert lemmas.sketched_run(task, "BBKB", 0)["accuracy"] < 3
    monkeypatch.setattr(lemmas, "QBAR", 1.0)
    assert lemmas.sketched_run(task, "BBKB", 0)["accuracy"] > 3
