"""What a channel of feedback is to agents, problems and readers; see `gpbandit_envs.channels`.

An agent that selects no action lets time pass until the next arrival.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium as gym

from agents import Capabilities
from gpbandit_envs.channels import Channel, as_channel
from gpbandit_envs.problem import Problem
from gpbandit_envs.wrappers import BatchFeedback, DelayedFeedback

__all__ = ["inside_feedback", "stated_with", "unfit_for", "words_of"]


def words_of(channel: Channel) -> str:
    """The channel for readers, such as "batches of 10"."""
    number = channel.text.partition(":")[2]
    immediate = {"batch": "feedback after each evaluation", "workers": "one worker"}
    if channel.is_immediate and channel.name in immediate:
        return immediate[channel.name]
    return {
        "on_request": "feedback on request",
        "batch": f"batches of {number}",
        "workers": f"{number} workers",
        "delay": f"delay {number}",
        "geometric": f"geometric delay of mean {number}",
        "poisson": f"Poisson delay of mean {number}",
        "pareto": f"Pareto delay of shape and scale {number.replace(',', ' and ')}",
    }[channel.name]


def unfit_for(channel: Channel, capabilities: Capabilities) -> str | None:
    """Why an agent cannot play with a channel; None if it can."""
    if channel.is_immediate or channel.name == "on_request":
        return None
    if channel.name == "batch":
        sequential = capabilities.batch == "sequential"
        return f"the agent is sequential and feedback comes in {words_of(channel)}" if sequential else None
    return None if capabilities.delayed else f"the agent cannot act under delayed feedback ({channel.text})"


def stated_with(channel: Channel, problem: Problem) -> Problem:
    """`problem` with what a policy may know of the delay; one that states a delay of its own keeps it."""
    return problem if channel.stated is None or problem.delay is not None else replace(problem, delay=channel.stated)


def inside_feedback(env: Any, feedback: str | None = None) -> tuple[Any, str]:
    """The environment inside a `BatchFeedback` or `DelayedFeedback`, and the channel of that wrapper, as text.

    The observation's `capacity` does not count, since all that has arrived is delivered at once.

    Args:
        env: An environment; anything else is returned as it is.
        feedback: The channel that was asked for besides; None for none, which is `on_request` without a wrapper.

    Raises:
        TypeError: if the wrapper is no such channel, or something else is around it.
        ValueError: if `feedback` is another channel than that of the wrapper.
    """
    around: list[gym.Env[Any, Any]] = []
    layer = env
    while isinstance(layer, gym.Wrapper) and not isinstance(layer, BatchFeedback | DelayedFeedback):
        around += [layer] if not isinstance(layer, gym.wrappers.OrderEnforcing | gym.wrappers.PassiveEnvChecker) else []
        layer = layer.env
    if not isinstance(layer, BatchFeedback | DelayedFeedback):
        return env, "on_request" if feedback is None else feedback
    name = type(layer).__name__
    if around:
        raise TypeError(f"env: expected nothing around {name}, got {type(around[0]).__name__}; put it inside")
    if isinstance(layer, DelayedFeedback):
        if layer.channel.name == "on_request":
            raise TypeError(
                "env: in DelayedFeedback(delay='on_request') the action asks for feedback, which no agent does; give "
                "the environment inside it, whose feedback='on_request' is the default"
            )
        if not layer.drain:
            raise TypeError("env: expected DelayedFeedback(drain=True), which a run does, got drain=False")
        if layer.batches is not None:
            raise TypeError("env: expected DelayedFeedback around single evaluations, got it around BatchFeedback")
    if feedback is not None and as_channel(feedback) != layer.channel:
        raise ValueError(f"feedback: expected {layer.channel.text!r}, as the {name} around env says, got {feedback!r}")
    return layer.env, layer.channel.text
