"""What policies state of their bands: the kind of the width, its theorem, and the conditions that are not met."""

from __future__ import annotations

import logging
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import agents
import leaderboards
from agents import BandGuarantee, BoundInputs, Capabilities, Pending, RegretGuarantee
from agents.core import registry
from agents.core.finite import FiniteArmAgent
from agents.core.guarantees import guarantee_status
from agents.core.regret_bounds import proven_exponent
from agents.core.widths import AnalyticMixture, InformationGain, TwoSidedNonAdaptive, WidthContext
from agents.few_batches.theory import OfflineTheorem
from agents.sketched.base import least_oversampling
from gpbandit_envs import problem_of
from gpbandit_envs.gp import SE
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.problem import InitialData, NoiseTails, Problem
from leaderboards.audit.report import audit_band, audit_reports
from leaderboards.audit.store import audit_runs
from leaderboards.play.spec import Ref
from leaderboards.score.summary import summarise
from leaderboards.show import build_page
from leaderboards.show.palette import DASHES, FAMILY_HUES, HUES, LineStyle, line_styles
from leaderboards.show.rebuilt import task_theory
from leaderboards.store.store import Store

X = np.linspace(0, 1, 12)[:, None]
_STATED: dict[str, Any] = {"kernel": SE(0.2), "noise_std": 1.0, "noise_tails": NoiseTails(1.0, gaussian=True)}
ARMS = Problem(name="arms", dim=1, arms=X, norm_bound=2.0, horizon=50, **_STATED)
PRIOR = Problem(name="draw", dim=1, arms=X, horizon=50, **_STATED)
BOX = Problem(name="box", dim=1, norm_bound=2.0, horizon=50, **_STATED)
WIDE = replace(ARMS, kernel=SE(0.2) * 20.0, noise_std=5.0, noise_tails=NoiseTails(5.0))  # log(kappa^2) >= L
WITH_DATA = replace(ARMS, initial=InitialData(arms=np.array([1]), rewards=np.array([0.5])))
ENOUGH = least_oversampling(50, 1 / 50, 2.0)


def stated(id: str, problem: Problem, **kwargs: Any) -> tuple[BandGuarantee, str]:
    agent = agents.make(id, **kwargs)
    agent.reset(problem, np.random.default_rng(0))
    found = agent.band_guarantee()
    return found, guarantee_status(found, problem)


PROVEN = [
    ("GP-UCB", ARMS, {}, "proven", "Chowdhury and Gopalan (2017), Theorem 2"),
    ("GP-UCB", ARMS, {"width": "amm"}, "proven", "Flynn and Reeb (2025), AMM"),
    ("GP-UCB", ARMS, {"width": "dmm"}, "proven", "Flynn and Reeb (2025), DMM"),
    ("GP-UCB", BOX, {"width": "dmm"}, "proven", "Flynn and Reeb (2025), DMM"),
    ("GP-UCB", ARMS, {"width": "dmm", "norm_bound": {"times": 3.0}}, "proven", "Flynn and Reeb (2025), DMM"),
    ("GP-BUCB", ARMS, {"width": "amm"}, "proven", "Flynn and Reeb (2025), AMM"),
    ("GP-AUCB", ARMS, {"width": "amm"}, "proven", "Flynn and Reeb (2025), AMM"),
    ("GP-UCB", PRIOR, {"width": "bayes"}, "Bayesian", "Srinivas et al. (2010), Theorem 1"),
    ("BPE", ARMS, {}, "proven", "Vakili et al. (2021), Theorem 1"),
    (
        "BKB",
        ARMS,
        {"qbar": ENOUGH, "width": "proven"},
        "proven",
        "Calandriello et al. (2019), Theorem 2 with the logarithm of Proposition 5",
    ),
    ("BKB", WIDE, {"qbar": ENOUGH}, "proven", "Calandriello et al. (2019), Theorem 2"),
    ("BPE", ARMS, {"width": "sub-gaussian"}, "proven", "Vakili et al. (2021), Theorem 1"),
    ("BBKB", ARMS, {"qbar": ENOUGH}, "proven", "Calandriello et al. (2020), Theorem 2"),
]


@pytest.mark.parametrize(("id", "problem", "kwargs", "kind", "theorem"), PROVEN)
def test_proven(id: str, problem: Problem, kwargs: dict[str, Any], kind: str, theorem: str) -> None:
    found, status = stated(id, problem, **kwargs)
    assert (found.kind, found.theorem, status) == (kind, theorem, "")


NOT = [
    ("BKB", ARMS, {"width": "amm"}, "unproven", "its proof is for the exact posterior"),
    ("BBKB", ARMS, {"width": "amm"}, "unproven", "its proof is for the exact posterior"),
    ("BKB", ARMS, {"width": InformationGain()}, "unproven", "its proof is for the exact posterior"),
    ("BKB", ARMS, {"qbar": 2.0}, "unproven", "qbar >= 663, and qbar is 2"),
    ("BKB", ARMS, {"qbar": 2.0, "width": "proven"}, "unproven", "qbar >= 663, and qbar is 2"),
    ("BKB", ARMS, {"qbar": ENOUGH}, "unproven", "printed with log(kappa^2 t), which its proof bounds by"),
    ("BKB", WITH_DATA, {"qbar": ENOUGH, "width": "proven"}, "unproven", "these begin with data"),
    ("BKB", ARMS, {"qbar": ENOUGH, "width": {"name": "theory", "eps": 0.1}}, "unproven", "qbar >= 6754, and"),
    ("BBKB", ARMS, {"qbar": ENOUGH - 1}, "unproven", "qbar >= 1326, and qbar is 1325"),
    ("BBKB", ARMS, {"qbar": ENOUGH, "lam": 0.5}, "unproven", "lam >= 1, and lam is 0.5"),
    ("BPE", ARMS, {"posterior": "full"}, "unproven", "the data of one batch alone"),
    ("BPE", BOX, {}, "unproven", "the points of the grid"),
    ("GP-UCB", ARMS, {"width": OfflineTheorem(4)}, "unproven", "chosen without their feedback"),
    ("GP-UCB", BOX, {"width": "bayes"}, "unproven", "a grid and the evaluated points"),
    ("GP-UCB", ARMS, {"width": "practical"}, "tuned", "a tuned width"),
    ("GP-UCB", ARMS, {"width": 2.0}, "tuned", "a tuned width"),
    ("BPE", ARMS, {"posterior": "full", "width": "growing"}, "tuned", "a tuned width"),
    ("GP-UCB", ARMS, {"width": "dmm", "norm_bound": {"times": 0.5}}, "proven", "is below the problem's"),
    ("GP-UCB", ARMS, {"width": "amm", "norm_bound": 1.9}, "proven", "is below the problem's"),
    ("GP-EI", ARMS, {}, "tuned", "no width is stated"),
]


@pytest.mark.parametrize(("id", "problem", "kwargs", "kind", "why"), NOT)
def test_not_proven_and_why(id: str, problem: Problem, kwargs: dict[str, Any], kind: str, why: str) -> None:
    width = kwargs.get("width")
    if isinstance(width, InformationGain | OfflineTheorem):
        # A schedule has no name of its own: a subclass states the band.
        agent = agents.make(id, **kwargs)
        agent.reset(problem, np.random.default_rng(0))
        assert why in agent.band_guarantee().unmet
        assert agent.band_guarantee().kind == kind
        return
    found, status = stated(id, problem, **kwargs)
    assert found.kind == kind
    assert why in status


NO_CONSTANT = "its theorem asks for sub-Gaussian noise, and the problem states no constant of it"
NOT_GAUSSIAN = "its theorem asks for Gaussian noise, and that of the problem is sub-Gaussian alone"


@pytest.mark.parametrize(("id", "problem", "kwargs", "kind", "theorem"), PROVEN)
def test_what_widths_ask_of_noise(id: str, problem: Problem, kwargs: dict[str, Any], kind: str, theorem: str) -> None:
    assert problem.noise_std is not None
    unknown = replace(problem, noise_tails=None)
    assert stated(id, unknown, **kwargs)[1] == NO_CONSTANT
    larger = replace(problem, noise_tails=NoiseTails(problem.noise_std * 1.01, gaussian=True))
    assert "for its sub-Gaussian constant, which is" in stated(id, larger, **kwargs)[1]
    uniform = replace(problem, noise_tails=NoiseTails(problem.noise_std))
    for_gaussian = kind == "Bayesian" or (id == "BPE" and not kwargs)
    assert stated(id, uniform, **kwargs)[1] == (NOT_GAUSSIAN if for_gaussian else "")


@pytest.mark.parametrize("id", ["BPE", "REDS", "MVR", "RGP-PE"])
def test_widths_for_noise_that_is_not_gaussian(id: str) -> None:
    """`2 A` in the place of A, and nothing else."""
    uniform = replace(ARMS, noise_tails=NoiseTails(1.0))
    assert stated(id, uniform)[1] == NOT_GAUSSIAN
    assert stated(id, uniform, width="sub-gaussian")[1] == stated(id, ARMS, width="sub-gaussian")[1] == ""
    squares = []
    for width in ("theory", "sub-gaussian"):
        agent = agents.make(id, width=width)
        agent.reset(ARMS, np.random.default_rng(0))
        half = (agent.predict(X) or (X, X))[1]
        squares.append((half[0] - 2.0) ** 2)  # the prior deviation is 1, and so is R / sqrt(lam)
    assert squares[1] - squares[0] == pytest.approx(2 * np.log(2))


def test_environments_say_so() -> None:
    def status(id: str, agent_kwargs: dict[str, Any], **kwargs: Any) -> str:
        env = gym.make(id, n_arms=12, dim=1, **kwargs)
        agent = agents.make("GP-UCB", **agent_kwargs)
        agent.reset(problem_of(env), np.random.default_rng(0))
        return guarantee_status(agent.band_guarantee(), problem_of(env))

    for width in ("theory", "amm", "dmm"):
        assert status("GPBandit/RKHS-v0", {"width": width}, noise="student_t") == NO_CONSTANT
        assert status("GPBandit/RKHS-v0", {"width": width}, noise="bounded") == ""
    assert status("GPBandit/GPSample-v0", {"width": "bayes"}, noise="bounded") == NOT_GAUSSIAN
    assert status("GPBandit/RKHS-v0", {"width": "amm"}, misspecification={"norm": 3.0}) == ""
    too_small = status("GPBandit/RKHS-v0", {"width": "amm"}, misspecification={"norm": 0.5})
    assert too_small == "its theorem does not allow for a stated norm below the true one"
    assert "not known to be true" in status("GPBandit/RKHS-v0", {"width": "amm"}, misspecification={"noise": 2.0})


def test_an_unknown_horizon_leaves_the_sketch_unproven() -> None:
    unlimited = replace(ARMS, horizon=None)
    assert "depends on the horizon" in stated("BKB", unlimited, qbar=1e6)[1]


@pytest.mark.parametrize(
    ("env", "agent"),
    [
        *(
            (("GPBandit/RKHS-v0", {"n_arms": 40, "dim": 1, "norm": 2.0}), agent)
            for agent in (
                ("GP-UCB", {"width": "theory"}),
                ("GP-UCB", {"width": "amm"}),
                ("GP-UCB", {"width": "dmm"}),
                ("GP-BUCB", {"width": "amm", "batch_size": 4}),
                ("GP-AUCB", {"width": "amm"}),
                ("BPE", {}),
            )
        ),
        (("GPBandit/GPSample-v0", {"n_arms": 40}), ("GP-UCB", {"width": "bayes"})),
        pytest.param(
            ("GPBandit/RKHS-v0", {"n_arms": None, "dim": 1, "norm": 2.0}),
            ("GP-UCB", {"width": "dmm", "candidates": 32, "starts": 1, "iterations": 5}),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_every_proven_width_keeps_its_promise_in_an_audit(env: Any, agent: Any) -> None:
    """At every evaluation of six runs, with `delta` 0.1: more than three failures have a probability of 1e-3."""
    report = audit_band(env, (agent[0], {"delta": 0.1, **agent[1]}), 6, horizon=20, checkpoints=20)
    assert report.no_guarantee == ""
    assert report.kind in ("proven", "Bayesian")
    assert report.theorem
    assert report.coverage().estimate >= 0.5
    assert report.passes
    assert report.refuted == 0


def test_a_refuted_norm_is_counted() -> None:
    env = ("GPBandit/RKHS-v0", {"n_arms": 40, "dim": 1, "norm": 5.0})
    report = audit_band(env, ("GP-UCB", {"width": "dmm", "norm_bound": {"times": 0.02}}), 2, horizon=20, checkpoints=4)
    assert report.refuted == 2
    assert report.coverage().estimate == 0
    assert "below the problem's" in report.no_guarantee


class TestNormBound:
    def test_a_multiple_of_the_problems(self) -> None:
        for problem, F in ((ARMS, 6.0), (PRIOR, 3.0)):
            agent: Any = agents.make("GP-UCB", norm_bound={"times": 3.0})
            agent.reset(problem, np.random.default_rng(0))
            assert agent.model.norm_bound == F
        alone: Any = agents.make("GP-UCB", norm_bound=6.0)
        agent.reset(ARMS, np.random.default_rng(0))
        alone.reset(ARMS, np.random.default_rng(0))
        assert alone.current_width == agent.current_width

    @pytest.mark.parametrize("factor", [0.0, -1.0, float("inf"), float("nan")])
    def test_a_bad_factor_is_named(self, factor: float) -> None:
        with pytest.raises(ValueError, match="norm_bound: expected a finite number > 0"):
            agents.make("GP-UCB", norm_bound={"times": factor})

    def test_another_mapping_is_none(self) -> None:
        with pytest.raises(ValueError, match=r"norm_bound: expected a mapping such as \{'double': 0.5\} or \{'times'"):
            agents.make("GP-UCB", norm_bound={"thrice": 1.0})


def test_the_regret_bound_is_that_of_the_width() -> None:
    gamma = np.linspace(0.5, 6.0, 50)
    inputs = BoundInputs(ARMS, 50, gamma, None, 1.0, 1.0)
    theory, amm, dmm = (agents.make("GP-UCB", width=w).regret_guarantee(inputs) for w in ("theory", "amm", "dmm"))
    assert amm == dmm
    assert amm.theorem == "Flynn and Reeb (2025), AMM"
    assert theory.bound is not None
    assert amm.bound is not None
    known = WidthContext(50, ARMS.n_arms, 1.0, 1.0, 2.0, 1 / 50, information_gain=6.0)
    ratio = AnalyticMixture()(known) / InformationGain()(known)
    assert amm.bound / theory.bound == pytest.approx(ratio)
    assert ratio < 1


def test_the_bound_of_bpe_is_for_the_noise_that_its_width_is_for() -> None:
    """Each side of a band under sub-Gaussian noise is an event of its own: 2 A of them, whichever schedule says so."""
    inputs = BoundInputs(ARMS, 50, np.linspace(0.5, 6.0, 50), None, 1.0, 1.0)
    theory, two_sided, other = (
        agents.make("BPE", width=width).regret_guarantee(inputs)
        for width in ("theory", "sub-gaussian", TwoSidedNonAdaptive())
    )
    assert other == two_sided
    assert (theory.gaussian_noise, other.gaussian_noise) == (True, False)
    assert float(theory.bound or 0.0) < float(other.bound or 0.0)


@pytest.mark.parametrize("width", ["theory", TwoSidedNonAdaptive()], ids=str)
def test_no_band_for_pulls_chosen_blindly_is_proven_on_all_batches(width: object) -> None:
    agent = agents.make("BPE", width=width, posterior="full")
    agent.reset(ARMS, np.random.default_rng(0))
    assert agent.band_guarantee().kind == "unproven"


# ---- a policy states its theory in its own class: audit, theory comparison and charts need no other edit ----


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
    assert not any(isinstance(told, str) for _, told in audit_runs(store, sorted(store.done_keys()), checkpoints=5))
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
    assert not any(isinstance(told, str) for _, told in audit_runs(store, sorted(store.done_keys()), checkpoints=5))
    theory: Any = task_theory(summarise(store), "RKHS")
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
