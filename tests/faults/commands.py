"""The commands whose every file operation is made to fail, where each starts, and what must be there after it.

A command is given to `gpbandit` in this process, in a folder of its own. It is disturbed at one operation and then
given again, undisturbed: what is there then must be what an undisturbed command leaves.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import itertools
import logging
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import leaderboards.work.checkpoint as checkpoints
from gpbandit_envs import datasets
from gpbandit_envs.atomic import TEMPORARY
from gpbandit_envs.datasets import Table, cache, loading
from gpbandit_envs.datasets.card import Card, WebAddress
from gpbandit_envs.datasets.readers import read_numbers
from leaderboards.audit.store import AuditStore
from leaderboards.cli import main, results
from leaderboards.play import run
from leaderboards.publish import boards
from leaderboards.publish.submission import open_submission
from leaderboards.store.exchange import add
from leaderboards.store.store import Store
from leaderboards.work import jobs
from leaderboards.work.executors import SerialExecutor
from tests.datasets import toy
from tests.faults.disk import FAULTS, Died, Disk, Fault

_INTERRUPTED = 130
SUITE = """
name = "tiny"
horizon = {horizon}
repetitions = {repetitions}
[[environments]]
id = "GPBandit/RKHS-v0"
kwargs = {{ n_arms = 6 }}
[[agents]]
id = "Uniform"
[[agents]]
id = "GP-UCB"
"""


@dataclass(frozen=True)
class Said:
    """What a command told its user.

    Attributes:
        code: Its exit code; None if the process died.
        lines: What it wrote to stderr, with warnings.
        out: What it wrote to stdout.
    """

    code: int | None
    lines: tuple[str, ...]
    out: str

    @property
    def fault(self) -> str:
        """What is wrong with it: anything but success, or one line that names the error."""
        if any("Traceback" in line for line in self.lines):
            return f"a traceback: {self.lines[-1]}"
        errors = [line for line in self.lines if line.startswith("error: ")]
        if self.code == 2 and len(errors) != 1:
            return f"exit code 2 with {len(errors)} lines of errors"
        if self.code not in (0, 2, None):
            return f"exit code {self.code}: {self.lines}"
        if any(" delete it" in line.lower() for line in self.lines):
            return f"asks for work by hand: {self.lines}"
        return f"{len(self.lines)} lines: {self.lines}" if len(self.lines) > 3 else ""


class _Warnings(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


@contextlib.contextmanager
def warnings_heard() -> Iterator[list[str]]:
    """The warnings of the packages until the end of the block, which nobody else is told."""
    handler, logs = _Warnings(), [logging.getLogger(name) for name in ("gpbandit", "gpbandit_envs")]
    for log in logs:
        log.addHandler(handler)
        log.propagate = False
    try:
        yield handler.texts
    finally:
        for log in logs:
            log.removeHandler(handler)
            log.propagate = True


def gpbandit(*arguments: object) -> Said:
    """Give a command to the command line, in this process."""
    out, err = io.StringIO(), io.StringIO()
    code: int | None
    try:
        with warnings_heard() as texts, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main([str(argument) for argument in arguments])
    except SystemExit as ended:
        code = int(ended.code or 0)
    except Died:
        code = None
    except Exception as error:
        return Said(1, (f"Traceback: {type(error).__name__}: {error}",), out.getvalue())
    if code == _INTERRUPTED:
        raise KeyboardInterrupt  # which the command took for its own
    lines = "".join(f"warning: {text}\n" for text in texts) + err.getvalue()
    return Said(code, tuple(lines.splitlines()), out.getvalue())


@dataclass(frozen=True)
class Command:
    """A command and its folder.

    Attributes:
        name: For reports.
        arguments: What `gpbandit` is given.
        start: Makes the folder in which it is given.
        state: What the folder holds as users see it, to be compared.
        around: What is in force while the command works.
        once: Whether it refuses to be given again after it has succeeded.
    """

    name: str
    arguments: tuple[str, ...]
    start: Callable[[Path], None]
    state: Callable[[Path], Any]
    around: Callable[[], contextlib.AbstractContextManager[Any]] = field(default=contextlib.nullcontext)
    once: bool = False

    def give(self, folder: Path, disk: Disk | None = None) -> Said:
        """Give the command in `folder`, on `disk` if there is one."""
        with (
            contextlib.chdir(folder),
            patch.object(tempfile, "tempdir", str(folder / "tmp")),
            patch.dict("os.environ", {cache.ENVIRONMENT_VARIABLE: str(folder / "cache")}),
            clocks_stopped(),
            self.around(),
            contextlib.nullcontext() if disk is None else disk.in_force(),
        ):
            return gpbandit(*self.arguments)


@contextlib.contextmanager
def clocks_stopped() -> Iterator[None]:
    """The same command writes the same bytes, but for the times of files."""
    stopped = [(time, "time"), (run, "perf_counter"), (jobs, "perf_counter")]
    with contextlib.ExitStack() as stack:
        for module, name in stopped:
            stack.enter_context(patch.object(module, name, lambda: 1e9))
        yield


def operations(command: Command, folder: Path) -> tuple[list[tuple[str, bool]], Any]:
    """The operations of an undisturbed command, each with whether it writes, and what it leaves."""
    _restart(command, folder)
    disk = Disk(folder)
    said = command.give(folder, disk)
    assert (said.code, said.fault) == (0, ""), said
    return disk.operations, command.state(folder)


def disturb(command: Command, folder: Path, at: int, fault: Fault, expected: Any) -> str:
    """Let one operation of a command fail, and give it again; what is wrong then, or ""."""
    _restart(command, folder)
    disk = Disk(folder, at=at, fault=fault)
    said = command.give(folder, disk)
    if not disk.failed:
        return ""
    where = f"{fault.name} in {disk.failed.replace(str(folder), '.')}"
    if said.fault:
        return f"{where}: {said.fault}"
    if said.code == 0 and command.state(folder) != expected:
        return f"{where}: it said that all is well, and left something else"
    left = _tree(command, folder)
    if left in _mended or (command.once and said.code == 0):
        return ""
    again = command.give(folder)
    if again.code != 0 or again.fault:
        return f"{where}: the same command then ended with {again.code}: {again.lines}"
    if command.state(folder) != expected:
        return f"{where}: the same command then left something else"
    if list(folder.rglob("*.damaged")):
        return f"{where}: a sound file was set aside"
    _mended.add(left)
    return ""


_started: dict[str, Path] = {}
_mended: set[tuple[str, str]] = set()
"""Commands and what a fault left, where the same command has led to the right end: it would do so again."""


def _tree(command: Command, folder: Path) -> tuple[str, str]:
    """The command with a hash of every file, whatever random names those have that are not whole."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        digest.update(re.sub(r"[0-9a-f]{12}\.tmp|(scratch-|gpbandit-|tmp)\w{8}", "#", str(path)).encode())
        digest.update(path.read_bytes() if path.is_file() else b"folder")
    return command.name, digest.hexdigest()


def _restart(command: Command, folder: Path) -> None:
    """Make `folder` what the command starts from; that is made once, and copied."""
    if command.name not in _started:
        _started[command.name] = Path(tempfile.mkdtemp(prefix="start-", dir=folder.parent))
        with contextlib.chdir(_started[command.name]):
            command.start(_started[command.name])
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(_started[command.name], folder)
    (folder / "tmp").mkdir()


# ---- what is there ----


def runs_of(directory: Path) -> Any:
    """Every run with its trace, to the bit; clocks aside."""
    store = Store(directory)
    suite, standing, entries = store.suite(), store.runs()["standing"], store.entries()
    rows = {}
    columns = sorted({name for one in entries.values() for name in one.columns})
    for one, trace in store.traces(columns, sorted(entries)):
        digests = {name: column.tobytes() for name, column in trace.items() if name != "policy_seconds"}
        about = (one.spec, one.status, one.facts, one.data, one.seeds, one.columns)
        rows[one.key] = (*about, digests, standing[one.key])
    return suite, rows, len(entries)


def audits_of(directory: Path) -> Any:
    """Every audit, to the bit."""
    files = AuditStore(directory)
    found = files.read(sorted(files.keys()))
    return {key: (audit.facts, audit.checkpoints.to_csv()) for key, audit in found.items()}


def pages_of(directory: Path) -> dict[str, bytes]:
    """Every file of the site, but what a dead process left under a temporary name."""
    paths = [directory / "index.html", *(directory / "site").rglob("*.*")]
    return {str(path.relative_to(directory)): path.read_bytes() for path in paths if path.suffix != TEMPORARY}


def packed_runs(archive: Path) -> Any:
    """The runs in an archive, as another machine gets them."""
    with tempfile.TemporaryDirectory() as scratch:
        add(archive, Path(scratch) / "r")
        return runs_of(Path(scratch) / "r")


# ---- where commands start ----


def write_suite(folder: Path, repetitions: int = 2, horizon: int = 6) -> None:
    (folder / "tiny.toml").write_text(SUITE.format(repetitions=repetitions, horizon=horizon))


RUN = ("run", "tiny.toml", "--out", "r", "--executor", "serial")
AUDIT = ("audit", "r", "--workers", "1", "--checkpoints", "3")


def must(*arguments: object) -> None:
    said = gpbandit(*arguments)
    assert said.code == 0, said


def begun(folder: Path) -> None:
    """The first of two repetitions is there, and the cache with it."""
    write_suite(folder, repetitions=1)
    must(*RUN)
    write_suite(folder)


def played(folder: Path) -> None:
    write_suite(folder)
    must(*RUN)


def audited(folder: Path) -> None:
    played(folder)
    must(*AUDIT)


def built(folder: Path) -> None:
    """A site with a page of an agent that has gone."""
    audited(folder)
    must("page", "r")
    (folder / "r" / "site" / "agent-gone.html").write_text("gone")


def parts(folder: Path) -> None:
    """Two shards."""
    write_suite(folder)
    for part in (1, 2):
        must(*RUN[:3], f"part{part}", *RUN[4:], "--shard", f"{part}/2")


def packed(folder: Path) -> None:
    """An archive of two repetitions, and a folder with the first."""
    played(folder)
    must("submit", "r", "--out", "r.zip")
    write_suite(folder, repetitions=1)
    must("run", "tiny.toml", "--out", "ours", "--executor", "serial")


@contextlib.contextmanager
def own_boards() -> Iterator[None]:
    """The boards of the package are those of the folder."""
    with patch.object(boards, "_BOARDS", Path.cwd() / "boards"):
        yield


def rivalled(folder: Path) -> None:
    """A board, and an agent that was played against it."""
    write_suite(folder)
    with own_boards():
        must("board", "make", "tiny.toml", "--native", "--results", "r")
        must("run", "tiny.toml", "--agent", "GP-EI", "--against", "board", "--out", "mine", "--executor", "serial")


def submitted_in(folder: Path) -> Any:
    with tempfile.TemporaryDirectory() as scratch:
        opened = open_submission(folder / "sub", Path(scratch))
        files = sorted(path.relative_to(folder).as_posix() for path in (folder / "sub").rglob("*"))
        return opened.agents, opened.rejected, runs_of(Path(scratch)), files


def added(folder: Path) -> None:
    packed(folder)
    must("add", "r.zip", "ours")


@contextlib.contextmanager
def saving_always() -> Iterator[None]:
    """A run saves its state after every turn."""
    clock = functools.partial(next, itertools.count(0.0, 1000.0))
    with patch.object(checkpoints, "_LEAST_RATIO", 0.0), patch.object(checkpoints, "perf_counter", clock):
        yield


def saved(folder: Path) -> None:
    """A run died after it had saved its state three times."""
    write_suite(folder, repetitions=1)

    def saves(operation: str) -> bool:
        return operation.startswith("replace") and "checkpoints" in operation

    with saving_always(), Disk(folder, at=3, fault=FAULTS[-1], among=saves).in_force():
        assert gpbandit(*RUN).code is None
    assert len(list((folder / "r" / "checkpoints").glob("*.pickle"))) == 1


@contextlib.contextmanager
def serial() -> Iterator[None]:
    with patch.object(results, "LocalExecutor", lambda *_, **__: SerialExecutor()):
        yield


# ---- data ----

NUMBERS = b"x,y\n" + b"".join(b"%d,%d\n" % (i, i * i) for i in range(50))


def read_toy(card: Card, files: Any, _options: Any) -> Table:
    cells = read_numbers(files["numbers.csv"], header=("x", "y"))
    return card.table(cells[:, :1], cells[:, 1:])


@contextlib.contextmanager
def toy_data() -> Iterator[None]:
    """A data set that is served by this machine."""
    with toy.serving("numbers.csv", NUMBERS) as server:
        file = toy.file_from(WebAddress(f"{server.url}/numbers.csv"), content=NUMBERS)
        card = replace(toy.card_of(file), reader="tests.faults.commands:read_toy")
        with patch.multiple(loading, find=lambda _: card, cards=lambda: {"Toy": card}):
            yield


def toy_table(folder: Path) -> Any:
    with patch.dict("os.environ", {cache.ENVIRONMENT_VARIABLE: str(folder / "cache")}), toy_data():
        table = datasets.load("Toy")
    return np.asarray(table.features).tobytes(), np.asarray(table.values).tobytes()


def empty(folder: Path) -> None:
    """Nothing is there."""
    assert not list(folder.iterdir())


def runs_in(name: str) -> Callable[[Path], Any]:
    return lambda folder: runs_of(folder / name)


COMMANDS = (
    Command("run", RUN, write_suite, runs_in("r")),
    Command("run, half of it there", RUN, begun, runs_in("r")),
    Command("run with checkpoints", RUN, saved, runs_in("r"), saving_always),
    Command("audit", AUDIT, played, lambda folder: audits_of(folder / "r")),
    Command("page", ("page", "r"), audited, lambda folder: pages_of(folder / "r")),
    Command("page again", ("page", "r"), built, lambda folder: pages_of(folder / "r")),
    Command("submit", ("submit", "r", "--out", "x.zip"), played, lambda folder: packed_runs(folder / "x.zip")),
    Command("add", ("add", "r.zip", "ours"), packed, runs_in("ours")),
    Command("submit to a board", ("submit", "mine", "--out", "sub"), rivalled, submitted_in, own_boards, True),
    Command("merge", ("merge", "part1", "part2", "--out", "all"), parts, runs_in("all")),
    Command("verify", ("verify", "ours"), added, runs_in("ours"), serial),
    Command("data fetch", ("data", "fetch", "Toy"), empty, toy_table, toy_data),
)
"""Every command that writes."""
