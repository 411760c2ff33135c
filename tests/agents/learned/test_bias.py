"""What estimates do on data that a policy chose: figures 1, 3 and 4 of the UHE-BO paper, with intervals."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import agents
from agents import Feedback, Pending
from agents.learned.base import LearnedAgent
from gpbandit_envs.gp.hyperparameters import Hyperparameters, map_estimate
from gpbandit_envs.problem import Problem

ARMS = np.linspace(0, 1, 200)[:, None]
TRUE = Hyperparameters(1.0, 0.01, (0.1,))
HORIZON, REPETITIONS = 40, 12


@cache
def draw(repetition: int) -> np.ndarray:
    """A draw from the prior with the true hyperparameters, on all arms."""
    L = np.linalg.cholesky(TRUE.kernel()(ARMS, ARMS) + 1e-10 * np.eye(len(ARMS)))
    return L @ np.random.default_rng([7, repetition]).standard_normal(len(ARMS))


def noisy(arms: np.ndarray, repetition: int, rng: np.random.Generator) -> np.ndarray:
    return draw(repetition)[arms] + np.sqrt(TRUE.noise) * rng.standard_normal(len(arms))


def error_of(id: str, repetition: int) -> float:
    """The error of the log lengthscale after the policy has chosen all data; positive where it is too long."""
    agent, problem = agents.make(id), Problem(name="draw", dim=1, arms=ARMS, horizon=HORIZON)
    assert isinstance(agent, LearnedAgent)
    agent.reset(problem, np.random.default_rng([1, repetition]))
    rng = np.random.default_rng([2, repetition])
    for t in range(HORIZON):
        arm = agent.select(1, Pending.empty(problem))
        agent.observe(Feedback.of([t], arm, noisy(arm, repetition, rng)))
    agent.estimate()  # on all data, whatever comes next
    return float(np.log(agent.hyperparameters[0].lengthscales[0] / TRUE.lengthscales[0]))


def error_on_iid_data(repetition: int) -> float:
    rng = np.random.default_rng([3, repetition])
    arms = rng.integers(len(ARMS), size=HORIZON)
    found = map_estimate(ARMS[arms], noisy(arms, repetition, rng), rng, starts=2).hyperparameters
    return float(np.log(found.lengthscales[0] / TRUE.lengthscales[0]))


def interval(values: np.ndarray) -> tuple[float, float]:
    """Mean minus and plus two standard errors."""
    margin = 2 * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean() - margin), float(values.mean() + margin)


@pytest.mark.slow
def test_estimates_on_data_that_a_policy_chose() -> None:
    """The paper's first claim holds on draws from a known prior, its second one does not.

    MAP-UCB's own data make lengthscales too long: measured +0.36 (0.14 to 0.58) in log units, where iid data of the
    same size do not. UHE-BO's pseudo-observations make them too short, by 1.6 (1.5 to 1.7), for the reason that the
    next test isolates. Both signs are asserted, so that a change of either shows.
    """
    repetitions = range(REPETITIONS)
    chosen = np.array([error_of("MAP-UCB", r) for r in repetitions])
    unbiased = np.array([error_of("UHE-BO", r) for r in repetitions])
    iid = np.array([error_on_iid_data(r) for r in repetitions])
    assert interval(chosen)[0] > 0
    assert interval(chosen - iid)[0] > 0
    assert interval(unbiased)[1] < 0
    assert interval(np.abs(unbiased) - np.abs(chosen))[0] > 0


def test_pseudo_observations_shorten_lengthscales_even_on_iid_data() -> None:
    """What is left of UHE-BO's estimate when the data are uniform to begin with, so that there is no bias to undo.

    Feedback copied to nearest neighbours is a step function of the point and carries its noise to several points, which
    a smooth kernel explains by a short lengthscale. Measured with noise 0.01: more data, to n = 400, do not mend it.
    Without noise the error falls from -1.0 at n = 15 to -0.5 at n = 45 and 135.
    """
    plain: list[float] = []
    pseudo: list[float] = []
    for repetition in range(REPETITIONS):
        rng = np.random.default_rng([4, repetition])
        arms = rng.integers(len(ARMS), size=HORIZON)
        X, y = ARMS[arms], noisy(arms, repetition, rng)
        points = rng.random((2 * HORIZON, 1))
        copied = y[cdist(points, X).argmin(axis=1)]
        for found, (inputs, feedback) in ((plain, (X, y)), (pseudo, (points, copied))):
            found.append(map_estimate(inputs, feedback, rng, starts=2).hyperparameters.lengthscales[0])
    assert interval(np.log(pseudo) - np.log(plain))[1] < 0
    assert interval(np.log(pseudo) - np.log(TRUE.lengthscales[0]))[1] < 0
    low, high = interval(np.log(plain) - np.log(TRUE.lengthscales[0]))
    assert abs(low + high) / 2 < 0.3


@pytest.mark.slow
def test_pseudo_observations_pull_lengthscales_to_the_spacing_of_the_data() -> None:
    """Why UHE-BO's estimate is too short on some functions and too long on others.

    Copied feedback is constant on the Voronoi cell of each evaluated point, so that the estimate follows the size of
    the cells, here about 0.1: measured with 60 uniform points, +1.15 (0.98 to 1.32) in log units at a lengthscale of
    0.02, -0.03 (-0.20 to 0.14) at 0.1 and -0.35 (-0.58 to -0.12) at 0.4. It is right where cells and function agree,
    as they do on the paper's deceptive function, whose lengthscales are 0.08 and 0.10 by 300 uniform points.
    """
    n, noise = 60, 1e-4
    errors: dict[float, list[float]] = {0.02: [], 0.1: [], 0.4: []}
    for lengthscale, found in errors.items():
        kernel = Hyperparameters(1.0, noise, (lengthscale, lengthscale)).kernel()
        for repetition in range(REPETITIONS):
            rng = np.random.default_rng([5, repetition])
            X = rng.random((n, 2))
            y = np.linalg.cholesky(kernel(X, X) + noise * np.eye(n)) @ rng.standard_normal(n)
            points = rng.random((2 * n, 2))
            copied = y[cdist(points, X).argmin(axis=1)]
            estimate = map_estimate(points, copied, rng, starts=2, units=(y.mean(), y.std())).hyperparameters
            found.append(float(np.mean(np.log(estimate.lengthscales)) - np.log(lengthscale)))
    assert interval(np.array(errors[0.02]))[0] > 0.5
    assert interval(np.array(errors[0.4]))[1] < 0
    assert abs(np.mean(errors[0.1])) < 0.3
