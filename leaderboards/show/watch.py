"""A running suite in the terminal: what is done, what failed, how fast, how long still, and who leads so far."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from leaderboards.play.store import Store
from leaderboards.play.suite import parse_suite, unasked
from leaderboards.score.summary import UNIFORM

__all__ = ["Watcher", "watch"]

_SPAN = 300.0  # seconds over which the speed is measured
_AGENTS_SHOWN = 15


class Watcher:
    """What there is to say about a folder that is being written; each look reads only what is new.

    Args:
        directory: The results folder; it may not be there yet.
        clock: Seconds since 1970.
    """

    def __init__(self, directory: str | os.PathLike[str], clock: Callable[[], float] = time.time) -> None:
        self.store = Store(directory)
        self.clock = clock
        self._regret: dict[str, float] = {}
        self._suite: dict[str, Any] | None = None
        self._keys: set[str] = set()

    def look(self) -> tuple[RenderableType, bool]:
        """The view now, and whether everything that the suite asks for has been tried."""
        runs = self.store.runs()
        keys = self._asked()
        asked = None if keys is None else len(keys)
        counts = runs["status"].value_counts()
        ended = len(runs) if keys is None else len(keys.intersection(runs.index))
        parts: list[RenderableType] = [Text(f"{self.store.directory}", style="bold")]
        if asked:
            parts.append(ProgressBar(total=asked, completed=ended, width=60))
        words = ", ".join(f"{n} {status}" for status, n in counts.items()) or "nothing yet"
        parts.append(
            Text(
                f"{words}{f' of {asked}' if asked else ''}{self._pace(runs, None if asked is None else asked - ended)}"
            )
        )
        ranking = self._ranking(runs)
        if ranking is not None:
            parts.append(ranking)
        return Group(*parts), asked is not None and ended == asked

    def _asked(self) -> set[str] | None:
        """Keys of the runs that the suite asks for; worked out anew only if the suite has changed."""
        suite = self.store.suite()
        if suite is None:
            return None
        if suite != self._suite:
            self._suite, self._keys = suite, {spec.key for spec in parse_suite(suite).specs()}
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
        left = "" if missing is None else f", about {_duration(missing / speed)} left"
        return f"; {speed * 60:.1f} runs a minute{left}"

    def _ranking(self, runs: pd.DataFrame) -> Table | None:
        """Mean regret ratio so far, over the repetitions that the uniform policy has finished too."""
        done = runs[runs["status"] == "done"]
        if self._suite is not None:
            # Left from before the suite was edited: perhaps of the same name, and of another horizon or seed.
            specs = {key: entry["spec"] for key, entry in self.store.entries().items()}
            done = done.drop(index=unasked(parse_suite(self._suite), specs), errors="ignore")
        new = [str(key) for key in done.index if key not in self._regret]
        if new:
            traces = self.store.traces(["regret"], new)
            # Files that turn out damaged are set aside; their runs are no longer there at the next look.
            totals = traces.groupby("key", observed=True)["regret"].sum(min_count=1)
            self._regret |= {str(key): float(total) for key, total in totals.items()}
        done = done.assign(regret=[self._regret.get(str(key), np.nan) for key in done.index])
        block = ["env", "horizon", "feedback", "seed", "repetition"]
        uniform = done[done["agent_id"] == UNIFORM].drop_duplicates(block)[[*block, "regret"]]
        paired = done.merge(uniform, on=block, suffixes=("", "_uniform"))
        paired = paired[paired["regret_uniform"] > 0]
        if not len(paired):
            return None
        paired["ratio"] = paired["regret"] / paired["regret_uniform"]
        by_task = paired.groupby(["agent", "env"])["ratio"].mean().unstack("env")
        by_task = by_task.loc[by_task.mean(axis=1).sort_values().index]
        table = Table(title="regret ratio so far", title_justify="left", box=None, pad_edge=False)
        table.add_column("agent")
        for env in by_task.columns:
            table.add_column(escape(str(env)), justify="right")
        table.add_column("runs", justify="right")
        n = paired["agent"].value_counts().to_dict()
        for agent, row in by_task.head(_AGENTS_SHOWN).iterrows():
            scores = ["–" if np.isnan(x) else f"{x:.3f}" for x in row]
            table.add_row(escape(str(agent)), *scores, str(n[agent]))
        return table


def watch(
    directory: str | os.PathLike[str], interval: float = 2.0, console: Console | None = None, once: bool = False
) -> None:
    """Show a running suite until it is complete or the user stops it with Ctrl-C.

    Args:
        directory: The results folder.
        interval: Seconds between two looks.
        console: Where to show it; by default the terminal. Where that is none, the view is printed once.
        once: Print the view once and return.
    """
    if interval <= 0:
        raise ValueError(f"interval: expected a number of seconds > 0, got {interval!r}")
    console = console or Console()
    watcher = Watcher(Path(directory))
    view, complete = watcher.look()
    if once or not console.is_terminal:
        console.print(view)
        return
    with Live(view, console=console, refresh_per_second=4) as live:
        try:
            while not complete:
                time.sleep(interval)
                view, complete = watcher.look()
                live.update(view)
        except KeyboardInterrupt:
            pass  # the way to leave


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
