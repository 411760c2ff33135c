"""A full disk: nothing that was done is lost; see `tests/faults` for single faults."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.chaos

SUITE = """
name = "tiny"
horizon = 300
repetitions = 3
[[environments]]
id = "GPBandit/RKHS-v0"
kwargs = { n_arms = 20 }
[[agents]]
id = "Uniform"
"""


def gpbandit(*arguments: object, file_size: int | None = None) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own, which can write no file larger than `file_size` bytes."""

    def limit() -> None:
        if file_size is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))

    command = [sys.executable, "-m", "leaderboards.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, preexec_fn=limit, check=False)


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    suite, out = tmp_path / "tiny.toml", tmp_path / "r"
    suite.write_text(SUITE.replace("repetitions = 3", "repetitions = 1"))
    arguments = ("run", suite, "--out", out, "--workers", 1)
    assert gpbandit(*arguments).returncode == 0
    before = {path.name: path.read_bytes() for path in (out / "runs").iterdir()}
    suite.write_text(SUITE)
    # Results of 300 evaluations take more than 4 kB; the suite's own file takes less.
    failed = gpbandit(*arguments, file_size=4096)
    assert failed.returncode == 2
    (line,) = [line for line in failed.stderr.splitlines() if line.startswith("error: ")]
    assert "cannot write to" in line
    assert "what was done before is kept" in line
    assert "give the same command again" in line
    assert "Traceback" not in failed.stderr
    assert {path.name: path.read_bytes() for path in (out / "runs").iterdir()} == before
    assert "(2 done), 1 were there before" in gpbandit(*arguments).stdout
