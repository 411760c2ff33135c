"""Play runs again and compare: the same trace, or where it first differs.

- identical: every number is the same, bit for bit; nothing less will do on the same machine and libraries.
- agrees: on another machine. Every number is within `TOLERANCE`; or the traces part at a choice of the agent, where
  rounding breaks a tie, and the mean regret over `FEWEST` or more repetitions is the same within `MARGIN`.
- disagrees: anything else.

Where traces part without a choice, as at a reward that is not the one that the environment pays for that action, no
rounding explains it, on any machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from leaderboards.play.kept import CLOCK
from leaderboards.play.make import not_here
from leaderboards.play.run_file import origin
from leaderboards.play.schedule import run_missing
from leaderboards.play.store import Store
from leaderboards.play.workers import Executor

__all__ = ["FEWEST", "MARGIN", "TOLERANCE", "Level", "Verdict", "compare", "parting", "settled", "verify"]

TOLERANCE = 1e-9
"""Relative and absolute tolerance where another CPU or another library build may round differently."""

MARGIN = 0.1
"""Largest mean difference of the cumulative regret, as a share of that of the record, after traces have parted."""

FEWEST = 5
"""Fewest repetitions of an agent on a task from which that is judged."""

_PAID = ("reward", "mean", "regret", "cost")  # by the environment, for an action

Level = Literal["identical", "agrees", "disagrees"]


@dataclass(frozen=True)
class Verdict:
    """Result of playing a run again.

    Attributes:
        key: The run.
        level: What was found; None if the run cannot be played here, which tells nothing of it.
        exact: Whether the traces had to agree bit for bit, since machine and libraries are the same.
        text: The same in one line.
        parted: Cumulative regret of the record and of the new trace, where they part at a choice on another machine;
            None where nothing is open.
    """

    key: str
    level: Level | None
    exact: bool
    text: str
    parted: tuple[float, float] | None = None

    @property
    def agrees(self) -> bool | None:
        """Whether the run is what its record says; None if it cannot be played here."""
        return None if self.level is None else self.level != "disagrees"


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
    verdicts = settled(
        [Verdict(key, None, False, away[key]) if key in away else _judge(store, again, key) for key in specs],
        {key: spec.pair for key, spec in specs.items()},
    )
    agreed = [verdict.key for verdict in verdicts if verdict.agrees]
    if agreed:
        store.mark_verified(agreed)
    yield from verdicts


def settled(verdicts: Iterable[Verdict], pairs: Mapping[str, str]) -> list[Verdict]:
    """The verdicts, those that were open settled by the regret over the repetitions of each pair.

    Args:
        verdicts: Of single runs.
        pairs: By key, text that is equal for the repetitions of an agent on a task.
    """
    verdicts = list(verdicts)
    totals: dict[str, list[tuple[float, float]]] = {}
    for verdict in verdicts:
        if verdict.parted is not None:
            totals.setdefault(pairs[verdict.key], []).append(verdict.parted)
    return [
        verdict if verdict.parted is None else _settle(verdict, np.array(totals[pairs[verdict.key]]))
        for verdict in verdicts
    ]


def _settle(verdict: Verdict, totals: np.ndarray) -> Verdict:
    n = len(totals)
    if n < FEWEST:
        text = f"{verdict.text}; that is not judged from {n} repetitions, but from {FEWEST} or more"
        return replace(verdict, level="disagrees", text=text)
    before, now = totals.mean(axis=0)
    share = abs(now - before) / max(abs(before), np.finfo(float).tiny)
    found = f"{verdict.text}; over {n} repetitions the regret differs by {share:.1%}"
    return replace(verdict, level="agrees" if share <= MARGIN else "disagrees", text=found)


def parting(one: pd.DataFrame, other: pd.DataFrame) -> int | None:
    """How many evaluations two traces have in common before an agent chose otherwise.

    None if it never did, or if the environment paid something else before, which rounding does not explain.
    """
    actions = _actions(one)
    if len(one) != len(other) or not actions or any(name not in other for name in (*actions, *_PAID)):
        return None
    chosen = np.all([np.isclose(one[name], other[name], rtol=TOLERANCE, atol=TOLERANCE) for name in actions], axis=0)
    if chosen.all():
        return None
    row = int(np.argmin(chosen))
    same = all(
        np.allclose(one[name][:row], other[name][:row], rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
        for name in _PAID
    )
    return row if same else None


def compare(one: pd.DataFrame, other: pd.DataFrame, tolerance: float = 0.0) -> str | None:
    """Where two traces first differ, by more than `tolerance` (relative and absolute); None if nowhere."""
    if len(one) != len(other):
        return f"{len(one)} evaluations against {len(other)}"
    missing = set(one.columns) ^ set(other.columns)
    if missing:
        return f"column {min(missing)} is in one trace only"
    first: tuple[int, str] | None = None
    for name in one.columns:
        if name in CLOCK:
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
    a, b = (trace[name].iloc[row : row + 1].tolist()[0] for trace in (one, other))  # numbers of Python
    hint = " (does it draw from self.rng alone?)" if name in _actions(one) else ""
    return f"{name} differs first at t = {row + 1}: {a!r} against {b!r}{hint}"


def _actions(trace: pd.DataFrame) -> list[str]:
    """The columns that say what the agent chose."""
    return [name for name in trace.columns if name == "action" or name.startswith("action_")]


def _judge(store: Store, again: Store, key: str) -> Verdict:
    before = store.entry(key)
    exact = before.origin.rounding == origin().rounding
    played = again.keys()
    if key not in played:
        return Verdict(key, "disagrees", exact, "could not be played again")
    now = again.entry(key)
    if now.status != before.status:
        return Verdict(key, "disagrees", exact, f"was {before.status}, is now {now.status}: {now.reason}")
    one, other = store.trace(key), again.trace(key)
    difference = compare(one, other, 0.0 if exact else TOLERANCE)
    if difference is None:
        text = "identical" if exact else f"equal within {TOLERANCE:g} on another machine"
        return Verdict(key, "identical" if exact else "agrees", exact, text)
    row = None if exact else parting(one, other)
    if row is None:
        return Verdict(key, "disagrees", exact, difference)
    return Verdict(key, "agrees", exact, f"agrees to evaluation {row}", (_total(one), _total(other)))


def _total(trace: pd.DataFrame) -> float:
    """Cumulative regret; where the optimum is unknown, against a best mean of 0."""
    regret = trace["regret"].to_numpy()
    return float(regret.sum() if np.isfinite(regret).all() else -trace["mean"].sum())


def _same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a == b) | (np.isnan(a) & np.isnan(b)) if a.dtype.kind == "f" else a == b
