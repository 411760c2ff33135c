"""Checks of an agent's and an environment's answers against the protocol, and the errors that they raise."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from agents import Actions, Agent, Capabilities, Pending
from agents.core.protocol import PROBLEM_FIELDS, Need
from gpbandit_envs.arguments import LARGEST, moderate, shown
from gpbandit_envs.channels import as_channel
from gpbandit_envs.problem import Problem
from leaderboards.play.feedback import unfit_for

__all__ = [
    "AGENT",
    "ENVIRONMENT",
    "AgentError",
    "EnvError",
    "IncompatibleError",
    "RunTimeout",
    "at",
    "check_actions",
    "check_fact",
    "check_means",
    "check_offer",
    "check_recommendation",
    "check_step",
    "incompatibility",
    "raised_by",
]

# For each need, how an agent states it in a suite, by the name of its argument.
_EXAMPLES: Mapping[Need, Mapping[str, str]] = {
    "kernel": {"kernel": 'kernel = { name = "se", lengthscale = 1.0 }'},
    "noise": {"noise_std": "noise_std = 0.1", "lam": "lam = 0.01"},
    "horizon": {},
    "norm": {"norm_bound": "norm_bound = 1.0"},
    "neighbours": {},
    "drift": {"eps": "eps = 0.01", "block": "block = 40"},
}


class AgentError(Exception):
    """The agent broke its protocol; the text says what was expected and what came."""


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


def check_actions(actions: Actions, most: int, exactly: bool, problem: Problem) -> Actions:
    """`actions` as int64 indices `(n,)` or float64 points `(n, d)`.

    Raises:
        AgentError: if they are of another type or shape, too many, too few, or out of range.
    """
    shape = "(n,)" if problem.is_finite else f"(n, {problem.dim})"
    kind = f"an integer array of shape {shape}" if problem.is_finite else f"a float array of shape {shape}"
    if not isinstance(actions, np.ndarray):
        raise AgentError(f"select: expected {kind}, got {type(actions).__name__} {shown(actions)}")
    fits = actions.ndim == 1 if problem.is_finite else actions.ndim == 2 and actions.shape[1] == problem.dim
    if not fits or actions.dtype.kind not in ("iu" if problem.is_finite else "f"):
        if actions.size or len(actions):
            raise AgentError(f"select: expected {kind}, got {actions.dtype} of shape {actions.shape}")
        actions = Pending.empty(problem).actions  # an empty array of any type selects no action
    n = len(actions)
    if n > most or (exactly and n != most):
        expected = f"{most}" if exactly else f"at most {most}"
        raise AgentError(f"select: expected {expected} action{'' if most == 1 else 's'}, got {n}")
    if problem.is_finite:
        bad = (actions < 0) | (actions >= problem.n_arms)
        if bad.any():
            raise AgentError(f"select: expected indices in [0, {problem.n_arms}), got {actions[bad][0]}")
        return actions.astype(np.int64, copy=False)
    inside = (actions >= 0.0) & (actions <= 1.0)  # False for NaN
    if not inside.all():
        row = actions[~inside.all(axis=1)][0]
        raise AgentError(f"select: expected points of the unit cube [0, 1]^{problem.dim}, got {row.tolist()}")
    return actions.astype(np.float64, copy=False)


def check_recommendation(
    action: Any, problem: Problem, offered: Bool[np.ndarray, " A"] | None = None
) -> int | np.ndarray:
    """The answer of `recommend`, as an index or a point.

    Raises:
        AgentError: if it is no action of the problem, or an arm that is not offered.
    """
    if problem.is_finite:
        if isinstance(action, int | np.integer) and not isinstance(action, bool) and 0 <= action < problem.n_arms:
            if offered is not None and not offered[action]:
                raise AgentError(f"recommend: expected an arm that is offered, got {action}")
            return int(action)
        raise AgentError(f"recommend: expected an index in [0, {problem.n_arms}), got {shown(action)}")
    try:
        point = np.asarray(action)
    except ValueError:  # NumPy's, for rows of unequal length
        point = np.zeros(0)
    if point.shape == (problem.dim,) and point.dtype.kind == "f" and bool(((point >= 0) & (point <= 1)).all()):
        return point
    raise AgentError(f"recommend: expected a point of shape ({problem.dim},) in the unit cube, got {shown(action)}")


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
