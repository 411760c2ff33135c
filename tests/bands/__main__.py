"""Prints the tables of `docs/robustness.md` on confidence bands: `python -m tests.bands`, about half an hour."""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from time import perf_counter

from tests.bands.search import CONTROLS, ROWS, Count, count

_HEAD = """| policy | pulls | runs | violated | upper limit | delta on average | regret above its bound |
|---|---|---|---|---|---|---|"""
_HEAD_OF_CONTROLS = """| policy | pulls | runs | violated | lower limit | delta on average |
|---|---|---|---|---|---|"""


def _line(found: Count, control: bool) -> str:
    limit = found.lower if control else found.upper
    cells = [found.row.name, "the adversary's" if found.row.pulls == "worst" else "its own", f"{found.counted:,}"]
    cells += [f"{found.violated:,}", f"{limit:.1%}", f"{found.delta:.0%}"]
    if not control:
        cells.append(f"{found.exceeded} of {found.bounded:,}" if found.bounded else "")
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Print both tables; 1 if a row that is guaranteed may fail more often than delta."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000, help="runs of a row")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    given = parser.parse_args()
    started, broken = perf_counter(), 0
    with ProcessPoolExecutor(given.workers) as pool:
        print(_HEAD)
        for found in pool.map(partial(count, runs=given.runs), ROWS):
            print(_line(found, control=False), flush=True)
            broken += found.upper > found.delta or (found.bounded > 0 and found.exceeded > found.delta * found.bounded)
        print(f"\n{_HEAD_OF_CONTROLS}")
        for found in pool.map(partial(count, runs=given.runs, claimed_alone=False), CONTROLS):
            print(_line(found, control=True), flush=True)
    print(f"\n{broken} rows broken; {perf_counter() - started:.0f} s")
    return int(broken > 0)


if __name__ == "__main__":
    raise SystemExit(main())
