"""Whether two checkouts of the project give the boards the same scores.

    python -m benchmarks.scores --against PATH [--board core-v2]

Of every whole board that both have: the scores of each agent on each task, and the ranking by each criterion. It prints
how many numbers there are, the largest relative difference, and the first numbers that print otherwise, to four digits;
then it exits with 1.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import leaderboards

CRITERIA = ("cumulative_regret", "simple_regret", "inference_regret", "best_so_far")
SHOWN = 10

Numbers = dict[str, float]
"""A number of a board by its place, as "ranking by simple_regret, GP-EI, score"."""


def boards() -> list[str]:
    """Names of the whole boards of the package; a part of one has no runs of its own."""
    return [name for name in leaderboards.board_names() if not name.endswith("-lite")]


def numbers(name: str) -> Numbers:
    """All scores and rankings of a board."""
    results = leaderboards.Results(leaderboards.board(name))
    frames = {f"ranking by {by}": results.ranking(by=by).reset_index() for by in CRITERIA}
    return {
        place: value
        for title, frame in {"scores": results.scores(), **frames}.items()
        for place, value in _numbers(title, frame)
    }


def _numbers(title: str, frame: pd.DataFrame) -> list[tuple[str, float]]:
    """The numbers of a frame, each named by the text of its row and its column."""
    texts = [column for column in frame if not pd.api.types.is_numeric_dtype(frame[column])]
    found = []
    for row in frame.to_dict("records"):
        named = ", ".join([title, *(str(row[column]) for column in texts)])
        found += [(f"{named}, {column}", float(row[column])) for column in frame if column not in texts]
    return found


def compare(ours: Numbers, theirs: Numbers) -> tuple[float, list[str]]:
    """The largest relative difference, and a line for each number that prints otherwise or that one lacks."""
    largest, lines = 0.0, []
    for place in {**ours, **theirs}:
        a, b = ours.get(place), theirs.get(place)
        if a is None or b is None or f"{a:.4g}" != f"{b:.4g}":
            lines.append(f"{place}: {a} here, {b} there")
        if a is not None and b is not None and a != b and math.isfinite(a) and math.isfinite(b):
            largest = max(largest, abs(a - b) / max(abs(a), abs(b)))
    return largest, lines


def of_checkout(root: Path, *arguments: str) -> Any:
    """What this file prints as JSON when the checkout at `root` runs it."""
    environment = {**os.environ, "PYTHONPATH": str(root.resolve())}
    command = [sys.executable, __file__, "--json", *arguments]
    return json.loads(subprocess.run(command, cwd=root, env=environment, stdout=subprocess.PIPE, check=True).stdout)


def main(words: Sequence[str] | None = None) -> int:
    """Compare, or with `--json` print the names of the boards, or the numbers of one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, help="root of another checkout")
    parser.add_argument("--board", help="only this one")
    parser.add_argument("--json", action="store_true", help="print what there is and compare nothing")
    arguments = parser.parse_args(words)
    if arguments.json or arguments.against is None:
        print(json.dumps(boards() if arguments.board is None else numbers(arguments.board)))
        return 0
    there, changed = of_checkout(arguments.against), False
    for name in boards() if arguments.board is None else [arguments.board]:
        if name not in there:
            print(f"{name}: only here")
            continue
        ours = numbers(name)
        largest, lines = compare(ours, of_checkout(arguments.against, "--board", name))
        changed |= bool(lines)
        print(f"{name}: {len(ours):,} numbers, {len(lines):,} print otherwise, differences {largest:.1e} at most")
        for line in lines[:SHOWN]:
            print(f"  {line}")
    return int(changed)


if __name__ == "__main__":
    sys.exit(main())
