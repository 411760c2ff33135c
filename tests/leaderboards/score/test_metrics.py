from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gpbandit_envs.channels import WorkerQueue
from leaderboards.play import measures
from leaderboards.score import metrics

REGRETS = hnp.arrays(np.float64, st.integers(1, 40), elements=st.floats(0, 1e3))


def test_regrets_of_a_run_worked_by_hand() -> None:
    regret = np.array([3.0, 1.0, 2.0, 0.0])
    np.testing.assert_array_equal(measures.cumulative(regret), [3, 4, 6, 6])
    np.testing.assert_array_equal(metrics.average_regret(regret), [3, 2, 2, 1.5])
    np.testing.assert_array_equal(measures.simple_regret(regret), [3, 1, 1, 0])
    np.testing.assert_array_equal(metrics.regret_ratio(regret, np.array([6.0, 0.0, 4.0, 1.0])), [0.5, np.nan, 0.5, 0.0])


def test_runs_are_rows_and_time_is_the_last_axis() -> None:
    regret = np.arange(12.0).reshape(3, 4)[:, ::-1]
    for f in (measures.cumulative, metrics.average_regret, measures.simple_regret):
        np.testing.assert_array_equal(f(regret), [f(row) for row in regret])


@given(REGRETS)
def test_simple_regret_never_rises_and_never_exceeds_the_average(regret: np.ndarray) -> None:
    simple = measures.simple_regret(regret)
    assert (np.diff(simple) <= 0).all()
    assert (simple <= metrics.average_regret(regret) * (1 + 1e-12) + 1e-300).all()
    assert simple[-1] == regret.min()


@given(REGRETS)
def test_the_ratio_to_oneself_is_one(regret: np.ndarray) -> None:
    R = measures.cumulative(regret)
    ratio = metrics.regret_ratio(R, R)
    assert (ratio[R > 0] == 1).all()
    assert np.isnan(ratio[R == 0]).all()


def test_an_unknown_mean_stays_unknown() -> None:
    regret = np.array([1.0, np.nan, 0.5])
    for f in (measures.cumulative, metrics.average_regret, measures.simple_regret):
        np.testing.assert_array_equal(np.isnan(f(regret)), [False, True, True])


def test_inference_regret_holds_the_last_recommendation() -> None:
    x = np.array([np.nan, 2.0, np.nan, np.nan, 1.0, np.nan])
    np.testing.assert_array_equal(measures.inference_regret(x), [np.nan, 2, 2, 2, 1, 1])


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(0, 5))
def test_batch_lengths_are_recovered_whatever_the_batches_are_called(lengths: list[int], skip: int) -> None:
    # A delivery between which nothing was chosen leaves a gap in the numbers.
    names = np.cumsum(1 + skip * (np.arange(len(lengths)) % 2))
    batch = np.repeat(names, lengths)
    np.testing.assert_array_equal(measures.batch_lengths(batch), lengths)
    assert measures.batches_so_far(batch)[-1] == len(lengths)


def test_simulated_time_of_two_batches_on_two_workers_worked_by_hand() -> None:
    cost = np.array([4.0, 1.0, 2.0, 1.0, 5.0, 1.0])
    batch = np.array([1, 1, 1, 1, 2, 2])
    # Worker A: 4; worker B: 1, 2, 1. Then 5 beside 1.
    np.testing.assert_allclose(measures.simulated_time(cost, batch, 2), [4, 4, 4, 4, 9, 9])


def test_equal_costs_take_the_short_way_to_the_same_time() -> None:
    for length, workers in itertools.product((1, 3, 7), (1, 2, 5)):
        batch = 1 + np.arange(20) // length
        equal = measures.simulated_time(np.full(20, 2.0), batch, workers)
        nearly = measures.simulated_time(np.full(20, 2.0) + 1e-12 * np.arange(20), batch, workers)
        np.testing.assert_allclose(equal, nearly, rtol=1e-9)


def test_completion_times_of_two_workers_worked_by_hand() -> None:
    # 0 runs to time 5; on the other worker 1 to 1, then 2 to 3, then 3 to 4, then 4 to 8.
    ends = measures.completion_times(np.array([5.0, 1, 2, 1, 4]), np.array([1, 1, 2, 3, 4]), 2)
    np.testing.assert_array_equal(ends, [5, 1, 3, 4, 8])


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0, 1.5, 7.25]), st.booleans()), min_size=1, max_size=40),
    st.integers(1, 5),
)
def test_completion_times_are_those_of_the_channel(steps: list[tuple[float, bool]], workers: int) -> None:
    """Also where the agent would rather wait, though a worker is free."""
    channel = WorkerQueue(workers)
    batch, ends, deliveries = [], [], 0
    for ticket, (cost, waits) in enumerate(steps):
        if waits and channel.wait():
            deliveries += 1
        batch.append(deliveries + 1)
        ends.append(channel.clock.now + cost)
        channel.start(ticket, cost)
        deliveries += bool(channel.arrived())
    costs = np.array([cost for cost, _ in steps])
    np.testing.assert_array_equal(measures.completion_times(costs, np.array(batch), workers), ends)
    while channel.wait():
        pass
    assert channel.clock.now == max(ends)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: measures.batches_so_far(np.array([1, 3, 2])), "batch: expected non-decreasing"),
        (lambda: measures.simulated_time(-np.ones(3), np.ones(3), 2), "cost: expected finite costs >= 0"),
        (lambda: measures.completion_times(-np.ones(3), np.ones(3), 2), "cost: expected finite costs >= 0"),
        (lambda: measures.completion_times(np.ones(3), np.ones(3), 2), "deliveries of 2 workers, got 1.0 for"),
        (lambda: measures.completion_times(np.ones(3), np.array([1, 3, 4]), 2), "got 3 for evaluation 2"),
    ],
)
def test_bad_input_is_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]
