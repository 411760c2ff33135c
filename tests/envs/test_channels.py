"""Channels in words and numbers, and the delays that they state."""

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
from gpbandit_envs.channels import Queue, WorkerClock, as_channel
from gpbandit_envs.delays import ConstantLaw, Delay, DelayLaw, GeometricLaw, PoissonLaw
from gpbandit_envs.wrappers import DelayedFeedback


def queue(text: str, most: int = 1) -> Queue:
    return as_channel(text).queue(np.random.default_rng(0), most)


def deliveries(found: Queue, costs: list[float]) -> list[list[int]]:
    """Tickets that arrive after each start, waiting when there is no room, and at the end."""
    told = []
    for ticket, cost in enumerate(costs):
        while not found.room():
            told.append(found.wait())
        found.start(ticket, cost)
        told.append(found.arrived())
    while left := found.wait():
        told.append(left)
    return told


BAD = "never on_request:2 batch batch:0 batch:1.5 delay:-1 delay:x delay:inf pareto:2,0 pareto:1,2,3"


@pytest.mark.parametrize("text", ["", *BAD.split()])
def test_bad_texts_say_what_was_expected(text: str) -> None:
    with pytest.raises(ValueError, match="feedback: expected"):
        as_channel(text)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("on_request", {"name": "on_request"}),
        ("batch:1234567", {"name": "batch", "size": 1234567}),
        ("delay:5", {"name": "delay", "steps": 5}),
        ("geometric:33.33333333", {"name": "geometric", "mean": 33.33333333}),
        ("poisson:2.5", {"name": "poisson", "mean": 2.5}),
        ("pareto:1.5,2", {"name": "pareto", "shape": 1.5, "scale": 2}),
        ("pareto:1.5,1", {"name": "pareto", "shape": 1.5}),
        ("workers:3", {"name": "workers", "workers": np.int64(3)}),
    ],
)
def test_a_text_and_a_mapping_mean_the_same(text: str, values: dict[str, Any]) -> None:
    assert as_channel(values) == as_channel(text)
    assert as_channel(values).text == text


def test_on_request() -> None:
    assert queue("on_request").room() == 1
    adaptive = queue("on_request", most=9)
    assert adaptive.room() == 9
    adaptive.start(0, 1.0)
    assert (adaptive.arrived(), adaptive.room(), adaptive.wait()) == ([], 8, [0])


def test_batches_arrive_whole() -> None:
    assert deliveries(queue("batch:2"), [1.0] * 5) == [[], [0, 1], [], [2, 3], [], [4]]


def test_constant_delay_counts_further_evaluations() -> None:
    assert deliveries(queue("delay:0"), [1.0] * 3) == [[0], [1], [2]]
    assert deliveries(queue("delay:2"), [1.0] * 4) == [[], [], [0], [1], [2], [3]]


def test_workers_finish_in_order_of_time() -> None:
    # Two workers: 0 runs to time 5; 1 to 1, then 2 to 3, then 3 to 4, then 4 to 8.
    assert deliveries(queue("workers:2"), [5, 1, 2, 1, 4]) == [[], [1], [2], [3], [0], [4]]


def test_one_worker_is_sequential() -> None:
    assert deliveries(queue("workers:1"), [3, 1, 2]) == [[0], [1], [2]]


def test_no_two_numbers_share_a_text_and_so_a_key() -> None:
    texts = {as_channel(f"geometric:{number}").text for number in (33.3333, 33.33333, 100 / 3, 1e6, 1e6 + 0.5)}
    assert len(texts) == 5
    assert as_channel("delay:5.0").text == "delay:5"


# ---- laws of delays: their moments, and the inequality that a problem states of them ----


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
