"""Existing data: evaluations from before the first step, and their leverage scores for a confidence width."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from gpbandit_envs.gp.linalg import jittered_cholesky
from gpbandit_envs.problem import InitialData

__all__ = ["Initial", "as_initial", "per_pull_leverage", "sequential_leverage"]

Initial = InitialData | Mapping[str, Any] | None
"""Data from before the first step, on a box `{"points": [[...], ...], "rewards": [...]}` and on arms
`{"arms": [...], "rewards": [...]}`; None for the problem's."""


def as_initial(initial: Initial) -> InitialData | None:
    """The data that an argument `initial` stands for.

    Raises:
        TypeError: if it is no mapping.
        ValueError: if it has other keys than `rewards` and either `arms` or `points`, or they do not fit together.
    """
    if initial is None or isinstance(initial, InitialData):
        return initial
    if not isinstance(initial, Mapping):
        raise TypeError(f"initial: expected {{'arms': [...], 'rewards': [...]}} or None, got {initial!r}")
    if set(initial) not in ({"arms", "rewards"}, {"points", "rewards"}):
        raise ValueError(
            f"initial: expected the keys 'arms' (on a box 'points') and 'rewards', got {sorted(map(str, initial))}"
        )
    try:
        return InitialData(**{key: np.asarray(values) for key, values in initial.items()})
    except ValueError as error:
        raise ValueError(f"initial: {error}") from None


def sequential_leverage(
    K: Float[np.ndarray, "u u"], pulls: Float[np.ndarray, " u"], lam: float | Float[np.ndarray, " u"]
) -> Float[np.ndarray, " u"]:
    """The leverage score of each arm given all pulls of the arms before it, in O(u^3).

    Args:
        K: Prior covariance of distinct arms, shape (u, u).
        pulls: Pulls of each, shape (u,), > 0.
        lam: Noise variance of one pull, the same for all arms or one for each.
    """
    L, _ = jittered_cholesky(K + np.diag(lam / pulls))
    return np.maximum(np.diagonal(L) ** 2 - lam / pulls, 0.0) / lam


def per_pull_leverage(
    reducible: Float[np.ndarray, " u"], rest: Float[np.ndarray, " u"], pulls: Float[np.ndarray, " u"]
) -> Float[np.ndarray, " n"]:
    """The leverage score of every single pull, from that of each arm before its first one.

    Args:
        reducible: The part that pulls of the arm reduce: `a / (1 + j a)` is left after j of them; shape (u,).
        rest: The part that they do not reduce, shape (u,); 0 for an exact posterior.
        pulls: Pulls of each, shape (u,).
    """
    before = np.concatenate([np.arange(n) for n in pulls])
    a, r = (np.repeat(part, pulls.astype(np.int64)) for part in (reducible, rest))
    return np.asarray(r + a / (1 + before * a))
