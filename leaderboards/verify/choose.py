"""Which runs of a results folder are played again."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence

import numpy as np

from leaderboards.store.intact import StoreError
from leaderboards.store.store import Store


def choose(store: Store, rows: Sequence[str] = ()) -> list[str]:
    """Keys of the done runs that `rows` name, or of all.

    Args:
        store: The folder.
        rows: An agent's label, `AGENT@ENVIRONMENT`, or the start of a run's key, each.

    Raises:
        StoreError: if no run is done.
        ValueError: if a row names none.
    """
    runs = store.runs()
    runs = runs[runs["status"] == "done"]
    if runs.empty:
        raise StoreError(f"{store.directory} holds no run that is done")
    if not rows:
        return [str(key) for key in runs.index]
    keys: list[str] = []
    for row in rows:
        named = runs[(runs["agent"] == row) | (runs["agent"] + "@" + runs["env"] == row)]  # labels may hold an @
        found = [str(key) for key in named.index] or [str(key) for key in runs.index if str(key).startswith(row)]
        if not found:
            raise ValueError(
                f"row: no run that is done is named {row!r}; agents are {', '.join(sorted(set(runs['agent'])))}"
            )
        keys += found
    return list(dict.fromkeys(keys))


def sample(keys: Iterable[str], seed: str, share: float = 0.01) -> list[str]:
    """A share of `keys`, at least one, that follows from `seed`: the hash of a commit, which comes after the runs.

    Raises:
        ValueError: if the share is not above 0 and at most 1.
    """
    if not 0 < share <= 1:
        raise ValueError(f"share: expected a number above 0 and at most 1, got {share!r}")
    order = sorted(keys, key=lambda key: hashlib.sha256(f"{seed} {key}".encode()).digest())
    return order[: max(math.ceil(share * len(order)), 1)]


def drawn(keys: Sequence[str], n: int | None, seed: str | None = None) -> list[str]:
    """At most `n` of `keys`: those that follow from `seed`, or chosen evenly without one; None for all.

    Raises:
        ValueError: if `n` is below 1.
    """
    if n is not None and n < 1:
        raise ValueError(f"sample: expected at least 1, got {n}")
    if n is None or n >= len(keys):
        return list(keys)
    if seed is not None:
        return sample(keys, seed, n / len(keys))[:n]
    return [keys[i] for i in np.linspace(0, len(keys) - 1, n).round().astype(int)]
