"""What the sandbox costs: `gpbandit verify` of an honest submission with and without bubblewrap.

python -m benchmarks.sandbox

Prints wall-clock seconds, exit code and last line of each. Without bubblewrap the runs are played all the same, in
processes without the environment, and the code is 3: cannot be told here.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from leaderboards.play.isolated import not_isolated

_AGENT = """
from agents.baselines.eps_greedy import EpsGreedy


class Mine(EpsGreedy):
    pass
"""
_SUITE = """
name = "part"
description = "Two tasks of core-v2."
part_of = "core-v2"
tasks = ["15 RKHS Matern 5/2, d = 1, noise told / 3", "19 RKHS Matern 3/2, d = 2, told true"]
repetitions = 5
"""


def _gpbandit(folder: Path, *words: str, path: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "leaderboards.cli", *words]
    env = os.environ | {"PATH": path}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


def main() -> None:
    """Make a submission of ten runs, and verify three of them in each way."""
    whole, bare = os.environ["PATH"], str(Path(sys.executable).parent)
    ways = [("without bubblewrap", bare)]
    if (reason := not_isolated()) is None:
        ways.insert(0, ("with bubblewrap", whole))
    else:
        sys.stdout.write(f"with bubblewrap: {reason}\n")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "mine.py").write_text(_AGENT)
        (folder / "part.toml").write_text(_SUITE)
        for words in (
            ["run", "part.toml", "--agent", "mine:Mine", "--against", "core-v2", "--out", "r", "--workers", "1"],
            ["submit", "r", "--out", "sub"],
        ):
            done = _gpbandit(folder, *words, path=whole)
            if done.returncode:
                raise RuntimeError(done.stderr)
        for way, path in ways:
            start = time.monotonic()
            done = _gpbandit(folder, "verify", "sub", "--yes", "--sample", "3", "--workers", "1", path=path)
            said = done.stdout.splitlines()[-1]
            sys.stdout.write(f"{way}: {time.monotonic() - start:.1f} s, exit code {done.returncode}: {said}\n")


if __name__ == "__main__":
    main()
