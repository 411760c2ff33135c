"""What an agent answers, held to the protocol: for the harness, and for `check_agent`."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Bool

from agents.core.protocol import Action, Actions, Pending
from gpbandit_envs.arguments import shown
from gpbandit_envs.problem import Problem

__all__ = ["AgentError", "check_actions", "check_recommendation"]


class AgentError(Exception):
    """The agent broke its protocol; the text says what was expected and what came."""


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


def check_recommendation(action: Any, problem: Problem, offered: Bool[np.ndarray, " A"] | None = None) -> Action:
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
