"""Someone else's band: a class with a `predict` is audited and judged by one command."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from leaderboards.cli.app import app

BAND = '''
import numpy as np
from agents import Agent, Capabilities

class Wide(Agent):
    """Uniform draws, and a band as wide as asked."""

    capabilities = Capabilities(frozenset({"finite"}))

    def __init__(self, *, half: float = 10.0) -> None:
        self.half = half

    def reset(self, problem, rng):
        self.problem, self.rng = problem, rng

    def select(self, n, pending):
        if len(pending):
            return np.zeros(0, np.int64)
        return self.rng.integers(self.problem.n_arms, size=n)

    def observe(self, feedback):
        pass

    def recommend(self):
        return 0

    def predict(self, X):
        return np.zeros(len(X)), np.full(len(X), self.half)
'''
SUITE = """
name = "own"
horizon = 6
repetitions = 12
audit = { delta = 0.1, groups = { all = ["a", "b", "c"] } }
agents = ["Uniform"]
environments = [
  { id = "GPBandit/RKHS-v0", label = "a", kwargs = { n_arms = 20 } },
  { id = "GPBandit/RKHS-v0", label = "b", kwargs = { n_arms = 25 } },
  { id = "GPBandit/RKHS-v0", label = "c", kwargs = { n_arms = 30 } },
]
"""


@pytest.mark.parametrize(
    ("half", "verdict"),
    [
        (10.0, "Wide: holds, no theorem, held in 36 of 36 runs; no width is stated"),
        (0.0, "Wide: fails, held in 0 of 36 runs; refuted on a, b, c; no width is stated"),
    ],
)
def test_a_class_with_a_predict_is_audited_and_judged(
    half: float, verdict: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_band.py").write_text(BAND.replace("10.0", str(half)))
    (tmp_path / "own.toml").write_text(SUITE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(__import__("sys").modules, "my_band", raising=False)
    command = ["run", "own.toml", "--agent", "my_band:Wide", "--executor", "serial", "--workers", "1"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    others = "1 without a theorem" if "no theorem" in verdict else "1 failing"
    assert f"0 of 1 rows with a band keep their word ({others}), at delta 0.1" in done.output
    assert verdict in " ".join(done.output.split())
