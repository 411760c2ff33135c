"""Ha et al. (2023), Algorithm 1: the EXP3 step of UHE-BO, lines 3 to 12 and 18 to 20."""

from __future__ import annotations

from math import e, exp, log, sqrt

import numpy as np
import pytest

from agents import Feedback, Pending
from agents.learned.uhe_bo import UHEBO
from gpbandit_envs.problem import Problem

N_INITIAL, T = 5, 40


def gamma(t: int) -> float:
    """Line 5. It exceeds 1 at t = 1; the weights are still equal then, so that line 7 gives 1/2 with any gamma."""
    return sqrt(4 * log(2) / ((e - 1) * t))


def probabilities(t: int, weights: list[float]) -> list[float]:
    """Line 7."""
    return [(1 - gamma(t)) * weight / sum(weights) + gamma(t) / 2 for weight in weights]


@pytest.mark.parametrize("seed", range(3))
def test_exp3_step(seed: int) -> None:
    agent = UHEBO(n_initial=N_INITIAL, fits=1, candidates=8, starts=1, iterations=2, noise=0.1)
    agent.reset(Problem(name="segment", dim=1, noise_std=0.1), np.random.default_rng(seed))
    rng = np.random.default_rng(100 + seed)
    y: list[float] = []

    def evaluate() -> None:
        point = agent.select(1, Pending(np.zeros(0, np.int64), np.zeros((0, 1))))
        y.append(float(np.sin(9 * point[0, 0]) + 0.1 * rng.standard_normal()))
        agent.observe(Feedback.of([len(y) - 1], point, [y[-1]]))

    for _ in range(N_INITIAL):
        evaluate()
    least, largest = min(y), max(y)
    weights, pulled = [1.0, 1.0], []
    for t in range(1, T, 2):
        p = probabilities(t, weights)
        assert agent.diagnostics()["random_probability"] == pytest.approx(p[0], abs=1e-14)
        arm = 0 if agent.explores else 1  # line 12: the first arm begins with a random point
        evaluate()
        assert not agent.explores
        evaluate()
        # Line 19 scales the reward "using D_0"; EXP3 takes rewards in [0, 1] (A.4).
        reward = min(max((max(y[-2:]) - least) / (largest - least), 0.0), 1.0)
        weights[arm] *= exp(gamma(t + 1) * reward / (2 * p[arm]))
        pulled.append(arm)
    assert set(pulled) == {0, 1}
