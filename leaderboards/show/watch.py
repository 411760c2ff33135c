"""A running suite in the terminal: progress, failures, speed, time left and the ranking so far."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from leaderboards.play.store import Store
from leaderboards.play.suite import Suite
from leaderboards.score.scores import RunScores
from leaderboards.score.summary import Summary, summarise
from leaderboards.text import duration

__all__ = ["Watcher", "watch"]

_SPAN = 300.0  # seconds over which the speed is measured
_AGENTS_SHOWN = 15
_POINTS = 2  # of each curve: only the end is shown


class Watcher:
    """Progress and ranking of a results folder while it is written; each update reads only new files.

    Args:
        directory: The results folder; it may not be there yet.
        clock: Seconds since 1970.
    """

    def __init__(self, directory: str | os.PathLike[str], clock: Callable[[], float] = time.time) -> None:
        self.store = Store(directory)
        self.clock = clock
        self._reduced: dict[str, RunScores] = {}
        self._suite: Suite | None = None
        self._keys: set[str] = set()

    def update(self) -> tuple[RenderableType, bool]:
        """The current view, and whether every run of the suite has been tried."""
        summary = summarise(self.store, _POINTS, self._reduced)
        runs = summary.runs
        wanted = self._keys_of(summary.suite)
        ended = len(runs) if wanted is None else len(wanted.intersection(runs.index))
        parts: list[RenderableType] = [Text(f"{self.store.directory}", style="bold")]
        counts = ", ".join(f"{n} {status}" for status, n in runs["status"].value_counts().items()) or "nothing yet"
        if wanted is None:
            parts.append(Text(f"{counts}{self._pace(runs, None)}"))
        else:
            parts.append(ProgressBar(total=len(wanted), completed=ended, width=60))
            parts.append(Text(f"{counts} of {len(wanted)}{self._pace(runs, len(wanted) - ended)}"))
        ranking = _ranking(summary)
        if ranking is not None:
            parts.append(ranking)
        return Group(*parts), wanted is not None and ended == len(wanted)

    def _keys_of(self, suite: Suite | None) -> set[str] | None:
        """Keys of the runs of the suite; worked out anew only if the suite has changed."""
        if suite is None:
            return None
        if suite != self._suite:
            self._suite, self._keys = suite, {spec.key for spec in suite.specs()}
        return self._keys

    def speed(self, runs: pd.DataFrame) -> float:
        """Runs per second over the last few minutes."""
        if not len(runs):
            return 0.0
        finished = runs["finished"].to_numpy(np.float64)
        now = self.clock()
        recent = finished[finished > now - _SPAN]
        if not len(recent):
            return 0.0
        # From the start of the first of them: a folder that is ten seconds old has not been slow for five minutes.
        first = float((finished - runs["seconds"].to_numpy(np.float64))[finished > now - _SPAN].min())
        return len(recent) / max(now - max(first, now - _SPAN), 1.0)

    def _pace(self, runs: pd.DataFrame, missing: int | None) -> str:
        speed = self.speed(runs)
        if missing == 0:
            return ""
        if speed == 0:
            return "; nothing has finished in the last minutes"
        left = "" if missing is None else f", about {duration(missing / speed)} left"
        return f"; {speed * 60:.1f} runs a minute{left}"


def _ranking(summary: Summary) -> Table | None:
    """Mean regret ratio so far, over the repetitions that the uniform policy has finished too; best agents first."""
    ratios: dict[str, dict[str, float]] = {}
    counts: Counter[str] = Counter()
    # Runs from before the suite was edited are apart: perhaps of the same name, and of another horizon or seed.
    tasks = [task.name for task in summary.tasks.values() if task.in_suite]
    for task in tasks:
        for agent, scores in summary.on(task).items():
            ratio = scores.finals["regret_ratio"]
            paired = ratio[np.isfinite(ratio)]
            if len(paired):
                ratios.setdefault(agent, {})[task] = float(paired.mean())
                counts[agent] += len(paired)
    if not ratios:
        return None
    shown = [task for task in tasks if any(task in on_task for on_task in ratios.values())]
    table = Table(title="regret ratio so far", title_justify="left", box=None, pad_edge=False)
    table.add_column("agent")
    for task in shown:
        table.add_column(escape(task), justify="right")
    table.add_column("runs", justify="right")
    ranked = sorted(ratios, key=lambda agent: np.mean(list(ratios[agent].values())))
    for agent in ranked[:_AGENTS_SHOWN]:
        texts = [f"{ratios[agent][task]:.3f}" if task in ratios[agent] else "–" for task in shown]
        table.add_row(escape(agent), *texts, str(counts[agent]))
    return table


def watch(
    directory: str | os.PathLike[str], interval: float = 2.0, console: Console | None = None, once: bool = False
) -> None:
    """Show a running suite until it is complete or the user stops it with Ctrl-C.

    Args:
        directory: The results folder.
        interval: Seconds between two updates.
        console: Where to show it; by default the terminal. Where that is none, the view is printed once.
        once: Print the view once and return.
    """
    if interval <= 0:
        raise ValueError(f"interval: expected a number of seconds > 0, got {interval!r}")
    console = console or Console()
    watcher = Watcher(Path(directory))
    view, complete = watcher.update()
    if once or not console.is_terminal:
        console.print(view)
        return
    with Live(view, console=console, refresh_per_second=4) as live:
        try:
            while not complete:
                time.sleep(interval)
                view, complete = watcher.update()
                live.update(view)
        except KeyboardInterrupt:
            pass  # the way to leave
