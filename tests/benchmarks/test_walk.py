"""The modules of a walk are those whose functions run, whatever has been imported."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

import pytest

from benchmarks.walk import modules_run, walks
from gpbandit_envs.arguments import as_count

ROOT = Path(__file__).resolve().parents[2]


def test_modules_that_run_are_noted() -> None:
    assert modules_run(lambda: as_count("n", 3)) == {"gpbandit_envs.arguments"}
    assert modules_run(lambda: sum([1, 2])) == set()


@pytest.mark.docs
def test_the_architecture_says_how_many_a_reward_passes(tmp_path: Path) -> None:
    stored, _, whole = (len(modules) for _, modules in islice(walks(tmp_path), 3))
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    told = re.search(r"(\d+) until the run is stored, (\d+) until the page is written", text)
    assert told is not None
    # What a process does once, another test may have done before this one.
    assert stored == pytest.approx(int(told[1]), abs=5)
    assert whole == pytest.approx(int(told[2]), abs=5)
