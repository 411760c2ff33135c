"""Desautels, Krause and Burdick (2012), Algorithm 1 (GP-BUCB), and its adaptive batches (GP-AUCB).

Algorithm 2 of Calandriello et al. (2020) is GP-AUCB; they call it GP-BUCB.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log, pi, prod, sqrt

import numpy as np
import pytest

from agents import Agent, Feedback, Pending, make
from gpbandit_envs.gp.kernels import SE
from gpbandit_envs.problem import Problem
from tests.agents.play import noisy
from tests.reference.independent import dense
from tests.reference.independent.episodes import Picks, episode

A, NOISE, DELTA, NORM = 90, 0.6, 0.1, 2.0
X = np.random.default_rng(0).uniform(size=(A, 2))
K = dense.squared_exponential(X, 0.4)
MEAN = np.random.default_rng(1).multivariate_normal(np.zeros(A), K, method="eigh")


def problem(horizon: int) -> Problem:
    return Problem(name="square", dim=2, arms=X, kernel=SE(0.4), noise_std=NOISE, norm_bound=NORM, horizon=horizon)


def alpha(t: int) -> float:
    """Theorem 1, case 1."""
    return 2 * log(A * t**2 * pi**2 / (6 * DELTA))


def upper_bound(arms: list[int], rewards: np.ndarray, width: float) -> np.ndarray:
    """Equation 4: the mean of the feedback that has arrived, the variance of all picks so far."""
    fb = len(rewards)
    return dense.mean(K, arms[:fb], rewards, NOISE**2) + width * np.sqrt(dense.variance(K, arms, NOISE**2))


def sqrt_beta(fb: int, C: float) -> float:
    """`exp(C) alpha^(1/2)`, with the alpha of the interval that the data up to `fb` give.

    Theorem 1 writes `alpha_fb[t]`, and alpha_0 does not exist. Equation 7 numbers the interval around `mu_{t-1}` by t,
    and Lemma 3 starts from `C^seq_{fb[t]+1}`, whose alpha is that of `fb[t] + 1`.
    """
    return exp(C) * sqrt(alpha(fb + 1))


@pytest.mark.parametrize(("B", "C"), [(10, 0.5), (10, 1.0), (7, 0.5), (7, 1.0)])
def test_gp_bucb_in_batches(B: int, C: float) -> None:
    agent = make("GP-BUCB", width="bayes", batch_size=B, c=C, delta=DELTA)
    arms: list[int] = []
    rewards, picks = np.zeros(0), Picks()
    for batch in episode(agent, problem(60), MEAN, seed=2):
        assert len(batch.arms) == min(B, 60 - len(arms))
        assert batch.width == pytest.approx(sqrt_beta(len(arms), C), rel=1e-14)
        for arm in batch.arms:
            picks.check(arm, upper_bound(arms, rewards, sqrt_beta(len(rewards), C)))
            arms.append(arm)
        rewards = np.append(rewards, batch.rewards)
    assert len(arms) == 60
    assert picks.decided > 0.9


def test_gp_bucb_with_feedback_delayed_by_exactly_as_many_rounds() -> None:
    """Section 2: `fb[t] = max(t - B, 0)`."""
    B, C, T = 6, 0.5, 50
    agent: Agent = make("GP-BUCB", width="bayes", batch_size=B, c=C, delta=DELTA)
    agent.reset(problem(T), np.random.default_rng(0))
    reward = noisy(MEAN, NOISE, seed=3)
    arms: list[int] = []
    rewards, picks = np.zeros(0), Picks()
    for t in range(1, T + 1):
        fb = max(t - B, 0)
        if fb > 0:
            new = reward(np.array(arms[fb - 1 : fb]))
            agent.observe(Feedback.of([fb - 1], arms[fb - 1 : fb], new))
            rewards = np.append(rewards, new)
        (arm,) = agent.select(1, Pending(np.arange(fb, t - 1), np.array(arms[fb:], dtype=np.int64)))
        picks.check(arm, upper_bound(arms, rewards, sqrt_beta(fb, C)))
        arms.append(int(arm))
    assert picks.decided > 0.9


def test_start_by_uncertainty_sampling() -> None:
    """Section 4: the first T_init picks have the largest variance and take no feedback; then GP-BUCB."""
    T_init, B, C, T = 17, 5, 0.5, 47
    agent = make("GP-BUCB", width="bayes", batch_size=B, c=C, t_init=T_init, delta=DELTA)
    first, *batches = episode(agent, problem(T), MEAN, seed=4)
    assert len(first.arms) == T_init
    arms: list[int] = []
    picks = Picks()
    for arm in first.arms:
        picks.check(arm, dense.variance(K, arms, NOISE**2))
        arms.append(arm)
    rewards = first.rewards
    for batch in batches:
        assert len(batch.arms) == B
        for arm in batch.arms:
            picks.check(arm, upper_bound(arms, rewards, sqrt_beta(len(rewards), C)))
            arms.append(arm)
        rewards = np.append(rewards, batch.rewards)
    assert len(arms) == T
    assert picks.decided > 0.9


def bayes(fb: int, C: float, logs: float) -> float:
    """`C beta_fb` (Proposition 2 of Calandriello et al. 2020) with Theorem 1's interval as beta."""
    return C * sqrt(alpha(fb + 1))


def practical(fb: int, C: float, logs: float) -> float:
    """The guide to widths: `F + xi / sqrt(lam) sqrt(C sum log(1 + lev_fb) + log(1 / delta))`, at `lam = xi^2`."""
    return NORM + sqrt(C * logs + log(1 / DELTA))


@pytest.mark.parametrize("C", [1.0, 2.0, 4.0])
@pytest.mark.parametrize(("name", "width"), [("bayes", bayes), ("practical", practical)])
def test_gp_aucb_with_the_product_rule(name: str, width: Callable[[int, float, float], float], C: float) -> None:
    """Algorithm 2: a batch ends with the pick at which `prod (1 + sigma^2_{s-1}(x_s))` exceeds C.

    Its sigma^2 is the variance over lam (equation 6).
    """
    agent = make("GP-AUCB", width=name, c=C, rule="product", delta=DELTA)
    T, logs, arms = 80, 0.0, list[int]()
    rewards, picks, shorter = np.zeros(0), Picks(), 0
    for batch in episode(agent, problem(T), MEAN, seed=5):
        at_feedback = dense.variance(K, arms, NOISE**2) / NOISE**2
        assert batch.width == pytest.approx(width(len(arms), C, logs), rel=1e-12)
        factors: list[float] = []
        for arm in batch.arms:
            assert prod(factors) <= C
            picks.check(arm, upper_bound(arms, rewards, width(len(rewards), C, logs)))
            factors.append(1 + dense.variance(K, arms, NOISE**2)[arm] / NOISE**2)
            arms.append(arm)
        assert prod(factors) > C or len(arms) == T
        shorter += int(prod(1 + at_feedback[batch.arms[:-1]]) > C)
        logs += float(np.log1p(at_feedback[batch.arms]).sum())
        rewards = np.append(rewards, batch.rewards)
    assert len(arms) == T
    assert picks.decided > 0.9
    # In longer batches sigma^2_fb, in the place of sigma^2_{s-1}, would have ended some before.
    assert shorter > 0 or C < 4
