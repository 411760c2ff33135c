"""Policies that begin with existing data, and the leverage scores from which they draw their first dictionary."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import agents
import leaderboards
from agents import Feedback, Pending
from agents.core.beliefs import per_pull_leverage
from agents.core.beliefs import sequential_leverage as exact_sequential_leverage
from agents.sketched.leverage import bless, sequential_leverage
from gpbandit_envs.gp import SE, Kernel, Linear, Matern
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.problem import InitialData, Problem
from tests.agents.play import begun, noisy, play

RNG = np.random.default_rng(0)
X = RNG.random((600, 2))
MEAN = np.sin(5 * X[:, 0]) * np.cos(3 * X[:, 1])
PROBLEM = Problem(name="test", dim=2, arms=X, kernel=SE(0.3), noise_std=0.1, norm_bound=1.5, horizon=60)
ARMS = RNG.integers(600, size=500)
REWARDS = MEAN[ARMS] + 0.1 * RNG.standard_normal(500)
DATA = {"arms": ARMS.tolist(), "rewards": REWARDS.tolist()}


def exact_leverage(kernel: Kernel, points: np.ndarray, pulls: np.ndarray, lam: float) -> np.ndarray:
    K = kernel(points, points)
    posterior = K - K @ np.linalg.solve(K + np.diag(lam / pulls), K)
    scores: np.ndarray = np.diagonal(posterior) / lam
    return scores


class TestBless:
    @pytest.mark.parametrize("kernel", [SE(0.3), Matern(0.5, 1.5), Linear()])
    @pytest.mark.parametrize("lam", [1.0, 1e-2, 1e-4])
    def test_scores_are_those_of_the_dense_formula_up_to_a_factor(self, kernel: Kernel, lam: float) -> None:
        pulls = np.random.default_rng(1).integers(1, 5, size=300).astype(float)
        exact = exact_leverage(kernel, X[:300], pulls, lam)
        for seed in range(2):
            scores = bless(kernel, X[:300], pulls, lam, np.random.default_rng(seed))
            assert (scores / exact).min() > 1 / 3  # too small is what would harm
            assert pulls @ scores == pytest.approx(pulls @ exact, rel=0.5, abs=1.5)
            # With more draws, as the theorem asks for, no score is too large either.
            scores = bless(kernel, X[:300], pulls, lam, np.random.default_rng(seed), oversampling=40.0)
            assert (scores / exact).min() > 1 / 3
            assert (scores / exact).max() < 3

    def test_one_arm_and_a_large_lam(self) -> None:
        rng = np.random.default_rng(0)
        assert bless(SE(0.3), X[:1], np.ones(1), 0.1, rng) == pytest.approx(1 / 1.1, rel=0.2)
        assert bless(SE(0.3), X[:1], np.ones(1), 50.0, rng) == pytest.approx(1 / 50)


class TestInTurn:
    def test_scores_of_single_pulls_are_those_of_an_exact_posterior_that_sees_one_after_the_other(self) -> None:
        arms, pulls = np.array([4, 90, 17]), np.array([3.0, 1.0, 2.0])
        expected = []
        posterior = ExactPosterior(SE(0.3), X, 0.05)
        for arm, n in zip(arms, pulls, strict=True):
            for _ in range(int(n)):
                expected.append(posterior.variance[arm] / 0.05)
                posterior.update(np.array([arm]), np.ones(1), np.zeros(1))
        first = exact_sequential_leverage(SE(0.3)(X[arms], X[arms]), pulls, 0.05)
        np.testing.assert_allclose(per_pull_leverage(first, np.zeros(3), pulls), expected, rtol=1e-9)
        assert 0.5 * np.log1p(expected).sum() == pytest.approx(posterior.information_gain)

    def test_the_sketched_ones_are_exact_on_a_full_dictionary(self) -> None:
        arms, pulls = X[:300], np.random.default_rng(1).integers(1, 4, size=300).astype(float)
        exact = exact_sequential_leverage(SE(0.3)(arms, arms), pulls, 0.05)
        reducible, rest = sequential_leverage(SE(0.3), arms, arms, pulls, 0.05)
        np.testing.assert_allclose(reducible + rest, exact, rtol=1e-6, atol=1e-8)
        assert rest.max() < 1e-6

    def test_on_a_small_dictionary_they_are_those_of_the_dense_sketch(self) -> None:
        arms, pulls, lam = X[:200], np.random.default_rng(1).integers(1, 4, size=200).astype(float), 0.05
        S = arms[::20]
        Z = np.linalg.solve(np.linalg.cholesky(SE(0.3)(S, S)), SE(0.3)(S, arms)).T
        reducible, rest = sequential_leverage(SE(0.3), S, arms, pulls, lam)
        for i in (0, 1, 127, 128, 199):
            V = Z[:i].T @ (pulls[:i, None] * Z[:i]) + lam * np.eye(len(S))
            assert reducible[i] == pytest.approx(Z[i] @ np.linalg.solve(V, Z[i]), rel=1e-6)
            assert rest[i] == pytest.approx((1 - Z[i] @ Z[i]) / lam, rel=1e-6, abs=1e-8)
        # Together they bound the information gain, which no dictionary may hide from a width.
        gain = np.linalg.slogdet(np.eye(200) + SE(0.3)(arms, arms) * pulls / lam)[1]
        assert np.log1p(per_pull_leverage(reducible, np.zeros(200), pulls)).sum() + pulls @ rest >= gain


@pytest.mark.parametrize("qbar", [2.0, 10.0])
def test_the_first_dictionary_is_small_and_accurate(qbar: float) -> None:
    agent: Any = agents.make("BBKB", initial=DATA, width="practical", qbar=qbar)
    distinct, pulls = np.unique(ARMS, return_counts=True)
    exact = ExactPosterior(SE(0.3), X, 0.01)
    exact.update(distinct, pulls.astype(float), np.zeros(len(distinct)))
    d_eff = exact.effective_dimension()
    for seed in range(5):
        agent.reset(PROBLEM, np.random.default_rng(seed))
        size = agent.diagnostics()["dictionary_size"]
        assert size <= 3 * qbar * d_eff  # within the factor 3 of the scores
        assert size < len(distinct)
        ratio = agent.posterior.variance / exact.variance
        assert ratio.max() <= 3  # Lemma 2
        assert ratio.min() >= 1 / 3


@pytest.mark.parametrize("id", ["GP-UCB", "GP-AUCB", "GP-BUCB", "BKB", "BBKB", "BBKB-GlobalLocal"])
class TestPolicies:
    def test_they_know_the_data_before_the_first_pull(self, id: str) -> None:
        agent = begun(PROBLEM, id, initial=DATA, width="practical")
        exact = ExactPosterior(SE(0.3), X, 0.01)
        distinct, inverse, pulls = np.unique(ARMS, return_inverse=True, return_counts=True)
        exact.update(distinct, pulls.astype(float), np.bincount(inverse, REWARDS))
        band: Any = agent.predict(X)
        assert np.abs(band[0] - exact.mean).max() < 0.02
        assert (np.abs(band[0] - MEAN) <= band[1]).all()
        assert agent.diagnostics()["information_gain"] == pytest.approx(exact.information_gain, rel=0.05)
        assert MEAN[agent.recommend()] == pytest.approx(MEAN.max(), abs=0.03)

    def test_protocol(self, id: str) -> None:
        kwargs: dict[str, Any] = {"initial": {"arms": [0, 0, 0], "rewards": [0.1, 0.3, 0.2]}}
        if id == "GP-UCB":  # which also has a form on boxes, where there are no arms
            id = "GP-AUCB"
            kwargs["c"] = 1.0
        agents.check_agent(lambda: agents.make(id, **kwargs))


LEARNED = ["MAP-UCB", "A-GP-UCB", "Portfolio", "UHE-BO", "Wang-deFreitas"]
OTHERS = ["Uniform", "EpsGreedy", "UncertaintySampling", "REG-EVOLUTION", "Random", "GP-EI", "GP-TS"]
OTHERS += ["ASYNC-TS", "SM-UCB"]


class TestTheCardsData:
    """Existing data of the problem, for the policies that take them from nowhere else."""

    WITH_DATA = replace(PROBLEM, initial=InitialData(arms=ARMS[:120], rewards=REWARDS[:120]))

    @pytest.mark.parametrize("id", OTHERS + LEARNED)
    def test_they_know_a_good_arm_before_the_first_pull(self, id: str) -> None:
        agent = begun(self.WITH_DATA, id)
        assert MEAN[agent.recommend()] > MEAN.max() - 0.2

    @pytest.mark.parametrize("id", LEARNED)
    def test_learned_kernels_need_no_further_design(self, id: str) -> None:
        """120 evaluations are more than the 6 that they would draw: they are `D_0`."""
        agent: Any = agents.make(id)
        for n, size, collecting in ((120, 120, False), (2, 6, True), (6, 6, False)):
            data = InitialData(arms=ARMS[:n], rewards=REWARDS[:n])
            agent.reset(replace(PROBLEM, initial=data), np.random.default_rng(0))
            assert (len(agent.y), agent.design_size, agent.in_initial_design) == (n, size, collecting)

    def test_evolution_begins_with_the_last_of_them(self) -> None:
        agent = begun(self.WITH_DATA, "REG-EVOLUTION", population=50)
        assert agent.diagnostics()["population"] == 50
        assert [arm for arm, _ in agent._members] == ARMS[70:120].tolist()

    def test_epsilon_counts_them(self) -> None:
        agent = begun(self.WITH_DATA, "EpsGreedy", c=60.0)
        assert agent.diagnostics()["epsilon"] == pytest.approx(60 / 121)

    def test_bpe_plans_as_without(self) -> None:
        given, without = (
            play(agents.make("BPE"), problem, noisy(MEAN, 0.1, 0), 0) for problem in (self.WITH_DATA, PROBLEM)
        )
        assert given == without


def test_one_pull_at_a_time_is_the_same_as_data() -> None:
    """GP-UCB after pulls that were chosen for it knows what GP-UCB knows that was given them."""
    given = begun(PROBLEM, "GP-UCB", initial={"arms": ARMS[:30].tolist(), "rewards": REWARDS[:30].tolist()})
    taught = begun(PROBLEM, "GP-UCB")
    for t in range(30):
        taught.observe(Feedback.of([t], ARMS[t : t + 1], REWARDS[t : t + 1]))
    assert given.diagnostics()["width"] == pytest.approx(taught.diagnostics()["width"])
    assert given.select(1, Pending.empty(PROBLEM)) == taught.select(1, Pending.empty(PROBLEM))


def test_in_the_harness_the_data_cost_no_regret_and_help() -> None:
    regret = {}
    for initial in (0, 300):
        env = ("GPBandit/RKHS-v0", {"n_arms": 200, "initial": initial})
        run = leaderboards.run(env, ("BBKB", {"width": "practical"}), horizon=100)
        assert run.status == "done"
        assert len(run.trace) == 100
        regret[initial] = run.trace["regret"].sum()
    assert regret[300] < 0.5 * regret[0]


def test_data_of_other_arms_are_named() -> None:
    with pytest.raises(ValueError, match="initial: expected data of the problem's 600 arms, got arm 600 among them"):
        agents.make("BBKB", initial={"arms": [600], "rewards": [0.0]}).reset(PROBLEM, np.random.default_rng(0))
    box = Problem(name="box", dim=2, kernel=SE(0.3), noise_std=0.1, horizon=9)
    with pytest.raises(ValueError, match="initial: expected points, as box is a box, got data of arms"):
        agents.make("GP-UCB", initial=DATA).reset(box, np.random.default_rng(0))
    points = {"points": [[0.1, 0.2, 0.3]], "rewards": [0.0]}
    with pytest.raises(ValueError, match="initial: expected points of 2 coordinates, got 3"):
        agents.make("GP-UCB", initial=points).reset(box, np.random.default_rng(0))
    with pytest.raises(ValueError, match="initial: expected indices of arms, as test has arms, got points"):
        agents.make("GP-UCB", initial=points).reset(PROBLEM, np.random.default_rng(0))


class TestOnABox:
    X = np.random.default_rng(4).random((12, 2))
    y = np.sin(5 * X[:, 0]) * np.cos(3 * X[:, 1])
    BOX = Problem(name="box", dim=2, kernel=SE(0.3), noise_std=0.1, norm_bound=1.5, horizon=30)

    def test_beliefs_are_those_of_one_that_has_evaluated_them(self) -> None:
        known, told = (
            begun(self.BOX, "GP-UCB", initial={"points": self.X, "rewards": self.y}),
            begun(self.BOX, "GP-UCB"),
        )
        told.observe(Feedback.of(range(12), self.X, self.y))
        assert known.diagnostics() == told.diagnostics()
        np.testing.assert_array_equal(known.predict(X), told.predict(X))
        np.testing.assert_array_equal(known.recommend(), told.recommend())

    @pytest.mark.parametrize(
        "id", ["GP-UCB", "GP-EI", "GP-TS", "MAP-UCB", "MAP-BUCB", "UHE-BO", "Random", "Optuna-TPE"]
    )
    def test_every_policy_begins_with_them(self, id: str) -> None:
        if id == "Optuna-TPE":
            pytest.importorskip("optuna")
        problem = replace(self.BOX, initial=InitialData(points=self.X, rewards=self.y))
        agent = begun(problem, id)
        best = np.asarray(agent.recommend())
        assert (np.abs(self.X - best).max(axis=1) == 0).any()
        assert self.y[np.abs(self.X - best).max(axis=1).argmin()] > np.sort(self.y)[-4]

    def test_they_count_among_the_initial_design(self) -> None:
        agent = begun(self.BOX, "GP-UCB", n_start=12, initial={"points": self.X, "rewards": self.y})
        twin = begun(self.BOX, "GP-UCB", n_start=0, initial={"points": self.X, "rewards": self.y})
        nothing = Pending.empty(self.BOX)
        np.testing.assert_array_equal(agent.select(1, nothing), twin.select(1, nothing))
