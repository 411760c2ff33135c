"""A running suite in the terminal: progress, failures, speed, time left and the ranking so far."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Collection

import numpy as np
import pandas as pd
import scipy  # SciPy loads `scipy.stats` when it is first asked for, which a command that plays seldom does
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from leaderboards.play.suite import Suite
from leaderboards.score.metrics import METRICS
from leaderboards.score.rankings import task_classes
from leaderboards.score.scores import RunScores
from leaderboards.score.summary import Summary, summarise
from leaderboards.show.format import NONE, number
from leaderboards.store.store import Store
from leaderboards.store.union import noted
from leaderboards.text import duration

__all__ = ["Watcher", "watch"]

_SPAN = 300.0  # seconds over which the speed is measured
_AGENTS_SHOWN = 15
_TASKS_SHOWN, _NAME = 5, 24  # so many scores, and so long a name, fit into 80 columns
_POINTS = 2  # of each curve: only the end is shown


class Watcher:
    """Progress and ranking of a results folder while it is written; each update reads only new files.

    Args:
        directory: The results folder; it may not be there yet.
        clock: Seconds since 1970.
        ranked_by: What agents are ranked by, one of `leaderboards.score.rankings.RANKED_BY`.
        joined: The folder, which has a suite, joined with the board that it notes, if any: rivals are ranked, and only
            what the folder is to play is counted.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        clock: Callable[[], float] = time.time,
        ranked_by: str = "cumulative_regret",
        joined: Callable[[Store], Store] | None = None,
    ) -> None:
        self.store = Store(directory)
        self.clock = clock
        self.ranked_by = ranked_by
        self._joined = joined
        self._reduced: dict[str, RunScores] = {}
        self._seen: tuple[str, Suite] | None = None
        self._asked: tuple[Suite | None, frozenset[str]] = None, frozenset()
        self._view: Store = self.store
        self._wanted: set[str] | None = None

    def update(self) -> tuple[RenderableType, bool]:
        """The current view, and whether every run that the folder is to play has been tried.

        Raises:
            StoreError: if the board that the folder notes cannot be had.
        """
        self._look()
        summary = summarise(self._view, _POINTS, self._reduced)
        runs, wanted = self.store.runs(), self._wanted
        shown = runs if wanted is None else runs[runs.index.isin(wanted)]
        parts: list[RenderableType] = [Text(f"{self.store.directory}", style="bold")]
        counts = ", ".join(f"{n} {status}" for status, n in shown["status"].value_counts().items()) or "nothing yet"
        if wanted is None:
            parts.append(Text(f"{counts}{self._pace(runs, None)}"))
        else:
            # A bar ends without a new line, and what follows it would be cut at the terminal's width.
            parts.append(Padding(ProgressBar(total=len(wanted), completed=len(shown), width=60), 0))
            parts.append(Text(f"{counts} of {len(wanted)} runs{self._pace(runs, len(wanted) - len(shown))}"))
        parts.extend(_rankings(summary, self.ranked_by))
        # Nothing is wanted before the first run of an agent that the board has too.
        return Group(*parts), bool(wanted) and len(shown) == len(wanted or ())

    def _look(self) -> None:
        """Look anew which board the folder notes, which is read once, and which runs its suite asks the folder for."""
        against, suite = noted(self.store.directory), self.store.suite()
        if self._joined is not None and against is not None and suite is not None and self._seen != (against, suite):
            self._view, self._seen = self._joined(self.store), (against, suite)
            self._reduced.clear()  # curves of a board have points of their own
        asked = suite, self._view.rivals()
        if asked != self._asked:
            self._asked = asked
            specs = () if suite is None else suite.specs()
            self._wanted = None if suite is None else {one.key for one in specs if one.agent.key not in asked[1]}

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
        if missing == 0:
            return ""
        if (speed := self.speed(runs)) == 0:
            return "; nothing has finished in the last minutes"
        left = "" if missing is None else f", about {duration(missing / speed)} left"
        return f"; {speed * 60:.1f} runs a minute{left}"


def _rankings(summary: Summary, ranked_by: str) -> list[RenderableType]:
    """A title and a table of the mean scores so far for each class of tasks, agents by their mean rank."""
    classes = task_classes(summary)
    tables: list[RenderableType] = []
    for one in classes:
        # Runs from before the suite was edited are apart: perhaps of the same name, and of another horizon or seed.
        found = {task: _so_far(summary, task, ranked_by) for task in one.tasks if summary.tasks[task].in_suite}
        found = {task: scores for task, scores in found.items() if scores[1]}
        if found:
            metrics = dict.fromkeys(METRICS[metric].title.lower() for metric, _ in found.values())
            of = f": {one.name}" if len(classes) > 1 else ""
            tables += [Text(f"{' or '.join(metrics)} so far{of}", style="italic"), _table(found, summary.own)]
    return tables


_Scores = tuple[str, dict[str, tuple[float, int]]]
"""A metric, and by agent its mean and over how many runs."""


def _so_far(summary: Summary, task: str, ranked_by: str) -> _Scores:
    """Scores so far: the regret ratio over the repetitions that uniform sampling has finished too, where it plays."""
    ratio = ranked_by == "cumulative_regret" and summary.reference(task) is not None
    metric = "regret_ratio" if ratio else ranked_by
    found = {}
    for agent, scores in summary.on(task).items():
        known = scores.finals[metric][np.isfinite(scores.finals[metric])]
        if len(known):
            found[agent] = float(known.mean()), len(known)
    return metric, found


def _table(found: dict[str, _Scores], also: Collection[str]) -> Table:
    """The first agents by their mean rank, and those of `also`."""
    shown = list(found.values()) if len(found) <= _TASKS_SHOWN else []
    table = Table(box=None, pad_edge=False)
    # A narrow terminal cuts names and folds headings, never a number.
    table.add_column("agent", overflow="ellipsis", no_wrap=True, max_width=_NAME)
    if len(found) > 1:
        table.add_column(f"rank of means, {len(found)} tasks", justify="right", min_width=len("10.00"))
    for task in found if shown else ():
        table.add_column(escape(task), justify="right", min_width=len("0.0001"), overflow="fold")
    table.add_column("runs", justify="right", no_wrap=True, min_width=len("runs"))
    ranks: dict[str, list[float]] = {}
    counts: Counter[str] = Counter()
    for _, scores in found.values():
        means = [mean for mean, _ in scores.values()]
        for agent, place in zip(scores, scipy.stats.rankdata(means)):
            ranks.setdefault(agent, []).append(float(place))
            counts[agent] += scores[agent][1]
    for place, agent in enumerate(sorted(ranks, key=lambda agent: np.mean(ranks[agent]))):
        if place >= _AGENTS_SHOWN and agent not in also:
            continue
        texts = [f"{np.mean(ranks[agent]):.2f}"] if len(found) > 1 else []
        texts += [number(scores[agent][0], 4) if agent in scores else NONE for _, scores in shown]
        table.add_row(escape(agent), *texts, str(counts[agent]))
    return table


def watch(
    directory: str | os.PathLike[str],
    interval: float = 2.0,
    console: Console | None = None,
    once: bool = False,
    ranked_by: str = "cumulative_regret",
    joined: Callable[[Store], Store] | None = None,
) -> None:
    """Show a running suite until it is complete or the user stops it with Ctrl-C.

    Args:
        directory: The results folder.
        interval: Seconds between two updates.
        console: Where to show it; by default the terminal. Where that is none, the view is printed once.
        once: Print the view once and return.
        ranked_by: What agents are ranked by, one of `leaderboards.score.rankings.RANKED_BY`.
        joined: As in `Watcher`.

    Raises:
        ValueError: if `interval` is not above 0.
        StoreError: if the folder was played against a board that cannot be had.
    """
    if interval <= 0:
        raise ValueError(f"interval: expected a number of seconds > 0, got {interval!r}")
    console = console or Console()
    watcher = Watcher(directory, ranked_by=ranked_by, joined=joined)
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
