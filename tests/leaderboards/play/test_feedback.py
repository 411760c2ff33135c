"""Channels as the harness takes them: which agents fit, what a problem states, words, and wrapped environments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium as gym
import pandas as pd
import pytest

import leaderboards
from agents import Capabilities
from gpbandit_envs.channels import IMMEDIATE, as_channel
from gpbandit_envs.delays import Delay, PoissonLaw
from gpbandit_envs.problem import Problem
from gpbandit_envs.wrappers import BatchFeedback, DelayedFeedback
from leaderboards.play.protocol_checks import stated_with, unfit_for, words_of

FIXED = Capabilities(frozenset({"finite"}), "fixed", delayed=True)
SEQUENTIAL = Capabilities(frozenset({"finite"}), "sequential")
ADAPTIVE = Capabilities(frozenset({"finite"}), "adaptive")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("on_request", "feedback on request"),
        ("batch:1", "feedback after each evaluation"),
        ("batch:10", "batches of 10"),
        ("delay:30", "delay 30"),
        ("poisson:2.5", "Poisson delay of mean 2.5"),
        ("pareto:1.5,2", "Pareto delay of shape and scale 1.5 and 2"),
        ("workers:1", "one worker"),
        ("workers:4", "4 workers"),
    ],
)
def test_a_rule_in_words(text: str, words: str) -> None:
    assert words_of(as_channel(text)) == words


def test_the_problem_states_the_delay_of_the_feedback() -> None:
    problem = Problem(name="p", dim=1)
    for text in ("on_request", "batch:4", "workers:2"):
        assert stated_with(as_channel(text), problem) is problem
    assert stated_with(as_channel("delay:5"), problem).delay == Delay(mean=5)
    assert stated_with(as_channel("poisson:50"), problem).delay == PoissonLaw(50).stated
    own = replace(problem, delay=Delay(mean=1.0))
    assert stated_with(as_channel("geometric:2"), own) is own


def test_incompatible_agents_get_their_reason() -> None:
    reason = "the agent is sequential and feedback comes in batches of 2"
    assert unfit_for(as_channel("batch:2"), SEQUENTIAL) == reason
    assert "delayed" in str(unfit_for(as_channel("delay:2"), ADAPTIVE))
    for text, fits in (
        ("batch:1", SEQUENTIAL),
        ("batch:5", ADAPTIVE),
        ("workers:2", FIXED),
        ("on_request", SEQUENTIAL),
        *((f"{name}:{int(number)}", SEQUENTIAL) for name, number in IMMEDIATE.items()),
    ):
        assert unfit_for(as_channel(text), fits) is None
    assert "batches of 1234567" in str(unfit_for(as_channel("batch:1234567"), SEQUENTIAL))


ENV: tuple[str, dict[str, Any]] = ("GPBandit/GPSample-v0", {"n_arms": 30, "lengthscale": 0.2})
AGENT = ("GP-BUCB", {"width": 2.0, "batch_size": 4})


@pytest.mark.parametrize(
    ("wrap", "text"),
    [
        (lambda env: BatchFeedback(env, 4), "batch:4"),
        (lambda env: DelayedFeedback(env, 3), "delay:3"),
        (lambda env: DelayedFeedback(env, {"name": "geometric", "mean": 2.5}), "geometric:2.5"),
        (lambda env: gym.wrappers.OrderEnforcing(DelayedFeedback(env, "pareto:1.5,2")), "pareto:1.5,2"),
        (lambda env: DelayedFeedback(env, "workers:3"), "workers:3"),
    ],
)
def test_a_wrapped_environment_is_played_with_the_channel_of_its_wrapper(wrap: Any, text: str) -> None:
    wrapped = wrap(gym.make(ENV[0], **ENV[1], max_episode_steps=20))
    stated = leaderboards.run(ENV, AGENT, 1, horizon=20, feedback=text)
    for found in (leaderboards.run(wrapped, AGENT, 1), leaderboards.run(wrapped, AGENT, 1, feedback=text)):
        assert (found.status, found.spec.key, found.spec.feedback) == ("done", stated.spec.key, text)
        clocks = ["policy_seconds"]
        pd.testing.assert_frame_equal(found.trace.drop(columns=clocks), stated.trace.drop(columns=clocks))


@pytest.mark.parametrize(
    ("wrap", "error", "message"),
    [
        (lambda env: DelayedFeedback(env, "on_request"), TypeError, "the action asks for feedback"),
        (
            lambda env: gym.wrappers.TransformReward(DelayedFeedback(env, 3), lambda reward: reward),
            TypeError,
            "expected nothing around DelayedFeedback, got TransformReward",
        ),
        (
            lambda env: DelayedFeedback(env, 4),
            ValueError,
            "feedback: expected 'delay:4', as the DelayedFeedback around env says, got 'delay:3'",
        ),
    ],
)
def test_a_wrapper_that_is_no_channel_is_refused(wrap: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        leaderboards.run(wrap(gym.make(ENV[0], **ENV[1])), AGENT, feedback="delay:3")
