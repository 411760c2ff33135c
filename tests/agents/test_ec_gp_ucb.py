"""EC-GP-UCB: its arms, its band about functions outside the RKHS, and its regret bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import agents
from agents import BoundInputs
from gpbandit_envs.gp import SE
from gpbandit_envs.problem import Problem
from tests.agents.play import begun, features, in_the_ball, noisy, play
from tests.agents.test_faithful import PROBLEMS, T

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
