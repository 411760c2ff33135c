"""Play runs again and compare: the same trace, or where it first differs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from leaderboards.play.make import not_here
from leaderboards.play.run_file import origin
from leaderboards.play.schedule import run_missing
from leaderboards.play.store import Store
from leaderboards.play.workers import Executor

__all__ = ["TOLERANCE", "Verdict", "compare", "verify"]

TOLERANCE = 1e-9
"""Relative and absolute tolerance where another CPU or another library build may round differently."""

_CLOCK = ("policy_seconds",)


@dataclass(frozen=True)
class Verdict:
    """Result of playing a run again.

    Attributes:
        key: The run.
        agrees: Whether the traces agree; None if the run cannot be played here, which tells nothing of it.
        exact: Whether they had to agree bit for bit, since machine and libraries are the same.
        text: What was found, in one line.
    """

    key: str
    agrees: bool | None
    exact: bool
    text: str


def verify(store: Store, keys: Iterable[str], scratch: Path, executor: Executor) -> Iterator[Verdict]:
    """Play the runs `keys` again, in the empty folder `scratch`, and compare; what agrees is marked as verified.

    Raises:
        KeyError: if there is no such run.
        OSError: if a folder cannot be written.
    """
    specs = {key: store.spec(key) for key in keys}
    away = {key: reason for key, spec in specs.items() if (reason := not_here(spec)) is not None}
    again = Store(scratch)
    run_missing([spec for key, spec in specs.items() if key not in away], again, executor)
    agreed = []
    for key in specs:
        verdict = Verdict(key, None, False, away[key]) if key in away else _judge(store, again, key)
        agreed += [key] if verdict.agrees else []
        yield verdict
    if agreed:
        store.mark_verified(agreed)


def compare(one: pd.DataFrame, other: pd.DataFrame, tolerance: float = 0.0) -> str | None:
    """Where two traces first differ, by more than `tolerance` (relative and absolute); None if nowhere."""
    if len(one) != len(other):
        return f"{len(one)} evaluations against {len(other)}"
    missing = set(one.columns) ^ set(other.columns)
    if missing:
        return f"column {min(missing)} is in one trace only"
    first: tuple[int, str] | None = None
    for name in one.columns:
        if name in _CLOCK:
            continue
        a, b = one[name].to_numpy(), other[name].to_numpy()
        equal = np.isclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True) if tolerance else _same(a, b)
        if not equal.all():
            row = int(np.argmin(equal))
            if first is None or row < first[0]:
                first = (row, name)
    if first is None:
        return None
    row, name = first
    return f"{name} differs first at t = {row + 1}: {one[name].iloc[row]!r} against {other[name].iloc[row]!r}"


def _judge(store: Store, again: Store, key: str) -> Verdict:
    before = store.entry(key)
    exact = before.origin.rounding == origin().rounding
    played = again.keys()
    if key not in played:
        return Verdict(key, False, exact, "could not be played again")
    now = again.entry(key)
    if now.status != before.status:
        return Verdict(key, False, exact, f"was {before.status}, is now {now.status}: {now.reason}")
    difference = compare(store.trace(key), again.trace(key), 0.0 if exact else TOLERANCE)
    if difference is not None:
        return Verdict(key, False, exact, difference)
    if not exact:
        return Verdict(key, True, exact, f"equal within {TOLERANCE:g} on another machine")
    return Verdict(key, True, exact, "identical")


def _same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a == b) | (np.isnan(a) & np.isnan(b)) if a.dtype.kind == "f" else a == b
