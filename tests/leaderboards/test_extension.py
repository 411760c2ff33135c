"""A policy and a metric are one definition and one line each: every command finds them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import agents
from agents import BandGuarantee, BoundInputs, Capabilities, Pending, RegretGuarantee
from agents.core import registry
from agents.core.finite import FiniteArmAgent
from gpbandit_envs.gp.exact import ExactPosterior
from leaderboards.audit.report import audit_reports
from leaderboards.cli import main
from leaderboards.score.metrics import METRICS, REWARD, Metric, RunColumns, register_metric
from leaderboards.score.summary import summarise
from leaderboards.store.store import Store

SUITE = """
name = "extended"
description = "A policy of one's own beside a built-in one."
horizon = 20
repetitions = 3
[[environments]]
id = "GPBandit/GPSample-v0"
kwargs = { n_arms = 30, dim = 1 }
[[agents]]
id = "Uniform"
[[agents]]
id = "Own-UCB"
kwargs = { multiplier = 4.0 }
"""


class OwnUCB(FiniteArmAgent):
    """GP-UCB with a constant width, and with a theory of its own."""

    capabilities = Capabilities(frozenset({"finite"}), needs=frozenset({"kernel", "noise"}))
    policy_family = "GP-UCB"

    def __init__(self, multiplier: float = 3.0) -> None:
        self.multiplier = multiplier

    def start_episode(self) -> None:
        problem = self.problem
        assert problem.kernel is not None
        assert problem.arms is not None
        assert problem.noise_std is not None
        self.posterior = ExactPosterior(problem.kernel, problem.arms, problem.noise_std**2)

    def learn(self, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> None:
        self.posterior.update(arms, counts, sums)

    def select(self, n: int, pending: Pending) -> np.ndarray:
        if len(pending):
            return np.zeros(0, np.int64)
        return np.array([np.argmax(self.posterior.mean + self.multiplier * np.sqrt(self.posterior.variance))])

    def predict(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean, variance = self.posterior.at(X)
        return mean, self.multiplier * np.sqrt(variance)

    def band_guarantee(self) -> BandGuarantee:
        return BandGuarantee(width="own width", delta=0.05, assumes="prior")

    def regret_guarantee(self, inputs: BoundInputs) -> RegretGuarantee:
        return RegretGuarantee(0.75, 98765.0, "Author (2024), Theorem 7")


def worst_regret(run: RunColumns) -> np.ndarray:
    return np.maximum.accumulate(run.regret)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("agents.core.registry._registry", dict(registry._registry))
    agents.register("Own-UCB", OwnUCB)
    register_metric(
        Metric("worst_regret", "Worst regret", "max r_s", REWARD, "The worst evaluation so far.", worst_regret)
    )
    yield
    del METRICS["worst_regret"]


def gpbandit(*arguments: object) -> None:
    """One call of the command line, which succeeds."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    assert not ended.value.code


@pytest.mark.slow
@pytest.mark.usefixtures("registered")
def test_a_new_policy_and_a_new_metric_are_in_the_list_the_runs_the_page_the_audit_and_the_theory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gpbandit("list", "agents")
    assert "  Own-UCB\n" in capsys.readouterr().out

    suite, out = tmp_path / "extended.toml", tmp_path / "out"
    suite.write_text(SUITE)
    gpbandit("run", suite, "--out", out, "--executor", "serial")
    gpbandit("audit", out, "--yes", "--workers", 1, "--checkpoints", 5)
    assert "6 runs audited, 3 with a confidence band" in capsys.readouterr().out
    gpbandit("page", out)
    gpbandit("figures", out)

    store = Store(out)
    runs = store.runs()
    assert runs["status"].eq("done").all()
    own = runs.index[runs["agent"] == "Own-UCB"]
    summary = summarise(store)
    worst = summary.scores["GPSample", "Own-UCB"].finals["worst_regret"]
    assert sorted(worst) == sorted(store.trace(key)["regret"].max() for key in own)
    band = audit_reports(store, summary)["GPSample", "Own-UCB"].band
    assert band is not None
    assert (band.width, band.delta, band.no_guarantee) == ("own width", 0.05, "")

    page = (out / "site" / "env-gpsample.html").read_text()
    scores, audit, theory = (
        re.search(f'<section aria-labelledby="{name}"[^>]*>.*?</section>', page, re.DOTALL)
        for name in ("scores", "bands", "theory")
    )
    assert scores is not None
    assert ">Worst regret</th>" in scores[0]
    assert f'data-sort="{worst.mean():.7g}"' in scores[0]
    assert audit is not None
    assert "Own-UCB" in audit[0]
    assert "own width" in audit[0]
    assert theory is not None
    assert all(text in theory[0] for text in ("Own-UCB", "0.75", "Author (2024), Theorem 7"))
    assert ">Worst regret</th>" in (out / "site" / "agent-own-ucb.html").read_text()
    assert (out / "figures" / "worst_regret.png").is_file()
