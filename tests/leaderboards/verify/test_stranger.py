"""A folder from a stranger: whatever lies in it, commands that read it run none of it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from leaderboards.play.run import run_spec
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.store.store import Store

NAMES = ("pydantic", "base64", "threadpoolctl", "pandas", "numpy", "agents", "mine", "sitecustomize", "loky", "rich")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with modules of many names, each of which leaves a mark when it is run."""
    folder = tmp_path_factory.mktemp("stranger")
    ref = Ref("GPBandit/RKHS-v0", {"n_arms": 20})
    store = Store(folder)
    for agent in ("Uniform", "GP-UCB"):
        store.write(*(run_spec(RunSpec(env=ref, agent=Ref(agent), repetition=r, horizon=9)) for r in range(2)))
    for name in NAMES:
        (folder / f"{name}.py").write_text(f"open({str(folder / 'ran')!r}, 'a').write({name!r})\n")
    return folder


def gpbandit(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The console script in a folder, as a user starts it."""
    script = shutil.which("gpbandit", path=str(Path(sys.executable).parent))
    give = [script] if script else [sys.executable, "-P", "-m", "leaderboards.cli"]
    return subprocess.run([*give, *words], capture_output=True, text=True, check=False, cwd=folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [["page", "."], ["submit", ".", "--out", "packed.zip"], ["verify", ".", "--sample", "1", "--workers", "2"]],
    ids=lambda words: words[0],
)
def test_reading_a_folder_runs_nothing_of_it(stranger: Path, words: list[str]) -> None:
    ended = gpbandit(stranger, *words)
    assert ended.returncode == 0, ended.stderr
    assert not (stranger / "ran").exists(), (stranger / "ran").read_text()
