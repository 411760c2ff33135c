"""IRGP-UCB: its arms, the property of its random width, and its regret bound."""

from __future__ import annotations

from dataclasses import replace
from math import e

import numpy as np
import pytest

import agents
from agents import BoundInputs
from gpbandit_envs.gp import SE
from gpbandit_envs.problem import Problem
from tests.agents.play import noisy, play
from tests.agents.test_faithful import WITHOUT_TIES, T, constants
from tests.reference import policies


@pytest.mark.parametrize(("problem", "mean"), WITHOUT_TIES)
def test_it_chooses_the_textbook_s_arms(problem: Problem, mean: np.ndarray) -> None:
    K, lam, xi, *_ = constants(problem)
    expected = policies.irgp_ucb(K, lam, T, noisy(mean, xi, 6), np.random.default_rng(3))
    assert play(agents.make("IRGP-UCB"), problem, noisy(mean, xi, 6), 3) == expected.batches


def widths(n_arms: int, n: int) -> np.ndarray:
    """Widths that the agent draws with that many arms."""
    problem = Problem(name="p", dim=1, arms=np.linspace(0, 1, n_arms)[:, None], kernel=SE(0.1), noise_std=0.1)
    agent, rng, drawn = agents.make("IRGP-UCB"), np.random.default_rng(0), []
    for _ in range(n):
        agent.reset(problem, rng)
        drawn.append(agent.diagnostics()["width"])
    return np.array(drawn)


def test_the_squared_width_is_a_shifted_exponential_variate() -> None:
    squares = widths(20, 2_000) ** 2
    shift = 2 * np.log(10)
    assert squares.min() >= shift
    error = squares.std() / np.sqrt(len(squares))
    assert abs(squares.mean() - (shift + 2)) < 4 * error
    assert abs(np.mean(squares > shift + 2 * np.log(4)) - 0.25) < 4 * np.sqrt(0.25 * 0.75 / len(squares))


def test_the_regret_bound_is_for_draws_from_the_prior() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((40, 1))
    K = SE(0.2)(X, X)
    root = np.linalg.cholesky(K + 1e-10 * np.eye(40))
    problem = Problem(name="prior", dim=1, arms=X, kernel=SE(0.2), noise_std=0.1, knowledge="oracle", horizon=T)
    gamma = np.zeros(T)  # greedily, and by at most e / (e - 1) of it
    pulled: list[int] = []
    for t in range(T):
        var = (
            np.diagonal(K)
            if not pulled
            else np.diagonal(
                K - K[:, pulled] @ np.linalg.solve(K[np.ix_(pulled, pulled)] + 0.01 * np.eye(t), K[pulled])
            )
        )
        pulled.append(int(np.argmax(var)))
        gamma[t] = (gamma[t - 1] if t else 0) + 0.5 * np.log1p(var.max() / 0.01)
    inputs = BoundInputs(problem, T, gamma / (1 - 1 / e), None, 1.0, 0.1)
    guarantee = agents.make("IRGP-UCB").regret_guarantee(inputs)
    assert guarantee.bound is not None
    assert guarantee.exponent == 0.5
    regrets = []
    for seed in range(10):
        f = root @ np.random.default_rng(seed).standard_normal(40)
        arms = np.ravel(play(agents.make("IRGP-UCB"), problem, noisy(f, 0.1, seed), seed))
        regrets.append(float((f.max() - f[arms]).sum()))
    assert np.mean(regrets) < guarantee.bound
    assert guarantee.bound < 50 * np.mean(regrets)
    for other in (replace(problem, knowledge="learned"), replace(problem, norm_bound=1.0)):
        assert agents.make("IRGP-UCB").regret_guarantee(replace(inputs, problem=other)).bound is None
    assert agents.make("IRGP-UCB", n_start=3).regret_guarantee(inputs).bound is None


def test_it_promises_no_band() -> None:
    problem, mean = WITHOUT_TIES[0]
    agent = agents.make("IRGP-UCB")
    play(agent, problem, noisy(mean, 0.1, 0), 0)
    assert agent.band_guarantee().kind == "tuned"
    assert agent.band_guarantee().delta is None
