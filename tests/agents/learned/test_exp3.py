"""EXP3 against a trace computed by hand."""

from __future__ import annotations

from math import e, log, sqrt

import numpy as np
import pytest

from agents.learned.uhe_bo import Exp3, exploration_rate


class _Draws(np.random.Generator):
    """A generator that gives the stated uniform numbers."""

    def __init__(self, *values: float) -> None:
        super().__init__(np.random.PCG64(0))
        self._values = iter(values)

    def random(self) -> float:  # type: ignore[override]
        return next(self._values)


def test_a_trace_computed_by_hand() -> None:
    """Three pulls at a rate of 1/2: the first arm pays 1, then the second pays 1/2, then the first pays nothing.

    After the first pull `w = (exp(0.5 * 1 / (2 * 0.5)), 1) = (1.648721, 1)`, so that the first arm's share is 0.622459
    and `p = 0.5 * 0.622459 + 0.25 = 0.561230`. The second arm had probability 0.438770, so that its weight becomes
    `exp(0.5 * 0.5 / (2 * 0.438770)) = exp(0.284887) = 1.329612`, the first arm's share 1.648721 / 2.978333 = 0.553572
    and `p = 0.526786`. No reward, no change.
    """
    exp3, draws = Exp3(2), _Draws(0.49, 0.57, 0.52)
    np.testing.assert_allclose(exp3.probabilities(0.5), [0.5, 0.5])
    assert exp3.draw(0.5, draws) == 0
    exp3.update(0.5, 1.0)
    np.testing.assert_allclose(exp3.probabilities(0.5), [0.561230, 0.438770], atol=5e-7)
    assert exp3.draw(0.5, draws) == 1
    exp3.update(0.5, 0.5)
    np.testing.assert_allclose(exp3.probabilities(0.5), [0.526786, 0.473214], atol=5e-7)
    assert exp3.draw(0.5, draws) == 0
    exp3.update(0.5, 0.0)
    np.testing.assert_allclose(exp3.probabilities(0.5), [0.526786, 0.473214], atol=5e-7)


def test_the_rate_of_uhe_bo() -> None:
    """`sqrt(4 log 2 / ((e - 1) t))`, at most 1: its first values by hand are 1, 0.898215 and 0.635134."""
    rates = [exploration_rate(t / 2) for t in (1, 2, 4)]
    np.testing.assert_allclose(rates, [1.0, 0.898215, 0.635134], atol=5e-7)
    assert exploration_rate(50) == pytest.approx(sqrt(4 * log(2) / ((e - 1) * 100)))


def test_probabilities_survive_huge_weights() -> None:
    exp3, draws = Exp3(2), np.random.default_rng(0)
    for _ in range(5_000):
        exp3.update(0.5, float(exp3.draw(0.5, draws) == 0))
    p = exp3.probabilities(0.1)
    np.testing.assert_allclose(p, [0.95, 0.05], atol=1e-9)


def test_the_better_of_three_arms_is_found_and_draws_follow_the_probabilities() -> None:
    exp3, rng = Exp3(3), np.random.default_rng(1)
    for pull in range(1, 2_001):
        arm = exp3.draw(exploration_rate(pull, 3), rng)
        exp3.update(exploration_rate(pull, 3), float(rng.random() < (0.3, 0.3, 0.7)[arm]))
    assert exp3.probabilities(0.1)[2] > 0.9
    gamma = 0.6
    p = exp3.probabilities(gamma)
    counts = np.bincount([exp3.draw(gamma, rng) for _ in range(4_000)], minlength=3)
    assert (np.abs(counts - 4_000 * p) < 4 * np.sqrt(4_000 * p * (1 - p))).all()


def test_a_reward_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match=r"reward: expected a number in \[0, 1\], got 1.5"):
        Exp3(2).update(0.5, 1.5)
