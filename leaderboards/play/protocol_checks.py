"""Checks of an agent's and an environment's answers against the protocol, and the errors that they raise."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from agents import Actions, Agent, Capabilities, Pending
from agents.core.protocol import Need
from gpbandit_envs.problem import Problem
from leaderboards.play.feedback import parse_feedback

__all__ = [
    "AgentError",
    "EnvError",
    "IncompatibleError",
    "RunTimeout",
    "check_actions",
    "check_recommendation",
    "incompatibility",
]

# For each need: the field of the problem that states it, and how one states it in a suite.
_NEEDS: Mapping[Need, tuple[str, Mapping[str, str]]] = {
    "kernel": ("kernel", {"kernel": 'kernel = { name = "se", lengthscale = 1.0 }'}),
    "noise": ("noise_std", {"noise_std": "noise_std = 0.1", "lam": "lam = 0.01"}),
    "horizon": ("horizon", {"horizon": ""}),
    "norm": ("norm_bound", {"norm_bound": "norm_bound = 1.0"}),
    "neighbours": ("neighbours", {"neighbours": ""}),
}


class AgentError(Exception):
    """The agent broke its protocol; the text says what was expected and what came."""


class EnvError(Exception):
    """The environment broke the conventions of bandit environments; the text says which."""


class IncompatibleError(Exception):
    """The agent cannot play on the environment under the feedback model; the text says why."""


class RunTimeout(BaseException):
    """The run took longer than it may; no `Exception`, so that an agent that rescues everything is stopped too."""


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
    unstated = [
        need
        for need in sorted(capabilities.needs - agent.arguments_state())
        if getattr(problem, _NEEDS[need][0]) is None
    ]
    if unstated:
        taken = inspect.signature(type(agent)).parameters
        examples = [
            next((example for name, example in _NEEDS[need][1].items() if name in taken and example), "")
            for need in unstated
        ]
        advice = f"; give it, for example, {', '.join(examples)}" if all(examples) else ""
        return (
            f"the agent needs {' and '.join(unstated)}, which neither the problem description nor its arguments "
            f"state{advice}"
        )
    return parse_feedback(feedback).incompatibility(capabilities)


def check_actions(actions: Actions, most: int, exactly: bool, problem: Problem) -> Actions:
    """`actions` as int64 indices `(n,)` or float64 points `(n, d)`.

    Raises:
        AgentError: if they are of another type or shape, too many, too few, or out of range.
    """
    shape = "(n,)" if problem.is_finite else f"(n, {problem.dim})"
    kind = f"an integer array of shape {shape}" if problem.is_finite else f"a float array of shape {shape}"
    if not isinstance(actions, np.ndarray):
        raise AgentError(f"select: expected {kind}, got {type(actions).__name__} {_short(actions)}")
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


def check_recommendation(action: Any, problem: Problem) -> int | np.ndarray:
    """The answer of `recommend`, as an index or a point.

    Raises:
        AgentError: if it is no action of the problem.
    """
    if problem.is_finite:
        if isinstance(action, int | np.integer) and not isinstance(action, bool) and 0 <= action < problem.n_arms:
            return int(action)
        raise AgentError(f"recommend: expected an index in [0, {problem.n_arms}), got {_short(action)}")
    try:
        point = np.asarray(action)
    except ValueError:  # NumPy's, for rows of unequal length
        point = np.zeros(0)
    if point.shape == (problem.dim,) and point.dtype.kind == "f" and bool(((point >= 0) & (point <= 1)).all()):
        return point
    raise AgentError(f"recommend: expected a point of shape ({problem.dim},) in the unit cube, got {_short(action)}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
