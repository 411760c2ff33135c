"""Policies that are told what a step offers: against textbook forms, and against their plain forms where all is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import agents
from agents import Feedback, Pending
from gpbandit_envs.gp import SE, ActiveDims
from gpbandit_envs.problem import Problem
from tests.agents.play import begun
from tests.reference.posterior import dense

RNG = np.random.default_rng(3)
ARMS = RNG.random((40, 2))
PROBLEM = Problem(
    name="forty arms",
    dim=2,
    arms=ARMS,
    kernel=ActiveDims(SE(0.3), (0,)) * ActiveDims(SE(0.5), (1,)),
    noise_std=0.1,
    norm_bound=2.0,
    horizon=60,
    contexts=True,
)
MEAN = np.sin(5 * ARMS[:, 0]) + ARMS[:, 1]
OFFERS = [np.sort(RNG.choice(40, RNG.integers(1, 12), replace=False)) for _ in range(60)]


def play(agent: agents.Agent, steps: int = 60) -> tuple[list[int], np.ndarray]:
    noise = np.random.default_rng(8).normal(0, 0.1, steps)
    agent.reset(PROBLEM, np.random.default_rng(0))
    arms: list[int] = []
    for t in range(steps):
        agent.offer(OFFERS[t])
        picked = agent.select(1, Pending.empty(PROBLEM))
        arms.append(int(picked[0]))
        agent.observe(Feedback.of([t], picked, MEAN[picked] + noise[t]))
    return arms, MEAN[arms] + noise


def known(arms: list[int], y: np.ndarray, t: int) -> tuple[np.ndarray, np.ndarray]:
    """Posterior mean and variance of all arms given the first `t` evaluations, by the t x t formula."""
    K = PROBLEM.kernel(ARMS, ARMS)  # type: ignore[misc]
    if t == 0:
        return np.zeros(40), np.diagonal(K).copy()
    return dense(K, np.array(arms[:t]), y[:t], 0.01)


def test_contextual_gp_ucb_is_the_textbook() -> None:
    """CGP-UCB (Krause and Ong 2011, eq. 4): the largest upper bound among the arms offered."""
    arms, y = play(agents.make("GP-UCB", width=1.7))
    for t, arm in enumerate(arms):
        mean, var = known(arms, y, t)
        ucb = (mean + 1.7 * np.sqrt(np.maximum(var, 0)))[OFFERS[t]]
        assert arm in OFFERS[t]
        assert ucb[np.searchsorted(OFFERS[t], arm)] >= ucb.max() - 1e-9


def test_contextual_gp_ei_improves_on_the_best_evaluated_arm_that_is_offered() -> None:
    arms, y = play(agents.make("GP-EI"))
    transferred = 0
    for t, arm in enumerate(arms):
        offered, (mean, var) = OFFERS[t], known(arms, y, t)
        seen = offered[np.isin(offered, arms[:t])]
        incumbent = 0.0 if t == 0 else mean[seen if len(seen) else offered].max()
        transferred += t > 0 and len(seen) == 0
        sd = np.sqrt(np.maximum(var[offered], 1e-300))
        z = (mean[offered] - incumbent) / sd
        improvement = sd * (norm.pdf(z) + z * norm.cdf(z))
        assert improvement[np.searchsorted(offered, arm)] >= improvement.max() * (1 - 1e-6) - 1e-12
    assert transferred >= 2, "the case that none of them was evaluated has to occur"


def test_thompson_sampling_draws_among_what_is_offered() -> None:
    """Two arms of equal and independent posteriors are chosen equally often, whatever a third that is asleep does."""
    problem = Problem(
        name="three", dim=1, arms=np.array([[0.0], [50.0], [99.0]]), kernel=SE(0.1), noise_std=0.1, contexts=True
    )
    agent = begun(problem, "GP-TS")
    agent.observe(Feedback.of([0], [2], [5.0]))
    agent.offer(np.array([0, 1]))
    picks = np.array([agent.select(1, Pending.empty(problem))[0] for _ in range(1_000)])
    assert set(picks.tolist()) == {0, 1}
    assert abs((picks == 1).mean() - 0.5) < 5 * 0.5 / np.sqrt(1_000)


@pytest.mark.parametrize(("id", "n_start"), [("GP-UCB", 400), ("BKB", 400), ("Uniform", None)])
def test_the_initial_design_is_uniform_on_what_is_offered(id: str, n_start: int | None) -> None:
    agent = agents.make(id, **({} if n_start is None else {"n_start": n_start}))
    problem = Problem(
        name="ten", dim=1, arms=np.linspace(0, 1, 10)[:, None], kernel=SE(0.2), noise_std=0.1, contexts=True
    )
    agent.reset(problem, np.random.default_rng(5))
    picks = []
    for _ in range(400):
        agent.offer(np.array([1, 4, 5, 8]))
        picks.append(int(agent.select(1, Pending.empty(problem))[0]))
    shares = np.array([picks.count(arm) for arm in (1, 4, 5, 8)]) / 400
    assert set(picks) == {1, 4, 5, 8}
    assert np.abs(shares - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 400)


def test_eps_greedy_is_greedy_among_what_is_offered() -> None:
    agent = begun(PROBLEM, "EpsGreedy", epsilon=0.0)
    agent.offer(np.array([7, 9]))
    assert agent.recommend() == 7, "the first of them before any feedback"
    agent.observe(Feedback.of([0, 1, 2], [3, 9, 12], [2.0, 0.5, 1.0]))
    assert agent.select(3, Pending.empty(PROBLEM)).tolist() == [9, 9, 9]
    agent.offer(np.array([12, 30]))
    assert agent.recommend() == 12
    agent.offer(np.arange(40))
    assert agent.recommend() == 3
