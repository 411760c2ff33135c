"""The widths of Flynn and Reeb: ratios of half-widths against the bands that agents state."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from agents import Feedback, make
from leaderboards.claims.mixtures import SUITE, ratios
from leaderboards.claims.runs import truth
from leaderboards.play.suite import load_suite


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
