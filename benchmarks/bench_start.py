"""What is waited for before anything runs: imports, the command line, tables from the cache.

python -m benchmarks.run --only start
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

from benchmarks.measure import Row, against
from gpbandit_envs.datasets import DataError, cards, load

LOAD_LIMIT = 2.0
"""Seconds in which any table has to be loaded from the cache."""


def child_seconds(code: str) -> float:
    """Processor seconds of a fresh interpreter that executes `code`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def command(*words: str) -> str:
    return f"from leaderboards.cli import main; main({list(words)})"


def slowest_table() -> Row:
    """The data set whose default table takes longest to load when it is in the cache already."""
    slowest, name = 0.0, ""
    for data_set in cards():
        try:
            load(data_set)
        except (DataError, OSError):
            continue  # not on this machine
        start = time.process_time()
        load(data_set)
        if (seconds := time.process_time() - start) > slowest:
            slowest, name = seconds, data_set
    return Row(f"the slowest table from the cache ({name})", f"a limit of {LOAD_LIMIT:g} s", slowest, LOAD_LIMIT)


def cases() -> Iterator[tuple[str, Callable[[], Row]]]:
    """What goes into the table of `benchmarks.run`."""
    for name, words in (("help", ["--help"]), ("list", ["list"])):
        yield (
            name,
            lambda words=words: against(  # type: ignore[misc]
                f"gpbandit {' '.join(words)}",
                "import pandas",
                lambda: child_seconds(command(*words)),
                lambda: child_seconds("import pandas"),
                rounds=5,
            ),
        )
    yield (
        "import",
        lambda: against(
            "import gpbandit_envs",
            "import gymnasium",
            lambda: child_seconds("import gpbandit_envs"),
            lambda: child_seconds("import gymnasium"),
            rounds=5,
        ),
    )
    yield "table", slowest_table
