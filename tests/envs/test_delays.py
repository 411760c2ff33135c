"""Laws of delays: their moments, and the inequality that a problem states of them."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import logsumexp

import gpbandit_envs
from gpbandit_envs.channels import WorkerClock
from gpbandit_envs.delays import ConstantLaw, Delay, DelayLaw, GeometricLaw, PoissonLaw
from gpbandit_envs.wrappers import DelayedFeedback

MEANS = (0.3, 1.0, 20.0, 50.0)
LAWS: list[tuple[GeometricLaw | PoissonLaw, object]] = [
    *((GeometricLaw(m), stats.geom(1 / (1 + m), loc=-1)) for m in MEANS),
    *((PoissonLaw(m), stats.poisson(m)) for m in MEANS),
]


@pytest.mark.parametrize(("law", "scipy"), LAWS, ids=[str(law) for law, _ in LAWS])
def test_the_stated_inequality_holds_and_is_tight(law: GeometricLaw | PoissonLaw, scipy: object) -> None:
    stated = law.stated
    n = np.arange(int(60 * (1 + stated.mean)) + 200)
    log_p = scipy.logpmf(n)  # type: ignore[attr-defined]
    s = np.linspace(-1, 1, 41)[:, None] / stated.tail
    centred = logsumexp(log_p + s * (n - stated.mean), axis=1)
    bound = (s[:, 0] * stated.scale) ** 2 / 2
    assert (centred <= bound * (1 + 1e-9) + 1e-12).all()
    assert centred[-1] == pytest.approx(bound[-1], rel=1e-6), "at s = 1 / tail nothing less would do"


@pytest.mark.parametrize(("law", "scipy"), LAWS, ids=[str(law) for law, _ in LAWS])
def test_draws_follow_the_law(law: DelayLaw, scipy: object) -> None:
    rng = np.random.default_rng(0)
    draws = np.array([law.draw(rng) for _ in range(3_000)])
    found = stats.ks_1samp(draws, scipy.cdf)  # type: ignore[attr-defined]
    assert draws.min() >= 0
    assert found.statistic < scipy.pmf(scipy.median()) + 1.95 / np.sqrt(len(draws))  # type: ignore[attr-defined]


def test_a_delay_that_is_certain_has_no_tail() -> None:
    rng = np.random.default_rng(0)
    assert ConstantLaw(4).stated == Delay(mean=4)
    assert (ConstantLaw(4).draw(rng), PoissonLaw(0).draw(rng), GeometricLaw(0).draw(rng)) == (4, 0, 0)
    assert PoissonLaw(0).stated == GeometricLaw(0).stated == Delay(mean=0)


def test_the_setting_of_the_experiments_covers_a_mean_of_fifty() -> None:
    # Poisson delays of mean 50 are run with xi = 9 and b = 1.
    assert PoissonLaw(50).stated.tail == 1
    assert 8.4 < PoissonLaw(50).stated.scale <= 9


@pytest.mark.parametrize("bad", [-1.0, float("inf"), float("nan")])
def test_bad_numbers_are_named(bad: float) -> None:
    for name in ("mean", "scale", "tail"):
        with pytest.raises(ValueError, match=f"{name}: expected a finite number >= 0"):
            Delay(**{"mean": 1.0, name: bad})
    for law in (GeometricLaw, PoissonLaw):
        with pytest.raises(ValueError, match="mean: expected a finite number >= 0"):
            law(bad)
    with pytest.raises(ValueError, match="steps: expected"):
        ConstantLaw(bad)


def test_the_problem_of_a_wrapped_environment_states_its_delay() -> None:
    def stated(delay: Any) -> Delay | None:
        return gpbandit_envs.problem_of(DelayedFeedback(gym.make("GPBandit/GPSample-v0"), delay=delay)).delay

    assert stated(3) == Delay(mean=3)
    assert stated({"name": "poisson", "mean": 2.0}) == PoissonLaw(2).stated
    assert stated({"name": "workers", "workers": 3}) is None
    assert gpbandit_envs.problem_of(gym.make("GPBandit/GPSample-v0")).delay is None


def test_a_worker_clock_worked_by_hand() -> None:
    """A works from 0 to 5; B from 0 to 1, from 1 to 3 and from 3 to 5. Then nothing is left to wait for."""
    clock = WorkerClock(2)
    assert [clock.start(5.0), clock.free, clock.start(1.0), clock.free, clock.now] == [5.0, 1, 1.0, 0, 0.0]
    assert [clock.start(2.0), clock.now, clock.free] == [3.0, 1.0, 0]
    assert [clock.wait(), clock.free, clock.start(2.0), clock.wait(), clock.free, clock.wait()] == [3, 1, 5, 5, 2, 5]


def test_a_free_worker_does_not_make_time_pass_even_for_nothing() -> None:
    clock = WorkerClock(3)
    assert [clock.start(0.0), clock.free, clock.now, clock.wait(), clock.free] == [0.0, 2, 0.0, 0.0, 3]


@given(st.lists(st.floats(0, 10), min_size=1, max_size=30), st.integers(1, 5))
def test_an_evaluation_starts_when_one_of_the_workers_is_done(costs: list[float], workers: int) -> None:
    """Graham's list scheduling, from its definition: each job on the machine of least load."""
    clock, load = WorkerClock(workers), [0.0] * workers
    for cost in costs:
        least = load.index(min(load))
        load[least] += cost
        assert clock.start(cost) == load[least]
