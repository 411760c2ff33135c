"""How far a schedule is: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from leaderboards.play.work import Outcome

__all__ = ["ProgressReport", "duration"]

_LINE_SECONDS = 10.0
_REFRESH_SECONDS = 0.2


class ProgressReport:
    """Tells how many runs have ended, how many of them not well, and how long the rest will take.

    Args:
        total: Number of runs.
        before: How many of them had ended before.
        console: Where to write; nothing is written without one.
    """

    def __init__(self, total: int, before: int, console: Console | None) -> None:
        self.total = total
        self.ended = before
        self.bad: Counter[str] = Counter()
        self._console = console
        self._started = time.monotonic()
        self._last = self._started
        self._bar: Progress | None = None
        if console is not None and console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[note]}"),
                console=console,
            )
            self._task = self._bar.add_task("runs", total=total, completed=before, note="")

    def __enter__(self) -> ProgressReport:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def add(self, outcome: Outcome, seconds_left: Callable[[], float | None]) -> None:
        """One more run has ended; `seconds_left` tells the expected time for the rest, None if unknown."""
        self.ended += 1
        if outcome.status != "done":
            self.bad[outcome.status] += 1
        now = time.monotonic()
        every = _REFRESH_SECONDS if self._bar is not None else _LINE_SECONDS
        if self._console is None or (now - self._last < every and self.ended < self.total):
            return
        self._last = now
        note = ", ".join(f"{n} {status}" for status, n in sorted(self.bad.items()))
        left = seconds_left()
        if left is not None and self.ended < self.total:
            note += f"{', ' if note else ''}about {duration(left)} left"
        if self._bar is not None:
            self._bar.update(self._task, completed=self.ended, note=note)
        else:
            took = duration(now - self._started)
            line = f"{self.ended} of {self.total} runs, {took}{', ' if note else ''}{note}"
            self._console.print(line, highlight=False, markup=False, soft_wrap=True)


def duration(seconds: float) -> str:
    """Seconds as people say them: `7 s`, `12 min`, `3 h 20 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
