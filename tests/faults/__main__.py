"""Every fault at every operation, and a flipped bit at every place: `python -m tests.faults [--only NAME ...]`.

Prints a table and, below it, all that went wrong; exits with 1 if anything did.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from tests.faults.commands import COMMANDS, disturb, operations
from tests.faults.disk import FAULTS
from tests.faults.flips import FILES, flip, places

_BUILDS = 40  # flips in files of a page, each of which builds the page again


def writes(names: list[str], folder: Path) -> Iterator[tuple[str, list[str]]]:
    """A line of the table for every command, and what went wrong."""
    yield "| command | operations | faults | left something wrong |\n|---|---|---|---|", []
    for command in COMMANDS:
        if names and command.name not in names:
            continue
        steps, expected = operations(command, folder / "work")
        wrong, faults = [], 0
        for fault in FAULTS:
            for at, (_, writing) in enumerate(steps):
                if writing or not fault.writing:
                    wrong.append(disturb(command, folder / "work", at, fault, expected))
                    faults += 1
        wrong = [text for text in wrong if text]
        yield (
            f"| {command.name} | {len(steps)} | {faults} | {len(wrong)} |",
            [f"{command.name}: {text}" for text in wrong],
        )


def flips(names: list[str], folder: Path) -> Iterator[tuple[str, list[str]]]:
    """A line of the table for every kind of file, and what went wrong."""
    yield "| file | bytes | bits flipped | found | without effect | shown wrongly |\n|---|---|---|---|---|---|", []
    for number, file in enumerate(FILES):
        if names and file.name not in names:
            continue
        expected = file.make(folder / str(number))
        size = file.path(folder / str(number)).stat().st_size
        bits = places(size, _BUILDS if "page" in file.name else None)
        counts, wrong = flip(file, folder / str(number), bits, expected)
        found, silent = counts["found"], counts["without effect"]
        yield f"| {file.name} | {size:,} | {len(bits):,} | {found:,} | {silent:,} | {len(wrong)} |", wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="names of commands and files")
    names: list[str] = parser.parse_args().only
    started, wrong = perf_counter(), []
    with tempfile.TemporaryDirectory() as folder:
        for sweep in (writes, flips):
            for line, texts in sweep(names, Path(folder)):
                print(line, flush=True)
                wrong += texts
            print()
    for text in wrong:
        print(text)
    print(f"{len(wrong)} wrong, in {perf_counter() - started:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
