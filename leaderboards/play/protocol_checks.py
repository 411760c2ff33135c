"""Checks of what an environment answers, of what fits together, and whose fault an error is.

What an agent answers is checked by `agents.core.turns`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any

import gymnasium as gym
import numpy as np
from jaxtyping import Bool, Float

from agents import Agent, Capabilities
from agents.core.protocol import PROBLEM_FIELDS, Need
from agents.core.turns import AgentError, unfit_for
from gpbandit_envs.arguments import LARGEST, moderate, shown
from gpbandit_envs.channels import Channel, as_channel
from gpbandit_envs.problem import Problem
from gpbandit_envs.wrappers import BatchFeedback, DelayedFeedback

# For each need, how an agent states it in a suite, by the name of its argument.
_EXAMPLES: Mapping[Need, Mapping[str, str]] = {
    "kernel": {"kernel": 'kernel = { name = "se", lengthscale = 1.0 }'},
    "noise": {"noise_std": "noise_std = 0.1", "lam": "lam = 0.01"},
    "horizon": {},
    "norm": {"norm_bound": "norm_bound = 1.0"},
    "neighbours": {},
    "drift": {"eps": "eps = 0.01", "block": "block = 40"},
}


class EnvError(Exception):
    """The environment broke the conventions of bandit environments; the text says which."""


class IncompatibleError(Exception):
    """The agent cannot play on the environment under the feedback model; the text says why."""


class RunTimeout(BaseException):
    """The run took longer than it may; no `Exception`, so that an agent that rescues everything is stopped too."""


class _Side:
    """One side of a run, as a context: what is raised inside was raised by its code."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.note = f"Raised by the {name} of the run."

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        # Ctrl-C and signals come while some code runs, which has not raised them.
        if error is not None and not isinstance(error, KeyboardInterrupt) and raised_by(error) is None:
            error.add_note(self.note)


AGENT, ENVIRONMENT = _Side("agent"), _Side("environment")


def raised_by(error: BaseException) -> str | None:
    """`"agent"` or `"environment"`, whose code raised `error`; None if neither did."""
    notes = getattr(error, "__notes__", ())
    return next((side.name for side in (AGENT, ENVIRONMENT) if side.note in notes), None)


def incompatibility(agent: Agent, problem: Problem, feedback: str) -> str | None:
    """Why `agent` cannot play on `problem` under `feedback`; None if it can.

    Raises:
        AgentError: if the agent does not state its capabilities.
    """
    capabilities: object = getattr(agent, "capabilities", None)
    if not isinstance(capabilities, Capabilities):
        raise AgentError(
            f"capabilities: expected an agents.Capabilities on the class {type(agent).__name__}, got {capabilities!r}"
        )
    domain = "finite" if problem.is_finite else "box"
    if domain not in capabilities.domains:
        return f"the agent plays on {' and '.join(sorted(capabilities.domains))} domains, the environment's is {domain}"
    if problem.contexts and not capabilities.contexts:
        return "each step offers only some of the arms, and the agent selects among all of them"
    unstated = [
        need
        for need in sorted(capabilities.needs - agent.arguments_state())
        if getattr(problem, PROBLEM_FIELDS[need]) is None
    ]
    if unstated:
        taken = inspect.signature(type(agent)).parameters
        examples = [
            next((example for name, example in _EXAMPLES[need].items() if name in taken), "") for need in unstated
        ]
        advice = f"; give it, for example, {', '.join(examples)}" if all(examples) else ""
        return (
            f"the agent needs {' and '.join(unstated)}, which neither the problem description nor its arguments "
            f"state{advice}"
        )
    return unfit_for(as_channel(feedback), capabilities)


def check_offer(info: Any, n_arms: int) -> Bool[np.ndarray, " A"]:
    """Which arms the coming step offers, from the information of `reset` or `step`.

    Raises:
        EnvError: if it does not hold a mask of all arms that offers at least one.
    """
    mask = info.get("action_mask") if isinstance(info, Mapping) else None
    if not isinstance(mask, np.ndarray) or mask.shape != (n_arms,) or mask.dtype.kind not in "iub":
        raise EnvError(f"info['action_mask']: expected an int8 array of shape ({n_arms},), got {shown(mask)}")
    offered: Bool[np.ndarray, " A"] = mask != 0
    if not offered.any():
        raise EnvError("info['action_mask']: expected at least one arm to be offered, got none")
    return offered


def check_step(
    answer: Any, evaluation: int, action: Any, optimum_known: bool = True
) -> tuple[float, float, bool, float, float, bool]:
    """The answer of `env.step` to the action of an evaluation, counted from 1.

    An environment that states no optimum may leave the regret out of its oracle.

    Returns:
        Reward (NaN where the evaluation failed), cost, whether it failed, mean and regret (NaN where they are not
        told), and whether the episode has ended.

    Raises:
        EnvError: if it is no answer of a step, or a number in it is missing, not finite or too large.
    """
    try:
        _, reward, terminated, truncated, info = answer
    except (TypeError, ValueError):
        raise EnvError(
            f"step: expected (observation, reward, terminated, truncated, info), got {shown(answer)}"
            f"{at(evaluation, action)}"
        ) from None
    if type(info) is not dict and not isinstance(info, Mapping):
        raise EnvError(f"step: expected a dict as info, got {shown(info)}{at(evaluation, action)}")
    try:
        failed, ended = bool(info.get("failed", False)), bool(terminated or truncated)
    except (TypeError, ValueError):
        what = (terminated, truncated, info.get("failed", False))
        raise EnvError(
            f"step: expected terminated, truncated and info['failed'] to be true or false, got {shown(what)}"
            f"{at(evaluation, action)}"
        ) from None
    value = math.nan if failed else _as_float(reward)
    if not (failed or -LARGEST <= value <= LARGEST):
        raise _no_number("a finite reward or info['failed']", reward, evaluation, action)
    cost = _as_float(info.get("cost", 1.0))
    if not 0.0 <= cost <= LARGEST:
        raise _no_number("a finite info['cost'] >= 0", info["cost"], evaluation, action)
    mean = regret = math.nan
    oracle = info.get("oracle")
    if oracle is not None:
        try:
            mean = _as_float(oracle["mean"])
            told = optimum_known or "regret" in oracle
            regret = _as_float(oracle["regret"]) if told else 0.0
        except (KeyError, TypeError, IndexError):
            mean = math.nan
        if not (-LARGEST <= mean <= LARGEST and -2 * LARGEST <= regret <= 2 * LARGEST):
            raise _no_number("info['oracle'] with a finite 'mean' and 'regret'", oracle, evaluation, action)
        regret = regret if told else math.nan
    return value, cost, failed, mean, regret, ended


def check_means(means: Any, n: int) -> Float[np.ndarray, " n"]:
    """The means of all arms that an environment states for scoring.

    Raises:
        EnvError: if they are not `n` finite numbers.
    """
    try:
        array = np.asarray(means, np.float64)
    except (TypeError, ValueError):
        array = np.zeros(0)
    if array.shape != (n,):
        raise EnvError(f"mean: expected {n} numbers, one an action, got {shown(means)}")
    if not moderate(array):
        bad = int(np.argmin(np.abs(array) <= LARGEST))
        raise EnvError(f"mean: expected finite numbers up to {LARGEST:g} in size, got {array[bad]} for action {bad}")
    return array


def check_fact(name: str, value: Any) -> float:
    """A number that an environment states of its instance.

    Raises:
        EnvError: if it is no finite number.
    """
    number = _as_float(value)
    if not -LARGEST <= number <= LARGEST:
        raise EnvError(f"{name}: expected a finite number up to {LARGEST:g} in size, got {shown(value)}")
    return number


def _as_float(value: Any) -> float:
    """`value` as a float; NaN if it is no real number, such as text."""
    if type(value) is float:
        return value
    if isinstance(value, str | bytes | complex):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _no_number(expected: str, value: Any, evaluation: int, action: Any) -> EnvError:
    number = _as_float(value)
    got = shown(value) if math.isnan(number) and not isinstance(value, float) else f"{number!r}"
    size = f", beyond {LARGEST:g}" if math.isfinite(number) and abs(number) > LARGEST else ""
    return EnvError(f"step: expected {expected}, got {got}{size}{at(evaluation, action)}")


def at(evaluation: int, action: Any) -> str:
    """Where an error of a step is."""
    return f" for evaluation {evaluation} (action {np.asarray(action).tolist()})"


# ---- what a channel of feedback is to agents, problems and readers ----


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
    if isinstance(layer, DelayedFeedback) and layer.channel.name == "on_request":
        raise TypeError(
            "env: in DelayedFeedback(delay='on_request') the action asks for feedback, which no agent does; give "
            "the environment inside it, whose feedback='on_request' is the default"
        )
    if feedback is not None and as_channel(feedback) != layer.channel:
        raise ValueError(f"feedback: expected {layer.channel.text!r}, as the {name} around env says, got {feedback!r}")
    return layer.env, layer.channel.text
