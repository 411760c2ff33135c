"""Play without noise: the figures behind its claims."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import agents
from agents import Feedback, Pending
from leaderboards.claims.claim import Claim
from leaderboards.claims.noise_free import CLAIMS, SUITE, predictors
from leaderboards.claims.runs import Runs, truth
from leaderboards.play.suite import load_suite


def runs(row: str, regret: np.ndarray, action: np.ndarray | None = None) -> Runs:
    return Runs(
        {
            row: {
                r: pd.DataFrame({"regret": regret, "action": np.arange(len(regret)) if action is None else action})
                for r in range(2)
            }
        }
    )


def claim(name: str) -> Claim:
    return next(one for one in CLAIMS if one.name == name)


def test_predictors_give_the_mean_of_the_policy_that_pulled() -> None:
    problem, mean = truth(SUITE, "Matern 3", 0)
    agent = agents.make("MVR")
    agent.reset(problem, np.random.default_rng(0))
    pulls = []
    for t in range(30):
        arm = agent.select(1, Pending.empty(problem))
        agent.observe(Feedback.of([t], arm, mean[arm]))
        pulls.append(int(arm[0]))
    assert problem.arms is not None
    expected, _ = agent.predict(problem.arms) or (np.nan, np.nan)
    early, late = predictors(problem, np.array(pulls), np.array([10, 30]))
    np.testing.assert_allclose(late @ mean[pulls], expected, atol=1e-7)
    assert early.shape == (problem.n_arms, 10)
    # Interpolation: the feedback itself comes back at the pulled arms.
    np.testing.assert_allclose(early[pulls[:10]], np.eye(10), atol=1e-5)


@pytest.mark.parametrize(("power", "verdict"), [(0.3, "agrees"), (0.9, "disagrees")])
def test_the_growth_of_regret_is_its_power_of_t(power: float, verdict: str) -> None:
    t = np.arange(1, 401)
    growth = replace(claim("pe-regret-matern-1"), exact=True)  # both runs are the same
    made = growth.check(runs("PE@Matern 1", np.diff(t**power, prepend=0)))
    assert made.interval.estimate == pytest.approx(power)
    assert made.verdict == verdict


def test_the_ranges_are_those_of_the_theorem_s_laws() -> None:
    """Slopes between the two ends, worked out by hand."""
    high = {one.name: one.expected.high for one in CLAIMS}
    assert high["pe-regret-matern-1"] == pytest.approx(0.5 + np.log(np.log(400) / np.log(100)) / np.log(4), abs=1e-3)
    assert high["pe-regret-matern-2"] == pytest.approx(2 * high["pe-regret-matern-3"], abs=2e-3)
    assert high["pe-regret-se"] == high["pe-regret-matern-3"]
    for nu in (1, 2, 3):
        assert -nu / 2 < high[f"mvr-simple-regret-matern-{nu}"] < -0.7 * nu / 2


def test_the_errors_of_mvr_fall_as_those_of_any_fixed_design() -> None:
    """A design that never moves resolves nothing: the slope is 0, and the claim fails."""
    stuck = runs("MVR@Matern 1", np.ones(400), np.zeros(400, np.int64))
    made = claim("mvr-simple-regret-matern-1").check(stuck)
    assert made.interval.estimate == pytest.approx(0.0, abs=0.01)
    assert made.verdict == "disagrees"


def test_the_suite_states_no_noise_and_widths_are_the_norm() -> None:
    suite = load_suite(SUITE)
    assert {entry.ref.label for entry in suite.environments} == {"SE", "Matern 1", "Matern 2", "Matern 3"}
    for entry in suite.environments:
        problem, mean = truth(SUITE, str(entry.ref.label), 0)
        assert problem.noise_std == 0
        assert problem.norm_bound == 1
        assert problem.horizon == suite.horizon
        assert problem.n_arms >= 10 * suite.horizon
        assert np.abs(mean).max() <= 1  # |f| <= norm sqrt(k)
