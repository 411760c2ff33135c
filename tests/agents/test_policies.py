"""What each policy promises beyond agreeing with its textbook form."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from math import ceil, log2
from typing import Any

import numpy as np
import pytest

import agents
import leaderboards
from agents import Feedback, Pending
from agents.core.gp_settings import GPSettings, centred, uncentred
from agents.core.information import most_uncertain
from agents.core.widths import (
    CompactBayes,
    EffectiveDimension,
    FiniteBayes,
    InformationGain,
    Logarithmic,
    LogDeterminant,
    WidthSchedule,
)
from agents.exact.simulation_matching import SimulationMatching
from agents.few_batches.bpe import BPE, constant_number_lengths, doubling_lengths, equal_lengths, growing_lengths
from agents.sketched.local_rule import GlobalLocalRule
from agents.sketched.theory import BBKBTheorem2, BKBTheorem2
from gpbandit_envs.gp import SE, Kernel, Matern, Scale
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.problem import InitialData, NoiseTails, Problem
from tests.agents.play import begun, features, noisy, play
from tests.contracts.test_agents import CASES, LEARNERS, REQUIRES, make

X = np.random.default_rng(0).random((120, 2))
MEAN = np.sin(5 * X[:, 0]) * np.cos(3 * X[:, 1])
PROBLEM = Problem(name="test", dim=2, arms=X, kernel=SE(0.3), noise_std=0.1, norm_bound=1.5, horizon=200)


class TestBPE:
    def test_a_thousand_evaluations_are_four_batches(self) -> None:
        assert growing_lengths(1000) == [32, 179, 424, 365]
        assert doubling_lengths(100) == [8, 16, 32, 44]
        assert doubling_lengths(5) == [5]
        assert doubling_lengths(24) == [8, 16]
        agent = agents.make("BPE", width=2.0**0.5)
        assert len(play(agent, replace(PROBLEM, horizon=1000), noisy(MEAN, 0.1, 0), 0)) == 4

    @pytest.mark.parametrize("horizon", [1, 2, 3, 10, 100, 1000, 10**6])
    def test_lengths_add_up_within_the_number_of_proposition_1(self, horizon: int) -> None:
        growing = growing_lengths(horizon)
        assert sum(growing) == horizon
        assert min(growing) >= 1
        if horizon > 2:
            assert len(growing) <= ceil(log2(log2(horizon))) + 1

    @pytest.mark.parametrize("n_batches", [1, 3, 4, 6])
    def test_a_constant_number_of_batches(self, n_batches: int) -> None:
        for plan in (constant_number_lengths(1000, n_batches, 0.5), equal_lengths(1000, n_batches)):
            assert len(plan) == n_batches
            assert sum(plan) == 1000
            assert min(plan) >= 1
        assert constant_number_lengths(1000, n_batches, 0.5) == sorted(constant_number_lengths(1000, n_batches, 0.5))

    def test_the_theorem_takes_the_rest(self) -> None:
        plan = constant_number_lengths(10**6, 3, 0.5, rescaled=False)
        assert plan[:2] == [ceil(10 ** (6 * 4 / 7)), ceil(10 ** (6 * 6 / 7))]
        assert sum(plan) == 10**6
        with pytest.raises(ValueError, match="nothing of 1000 evaluations is left"):
            constant_number_lengths(1000, 6, 0.5, rescaled=False)
        with pytest.raises(ValueError, match="n_batches: expected 1 to 3"):
            equal_lengths(3, 4)

    @pytest.mark.parametrize(
        "kernel",
        [
            Scale(Matern(0.3, 1.5), 2.0),
            {
                "name": "scale",
                "kernel": {"name": "matern", "lengthscale": 0.3, "nu": 1.5, "variance": 3.0},
                "variance": 2,
            },
        ],
        ids=["scaled", "twice"],
    )
    def test_matern_grows_by_its_smoothness_scaled_or_not(self, kernel: object) -> None:
        agent = begun(replace(PROBLEM, horizon=1000), "BPE", n_batches=3, kernel=kernel)
        assert agent.batch_lengths == constant_number_lengths(1000, 3, 1.5 / 5)

    @pytest.mark.parametrize(
        "schedule", [InformationGain(), EffectiveDimension(), BKBTheorem2(), BBKBTheorem2(), LogDeterminant()]
    )
    def test_widths_of_what_it_does_not_know_are_refused(self, schedule: WidthSchedule) -> None:
        names = "'theory', 'sub-gaussian', 'growing'"
        words = rf"width: expected one of {names}, a number or a schedule .*, got {type(schedule).__name__}"
        with pytest.raises(ValueError, match=words):
            agents.make("BPE", width=schedule)

    @pytest.mark.parametrize("schedule", [FiniteBayes(), CompactBayes(), Logarithmic()])
    def test_widths_of_the_card_and_t_are_those_of_gp_ucb(self, schedule: WidthSchedule) -> None:
        agent = begun(PROBLEM, "BPE", width=schedule, delta=0.1)
        other = begun(PROBLEM, "GP-AUCB", c=1, width=schedule, delta=0.1)
        assert agent.diagnostics()["width"] == other.diagnostics()["width"]

    @pytest.mark.parametrize("posterior", ["batch", "full"])
    def test_a_width_that_grows_stays_with_its_batch(self, posterior: str) -> None:
        """Restored after half of a batch has been fed back, it eliminates the same arms by the same band."""
        problem = replace(PROBLEM, horizon=400)
        runs = []
        for resumed in (False, True):
            agent = begun(problem, "BPE", width=FiniteBayes(), posterior=posterior)
            t, seen = 0, []
            while t < 400:
                arms = agent.select(400 - t, Pending.empty(problem))
                rewards = MEAN[arms] + 0.1 * np.random.default_rng(t).standard_normal(len(arms))
                half, tickets = len(arms) // 2, np.arange(t, t + len(arms))
                before, band = agent.current_width, agent.predict(X)
                agent.observe(Feedback.of(tickets[:half], arms[:half], rewards[:half]))
                if resumed:
                    state = agent.state_dict()
                    agent = BPE(width=FiniteBayes(), posterior=posterior)  # type: ignore[arg-type]
                    agent.reset(problem, np.random.default_rng(5))
                    agent.load_state_dict(state)
                assert agent.current_width == before
                np.testing.assert_array_equal(agent.predict(X), band)  # half a batch changes no beliefs
                agent.observe(Feedback.of(tickets[half:], arms[half:], rewards[half:]))
                _, variance = agent.known.at(X)
                np.testing.assert_allclose(agent.predict(X)[1], before * np.sqrt(variance))
                assert agent.current_width > before
                t += len(arms)
                seen.append(agent.alive.tolist())
            runs.append(seen)
        assert runs[0] == runs[1]
        assert len(runs[0][-1]) < 60

    def test_on_a_box_it_plays_a_grid(self) -> None:
        box = Problem(name="box", dim=2, kernel=SE(0.3), noise_std=0.1, horizon=30)
        agent = begun(box, "BPE", width=1.0)
        points = agent.select(30, Pending.empty(box))
        assert points.shape == (6, 2)
        np.testing.assert_allclose(points * 6, np.rint(points * 6), atol=1e-12)
        agent.observe(Feedback.of(np.arange(6), points, points.sum(axis=1)))
        best = agent.recommend()
        assert best.sum() > 1.5
        with pytest.raises(ValueError, match="a grid of spacing"):
            agents.make("BPE").reset(replace(box, dim=9), np.random.default_rng(0))

    @pytest.mark.parametrize("id", ["BPE", "REDS", "VA-PE", "BPE-Delay"])
    def test_existing_data_of_a_box_are_not_used(self, id: str) -> None:
        data = InitialData(points=np.array([[0.5, 0.5]]), rewards=np.array([1.0]))
        box = Problem(name="box", dim=2, kernel=SE(0.3), noise_std=0.1, horizon=30)
        one, other = begun(box, id), begun(replace(box, initial=data), id)
        np.testing.assert_array_equal(one.select(30, Pending.empty(box)), other.select(30, Pending.empty(box)))

    @pytest.mark.parametrize(
        ("kwargs", "words"),
        [
            ({"lengths": "long"}, "lengths: expected"),
            ({"lengths": "doubling", "n_batches": 3}, "n_batches: expected None with lengths='doubling', got 3"),
            ({"posterior": "both"}, "posterior: expected"),
            ({"n_batches": 0}, "n_batches: expected"),
        ],
    )
    def test_bad_settings_are_named(self, kwargs: dict[str, object], words: str) -> None:
        with pytest.raises(ValueError, match=words):
            agents.make("BPE", **kwargs)

    def test_what_the_card_must_state(self) -> None:
        with pytest.raises(ValueError, match="horizon: BPE plans"):
            agents.make("BPE").reset(replace(PROBLEM, horizon=None), np.random.default_rng(0))


class TestThompson:
    def test_draws_have_the_moments_of_the_posterior(self) -> None:
        agent: Any = agents.make("ASYNC-TS", batch_size=10)
        play(agent, replace(PROBLEM, horizon=30), noisy(MEAN, 0.1, 0), 0)
        draws = agent.draw(20_000)
        every = np.arange(120)
        covariance = agent.posterior.covariance(every, every)
        error = np.sqrt(np.diagonal(covariance) / 20_000)
        assert (np.abs(draws.mean(axis=0) - agent.posterior.mean) < 5.5 * error + 1e-6).all()
        assert np.abs(np.cov(draws.T) - covariance).max() < 0.03 * np.diagonal(covariance).max() + 1e-6

    def test_the_width_shrinks_the_deviation_from_the_mean(self) -> None:
        agent: Any = agents.make("ASYNC-TS", width=0.0)
        play(agent, replace(PROBLEM, horizon=60), noisy(MEAN, 0.1, 0), 0)
        np.testing.assert_array_equal(agent.draw(1)[0], agent.posterior.mean)

    @pytest.mark.parametrize("width", [0.0, 0.1, 1.0, {"name": "practical", "scale": 0.1}])
    def test_the_band_is_of_the_posterior_and_not_of_the_draws(self, width: object) -> None:
        agent: Any = agents.make("ASYNC-TS", width=width)
        arms = np.concatenate(play(agent, replace(PROBLEM, horizon=30), noisy(MEAN, 0.1, 0), 0))
        np.testing.assert_allclose(agent.predict(X)[1], 1.96 * np.sqrt(agent.posterior.at(X)[1]))
        assert agent.diagnostics()["width"] == 1.96
        factor: Any = width
        if isinstance(width, dict):  # a tenth of GP-UCB's width on the same data
            rival = begun(agent.problem, "GP-UCB", width="practical")
            rival.observe(Feedback.of(range(30), arms, noisy(MEAN, 0.1, 0)(arms)))
            factor = 0.1 * rival.current_width
        assert agent.draw_width == factor
        if factor:
            spread = (agent.draw(4_000) - agent.posterior.mean).std(axis=0)
            np.testing.assert_allclose(
                spread, factor * np.sqrt(agent.posterior.variance), rtol=0.06, atol=1e-4 * factor
            )

    def test_never_more_open_than_asked(self) -> None:
        agent = begun(PROBLEM, "ASYNC-TS", batch_size=4)
        assert len(agent.select(100, Pending.empty(PROBLEM))) == 4
        assert len(agent.select(100, Pending(np.arange(3), np.zeros(3, np.int64)))) == 1
        assert len(agent.select(100, Pending(np.arange(4), np.zeros(4, np.int64)))) == 0


class TestSimulationMatching:
    @pytest.mark.parametrize("id", ["SM-UCB", "SM-MEI"])
    def test_batches_are_full_and_learn(self, id: str) -> None:
        agent = agents.make(id, batch_size=6, n_simulations=8, **({"width": 2.0} if id == "SM-UCB" else {}))
        batches = play(agent, replace(PROBLEM, horizon=60), noisy(MEAN, 0.1, 0), 0)
        assert [len(batch) for batch in batches] == [6] * 10
        late = np.array(batches[-3:]).ravel()
        assert MEAN[late].mean() > MEAN[np.array(batches[0])].mean()
        assert len(set(batches[0])) == 6

    def test_medoids_of_few_simulated_arms_are_repeated_by_weight(self) -> None:
        agent = begun(PROBLEM, "SM-UCB", batch_size=5)
        batch = agent._match(np.array([[3, 3, 3, 7, 7]]))
        assert sorted(batch[:2].tolist()) == [3, 7]
        assert batch[2:].tolist() == [3, 7, 3]

    def test_bad_settings_are_named(self) -> None:
        with pytest.raises(ValueError, match="n_simulations"):
            agents.make("SM-UCB", n_simulations=0)
        with pytest.raises(ValueError, match="policy: expected"):
            SimulationMatching(policy="best")  # type: ignore[arg-type]


@pytest.mark.parametrize("id", ["NRB-UCB", "NTB-UCB", "SM-UCB"])
def test_a_batch_that_failed_is_followed_by_one_of_the_same_kind(id: str) -> None:
    agent = begun(PROBLEM, id, width=2.0, batch_size=4)
    lost = agent.select(100, Pending.empty(PROBLEM))
    assert len(agent.select(100, Pending(np.arange(4), lost))) == 0
    agent.observe(Feedback(np.arange(4), lost, np.full(4, np.nan), np.ones(4), np.ones(4, bool)))
    again = agent.select(100, Pending.empty(PROBLEM))
    assert len(again) == 4
    if id != "SM-UCB":  # nothing was learnt, so nothing changes
        np.testing.assert_array_equal(again, lost)


@pytest.mark.parametrize("id", ["NRB-UCB", "NTB-UCB"])
def test_no_batch_is_planned_beyond_the_horizon(id: str) -> None:
    agent = begun(replace(PROBLEM, horizon=12), id, width=2.0, batch_size=10)
    lost = agent.select(12, Pending.empty(PROBLEM))
    agent.observe(Feedback(np.arange(10), lost, np.full(10, np.nan), np.ones(10), np.ones(10, bool)))
    assert len(agent.select(12, Pending.empty(PROBLEM))) == 2, "failed evaluations count as well"


class TestEvolution:
    def test_children_are_neighbours_of_members(self) -> None:
        ring = np.stack([np.roll(np.arange(120), 1), np.roll(np.arange(120), -1)], axis=1)
        problem = replace(PROBLEM, neighbours=ring)
        agent = begun(problem, "REG-EVOLUTION", population=5, tournament=5)
        for t in range(60):
            members = [arm for arm, _ in agent._members]
            best = max(agent._members, key=lambda m: m[1])[0] if members else -1
            arm = agent.select(1, Pending.empty(problem))
            if t >= 5:
                assert arm[0] in ring[best]  # a tournament of everyone is won by the best
            agent.observe(Feedback.of([t], arm, MEAN[arm]))
        assert len(agent._members) == 5

    def test_without_a_neighbourhood_the_nearest_arms_serve(self) -> None:
        agent = agents.make("REG-EVOLUTION", population=2, tournament=2, neighbours=3)
        batches = play(agent, replace(PROBLEM, horizon=40), noisy(MEAN, 0.1, 0), 0)
        arms = [batch[0] for batch in batches]
        near = np.argsort(np.linalg.norm(X[:, None] - X[None], axis=2), axis=1)[:, 1:4]
        for t in range(2, 40):
            # The population holds the last two.
            assert arms[t] in near[arms[t - 1]] or arms[t] in near[arms[t - 2]]

    @pytest.mark.parametrize(
        "kwargs", [{"population": 0}, {"tournament": 0}, {"population": 3, "tournament": 4}, {"neighbours": 0}]
    )
    def test_bad_settings_are_named(self, kwargs: dict[str, int]) -> None:
        with pytest.raises(ValueError, match=list(kwargs)[-1]):
            agents.make("REG-EVOLUTION", **kwargs)


class TestStarts:
    def test_uncertainty_sampling_bounds_the_leverage(self) -> None:
        prior = ExactPosterior(SE(0.3), X, 0.1)
        model = GPSettings(SE(0.3), 0.1).resolve(PROBLEM)
        arms = most_uncertain(model, X, None, min_batch=4.0)
        prior.update(*np.unique(arms, return_counts=True), np.zeros(len(np.unique(arms))))
        assert prior.variance.max() / 0.1 <= 1 / 4
        assert len(most_uncertain(model, X, 7)) == 7

    def test_bbkb_keeps_the_batch_size_it_was_promised(self) -> None:
        agent = agents.make("BBKB", width="practical", c=3.0, min_batch=6.0, qbar=50.0)
        batches = play(agent, replace(PROBLEM, noise_std=0.5, horizon=400), noisy(MEAN, 0.5, 0), 0)
        # At least P (c - 1) / 3 by Lemma 2, for all but the first batch (the start) and the last (cut).
        assert min(len(batch) for batch in batches[1:-1]) >= 6.0 * 2 / 3

    def test_gp_bucb_starts_with_its_initialization_set(self) -> None:
        agent = agents.make("GP-BUCB", width=2.0, batch_size=5, t_init=12)
        batches = play(agent, replace(PROBLEM, horizon=50), noisy(MEAN, 0.1, 0), 0)
        assert [len(batch) for batch in batches][:3] == [12, 5, 5]
        with pytest.raises(ValueError, match="at most one of the two starts"):
            agents.make("GP-BUCB", t_init=3, n_start=3)

    def test_gp_bucb_counts_on_its_start_only_where_it_has_one(self) -> None:
        data = InitialData(arms=np.array([0]), rewards=np.array([0.1]))
        started, after, plain = (
            begun(PROBLEM, "GP-BUCB", batch_size=5, t_init=t_init, initial=initial)
            for t_init, initial in ((40, None), (40, data), (0, data))
        )
        assert after.diagnostics()["width"] == plain.diagnostics()["width"]
        assert started.diagnostics()["width"] < after.diagnostics()["width"]


class TestDictionaries:
    def test_a_dictionary_counts_the_arms_that_depend_on_others(self) -> None:
        arms = np.repeat(X[:20], 2, axis=0)  # every arm twice
        problem = Problem(name="twice", dim=2, arms=arms, kernel=SE(0.3), noise_std=0.1, norm_bound=1.0, horizon=30)
        agent = begun(problem, "BKB", qbar=1e6)
        agent.observe(Feedback.of(range(40), np.arange(40), np.zeros(40)))
        facts = agent.diagnostics()
        assert (facts["dictionary_size"], facts["dictionary_rank"] <= 20) == (40, True)


class TestRules:
    def test_the_local_rule_gives_longer_batches_and_keeps_its_bound(self) -> None:
        problem = replace(PROBLEM, noise_std=0.5, horizon=400)
        feedback = noisy(MEAN, 0.5, 0)
        agent: Any = agents.make("BBKB-GlobalLocal", width="practical")
        assert (type(agent.batch_rule), agent.batch_rule.c) == (GlobalLocalRule, 2.0)
        sums = agents.make("BBKB", width="practical")
        assert len(play(agent, problem, feedback, 0)) < len(play(sums, problem, feedback, 0))


@pytest.mark.parametrize("id", ["GP-UCB", "BKB", "BBKB", "GP-BUCB"])
def test_a_start_is_pulled_to_its_end_whenever_feedback_comes(id: str) -> None:
    problem = Problem(name="l", dim=1, arms=np.linspace(0, 1, 30)[:, None], kernel=SE(0.2), noise_std=0.1, horizon=40)
    whole, split = (begun(problem, id, seed=3, n_start=4) for _ in range(2))
    nothing = Pending.empty(problem)
    together = whole.select(4, nothing)
    one_by_one = []
    for t in range(4):
        arm = split.select(1, nothing)
        split.observe(Feedback.of([t], arm, [0.5]))
        one_by_one.append(int(arm[0]))
    assert one_by_one == together.tolist()
    whole.observe(Feedback.of(range(4), together, [0.5] * 4))
    assert whole.select(1, nothing).tolist() == split.select(1, nothing).tolist()


@pytest.mark.parametrize("feedback", ["batch:7", "delay:5"])
def test_bpe_keeps_its_batches_whenever_feedback_comes(feedback: str) -> None:
    task = ("GPBandit/RKHS-v0", {"n_arms": 60})
    asked = leaderboards.run(task, "BPE", horizon=200)
    given = leaderboards.run(task, "BPE", horizon=200, feedback=feedback)
    assert asked.trace is not None
    assert given.status == "done", given.reason
    assert given.trace is not None
    np.testing.assert_array_equal(given.trace["action"], asked.trace["action"])


# ---- aSYNC-TS on as many arms as Cadata has: a batch costs little memory ----


A, RANK, BATCH = 20_640, 1_000, 30


@pytest.mark.slow
def test_a_batch_of_thirty_never_holds_all_pairs_of_arms() -> None:
    X = np.random.default_rng(0).standard_normal((A, 8))
    problem = Problem(name="large", dim=8, arms=X, kernel=SE(10.0), noise_std=0.01, horizon=10_000)
    mean, noise = np.sin(X[:, 0]), np.random.default_rng(1)
    agent = agents.make("ASYNC-TS", batch_size=BATCH, max_rank=RANK, width=0.1)
    nothing = Pending.empty(problem)
    tracemalloc.start()
    agent.reset(problem, np.random.default_rng(0))
    for batch in range(10):
        arms = agent.select(BATCH, nothing)
        rewards = mean[arms] + 0.01 * noise.standard_normal(BATCH)
        agent.observe(Feedback.of(np.arange(BATCH) + BATCH * batch, arms, rewards))
        assert len(arms) == BATCH
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The prior's factor, copies of it and the cached kernel rows: far from A x A, which is 3,250 MiB.
    assert peak < 4 * 8 * A * RANK


# ---- policies on problems that state a noise of 0: widths are the norm, bands hold, posteriors interpolate ----


def problem_of(kernel: Kernel, seed: int, norm: float = 2.0, horizon: int = 60) -> tuple[Problem, np.ndarray]:
    """A problem without noise whose mean has exactly the norm that it states."""
    rng = np.random.default_rng(seed)
    X = rng.random((300, 2))
    centres = rng.random((40, 2))
    weights = rng.standard_normal(40)
    norm_of_sum = np.sqrt(weights @ kernel(centres, centres) @ weights)
    mean = kernel(X, centres) @ weights * (norm / norm_of_sum)
    return Problem(name="exact", dim=2, arms=X, kernel=kernel, noise_std=0.0, norm_bound=norm, horizon=horizon), mean


KERNELS: list[Kernel] = [SE(0.2), Matern(0.3, 1.0), Matern(0.3, 2.5)]
PROVEN: list[tuple[str, dict[str, Any]]] = [
    ("GP-UCB", {}),
    ("GP-UCB", {"width": "amm"}),
    ("GP-UCB", {"width": "dmm"}),
    ("BPE", {}),
    ("BPE", {"lengths": "doubling"}),
    ("MVR", {}),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize(("id", "kwargs"), PROVEN, ids=str)
def test_the_width_is_the_norm_and_the_band_holds(id: str, kwargs: dict[str, Any], kernel: Kernel) -> None:
    """Also with the positive noise variance that the posterior needs: the norm bounds the error for any of them."""
    for seed in range(2):
        problem, mean = problem_of(kernel, seed)
        agent = agents.make(id, **kwargs)
        played = np.concatenate(play(agent, problem, noisy(mean, 0.0, 0), seed))
        assert agent.diagnostics()["width"] == pytest.approx(2.0)
        centre, half = agent.predict(features(problem)) or (mean, mean)
        assert (np.abs(mean - centre) <= half + 1e-9).all()
        last = played[-4:] if id == "BPE" else played  # BPE's posterior is that of its last batch, of 4 or more
        assert half[last].max() < 1e-4
        np.testing.assert_allclose(centre[last], mean[last], atol=1e-4)


def test_the_noise_variance_of_the_posterior_is_a_share_of_the_prior() -> None:
    """The stated floor; a smaller one can be given, down to where rounding is larger."""
    for scale in (1.0, 1e6):
        problem, _ = problem_of(scale * SE(0.2), 0)
        agent = begun(problem, "GP-UCB")
        assert agent.model.lam == pytest.approx(1e-10 * scale)
    problem, mean = problem_of(Matern(0.3, 1.0), 0)
    halves = []
    for lam in (None, 1e-13):
        agent = agents.make("GP-UCB", lam=lam)
        played = np.concatenate(play(agent, problem, noisy(mean, 0.0, 0), 0))
        halves.append((agent.predict(features(problem)) or (mean, mean))[1][played].max())
    assert halves[1] < 0.1 * halves[0]
    with pytest.raises(ValueError, match="lam: expected at least 1e-14 of the largest prior variance"):
        agents.make("GP-UCB", lam=1e-15).reset(problem, np.random.default_rng(0))


def test_no_arm_is_pulled_twice_before_the_best_one_is_known() -> None:
    """Where feedback is exact a second pull of an arm tells nothing."""
    problem, mean = problem_of(SE(0.2), 1)
    arms = np.concatenate(play(agents.make("GP-UCB"), problem, noisy(mean, 0.0, 0), 0))
    again = [t for t in range(len(arms)) if arms[t] in arms[:t]]
    assert all(mean[arms[t]] == mean[arms[: t + 1]].max() for t in again)
    assert again
    assert mean[arms[-1]] == mean.max()


# ---- a constant prior mean: no choice changes with it, and predictions do ----


C = 4.0
T = 24
_RNG = np.random.default_rng(0)
_X = _RNG.random((25, 2))
# Rewards are multiples of 2^-20, so that a reward plus 4 less 4 is the same number.
_MEAN = np.round(np.sin(4 * _X[:, 0]) * 2**20) / 2**20
_NOISE = np.round(0.1 * _RNG.standard_normal(10 * T) * 2**20) / 2**20
# Those of an extra, and those that learn the kernel, take long and read neither.
PLAYED = [(id, kwargs) for id, kwargs in CASES if id not in REQUIRES and id not in LEARNERS]


def shifted_problem(**changes: Any) -> Problem:
    stated: dict[str, Any] = {"arms": _X, "kernel": SE(0.3), "noise_std": 0.1, "norm_bound": 1.5, "horizon": T}
    stated |= {"name": "test", "dim": 2, "noise_tails": NoiseTails(0.1, gaussian=True)}
    return Problem(**stated | changes)


def played(agent: Any, problem: Problem, shift: float) -> tuple[list[int], tuple[np.ndarray, np.ndarray] | None]:
    """The arms that an agent plays where all rewards are moved by `shift`, and its band in the end."""
    agent.reset(problem, np.random.default_rng(1))
    many = agent.capabilities.batch == "adaptive"
    arms: list[int] = []
    while len(arms) < T:
        picks = agent.select(T - len(arms) if many else 1, Pending.empty(problem))
        first = len(arms)
        arms += picks.tolist()
        rewards = _MEAN[picks] + _NOISE[first : len(arms)] + shift
        agent.observe(Feedback.of(np.arange(first, len(arms)), picks, rewards))
    return arms, agent.predict(_X)


@pytest.mark.parametrize(("id", "kwargs"), PLAYED, ids=str)
def test_no_choice_changes_and_predictions_do(id: str, kwargs: dict[str, Any]) -> None:
    """A policy with a given kernel sees the same feedback; one without does not read the prior mean."""
    agent = make(id, kwargs)
    if "finite" not in agent.capabilities.domains:
        pytest.skip(f"{id} plays on boxes alone")
    neighbours = np.argsort(np.linalg.norm(_X[:, None] - _X, axis=2), axis=1)[:, 1:4]
    shift = C if "kernel" in agent.capabilities.needs else 0.0
    arms, band = played(agent, shifted_problem(neighbours=neighbours), 0.0)
    moved_arms, moved = played(make(id, kwargs), shifted_problem(neighbours=neighbours, prior_mean=C), shift)
    assert moved_arms == arms
    assert (band is None) == (moved is None)
    if band is not None and moved is not None:
        np.testing.assert_allclose(moved[0], band[0] + shift, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(moved[1], band[1])


def test_existing_data_are_centred_too() -> None:
    data = InitialData(arms=np.array([3, 3, 7]), rewards=np.array([0.5, 0.25, -0.5]))
    moved = InitialData(arms=data.arms, rewards=data.rewards + C)
    for id in ("GP-UCB", "BKB"):
        arms, _ = played(agents.make(id), shifted_problem(initial=data), 0.0)
        assert played(agents.make(id), shifted_problem(initial=moved, prior_mean=C), C)[0] == arms
        given = agents.make(id, initial={"arms": [3, 3, 7], "rewards": moved.rewards})
        assert played(given, shifted_problem(prior_mean=C), C)[0] == arms


def test_without_one_nothing_is_copied() -> None:
    problem = shifted_problem()
    feedback = Feedback.of([0], np.array([1]), [0.3])
    assert centred(feedback, problem) is feedback
    mean = np.zeros(3)
    assert uncentred(mean, problem) is mean
