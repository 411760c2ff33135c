"""How many modules a piece of data passes: `python -m benchmarks.walk [--names]` prints a table in Markdown.

Each walk is gone twice in this process; the second time the modules of this project are noted whose functions run, so
that imports do not count. A reward's: GP-UCB and Uniform on one environment of 50 arms, until the run is stored, and
until the page is written. A submission's: an agent of one file, one run of a task of a board, from the folder of
results until that run has been played again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import leaderboards
from leaderboards.play.isolated import Sandbox
from leaderboards.publish.submission import faults, make_submission, open_submission
from leaderboards.show.build import build_page
from leaderboards.verify.verify import verify
from leaderboards.work.executors import SerialExecutor

_PROJECT = ("gpbandit_envs", "agents", "leaderboards")
_SUITE = {
    "name": "walk",
    "environments": [{"id": "GPBandit/GPSample-v0", "kwargs": {"n_arms": 50}}],
    "agents": [{"id": "GP-UCB"}, {"id": "Uniform"}],
    "horizon": 20,
    "repetitions": 1,
}
_BOARD = "core-v2"
_PART = f"""
name = "walk-board"
description = "A task."
part_of = "{_BOARD}"
tasks = ["01 RKHS SE, d = 1, told true"]
repetitions = 1
"""
_MODULE = "agent_of_the_walk"
_AGENT = """
from agents.baselines.uniform import Uniform


class Walker(Uniform):
    pass
"""


def modules_run(call: Callable[[], object]) -> set[str]:
    """Names of the modules of this project in which a function runs while `call` does."""
    seen: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            seen.add(str(frame.f_globals.get("__name__")))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {name for name in seen if name.partition(".")[0] in _PROJECT}


def walks(folder: Path) -> Iterator[tuple[str, set[str]]]:
    """Each walk's name and its modules.

    Args:
        folder: An empty folder, where everything is written.
    """

    def play(out: Path) -> None:
        leaderboards.run_suite(_SUITE, out=out, progress=False)

    play(folder / "before")
    played = modules_run(lambda: play(folder / "results"))
    yield "a reward, until it is stored", played
    build_page(folder / "before")
    shown = modules_run(lambda: build_page(folder / "results"))
    yield "a reward, from the file to the page", shown
    yield "a reward, the whole way", played | shown

    (folder / f"{_MODULE}.py").write_text(_AGENT, encoding="utf-8")
    sys.path.insert(0, str(folder))
    part, results = folder / "part.toml", folder / "played"
    part.write_text(_PART, encoding="utf-8")
    leaderboards.run_suite(part, [f"{_MODULE}:Walker"], out=results, progress=False, against=_BOARD)

    def submit(at: Path) -> None:
        at.mkdir()
        make_submission(results, at / "submission", same_code=True)
        made = open_submission(at / "submission", at / "opened")
        assert not faults(made)
        verdicts = verify(made.store, made.store.done_keys(), at / "again", SerialExecutor(), Sandbox(made.code))
        assert all(verdict.agrees for verdict in verdicts), verdicts

    submit(folder / "first")
    yield "a submission", modules_run(lambda: submit(folder / "second"))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--names", action="store_true", help="Print the names of the modules too.")
    names = parser.parse_args().names
    with tempfile.TemporaryDirectory() as folder:
        sys.stdout.write("| walk | modules |\n|---|---:|\n")
        for name, modules in walks(Path(folder)):
            sys.stdout.write(f"| {name} | {len(modules)} |\n")
            if names:
                sys.stdout.write("".join(f"  {module}\n" for module in sorted(modules)))


if __name__ == "__main__":
    main()
