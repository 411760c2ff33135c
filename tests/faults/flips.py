"""One flipped bit in every kind of file that is read again: found, or without effect, and never another number.

A bit flips as storage flips it: size and times of the file stay. What a folder then shows may lack what the file said,
if its user was told so in one line, and may not differ in anything else.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from gpbandit_envs.atomic import TEMPORARY
from gpbandit_envs.datasets import DataError, cache
from leaderboards.store.exchange import add
from leaderboards.store.store import Store, StoreError
from leaderboards.work.checkpoint import Checkpoint
from tests.faults import commands
from tests.faults.commands import toy_data, toy_table, warnings_heard

__all__ = ["FILES", "File", "flip", "places"]

_SMALL = 2_000
_ENDS = 500
_log = logging.getLogger("gpbandit")


@dataclass(frozen=True)
class File:
    """A kind of file.

    Attributes:
        name: For reports.
        start: Makes a folder with such a file.
        path: Finds it there.
        shown: What a folder shows, part by part; raises an error of ours, whose text is one line, if it shows nothing.
        whole: Whether all of it must be shown in spite of the damage, since the file can be made anew.
    """

    name: str
    start: Callable[[Path], object]
    path: Callable[[Path], Path]
    shown: Callable[[Path], Mapping[str, Any]]
    whole: bool = False

    def make(self, folder: Path) -> Mapping[str, Any]:
        """Make the folder; returns what it shows."""
        folder.mkdir(parents=True)
        with contextlib.chdir(folder):
            self.start(folder)
        shutil.copytree(folder, _copy(folder))
        expected = self.shown(folder)
        assert expected, f"{self.name}: nothing is shown"
        _restore(folder)
        return expected


def places(size: int, most: int | None = None, seed: int = 0) -> list[int]:
    """Numbers of the bits to flip in a file of `size` bytes.

    One of every byte of a small file; of a larger one, of every byte at its ends and of as many others. With `most`, so
    many of these, drawn at random.
    """
    rng = np.random.default_rng(seed)
    found = np.arange(size)
    if size > _SMALL:
        inner = rng.choice(np.arange(_ENDS, size - 2 * _ENDS), 2 * _ENDS, replace=False)
        found = np.concatenate([found[:_ENDS], np.sort(inner), found[-2 * _ENDS :]])
    if most is not None and most < len(found):
        found = np.sort(rng.choice(found, most, replace=False))
    return [int(8 * place + bit) for place, bit in zip(found, rng.integers(8, size=len(found)))]


def flip(file: File, folder: Path, bits: Iterable[int], expected: Mapping[str, Any]) -> tuple[Counter[str], list[str]]:
    """Flip each of `bits` alone; returns how often it was found, and what is wrong.

    Args:
        file: Which file.
        folder: As `file.make` left it.
        bits: Numbers of bits.
        expected: What the folder shows when nothing is damaged.
    """
    path = file.path(folder)
    whole, stat = path.read_bytes(), path.stat()
    counts: Counter[str] = Counter()
    wrong = []
    for bit in bits:
        content = bytearray(whole)
        content[bit // 8] ^= 1 << bit % 8
        path.write_bytes(content)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        outcome, fault = _outcome(file, folder, expected)
        counts[outcome] += 1
        if fault:
            wrong.append(f"{file.name}, bit {bit % 8} of byte {bit // 8}: {fault}")
        if outcome != "without effect":
            _restore(folder)
    _restore(folder)
    return counts, wrong


def _outcome(file: File, folder: Path, expected: Mapping[str, Any]) -> tuple[str, str]:
    error = ""
    with warnings_heard() as texts:
        try:
            shown: Mapping[str, Any] = file.shown(folder)
        except (StoreError, DataError) as found:
            shown, error = {}, str(found)
        except Exception as found:
            return "another error", f"a traceback: {type(found).__name__}: {found}"
    said = texts + ([error] if error else [])
    if dict(shown) == dict(expected) and not said:
        return "without effect", ""
    fault = ""
    if not said:
        fault = "it shows something else, and nobody was told"
    elif len(said) > 1:
        fault = f"{len(said)} lines: {said}"
    elif "\n" in said[0]:
        fault = f"more than a line: {said[0]}"
    elif any(expected.get(part) != value for part, value in shown.items()):
        fault = f"it shows something else: {said}"
    elif file.whole and not error and dict(shown) != dict(expected):
        fault = f"it was not made anew: {said}"
    return "found", fault


def _copy(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.copy")


def _restore(folder: Path) -> None:
    """Make `folder` what it was, with the times of its files."""
    shutil.rmtree(folder)
    shutil.copytree(_copy(folder), folder)


# ---- what is shown ----


def numbers_of(directory: Path) -> dict[str, Any]:
    """Every run with all that is known of it, to the bit, clocks included; and the suite."""
    store = Store(directory)
    table = store.runs()
    traces = {
        run.key: {name: column.tobytes() for name, column in trace.items()}
        for run, trace in store.traces(["t", "action", "reward", "regret", "policy_seconds", "width"])
    }
    shown = {key: (store.entry(key), table.loc[key].to_json(), traces[key]) for key in traces}
    return {**shown, "suite": store.suite()}


def levels_of(directory: Path) -> dict[str, Any]:
    """The runs that are more than local."""
    standing = Store(directory).runs()["standing"]
    return {str(key): level for key, level in standing.items() if level == "verified"}


def state_of(folder: Path) -> dict[str, Any]:
    """The state that a run goes on from."""
    with contextlib.chdir(folder):
        saved = Checkpoint(first("r/checkpoints/*.pickle")(folder)).load()
    return {} if saved is None else {"state": pickle.dumps(saved[1:])}


def added(folder: Path) -> dict[str, Any]:
    """The runs that another machine adds."""
    target = Path(tempfile.mkdtemp(dir=folder))
    received = add(folder / "r.zip", target / "r")
    for text in received.rejected:
        _log.warning(text)
    shown = numbers_of(target / "r")
    return {key: (entry[1], entry[2]) if key != "suite" else entry for key, entry in shown.items() if entry is not None}


def pages(folder: Path) -> dict[str, Any]:
    """The files of a site that is built again."""
    with contextlib.chdir(folder):
        said = commands.gpbandit("page", "r")
    assert said.code == 0, said
    for line in said.lines:
        _log.warning(line)
    paths = [folder / "r" / "index.html", *(folder / "r" / "site").rglob("*.*")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths if path.suffix != TEMPORARY}


def table_of(folder: Path) -> dict[str, Any]:
    return {"table": toy_table(folder)}


# ---- the files ----


def played(folder: Path) -> None:
    """Runs in files of their own and of their own age, as the harness leaves them, without the cache."""
    commands.played(folder)
    (folder / "r" / "entries.cache").unlink()


def long(folder: Path) -> None:
    """A run of many pages."""
    commands.write_suite(folder, repetitions=1, horizon=1000)
    commands.must(*commands.RUN)
    (folder / "r" / "entries.cache").unlink()


def verified(folder: Path) -> None:
    commands.added(folder)
    with commands.serial():
        commands.must("verify", "ours", "--workers", 1)


def fetched(folder: Path) -> None:
    with patch.dict("os.environ", {cache.ENVIRONMENT_VARIABLE: str(folder / "cache")}), toy_data():
        commands.must("data", "fetch", "Toy")


def first(pattern: str) -> Callable[[Path], Path]:
    """The first file of that name, by name."""
    return lambda folder: min(folder.glob(pattern))


def results(folder: Path) -> dict[str, Any]:
    return numbers_of(folder / "r")


FILES = (
    File("run file", played, first("r/runs/*.parquet"), results),
    File("run file, listed in the cache", commands.played, first("r/runs/*.parquet"), results),
    File("run file of 1,000 rows", long, first("r/runs/*.parquet"), results),
    File("cache", commands.played, first("r/entries.cache"), results, whole=True),
    File("suite", commands.played, first("r/suite.json"), results),
    File("provenance", verified, first("ours/provenance.json"), lambda folder: levels_of(folder / "ours")),
    File("audit file", commands.audited, first("r/audit/*.parquet"), lambda folder: commands.audits_of(folder / "r")),
    File("checkpoint", commands.saved, first("r/checkpoints/*.pickle"), state_of),
    File("archive", commands.packed, first("r.zip"), added),
    File("table of the data cache", toy_table, first("cache/tables/*.npz"), table_of, whole=True),
    File("raw file of the data cache", fetched, first("cache/raw/Toy/*"), table_of, whole=True),
    File("page file", commands.built, first("r/site/env*.html"), pages, whole=True),
    File("plotting library of a page", commands.built, first("r/site/assets/plotly.min.js"), pages, whole=True),
)
"""Every kind of file that is read again, or left as it is where it is found."""
