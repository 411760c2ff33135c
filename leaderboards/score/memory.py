"""Bytes that an agent holds: the numbers in its arrays, each counted once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpbandit_envs.gp.kernel_rows import KernelRows
from gpbandit_envs.problem import Problem

__all__ = ["held_bytes"]


def held_bytes(thing: Any) -> int:
    """Bytes of all arrays that `thing` reaches through attributes and containers, each memory block once.

    What the problem's card holds is not the agent's. Of kernel rows only those in use count (`KernelRows.nbytes`): the
    rest of their blocks is address space, of which the system has given no page. Python's own objects are left out.
    """
    total = 0
    seen: set[int] = set()
    stack = [thing]
    card = _arrays_of_cards(thing)
    while stack:
        this = stack.pop()
        if isinstance(this, np.ndarray):
            while isinstance(this.base, np.ndarray):
                this = this.base
        if id(this) in seen or id(this) in card or isinstance(this, Problem | type | str | bytes):
            continue
        seen.add(id(this))
        if isinstance(this, np.ndarray | KernelRows):
            total += this.nbytes
        elif isinstance(this, Mapping):
            stack += [*this.keys(), *this.values()]
        elif isinstance(this, list | tuple | set | frozenset):
            stack += this
        elif hasattr(this, "__dict__") and not callable(this):
            stack += vars(this).values()
    return total


def _arrays_of_cards(thing: Any) -> set[int]:
    """Identities of the blocks that belong to the card that the agent keeps, if it keeps one under that name."""
    problem = getattr(thing, "problem", None)
    if not isinstance(problem, Problem):
        return set()
    blocks = set()
    for array in (problem.arms, problem.neighbours):
        while isinstance(array, np.ndarray):
            blocks.add(id(array))
            array = array.base
    return blocks
