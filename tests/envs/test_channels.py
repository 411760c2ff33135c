"""Channels of feedback: their forms, and when feedback arrives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpbandit_envs.channels import Queue, as_channel


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


@pytest.mark.parametrize(
    "text",
    [
        "",
        "never",
        "on_request:2",
        "batch",
        "batch:0",
        "batch:1.5",
        "delay:-1",
        "delay:x",
        "delay:inf",
        "pareto:2,0",
        "pareto:1,2,3",
    ],
)
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
