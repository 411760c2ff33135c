"""The modules of a walk are those whose functions run, whatever has been imported."""

from __future__ import annotations

from benchmarks.walk import modules_run
from gpbandit_envs.arguments import as_count


def test_modules_that_run_are_noted() -> None:
    assert modules_run(lambda: as_count("n", 3)) == {"gpbandit_envs.arguments"}
    assert modules_run(lambda: sum([1, 2])) == set()
