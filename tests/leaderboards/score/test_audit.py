from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from leaderboards.score.audit import Audit, AuditError, audit, share

SMALL = ("GPBandit/GPSample-v0", {"n_arms": 40, "dim": 1})


def test_a_band_without_width_fails() -> None:
    found = audit(SMALL, ("GP-UCB", {"width": 0.0}), repetitions=12, horizon=20, delta=0.1, n_times=8)
    assert found.coverage().estimate == 0
    assert not found.passes
    assert found.slack().estimate == 0
    assert not found.slack().is_known
    assert found.unpromised == "a tuned width is promised nothing"


def test_a_correct_bayesian_band_on_draws_from_the_prior_holds() -> None:
    found = audit(SMALL, ("GP-UCB", {"width": "bayes", "delta": 0.1}), repetitions=20, horizon=40, n_times=10)
    assert found.coverage().high >= 0.9
    assert found.passes
    assert found.delta == 0.1
    assert not found.unpromised
    assert found.slack().low > 1
    assert found.first_exit() is None
    assert found.looks["t"].max() == 40
    assert found.looks.groupby("repetition").size().eq(found.looks["t"].nunique()).all()


@pytest.mark.slow
def test_on_draws_from_the_prior_a_band_holds_as_often_as_the_normal_distribution_says() -> None:
    # Two arms that tell nothing of each other, looked at once: both are inside with probability P(|z| <= width)^2.
    apart = ("GPBandit/GPSample-v0", {"n_arms": 2, "dim": 1, "lengthscale": 0.01})
    looks = audit(apart, ("GP-UCB", {"width": 1.0}), repetitions=250, horizon=3, n_times=2).looks
    needed = looks.loc[looks["t"] == 3, "needed"]
    for width in (0.5, 1.0, 1.6, 2.0):
        held = share(int((needed <= width).sum()), 250, level=0.99)
        assert (2 * scipy.stats.norm.cdf(width) - 1) ** 2 in held


def test_one_standard_deviation_is_left_by_some_arm_sooner_or_later() -> None:
    found = audit(SMALL, ("GP-UCB", {"width": 1.0}), repetitions=15, horizon=40, delta=0.1, n_times=10)
    assert not found.passes
    assert found.slack().high < 1
    assert found.worst >= 1
    assert 1 <= (found.first_exit() or 0) <= 40


def test_bands_of_batched_agents_are_audited_too() -> None:
    found = audit(SMALL, ("BBKB", {"width": "theory"}), repetitions=2, horizon=60, n_times=6)
    assert len(found.looks) >= 4
    assert np.isfinite(found.looks["half"]).all()


def test_coverage_has_the_exact_binomial_interval() -> None:
    looks = pd.DataFrame({"repetition": [0, 0, 1, 2, 2, 3], "outside": [0, 2, 0, 0, 0, 0], "needed": [1.0] * 6})
    found = Audit(looks, 0.1).coverage()
    expected = scipy.stats.binomtest(3, 4).proportion_ci(method="exact")
    assert (found.estimate, found.low, found.high) == (0.75, expected.low, expected.high)


def test_what_has_no_band_says_so() -> None:
    with pytest.raises(AuditError, match=r"Uniform on .*: the agent states no confidence band"):
        audit(SMALL, "Uniform", repetitions=1, horizon=5)
    with pytest.raises(ValueError, match="repetitions: expected at least 1"):
        audit(SMALL, "GP-UCB", repetitions=0)
    with pytest.raises(ValueError, match="delta: expected a number"):
        audit(SMALL, "GP-UCB", repetitions=1, delta=0)
