from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from agents import Capabilities
from gpbandit_envs.delays import Delay, PoissonLaw
from gpbandit_envs.problem import Problem
from leaderboards.play.feedback import IMMEDIATE, Channel, parse_feedback

FIXED = Capabilities(frozenset({"finite"}), "fixed", delayed=True)
SEQUENTIAL = Capabilities(frozenset({"finite"}), "sequential")
ADAPTIVE = Capabilities(frozenset({"finite"}), "adaptive")


def channel(text: str, capabilities: Capabilities = FIXED, horizon: int = 100) -> Channel:
    return parse_feedback(text).channel(capabilities, horizon, np.random.default_rng(0))


def deliveries(found: Channel, costs: list[float]) -> list[list[int]]:
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
        "on_request",
        "batch:4",
        "delay:0",
        "delay:7",
        "geometric:2.5",
        "poisson:0.5",
        "workers:3",
        "batch:1234567",
        "geometric:33.33333333",
    ],
)
def test_text_round_trip(text: str) -> None:
    assert parse_feedback(text).text == text


@pytest.mark.parametrize(
    "text",
    ["", "never", "on_request:2", "batch", "batch:0", "batch:1.5", "delay:-1", "delay:x", "delay:inf"],
)
def test_bad_texts_say_what_was_expected(text: str) -> None:
    with pytest.raises(ValueError, match="feedback: expected"):
        parse_feedback(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("on_request", "feedback on request"),
        ("batch:1", "feedback after each evaluation"),
        ("batch:10", "batches of 10"),
        ("delay:30", "delay 30"),
        ("poisson:2.5", "Poisson delay of mean 2.5"),
        ("workers:1", "one worker"),
        ("workers:4", "4 workers"),
    ],
)
def test_a_rule_in_words(text: str, words: str) -> None:
    assert parse_feedback(text).words == words


def test_on_request() -> None:
    assert channel("on_request", SEQUENTIAL).room() == 1
    assert channel("on_request", FIXED).room() == 1
    adaptive = channel("on_request", ADAPTIVE, horizon=9)
    assert adaptive.room() == 9
    adaptive.start(0, 1.0)
    assert (adaptive.arrived(), adaptive.room(), adaptive.wait()) == ([], 8, [0])


def test_batches_arrive_whole() -> None:
    assert deliveries(channel("batch:2"), [1.0] * 5) == [[], [0, 1], [], [2, 3], [], [4]]


def test_constant_delay_counts_further_evaluations() -> None:
    assert deliveries(channel("delay:0"), [1.0] * 3) == [[0], [1], [2]]
    assert deliveries(channel("delay:2"), [1.0] * 4) == [[], [], [0], [1], [2], [3]]


# Variances m + m^2 and m; almost all of the 4000 have arrived.
@pytest.mark.parametrize(("text", "variance"), [("geometric:3", 12.0), ("poisson:3", 3.0), ("poisson:0", 0.0)])
def test_random_delays_have_the_stated_moments_and_are_the_same_for_all(text: str, variance: float) -> None:
    def arrivals() -> dict[int, int]:
        found = channel(text)
        told: dict[int, int] = {}
        for ticket in range(4000):
            found.start(ticket, 1.0)
            told |= dict.fromkeys(found.arrived(), ticket)
        return told

    first, second = arrivals(), arrivals()
    assert first == second
    delays = np.array([now - ticket for ticket, now in first.items()])
    assert delays.mean() == pytest.approx(float(text[-1]), abs=4 * np.sqrt(variance / len(delays)))
    assert delays.var() == pytest.approx(variance, rel=0.2)


def test_the_problem_states_the_delay_of_the_feedback() -> None:
    problem = Problem(name="p", dim=1)
    for text in ("on_request", "batch:4", "workers:2"):
        assert parse_feedback(text).stated(problem) is problem
    assert parse_feedback("delay:5").stated(problem).delay == Delay(mean=5)
    assert parse_feedback("poisson:50").stated(problem).delay == PoissonLaw(50).stated
    own = replace(problem, delay=Delay(mean=1.0))
    assert parse_feedback("geometric:2").stated(own) is own


def test_workers_finish_in_order_of_time() -> None:
    # Two workers: 0 runs to time 5; 1 to 1, then 2 to 3, then 3 to 4, then 4 to 8.
    assert deliveries(channel("workers:2"), [5, 1, 2, 1, 4]) == [[], [1], [2], [3], [0], [4]]


def test_one_worker_is_sequential() -> None:
    assert deliveries(channel("workers:1"), [3, 1, 2]) == [[0], [1], [2]]


def test_incompatible_agents_get_their_reason() -> None:
    reason = "the agent is sequential and feedback comes in batches of 2"
    assert parse_feedback("batch:2").incompatibility(SEQUENTIAL) == reason
    assert "delayed" in str(parse_feedback("delay:2").incompatibility(ADAPTIVE))
    for text, fits in (
        ("batch:1", SEQUENTIAL),
        ("batch:5", ADAPTIVE),
        ("workers:2", FIXED),
        ("on_request", SEQUENTIAL),
        *((f"{name}:{int(number)}", SEQUENTIAL) for name, number in IMMEDIATE.items()),
    ):
        assert parse_feedback(text).incompatibility(fits) is None


def test_no_two_numbers_share_a_text_and_so_a_key() -> None:
    texts = {parse_feedback(f"geometric:{number}").text for number in (33.3333, 33.33333, 100 / 3, 1e6, 1e6 + 0.5)}
    assert len(texts) == 5
    assert parse_feedback("delay:5.0").text == "delay:5"
    assert "batches of 1234567" in str(parse_feedback("batch:1234567").incompatibility(SEQUENTIAL))
