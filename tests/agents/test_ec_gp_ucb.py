"""EC-GP-UCB: its arms, its band about functions outside the RKHS, and its regret bound."""

from __future__ import annotations

from dataclasses import replace
from math import e

import numpy as np
import pytest

import agents
from agents import BoundInputs
from gpbandit_envs.gp import SE
from gpbandit_envs.problem import Problem
from tests.agents.play import begun, features, in_the_ball, noisy, play
from tests.agents.test_faithful import PROBLEMS, WITHOUT_TIES, T, constants
from tests.reference import policies

EPS = 0.2


def in_ball(seed: int, norm: float = 1.0, n_arms: int = 60) -> tuple[Problem, np.ndarray]:
    """A problem and the values of a function of that norm."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_arms, 1))
    kernel = SE(0.1)
    mean = in_the_ball(kernel(X, X), rng) * norm
    return Problem(name="ball", dim=1, arms=X, kernel=kernel, noise_std=0.05, norm_bound=norm, horizon=T), mean


def test_the_problem_states_the_misspecification() -> None:
    problem, mean = PROBLEMS[0]
    stated = replace(problem, misspecification={"sup": EPS})
    played = play(agents.make("EC-GP-UCB"), stated, noisy(mean, 0.1, 6), 0)
    assert played == play(agents.make("EC-GP-UCB", misspecification=EPS), problem, noisy(mean, 0.1, 6), 0)
    assert played == play(agents.make("EC-GP-UCB", misspecification=EPS), stated, noisy(mean, 0.1, 6), 0)
    assert played != play(agents.make("EC-GP-UCB", misspecification=0.0), stated, noisy(mean, 0.1, 6), 0)


def test_the_regret_bound_holds_and_grows_linearly() -> None:
    problem, inside = in_ball(3)
    mean = inside + EPS * np.where(features(problem)[:, 0] < 0.5, 1.0, -1.0)
    agent = agents.make("EC-GP-UCB", misspecification=EPS)
    arms = np.ravel(play(agent, problem, noisy(mean, 0.05, 0), 0))
    gamma = 0.5 * T * np.log1p(np.arange(1, T + 1) / 0.05**2 / T)  # no set of pulls gains more than independent arms
    bounds = [agent.regret_guarantee(BoundInputs(problem, t, gamma, None, 1.0, 0.05)).bound for t in range(1, T + 1)]
    plain = agents.make("GP-UCB").regret_guarantee(BoundInputs(problem, T, gamma, None, 1.0, 0.05))
    assert (np.cumsum(mean.max() - mean[arms]) <= bounds).all()
    assert plain.bound is not None
    assert bounds[-1] is not None
    assert bounds[-1] > plain.bound + 2 * EPS * T
    assert agent.regret_guarantee(BoundInputs(problem, T, gamma, None, 1.0, 0.05)).exponent == 1
    assert agents.make("EC-GP-UCB").regret_guarantee(BoundInputs(problem, T, gamma, None, 1.0, 0.05)) == plain
    unstated = replace(problem, norm_bound=None, knowledge="learned")
    assert agent.regret_guarantee(BoundInputs(unstated, T, gamma, None, 1.0, 0.05)).bound is None


def test_its_band_is_that_of_its_width_and_of_its_paper() -> None:
    problem, mean = in_ball(0)
    agent = agents.make("EC-GP-UCB", misspecification=EPS)
    play(agent, problem, noisy(mean, 0.05, 0), 0)
    guarantee = agent.band_guarantee()
    assert guarantee.kind == "proven"
    assert "Bogunovic and Krause (2021)" in guarantee.theorem
    tuned = begun(problem, "EC-GP-UCB", misspecification=EPS, width=1.0)
    assert tuned.band_guarantee().kind == "tuned"
    assert tuned.band_guarantee().theorem == ""


@pytest.mark.parametrize(
    ("kwargs", "text"),
    [
        ({"misspecification": -0.1}, "misspecification: expected a finite number >= 0"),
        ({"misspecification": float("nan")}, "misspecification: expected a finite number >= 0"),
        ({"norm_bound": "double"}, "norm_bound: expected a number"),
        ({"width": "dmm"}, "width: expected one of"),
    ],
)
def test_wrong_arguments(kwargs: dict[str, object], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        agents.make("EC-GP-UCB", **kwargs)


# ---- iRGP-UCB: its arms, the property of its random width, and its regret bound ----


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
