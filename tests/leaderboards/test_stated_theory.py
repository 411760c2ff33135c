"""A policy states its theory in its own class: audit, theory comparison and charts need no other edit."""

from __future__ import annotations

import logging
import math
from pathlib import Path

import numpy as np
import pytest

import agents
import leaderboards
from agents import BandGuarantee, BoundInputs, Capabilities, Pending, RegretGuarantee
from agents.core import registry
from agents.core.finite import FiniteArmAgent
from agents.core.regret_bounds import proven_exponent
from gpbandit_envs.gp.exact import ExactPosterior
from leaderboards.audit.report import audit_reports
from leaderboards.audit.store import audit_runs
from leaderboards.play.spec import Ref
from leaderboards.score.summary import summarise
from leaderboards.show import build_page
from leaderboards.show.palette import DASHES, FAMILY_HUES, HUES, LineStyle, line_styles
from leaderboards.show.rebuilt import task_theory
from leaderboards.store.store import Store

SAMPLES = ("GPBandit/GPSample-v0", {"n_arms": 30, "dim": 1})


class Optimist(FiniteArmAgent):
    """GP-UCB of the shortest kind, which states nothing."""

    capabilities = Capabilities(frozenset({"finite"}), needs=frozenset({"kernel", "noise"}))

    def start_episode(self) -> None:
        problem = self.problem
        assert problem.kernel is not None
        assert problem.arms is not None
        assert problem.noise_std is not None
        self.posterior = ExactPosterior(problem.kernel, problem.arms, problem.noise_std**2)

    def learn(self, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> None:
        self.posterior.update(arms, counts, sums)

    def _width(self) -> float:
        return math.sqrt(2 * math.log(self.problem.n_arms * (self.n_pulls + 1) ** 2 * math.pi**2 / (6 * 0.1)))

    def select(self, n: int, pending: Pending) -> np.ndarray:
        if len(pending):
            return np.zeros(0, np.int64)
        return np.array([np.argmax(self.posterior.mean + self._width() * np.sqrt(self.posterior.variance))])

    def predict(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean, variance = self.posterior.at(X)
        return mean, self._width() * np.sqrt(variance)


class Stated(Optimist):
    """The same policy, with its theory."""

    policy_family = "sketched"

    def band_guarantee(self) -> BandGuarantee:
        return BandGuarantee(width="union", delta=0.1, assumes="prior")

    def regret_guarantee(self, inputs: BoundInputs) -> RegretGuarantee:
        assert inputs.gamma.shape == (inputs.t,)
        exponent = proven_exponent(inputs.problem)
        return RegretGuarantee(exponent, 1234.5, "Author (2024), Theorem 7")


class Faulty(Optimist):
    """Raises where it is asked."""

    def regret_guarantee(self, inputs: BoundInputs) -> RegretGuarantee:
        raise RuntimeError("no theorem today")


@pytest.fixture
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.core.registry._registry", dict(registry._registry))
    for cls in (Optimist, Stated, Faulty):
        agents.register(f"Test-{cls.__name__}", cls)


@pytest.mark.usefixtures("_registered")
def test_a_policy_of_ones_own_states_its_theory_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = Store(tmp_path)
    for id in ("Test-Stated", "Test-Optimist", "Test-Faulty"):
        for repetition in range(2):
            store.write(leaderboards.run(SAMPLES, id, repetition, 20))
    assert not [outcome for outcome in audit_runs(store, sorted(store.done_keys()), checkpoints=5) if outcome.error]
    summary = summarise(store)

    reports = audit_reports(store, summary)
    stated, silent = reports["GPSample", "Test-Stated"].band, reports["GPSample", "Test-Optimist"].band
    assert stated is not None
    assert (stated.width, stated.delta, stated.no_guarantee) == ("union", 0.1, "")
    assert stated.passes
    assert silent is not None
    assert (silent.width, silent.delta, silent.no_guarantee) == ("", None, "no width is stated")
    assert silent.coverage().estimate == 1
    assert silent.passes is None

    with caplog.at_level(logging.WARNING, "gpbandit"):
        theory = task_theory(summary, "GPSample")
    assert theory is not None
    proven = {comparison.agent: comparison.proven for comparison in theory.comparisons}
    assert proven["Test-Stated"] == RegretGuarantee(0.5 + 1 / 6, 1234.5, "Author (2024), Theorem 7")
    assert proven["Test-Optimist"] == proven["Test-Faulty"] == RegretGuarantee()
    assert "Test-Faulty: regret_guarantee raised RuntimeError: no theorem today" in caplog.text

    build_page(tmp_path)
    page = (tmp_path / "site" / "env-gpsample.html").read_text()
    assert "Author (2024), Theorem 7" in page
    assert "union" in page


def test_noise_without_a_constant_has_no_bound(tmp_path: Path) -> None:
    store = Store(tmp_path)
    env = ("GPBandit/RKHS-v0", {"n_arms": 12, "dim": 1, "noise": "student_t"})
    for id in ("GP-UCB", "BPE", "BBKB"):
        for repetition in range(2):
            store.write(leaderboards.run(env, id, repetition, 20))
    assert not [outcome for outcome in audit_runs(store, sorted(store.done_keys()), checkpoints=5) if outcome.error]
    theory = task_theory(summarise(store), "RKHS")
    assert theory is not None
    assert {comparison.proven for comparison in theory.comparisons} == {RegretGuarantee()}
    why = "its theorem asks for sub-Gaussian noise, and the problem states no constant of it"
    assert theory.unmet == why
    build_page(tmp_path)
    page = (tmp_path / "site" / "env-rkhs.html").read_text()
    assert f"no bound\n  is stated: {why}" in page


@pytest.mark.usefixtures("_registered")
def test_the_family_that_a_policy_states_gives_its_hue() -> None:
    alone = line_styles({"x": Ref("Test-Stated")})["x"]
    assert alone.hue == HUES.index(FAMILY_HUES["sketched"])
    names = ("BBKB", "Test-Stated", "BKB", "BBKB-GlobalLocal", "Test-Optimist")
    beside = line_styles({name: Ref(name) for name in names})
    assert beside["Test-Stated"] == alone
    assert [beside[name].dash for name in ("BBKB", "BKB", "BBKB-GlobalLocal", "Test-Stated")] == list(DASHES)
    assert len(set(beside.values())) == len(names)


def test_agents_of_a_family_of_their_own_share_a_hue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Optimist, "policy_family", "mine")
    monkeypatch.setattr(Stated, "policy_family", "mine")
    found = line_styles(
        {name: Ref(f"{__name__}:{name}") for name in ("Optimist", "Stated")} | {"GP-UCB": Ref("GP-UCB")}
    )
    assert found["Optimist"].hue == found["Stated"].hue != HUES.index("blue")
    assert found["Optimist"].dash != found["Stated"].dash


def test_the_styles_of_built_in_agents_stay() -> None:
    expected = {
        "GP-UCB": ("blue", "solid"),
        "GP-BUCB": ("blue", "dash"),
        "SM-UCB": ("blue", "dot"),
        "SM-MEI": ("blue", "dashdot"),
        "BBKB": ("orange", "solid"),
        "BKB": ("orange", "dash"),
        "BBKB-GlobalLocal": ("orange", "dot"),
        "BPE": ("green", "solid"),
        "UHE-BO": ("green", "dash"),
        "RA-BO": ("green", "dot"),
        "Random+EXP3": ("green", "dashdot"),
        "ASYNC-TS": ("plum", "solid"),
        "MAP-UCB": ("plum", "dash"),
        "MCMC-UCB": ("plum", "dot"),
        "Wang-deFreitas": ("plum", "dashdot"),
        "EpsGreedy": ("brown", "solid"),
        "REG-EVOLUTION": ("brown", "dash"),
        "Portfolio": ("brown", "dot"),
        "GP-AUCB": ("sky", "solid"),
        "NRB-UCB": ("sky", "dash"),
        "NTB-UCB": ("sky", "dot"),
        "A-GP-UCB": ("sky", "dashdot"),
        "Uniform": ("grey", "solid"),
        "Random": ("grey", "dash"),
        "UncertaintySampling": ("grey", "dot"),
    }
    for id, (hue, dash) in expected.items():
        assert line_styles({"x": Ref(id)})["x"] == LineStyle(HUES.index(hue), dash), id
