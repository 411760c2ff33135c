"""Which arms enter the dictionary: Calandriello et al. (2019), Algorithm 1, and (2020), Algorithm 1, lines 11 to 16."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from agents import Feedback, Pending
from agents.sketched.bbkb import BBKB
from agents.sketched.bkb import BKB
from agents.sketched.dictionary import posterior_sampling
from gpbandit_envs.gp.kernels import SE
from gpbandit_envs.problem import Problem
from tests.reference.independent import dense

Draws = Literal["pull", "arm"]
A, XI, N = 30, 1.4, 40_000
X = np.random.default_rng(0).uniform(size=(A, 2))
K = dense.squared_exponential(X, 0.15)
MEAN = np.random.default_rng(1).multivariate_normal(np.zeros(A), K, method="eigh")


def inclusion(pulls: np.ndarray, scores: np.ndarray, qbar: float, draws: Draws) -> np.ndarray:
    """The probability of each arm: every pull is a draw of its own, or every arm is one.

    The papers write the former, with probability `qbar sigma~^2(x_s)`. The latter has the cost `min(t, A)` that they
    state (2019, section 3.2): n pulls of an arm are one row `sqrt(n) phi(x)`, whose leverage score is n times as large.
    """
    if draws == "pull":
        return 1 - (1 - np.minimum(1, qbar * scores)) ** pulls
    return np.minimum(1, pulls * qbar * scores)


def furthest(frequency: np.ndarray, p: np.ndarray, n: int) -> float:
    """Largest deviation in standard errors of `n` draws; a draw against a certain outcome counts as ten."""
    return float(np.max(np.abs(frequency - p) / np.maximum(np.sqrt(p * (1 - p) / n), 0.1 / n)))


@pytest.mark.parametrize("draws", ["pull", "arm"])
def test_frequencies_of_posterior_sampling(draws: Draws) -> None:
    pulls, scores = np.array([1.0, 1, 2, 5, 20, 3, 50]), np.array([0.05, 0.4, 0.1, 0.05, 0.01, 0.6, 0.02])
    arms = np.arange(N * len(pulls))
    drawn = posterior_sampling(arms, np.tile(pulls, N), np.tile(scores, N), 2.0, np.random.default_rng(3), draws=draws)
    frequency = np.isin(arms, drawn).reshape(N, -1).mean(axis=0)
    assert furthest(frequency, inclusion(pulls, scores, 2.0, draws), N) < 4


def test_a_dictionary_takes_one_random_number_an_arm() -> None:
    """In the order of the arms, so that choices stay as they were."""
    arms, pulls, scores = np.arange(4), np.array([1.0, 4.0, 100.0, 1.0]), np.array([0.1, 0.05, 0.004, 0.4])
    expected = arms[np.random.default_rng(5).random(4) < inclusion(pulls, scores, 2.0, "pull")]
    drawn = posterior_sampling(arms, pulls, scores, 2.0, np.random.default_rng(5), "pull")
    np.testing.assert_array_equal(drawn, expected)


@pytest.mark.parametrize("draws", ["pull", "arm"])
@pytest.mark.parametrize("batched", [False, True])
def test_frequencies_of_the_agents(batched: bool, draws: Draws) -> None:
    """An agent's next dictionary is drawn from all its picks, with the scores that it had at the start of the batch."""
    agent: BBKB | BKB
    agent = BBKB(width=2.0, c=4.0, qbar=1.0, draws=draws) if batched else BKB(width=2.0, qbar=1.0, draws=draws)
    problem = Problem(name="square", dim=2, arms=X, kernel=SE(0.15), noise_std=XI, norm_bound=1.0, horizon=60)
    agent.reset(problem, np.random.default_rng(5))
    pulls: list[int] = []

    def next_batch() -> Feedback:
        arms = agent.select(12 if batched else 1, Pending.empty(problem))
        tickets = len(pulls) + np.arange(len(arms))
        pulls.extend(arms.tolist())
        return Feedback.of(tickets, arms, MEAN[arms])

    while len(pulls) < 14:
        agent.observe(next_batch())
    sketch = agent.sketch()
    assert sketch is not None
    before = dense.NystromPosterior(K, sketch.posterior.dictionary.tolist(), XI**2)
    scores = before.leverage(pulls)
    news, state = next_batch(), agent.state_dict()
    arms, counts = np.unique(pulls, return_counts=True)
    n, drawn = 300, np.zeros(A)
    for seed in range(n):
        agent.load_state_dict(state)
        agent.rng.bit_generator.state = np.random.default_rng(seed).bit_generator.state
        agent.observe(news)
        sketch = agent.sketch()
        assert sketch is not None
        assert agent.diagnostics()["dictionary_size"] == len(sketch.posterior.dictionary)
        drawn[sketch.posterior.dictionary] += 1
    assert set(np.flatnonzero(drawn)) <= set(arms)
    assert furthest(drawn[arms] / n, inclusion(counts, scores[arms], 1.0, draws), n) < 4
    # Neither scores with the batch's own picks taken in nor the other way of drawing would do.
    after = inclusion(counts, dense.variance(K, pulls, XI**2)[arms] / XI**2, 1.0, draws)
    other = inclusion(counts, scores[arms], 1.0, "arm" if draws == "pull" else "pull")
    assert furthest(drawn[arms] / n, after, n) > 6
    assert furthest(drawn[arms] / n, other, n) > 6
