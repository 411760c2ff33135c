"""GP-UCB, GP-EI and GP-TS: on boxes and arms they choose what their formulas say, and find the maximum."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import agents
from agents import Feedback, Pending
from agents.core.acquisition import LogExpectedImprovement
from agents.core.widths import (
    CompactBayes,
    EffectiveDimension,
    FiniteBayes,
    InformationGain,
    LogDeterminant,
    NonAdaptive,
    Scaled,
    WidthContext,
    WidthSchedule,
)
from agents.sketched.theory import BBKBTheorem2
from gpbandit_envs import problem_of
from gpbandit_envs.domain import Dimension, Domain
from gpbandit_envs.gp import SE, Linear, Matern
from gpbandit_envs.problem import Problem
from tests.agents.play import begun

PROBLEM = Problem(name="box", dim=2, kernel=Matern(0.3), noise_std=0.1, norm_bound=2.0, horizon=50)
GRID = np.stack(np.meshgrid(*[np.linspace(0, 1, 201)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
IDS = ("GP-UCB", "GP-EI", "GP-TS")


def fed(id: str, n: int = 15, problem: Problem = PROBLEM, **kwargs: Any) -> agents.Agent:
    """An agent that has seen noisy feedback at `n` points."""
    agent = begun(problem, id, **kwargs)
    rng = np.random.default_rng(1)
    for t, x in enumerate(rng.random((n, problem.dim))):
        agent.observe(Feedback.of([t], x[None], [np.sin(5 * x[0]) + x[1] + 0.1 * rng.standard_normal()]))
    return agent


def posterior(agent: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation on the grid, by the textbook formula."""
    X, y, kernel = agent.beliefs.X, agent.beliefs.y, PROBLEM.kernel
    assert kernel is not None
    K = np.linalg.inv(kernel(X, X) + 0.01 * np.eye(len(X)))
    C = kernel(GRID, X)
    return C @ K @ y, np.sqrt(kernel.diag(GRID) - np.einsum("ij,jk,ik->i", C, K, C))


@pytest.mark.parametrize("width", ["theory", "practical", "bayes", 2.0])
def test_gp_ucb_maximises_its_bound(width: object) -> None:
    agent: Any = fed("GP-UCB", width=width)
    m, s = posterior(agent)
    x = agent.select(1, Pending.empty(PROBLEM))
    mean, half = agent.predict(x)
    assert mean + half >= (m + agent.current_width * s).max() - 1e-9
    np.testing.assert_allclose(agent.predict(GRID)[1], agent.current_width * s, rtol=1e-6)


def test_gp_ei_maximises_expected_improvement() -> None:
    agent: Any = fed("GP-EI")
    m, s = posterior(agent)
    incumbent = agent.beliefs.posterior.at(agent.beliefs.X)[0].max()
    score = LogExpectedImprovement(incumbent)
    mean, half = agent.predict(agent.select(1, Pending.empty(PROBLEM)))
    assert score(mean, half / 1.96)[0] >= score(m, s).max() - 1e-9


def test_gp_ts_chooses_as_often_as_the_posterior_says() -> None:
    """On two far-apart hills of which one is better with a known probability."""
    agent: Any = agents.make("GP-TS", n_features=256, candidates=64, starts=1)
    problem = replace(PROBLEM, dim=1, kernel=SE(0.05), noise_std=0.5)
    agent.reset(problem, np.random.default_rng(0))
    X = np.repeat([[0.2], [0.8]], 3, axis=0)
    y = np.array([4.0, 4.1, 4.2, 4.1, 4.0, 4.6])
    agent.observe(Feedback.of(np.arange(6), X, y))
    picks = np.array([agent.select(1, Pending.empty(problem))[0, 0] for _ in range(300)])
    assert ((np.abs(picks - 0.2) < 0.2) | (np.abs(picks - 0.8) < 0.2)).all()
    right = float(np.mean(picks > 0.5))
    # By joint draws of the exact posterior on a grid.
    grid = np.linspace(0, 1, 201)[:, None]
    C, K = problem.kernel(grid, X), problem.kernel(X, X) + 0.25 * np.eye(6)  # type: ignore[misc]
    mean = C @ np.linalg.solve(K, y)
    covariance = problem.kernel(grid, grid) - C @ np.linalg.solve(K, C.T)  # type: ignore[misc]
    draws = np.random.default_rng(2).multivariate_normal(mean, covariance, 4_000, method="eigh")
    expected = float(np.mean(grid[draws.argmax(axis=1), 0] > 0.5))
    assert 0.5 < expected < 0.95
    assert abs(right - expected) < 4 * np.sqrt(expected * (1 - expected) * (1 / 300 + 1 / 4_000))


def test_theory_width_uses_the_gain_of_the_data() -> None:
    agent: Any = fed("GP-UCB", delta=0.1)
    X = agent.beliefs.X
    K = PROBLEM.kernel(X, X)  # type: ignore[misc]
    gain = 0.5 * np.linalg.slogdet(np.eye(len(X)) + K / 0.01)[1]
    assert agent.diagnostics()["information_gain"] == pytest.approx(gain)
    context = WidthContext(
        t=16, n_arms=0, lam=0.01, noise_std=0.1, norm_bound=2.0, delta=0.1, information_gain=float(gain)
    )
    assert agent.diagnostics()["width"] == pytest.approx(InformationGain()(context))
    d_eff = np.trace(K @ np.linalg.inv(K + 0.01 * np.eye(len(X))))
    assert agent.diagnostics()["d_eff"] == pytest.approx(d_eff)


@pytest.mark.parametrize("id", IDS)
def test_better_than_uniform(id: str) -> None:
    """Simple regret after 25 evaluations of a prior sample, at most a fifth of that of uniform points."""
    ours, uniform = [], []
    for seed in range(4):
        env: Any = gym.make("GPBandit/GPSample-v0", n_arms=None, dim=2, lengthscale=0.3, noise_std=0.02, n_features=128)
        env.reset(seed=seed)
        problem = replace(problem_of(env), horizon=25)
        agent = begun(
            problem, id, **({"width": 2.0} if id == "GP-UCB" else {"candidates": 128, "starts": 2}), seed=seed
        )
        regrets = []
        for t in range(25):
            x = agent.select(1, Pending.empty(problem))
            _, y, _, _, info = env.step(x[0])
            agent.observe(Feedback.of([t], x, [y]))
            regrets.append(info["oracle"]["regret"])
        ours.append(min(regrets))
        uniform.append(env.unwrapped.optimum - env.unwrapped.mean(np.random.default_rng(seed).random((25, 2))).max())
        assert env.unwrapped.optimum - env.unwrapped.mean(np.array([agent.recommend()]))[0] < 2 * uniform[-1]
    assert np.mean(ours) < 0.2 * np.mean(uniform)


@pytest.mark.parametrize("id", IDS)
def test_one_id_for_arms_and_boxes(id: str) -> None:
    agent = begun(PROBLEM, id)
    assert agent.select(1, Pending.empty(PROBLEM)).shape == (1, 2)
    arms = replace(PROBLEM, arms=np.random.default_rng(0).random((20, 2)))
    agent.reset(arms, np.random.default_rng(0))
    assert agent.select(1, Pending.empty(arms)).dtype.kind == "i"
    assert isinstance(agent.recommend(), int)
    with pytest.raises(ValueError, match=r"kernel: box offers none; give one"):
        agent.reset(replace(PROBLEM, kernel=None), np.random.default_rng(0))


def test_ei_on_arms_is_the_textbook_formula() -> None:
    from scipy.special import ndtr

    X = np.random.default_rng(0).random((40, 2))
    problem = replace(PROBLEM, arms=X)
    agent = begun(problem, "GP-EI")
    pulls, rewards = [3, 17, 17, 8], [0.4, 1.0, 0.7, -0.2]
    for t, (arm, y) in enumerate(zip(pulls, rewards, strict=True)):
        agent.observe(Feedback.of([t], np.array([arm]), [y]))
    K = np.linalg.inv(PROBLEM.kernel(X[pulls], X[pulls]) + 0.01 * np.eye(4))  # type: ignore[misc]
    C = PROBLEM.kernel(X, X[pulls])  # type: ignore[misc]
    m, s = C @ K @ rewards, np.sqrt(1 - np.einsum("ij,jk,ik->i", C, K, C))
    z = (m - m[pulls].max()) / s
    improvement = s * (z * ndtr(z) + np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi))
    assert agent.select(1, Pending.empty(problem))[0] == np.argmax(improvement)


@pytest.mark.parametrize("id", IDS)
def test_integers_are_played_at_their_levels(id: str) -> None:
    domain = Domain((Dimension(1, 4, integer=True), Dimension(0.0, 1.0)))
    problem = replace(PROBLEM, notes={"domain": domain.to_spec()})
    agent = fed(id, problem=problem, candidates=32, starts=2)
    for _ in range(5):
        x = agent.select(1, Pending.empty(problem))
        assert x[0, 0] in {0.125, 0.375, 0.625, 0.875}
    fresh = begun(problem, id, n_start=2)
    assert fresh.select(1, Pending.empty(problem))[0, 0] in {0.125, 0.375, 0.625, 0.875}
    np.testing.assert_array_equal(np.asarray(fresh.recommend())[1], 0.5)


@pytest.mark.parametrize("schedule", [BBKBTheorem2(), LogDeterminant(), InformationGain(), EffectiveDimension()])
def test_a_schedule_is_the_same_on_arms_and_on_their_box(schedule: WidthSchedule) -> None:
    X = np.random.default_rng(0).random((10, 2))
    forms: list[Any] = []
    for problem, actions in ((PROBLEM, X), (replace(PROBLEM, arms=X), np.arange(10))):
        agent = begun(problem, "GP-UCB", width=schedule)
        for t in range(10):
            agent.observe(Feedback.of([t], actions[t : t + 1], [0.3]))
        forms.append(agent)
    box, finite = (agent.diagnostics()["width"] for agent in forms)
    assert box == pytest.approx(finite, rel=1e-9)
    again = begun(PROBLEM, "GP-UCB", width=schedule, seed=1)
    again.load_state_dict(forms[0].state_dict())
    assert again.diagnostics()["width"] == box


@pytest.mark.parametrize("id", IDS)
def test_the_band_is_of_one_width_on_arms_and_boxes(id: str) -> None:
    for problem in (PROBLEM, replace(PROBLEM, arms=GRID[:5])):
        settings: Any = {"width": 1.96} if id == "GP-UCB" else {}
        agent = begun(problem, id, **settings)
        prediction: Any = agent.predict(GRID[:5])
        np.testing.assert_allclose(prediction[1], 1.96)
        assert agent.diagnostics()["width"] == 1.96


@pytest.mark.parametrize("id", IDS)
def test_failed_evaluations_teach_nothing(id: str) -> None:
    agent: Any = fed(id)
    before = agent.predict(GRID[:5])
    action = agent.select(1, Pending.empty(PROBLEM))
    agent.observe(Feedback(np.array([20]), action, np.array([np.nan]), np.ones(1), np.array([True])))
    np.testing.assert_array_equal(agent.predict(GRID[:5]), before)


@pytest.mark.parametrize(
    ("id", "kwargs", "words"),
    [
        ("GP-EI", {"n_start": -1}, "n_start: expected an integer >= 0, got -1"),
        ("GP-TS", {"candidates": 0}, "candidates: expected an integer >= 1, got 0"),
        ("GP-TS", {"starts": 1.5}, "starts: expected an integer >= 1"),
        ("GP-TS", {"n_features": 0}, "n_features: expected an integer >= 1"),
        ("GP-EI", {"lam": -1.0}, "lam: expected a finite number > 0"),
    ],
)
def test_bad_arguments(id: str, kwargs: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        agents.make(id, **kwargs)


@pytest.mark.parametrize("width", [FiniteBayes(), Scaled(FiniteBayes(), 0.5), NonAdaptive()])
@pytest.mark.parametrize("id", ["GP-UCB", "EC-GP-UCB"])
def test_widths_that_count_arms_are_for_arms(id: str, width: WidthSchedule) -> None:
    agent = begun(replace(PROBLEM, arms=GRID[:5]), id, width=width)
    with pytest.raises(ValueError, match=r"width: expected CompactBayes\(\), a name or a number, as .* is a box, got "):
        agent.reset(PROBLEM, np.random.default_rng(0))


@pytest.mark.parametrize("id", ["EC-GP-UCB", "RGP-UCB"])
def test_bayes_on_a_box_is_that_of_a_compact_set(id: str) -> None:
    one, other = begun(PROBLEM, id, width="bayes"), begun(PROBLEM, id, width=CompactBayes())
    assert one.diagnostics() == other.diagnostics()


def test_thompson_sampling_needs_a_kernel_with_features() -> None:
    with pytest.raises(TypeError, match="random features need an SE, Matern or rational quadratic kernel"):
        agents.make("GP-TS").reset(replace(PROBLEM, kernel=Linear()), np.random.default_rng(0))
