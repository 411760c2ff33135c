"""The widths of Flynn and Reeb: ratios of half-widths against the bands that agents state, and regret at full size."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import leaderboards
from agents import Feedback, make
from leaderboards.claims.mixtures import SUITE, ratios
from leaderboards.claims.runs import truth
from leaderboards.play.suite import load_suite

TASKS = ("SE, d = 1", "SE, d = 2", "Matern, d = 3")


def env_of(task: str) -> tuple[str, dict[str, Any]]:
    ref = next(entry.ref for entry in load_suite(SUITE).environments if entry.ref.label == task)
    return ref.id, dict(ref.kwargs)


def regrets(task: str, width: object, repetitions: int = 10) -> np.ndarray:
    """Cumulative regret of each repetition."""
    agent, suite = ("GP-UCB", {"width": width}), load_suite(SUITE)
    runs = [leaderboards.run(env_of(task), agent, r, suite.horizon, seed=suite.seed) for r in range(repetitions)]
    return np.array([run.trace["regret"].sum() for run in runs])


@pytest.mark.parametrize(
    ("task", "width", "expected"),
    [
        ("SE, d = 1", "amm", 23.3),
        pytest.param("SE, d = 2", "dmm", 43.9, marks=pytest.mark.slow),
        pytest.param("Matern, d = 3", "theory", 364.7, marks=pytest.mark.slow),
    ],
)
def test_regret_is_that_of_the_dense_prototype(task: str, width: object, expected: float) -> None:
    """Both are means over ten repetitions of T = 400, the prototype's of other draws."""
    found = regrets(task, width)
    error = np.sqrt(2) * found.std(ddof=1) / np.sqrt(len(found))
    assert abs(found.mean() - expected) < 3 * error


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_dmm_has_at_most_half_the_regret_of_theory_and_is_never_refuted(task: str) -> None:
    """Ten repetitions of each of the three tasks, every arm at every pull: 30 of 30."""
    suite = load_suite(SUITE)
    assert regrets(task, "dmm").mean() <= 0.5 * regrets(task, "theory").mean()
    for repetition in range(10):
        run = leaderboards.run(env_of(task), ("GP-UCB", {"width": "dmm"}), repetition, suite.horizon, seed=suite.seed)
        problem, mean = truth(SUITE, task, repetition)
        found = ratios(problem, mean, run.trace["action"].to_numpy(), run.trace["reward"].to_numpy())
        assert found["AMM over theory"] < 1
        assert found["DMM over theory"] < 1
        assert run.trace["refuted"].max() == 0


def test_ratios_are_those_of_the_bands_that_agents_state() -> None:
    problem, mean = truth(SUITE, "SE, d = 1", 0)
    T = 12
    problem = replace(problem, horizon=T)
    rng = np.random.default_rng(0)
    arms = rng.integers(problem.n_arms, size=T)
    rewards = mean[arms] + 0.1 * rng.standard_normal(T)
    policies: dict[str, Any] = {width: make("GP-UCB", width=width) for width in ("theory", "amm", "dmm")}
    largest = np.zeros(3)
    for agent in policies.values():
        agent.reset(problem, np.random.default_rng(0))
    for t in range(T):
        bands = {}
        for width, agent in policies.items():
            agent.observe(Feedback.of([t], arms[t : t + 1], rewards[t : t + 1]))
            bands[width] = agent.predict(problem.arms)
        half = {width: band[1] for width, band in bands.items()}
        found = (
            (half["amm"] / half["theory"]).max(),
            (half["dmm"] / half["theory"]).max(),
            (half["dmm"] / half["amm"]).max(),
        )
        largest = np.maximum(largest, found)
    np.testing.assert_allclose(list(ratios(problem, mean, arms, rewards).values()), largest, rtol=1e-6)


def test_the_suite_states_norms_exactly_too_large_and_too_small() -> None:
    suite = load_suite(SUITE)
    factors = {dict(entry.ref.kwargs.get("norm_bound") or {}).get("times", 1.0) for entry in suite.agents}
    assert factors == {1.0, 3.0, 0.3333}
    for entry in suite.environments:
        problem, _ = truth(SUITE, str(entry.ref.label), 0)
        assert problem.norm_bound == entry.ref.kwargs["norm"]
        assert problem.knowledge == "oracle"
