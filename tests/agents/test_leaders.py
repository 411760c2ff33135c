"""The leaders against looking at all arms every time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.core.leaders import Leaders
from gpbandit_envs.gp import SE, Matern
from gpbandit_envs.gp.exact_arms import ExactArmPosterior


def lead(scores: np.ndarray) -> float:
    """How far the best is ahead of the second."""
    top = np.sort(scores)[-2:]
    return float(top[-1] - top[0]) if len(scores) > 1 else np.inf


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32),
    n_arms=st.sampled_from([1, 2, 40, 150, 400]),
    lam=st.floats(-5, 0).map(lambda e: 10.0**e),
    width=st.floats(0, 30),
    foreign=st.booleans(),
)
def test_the_best_arm_is_the_best_of_all(seed: int, n_arms: int, lam: float, width: float, foreign: bool) -> None:
    rng = np.random.default_rng(seed)
    X = rng.random((n_arms, 2))
    mean = np.sin(6 * X[:, 0]) + np.cos(4 * X[:, 1])
    kernel = Matern(0.4, 2.5)
    lazy, eager = ExactArmPosterior(kernel, X, lam), ExactArmPosterior(kernel, X, lam)
    leaders = Leaders(lazy)
    for t in range(80):
        scores = eager.mean + width * np.sqrt(eager.variance)
        best, recommended = leaders.best_score(width), leaders.best_mean()
        assert scores[best] == pytest.approx(scores.max(), abs=1e-7)
        assert eager.mean[recommended] == pytest.approx(eager.mean.max(), abs=1e-7)
        if lead(scores) > 1e-7:
            assert best == np.argmax(scores)
        arm = int(rng.integers(n_arms)) if foreign and t % 17 == 3 else best
        arms, counts = np.array([arm]), np.array([1.0 + t % 2])
        sums = counts * mean[arm] + np.sqrt(lam * counts) * rng.normal(size=1)
        for posterior in (lazy, eager):
            posterior.update(arms, counts, sums)
        leaders.pulled(arms, counts, sums)


def test_most_steps_do_not_look_at_all_arms() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((2000, 2))
    mean = np.sin(6 * X[:, 0]) + np.cos(4 * X[:, 1])
    posterior = ExactArmPosterior(SE(0.3), X, 1e-2)
    leaders = Leaders(posterior)
    looks = 0
    inner = posterior.synchronise

    def counting() -> None:
        nonlocal looks
        looks += bool(posterior._unseen)
        inner()

    posterior.synchronise = counting  # type: ignore[method-assign]
    for _ in range(600):
        arms = np.array([leaders.best_score(3.0)])
        sums = mean[arms] + 0.1 * rng.normal(size=1)
        posterior.update(arms, np.ones(1), sums)
        leaders.pulled(arms, np.ones(1), sums)
        leaders.best_mean()
    assert looks < 150
