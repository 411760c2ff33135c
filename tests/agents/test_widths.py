"""Each schedule against its formula, worked out by hand for one context."""

from __future__ import annotations

from dataclasses import replace
from math import log, pi, sqrt

import pytest

from agents.core import widths
from agents.core.widths import WidthContext

CONTEXT = WidthContext(
    t=7,
    n_arms=20,
    lam=0.04,
    noise_std=0.1,
    norm_bound=3.0,
    delta=0.05,
    prior_variance=1.5,
    information_gain=2.5,
    effective_dimension=4.0,
    sum_log_leverage=1.7,
    sum_log_3_leverage=2.9,
    batch_ratio=2.0,
)

FORMULAS = [
    (widths.Constant(1.96), 1.96),
    (widths.FiniteBayes(), 2 * sqrt(2 * log(20 * 49 * pi**2 / 0.3))),
    (widths.InformationGain(), 2 * (3 + 0.5 * sqrt(2 * (2.5 + 1 + log(20))))),
    (widths.BKBTheorem2(), (0.2 * sqrt(3 * log(10.5) * 4 + log(20)) + (1 + sqrt(2)) * 0.2 * 3) / 0.2),
    (widths.BKBTheorem2(eps=0.75), (0.2 * sqrt(7 * log(10.5) * 4 + log(20)) + 3 * 0.2 * 3) / 0.2),
    (widths.BBKBTheorem2(), 2 * (0.2 * sqrt(2.9 + log(20)) + (1 + sqrt(2)) * 0.2 * 3) / 0.2),
    (widths.EffectiveDimension(), 3 + 0.5 * sqrt(log(7) * 4 + log(20))),
    (widths.LogDeterminant(), 3 + 0.5 * sqrt(2 * 1.7 + log(20))),
]


@pytest.mark.parametrize(("schedule", "value"), FORMULAS, ids=lambda x: str(x)[:24])
def test_formula(schedule: widths.WidthSchedule, value: float) -> None:
    assert schedule(CONTEXT) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("schedule", [schedule for schedule, _ in FORMULAS], ids=lambda x: str(x)[:24])
def test_the_first_step_is_defined(schedule: widths.WidthSchedule) -> None:
    first = replace(CONTEXT, t=1, information_gain=0.0, effective_dimension=0.0, prior_variance=1e-3)
    assert 0 <= schedule(first) < float("inf")


def test_the_two_scales_agree() -> None:
    """`beta` on the leverage scale times `sqrt(lev)` is the width times the standard deviation."""
    variance = 0.09
    beta = 0.2 * sqrt(2.9 + log(20)) + (1 + sqrt(2)) * sqrt(0.04) * 3
    width = widths.BBKBTheorem2()(replace(CONTEXT, batch_ratio=1.0))
    assert beta * sqrt(variance / 0.04) == pytest.approx(width * sqrt(variance))
