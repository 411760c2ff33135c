"""How a command starts and stops: signals, closed streams, pipes that nobody reads, faults of a Dask cluster.

After every one of them nothing is left running, and the same command completes: every run once, and as it would have
been without.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from leaderboards.play.suite import load_suite
from leaderboards.store.store import Store
from leaderboards.work.executors import SerialExecutor
from leaderboards.work.schedule import run_missing
from tests.leaderboards.play import players
from tests.leaderboards.work.test_schedule import rows

pytestmark = pytest.mark.chaos

SUITE = f"""
name = "tiny"
horizon = 30
repetitions = 5
[[environments]]
id = "GPBandit/RKHS-v0"
kwargs = {{ n_arms = 20 }}
[[agents]]
id = "{players.path(players.Paused)}"
"""
LONG = 120.0  # how long a busy machine may take for anything
MARK = "GPBANDIT_TEST_MARK"


class Command:
    """`gpbandit` in a session of its own, and all processes that come of it."""

    def __init__(self, *arguments: object, pause: float = 0.02, shell: str = "{}", **options: Any) -> None:
        self.mark = uuid.uuid4().hex
        environment = {**os.environ, "GPBANDIT_TEST_PAUSE": str(pause), MARK: self.mark}
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        words = [sys.executable, "-m", "leaderboards.cli", *map(str, arguments)]
        if shell != "{}":
            words = ["bash", "-c", shell.format("exec " + " ".join(f"'{word}'" for word in words))]
        self.process = subprocess.Popen(
            words, env=environment, text=True, start_new_session=True, preexec_fn=_hears, **options
        )

    def processes(self, having: str = "", *, children: bool = False) -> list[int]:
        """Processes other than the first one that came of it and run, whose command line holds `having`.

        One that starts another program looks like two for a moment; its copy is none of the first one's `children`.
        """
        found = []
        for folder in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if folder.name.isdigit() and f"{MARK}={self.mark}".encode() in (folder / "environ").read_bytes():
                    state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
                    asked = state != "Z" and (not children or int(parent) == self.process.pid)
                    if asked and int(folder.name) != self.process.pid and having in (folder / "cmdline").read_text():
                        found.append(int(folder.name))
        return found

    def wait_for(self, there: Callable[[], object]) -> None:
        deadline = time.monotonic() + LONG
        while not there() and time.monotonic() < deadline:
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.02)

    def end(self) -> tuple[int, str, str]:
        """Exit code and output; all processes must end soon, without a traceback."""
        output, errors = self.process.communicate(timeout=LONG)
        deadline = time.monotonic() + 20
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.1)
        assert self.processes() == []
        assert "Traceback" not in (errors or "")
        return self.process.returncode, output, errors


class Folder:
    """A suite, its results folder, and the results that an undisturbed run has."""

    def __init__(self, folder: Path) -> None:
        self.suite, self.out = folder / "tiny.toml", folder / "r"
        self.suite.write_text(SUITE)

    def run(self, *more: object, executor: str = "local", **options: Any) -> Command:
        return Command(
            *("run", self.suite, "--out", self.out, "--executor", executor, "--workers", 1), *more, **options
        )

    def progress(self) -> bool:
        """Whether a worker is at a run."""
        return any(path.stat().st_size for path in self.out.glob(".scratch-*/*.txt"))

    def completes(self) -> None:
        """The same command completes what is there, which is then what an undisturbed run gives."""
        code, _, errors = self.run(executor="serial", pause=0.0).end()
        assert code == 0, errors
        undisturbed = Store(self.out.parent / "undisturbed")
        specs = list(load_suite(str(self.suite)).specs())
        run_missing(specs, undisturbed, SerialExecutor())
        store = Store(self.out)
        assert sorted(store.done_keys()) == sorted(spec.key for spec in specs)
        assert not list(store.root.rglob("*.damaged"))
        pd.testing.assert_frame_equal(rows(store), rows(undisturbed), check_exact=True)


def _hears() -> None:
    """A process that is started under `nohup` ignores SIGHUP, and so would its children."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_a_signal_while_it_starts(folder: Folder) -> None:
    """SIGINT and SIGHUP, with the same handler, come while workers play, as this one does too."""
    number = signal.SIGTERM
    command = folder.run(executor="serial")
    modules = Path(f"/proc/{command.process.pid}/maps")
    command.wait_for(lambda: "pandas" in modules.read_text())
    os.killpg(command.process.pid, number)
    code, _, errors = command.end()
    assert code == 128 + number
    assert errors.startswith(f"stopped by {number.name}")
    folder.completes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_while_workers_play(folder: Folder, number: signal.Signals) -> None:
    command = folder.run(pause=0.05)
    command.wait_for(folder.progress)
    os.killpg(command.process.pid, number)
    code, _, errors = command.end()
    assert code == 128 + number
    assert f"stopped by {number.name}; " in errors
    assert f"runs are in {folder.out}; give the same command again to go on" in errors
    assert not list(folder.out.glob(".scratch-*"))
    folder.completes()


def test_a_second_signal_ends_it_at_once(folder: Folder) -> None:
    begun = folder.out.parent / "begun"
    deaf = f'id = "{players.path(players.Hangs)}"\nkwargs = {{ deaf = true, file = "{begun}" }}'
    folder.suite.write_text(SUITE.replace(f'id = "{players.path(players.Paused)}"', deaf))
    command = folder.run(executor="serial")
    command.wait_for(begun.exists)
    time.sleep(0.5)
    command.process.send_signal(signal.SIGINT)  # which the agent swallows
    time.sleep(0.5)
    assert command.process.poll() is None
    command.process.send_signal(signal.SIGINT)
    assert command.end() == (130, "", "stopped at once\n")


def test_the_harness_is_killed_while_its_workers_start(folder: Folder) -> None:
    command = folder.run()
    command.wait_for(lambda: command.processes("popen_loky"))
    command.process.kill()
    command.end()
    folder.completes()


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_closed_streams(folder: Folder, closed: str) -> None:
    code, _, _ = folder.run(shell="{} " + closed, pause=0.0).end()
    assert code == 0
    assert len(Store(folder.out).done_keys()) == 5


@pytest.mark.parametrize(
    ("arguments", "shell", "code", "said"),
    [
        (("list",), "set -o pipefail; ({}) | true", 141, ""),
        (("--help",), "set -o pipefail; ({}) | true", 141, ""),
        (("show", "quick"), "set -o pipefail; ({}) | true", 141, ""),
        (("list",), "{} > /dev/full", 2, "error: cannot write the output (No space left on device)\n"),
        (("list",), "PYTHONUNBUFFERED=1 {} > /dev/full", 2, "error: cannot write the output (No space left on"),
        (("show", "quick"), "{} > /dev/full", 2, "error: cannot write the output (No space left on"),
    ],
)
def test_output_that_nobody_takes(arguments: tuple[str, ...], shell: str, code: int, said: str) -> None:
    ended, _, errors = Command(*arguments, shell=shell).end()
    assert ended == code
    assert errors.startswith(said)
    assert bool(errors) == bool(said)


def test_a_full_output_is_no_fault_of_the_results_folder(folder: Folder) -> None:
    code, _, errors = folder.run(executor="serial", shell="{} > /dev/full", pause=0.0).end()
    assert code == 2
    assert errors.endswith("error: cannot write the output (No space left on device)\n")
    assert len(Store(folder.out).done_keys()) == 5


@pytest.mark.parametrize("full", ["2> /dev/full", "2> >(true)"])
def test_progress_that_cannot_be_shown_stops_no_run(folder: Folder, full: str) -> None:
    code, output, _ = folder.run(executor="serial", shell="{} " + full, pause=0.0).end()
    assert code == 0
    assert "(5 done)" in output
