"""`gpbandit watch`: how many runs of a suite are done, how fast it goes, and who leads so far."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from leaderboards.cli.errors import results_folder, user_errors
from leaderboards.cli.ranking import short_ranking
from leaderboards.play.suite import Suite
from leaderboards.publish.boards import with_board
from leaderboards.score.scores import RunScores
from leaderboards.store.intact import StoreError
from leaderboards.store.store import Store
from leaderboards.store.union import noted
from leaderboards.text import duration, visible

_SPAN = 300.0  # seconds over which the speed is measured
_EVERY = 2.0  # seconds between two updates


class Watcher:
    """Progress and ranking of a results folder while it is written; each update reads only new files.

    Args:
        directory: The results folder; it may not be there yet.
        clock: Seconds since 1970.
    """

    def __init__(self, directory: Path, clock: Callable[[], float] = time.time) -> None:
        self.store = self._view = Store(directory)
        self.clock = clock
        self._reduced: dict[str, RunScores] = {}
        self._seen: tuple[str, Suite] | None = None
        self._asked: tuple[Suite | None, frozenset[str]] = None, frozenset()
        self._wanted: set[str] | None = None

    def update(self) -> tuple[Text, bool]:
        """The current view, and whether every run that the folder is to play has been tried.

        Raises:
            StoreError: if the board that the folder notes cannot be had.
        """
        self._look()
        runs, wanted = self.store.runs(), self._wanted
        shown = runs if wanted is None else runs[runs.index.isin(wanted)]
        counts = ", ".join(f"{n} {status}" for status, n in shown["status"].value_counts().items()) or "nothing yet"
        of = "" if wanted is None else f" of {len(wanted)} runs"
        pace = self._pace(runs, None if wanted is None else len(wanted) - len(shown))
        own = set(runs["agent"]) if self._seen else ()
        lines = (str(self.store.directory), f"{counts}{of}{pace}", *short_ranking(self._view, own, self._reduced))
        # Nothing is wanted before the first run of an agent that the board has too.
        return Text(visible("\n".join(lines))), bool(wanted) and len(shown) == len(wanted or ())

    def _look(self) -> None:
        """Look anew which board the folder notes, which is read once, and which runs its suite asks the folder for."""
        against, suite = noted(self.store.directory), self.store.suite()
        if against is not None and suite is not None and self._seen != (against, suite):
            try:
                self._view, self._seen = with_board(self.store), (against, suite)
            except ValueError as error:
                text = f"{self.store.directory} was played against a board that is not here: {error}"
                raise StoreError(text) from None
            self._reduced.clear()  # curves of a board have points of their own
        asked = suite, self._view.rivals()
        if asked != self._asked:
            self._asked = asked
            specs = () if suite is None else suite.specs()
            self._wanted = None if suite is None else {one.key for one in specs if one.agent.key not in asked[1]}

    def speed(self, runs: pd.DataFrame) -> float:
        """Runs per second over the last few minutes."""
        now = self.clock()
        recent = runs[runs["finished"] > now - _SPAN]
        if recent.empty:
            return 0.0
        # From the start of the first of them: a folder that is ten seconds old has not been slow for five minutes.
        first = float((recent["finished"] - recent["seconds"]).min())
        return len(recent) / max(now - max(first, now - _SPAN), 1.0)

    def _pace(self, runs: pd.DataFrame, missing: int | None) -> str:
        if missing == 0:
            return ""
        if (speed := self.speed(runs)) == 0:
            return "; nothing has finished in the last minutes"
        left = "" if missing is None else f", about {duration(missing / speed)} left"
        return f"; {speed * 60:.1f} runs a minute{left}"


def watch(
    directory: Annotated[Path, typer.Argument(help="Results folder of a suite that is running.")],
) -> None:
    """Show a suite while it runs: what is done, what failed, the time left, the ranking so far.

    Where there is no terminal it is shown once.
    """
    with user_errors(directory):
        watcher, console = Watcher(results_folder(directory)), Console()
        view, complete = watcher.update()
        if not console.is_terminal:
            console.print(view)
            return
        with Live(view, console=console, refresh_per_second=4) as live:
            try:
                while not complete:
                    time.sleep(_EVERY)
                    view, complete = watcher.update()
                    live.update(view)
            except KeyboardInterrupt:
                pass  # the way to leave
