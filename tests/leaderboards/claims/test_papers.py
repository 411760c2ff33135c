"""What the claims of each paper compute, against formulas and cases worked by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pandas as pd
import pytest

import agents
import gpbandit_envs  # noqa: F401 - registers the ids
import leaderboards
from agents import Feedback, Pending, make
from agents.core.information import greedy_information
from agents.core.widths import FiniteBayes, WidthContext
from gpbandit_envs import problem_of
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.gp.hyperparameters import Hyperparameters
from gpbandit_envs.problem import Problem
from leaderboards.claims import estimates, lemmas, mixtures, noise_free, theorems, uhe
from leaderboards.claims.bbkb_nas import batch_growth, mean_simple, total_time
from leaderboards.claims.bpe import drawn
from leaderboards.claims.claim import Claim
from leaderboards.claims.estimates import CASES, COLLECTORS, LOSSES, Case, estimate, study
from leaderboards.claims.lazy import BATCH, play
from leaderboards.claims.lemmas import Task, apart, draw_task, shrunk
from leaderboards.claims.measures import fewer_batches, found_more, lower_simple, simple_in
from leaderboards.claims.mixtures import ratios
from leaderboards.claims.noise_free import predictors
from leaderboards.claims.runs import Runs, rows_of, truth
from leaderboards.play.spec import env_seed
from leaderboards.play.suite import load_suite
from leaderboards.store.store import Store
from tests.leaderboards.claims.test_claim import runs
from tests.reference.posterior import dense

RNG = np.random.default_rng(0)
T = 60
RUN = {
    "action": RNG.integers(0, 40, T),
    "regret": np.full(T, 0.01),
    "batch": 1 + np.arange(T) // 5,
    "dictionary_size": np.full(T, 4.0),
}
SETTINGS = {"delta": 0.05, "c": 2.0, "qbar": 3.0, "t_init": 10}


def exact(arms: np.ndarray) -> ExactPosterior:
    problem = theorems.task_problem()
    assert problem.kernel is not None
    assert problem.arms is not None
    posterior = ExactPosterior(problem.kernel, problem.arms, 1.0)
    distinct, counts = np.unique(arms, return_counts=True)
    posterior.update(distinct, counts.astype(np.float64), np.zeros(len(distinct)))
    return posterior


def test_effective_dimension_is_that_of_the_exact_posterior() -> None:
    for t in (1, 7, T):
        arms = RUN["action"][:t]
        assert theorems.effective_dimension(arms) == pytest.approx(exact(arms).effective_dimension(), rel=1e-8)


def test_gain_in_a_batch_is_a_difference_of_gains() -> None:
    """Batches of 5 after a start of 10: the first four picks of each, given all before, by the exact posterior."""
    slow = [
        exact(RUN["action"][: start + 4]).information_gain - exact(RUN["action"][:start]).information_gain
        for start in range(10, T, 5)
    ]
    assert theorems.largest_gain_in_a_batch(RUN, SETTINGS) == pytest.approx(max(slow), rel=1e-8)
    assert theorems.largest_gain_in_a_batch(RUN, {**SETTINGS, "t_init": T}) == 0.0


def test_dictionaries_and_batches_are_compared_at_the_end_of_every_batch() -> None:
    ends = range(5, T + 1, 5)
    posteriors = [exact(RUN["action"][:end]) for end in ends]
    dictionaries = [4.0 / (3.0 * posterior.effective_dimension()) for posterior in posteriors]
    assert theorems.dictionary_ratio(RUN, SETTINGS) == pytest.approx(max(dictionaries), rel=1e-8)
    batches = [(n + 1) / (2 * posterior.information_gain) for n, posterior in enumerate(posteriors)]
    assert theorems.batches_ratio(RUN, SETTINGS) == pytest.approx(max(batches), rel=1e-8)


@pytest.mark.parametrize("ratio", [theorems.gp_bucb_ratio, theorems.bbkb_ratio, theorems.bpe_ratio])
def test_ratios_of_regret_grow_with_the_regret(ratio: object) -> None:
    """A regret large enough breaks every bound, so that the claims can be found wrong."""
    assert callable(ratio)
    once = ratio(RUN, SETTINGS)
    assert 0 < once < 1
    assert ratio({**RUN, "regret": 1e8 * RUN["regret"]}, SETTINGS) == pytest.approx(1e8 * once)
    assert 1e8 * once > 440


def test_batches_are_counted_against_proposition_1_or_the_row() -> None:
    assert theorems.excess_batches(RUN, {}) == 12 - (math.ceil(math.log2(math.log2(T))) + 1)
    assert theorems.excess_batches(RUN, {"n_batches": 12}) == 0


def test_the_suite_meets_the_conditions_of_the_theorems() -> None:
    suite, problem = load_suite(theorems.SUITE), theorems.task_problem()
    assert problem.kernel is not None
    assert problem.arms is not None
    assert problem.noise_std == 1.0  # lam = 1, the least that BBKB's theorems allow and the noise variance
    greedy = greedy_information(problem.kernel, problem.arms, 1.0, suite.horizon).gain / (1 - 1 / math.e)
    apart = 0.5 * math.log(2) * np.arange(1, suite.horizon + 1)
    eta = float((np.minimum(greedy, apart) / np.log(np.arange(1, suite.horizon + 1) + 1)).max())
    for entry in suite.agents:
        kwargs, name = entry.ref.kwargs, entry.ref.label
        if entry.ref.id == "GP-BUCB":
            B = kwargs["batch_size"]  # the size of appendix B.3 in one dimension
            size = math.e * (math.log(eta) + 2 * math.log(B)) / (2 * math.log(B) - 1) * eta * (B - 1) * math.log(B)
            assert kwargs["t_init"] >= size > math.log(B)
            assert kwargs["c"] == pytest.approx(2 / math.e)
        if name.startswith("BBKB, Theorem"):
            factor = 8 if name.endswith("1") else 72 * kwargs["c"]
            assert kwargs["qbar"] >= factor * math.log(4 * suite.horizon / kwargs["delta"])
    assert len(theorems.CLAIMS) == 15


# ---- the study of lemmas: its ratios by dense formulas, and figures that would be found wrong ----


@pytest.fixture(scope="module")
def task() -> Task:
    return draw_task(np.random.default_rng(3))


def posterior(task: Task, arms: np.ndarray) -> ExactPosterior:
    assert task.problem.kernel is not None
    assert task.problem.arms is not None
    found = ExactPosterior(task.problem.kernel, task.problem.arms, 1.0)
    for arm in arms:
        found.update(np.array([arm]), np.ones(1), np.zeros(1))
    return found


def test_how_far_variances_shrink_is_that_of_two_posteriors(task: Task) -> None:
    before, more = np.array([3, 3, 50, 120]), np.array([7, 7, 60])
    start = posterior(task, before)
    found = shrunk(start.variance.copy(), start.covariance(more), more)
    after = posterior(task, np.concatenate([before, more])).variance
    np.testing.assert_allclose(found, posterior(task, before).variance / after, rtol=1e-8)


def test_apart_is_the_larger_of_both_ratios() -> None:
    assert apart(np.array([1.0, 2.0]), np.array([1.0, 8.0])) == pytest.approx(4.0)
    assert apart(np.array([1.0, 8.0]), np.array([1.0, 2.0])) == pytest.approx(4.0)


def test_batches_are_seen_before_their_feedback(task: Task) -> None:
    agent = agents.make("GP-BUCB", batch_size=50, width=1.0)
    seen: list[tuple[int, np.ndarray]] = []
    for t, arms, exact in task.play(agent, 0):
        if t == 100:
            pulled = np.concatenate([arms for _, arms in seen])
            np.testing.assert_allclose(exact.variance, posterior(task, pulled).variance, rtol=1e-9)
        seen.append((t, arms))
    assert [(t, len(arms)) for t, arms in seen] == [(t, 50) for t in range(0, lemmas.HORIZON, 50)]


def test_a_band_that_misses_and_a_sketch_that_is_wrong_are_found(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    assert lemmas.bpe_run(task, 0)["held"] == 1.0
    shifted = Task(task.problem, task.f + 100.0 * (np.arange(len(task.f)) == 5), task.noise)
    assert lemmas.bpe_run(shifted, 0)["held"] == 0.0
    assert lemmas.sketched_run(task, "BBKB", 0)["accuracy"] < 3
    monkeypatch.setattr(lemmas, "QBAR", 1.0)
    assert lemmas.sketched_run(task, "BBKB", 0)["accuracy"] > 3


# ---- claims of Li and Scarlett (2022) on functions that are drawn, one a repetition ----


BPE_CLAIMS = {claim.name: claim for claim in drawn()}
LABELS = [entry.ref.label for entry in load_suite("bpe-authors").agents]


def level(regret: float, functions: int = 4) -> np.ndarray:
    return np.full((functions, 200), regret)


def figure(claim: Claim, **rows: np.ndarray) -> float:
    made = {label: level(1.0) for label in LABELS} | {name: rows[name] for name in rows}
    return claim.check(runs(**made)).interval.estimate


def test_what_can_happen_happens_on_some_functions() -> None:
    """By more than a tenth on two of eight: a quarter."""
    original = level(1.05)
    original[:2] = 1.2
    assert figure(BPE_CLAIMS["six-beats-original"], **{"BPE, beta 6": original}) == pytest.approx(0.25)


def test_a_run_fails_whose_last_evaluations_have_regret() -> None:
    late, early = level(0.0), level(0.0)
    late[0, 150:], early[:, :50] = 1.0, 1.0
    rows = {"GP-UCB, beta 2": late, "6-BPE, beta 2": early}
    assert figure(BPE_CLAIMS["gp-ucb-fails-more"], **rows) == pytest.approx(0.25)


def test_the_order_changes_where_the_rank_correlation_is_at_most_a_half() -> None:
    order = {"3-BPE": 4.0, "BPE": 3.0, "4-BPE": 2.0, "6-BPE": 1.0}
    rows = {f"{name}, full, beta {beta}": level(value) for name, value in order.items() for beta in (2, 6)}
    same = {f"{name}, growing": level(value) for name, value in order.items()}
    assert figure(BPE_CLAIMS["growing-beta"], **rows, **same) == 0.0
    turned = {name: regret.copy() for name, regret in same.items()}
    turned["3-BPE, growing"][0], turned["6-BPE, growing"][0] = 1.0, 4.0
    assert figure(BPE_CLAIMS["growing-beta"], **rows, **turned) == pytest.approx(0.25)


# ---- play without noise: the figures behind its claims ----


def of_regret(row: str, regret: np.ndarray, action: np.ndarray | None = None) -> Runs:
    return Runs(
        {
            row: {
                r: pd.DataFrame({"regret": regret, "action": np.arange(len(regret)) if action is None else action})
                for r in range(2)
            }
        }
    )


def claim_named(name: str) -> Claim:
    return next(one for one in noise_free.CLAIMS if one.name == name)


def test_predictors_give_the_mean_of_the_policy_that_pulled() -> None:
    problem, mean = truth(noise_free.SUITE, "Matern 3", 0)
    agent = agents.make("MVR")
    agent.reset(problem, np.random.default_rng(0))
    pulls = []
    for t in range(30):
        arm = agent.select(1, Pending.empty(problem))
        agent.observe(Feedback.of([t], arm, mean[arm]))
        pulls.append(int(arm[0]))
    assert problem.arms is not None
    expected, _ = agent.predict(problem.arms) or (np.nan, np.nan)
    early, late = predictors(problem, np.array(pulls), np.array([10, 30]))
    np.testing.assert_allclose(late @ mean[pulls], expected, atol=1e-7)
    assert early.shape == (problem.n_arms, 10)
    # Interpolation: the feedback itself comes back at the pulled arms.
    np.testing.assert_allclose(early[pulls[:10]], np.eye(10), atol=1e-5)


@pytest.mark.parametrize(("power", "verdict"), [(0.3, "agrees"), (0.9, "disagrees")])
def test_the_growth_of_regret_is_its_power_of_t(power: float, verdict: str) -> None:
    t = np.arange(1, 401)
    growth = replace(claim_named("pe-regret-matern-1"), exact=True)  # both runs are the same
    made = growth.check(of_regret("PE@Matern 1", np.diff(t**power, prepend=0)))
    assert made.interval.estimate == pytest.approx(power)
    assert made.verdict == verdict


def test_the_ranges_are_those_of_the_theorem_s_laws() -> None:
    """Slopes between the two ends, worked out by hand."""
    high = {one.name: one.expected.high for one in noise_free.CLAIMS}
    assert high["pe-regret-matern-1"] == pytest.approx(0.5 + np.log(np.log(400) / np.log(100)) / np.log(4), abs=1e-3)
    assert high["pe-regret-matern-2"] == pytest.approx(2 * high["pe-regret-matern-3"], abs=2e-3)
    assert high["pe-regret-se"] == high["pe-regret-matern-3"]
    for nu in (1, 2, 3):
        assert -nu / 2 < high[f"mvr-simple-regret-matern-{nu}"] < -0.7 * nu / 2


def test_the_errors_of_mvr_fall_as_those_of_any_fixed_design() -> None:
    """A design that never moves resolves nothing: the slope is 0, and the claim fails."""
    stuck = of_regret("MVR@Matern 1", np.ones(400), np.zeros(400, np.int64))
    made = claim_named("mvr-simple-regret-matern-1").check(stuck)
    assert made.interval.estimate == pytest.approx(0.0, abs=0.01)
    assert made.verdict == "disagrees"


def test_the_suite_states_no_noise_and_widths_are_the_norm() -> None:
    suite = load_suite(noise_free.SUITE)
    assert {entry.ref.label for entry in suite.environments} == {"SE", "Matern 1", "Matern 2", "Matern 3"}
    for entry in suite.environments:
        problem, mean = truth(noise_free.SUITE, str(entry.ref.label), 0)
        assert problem.noise_std == 0
        assert problem.norm_bound == 1
        assert problem.horizon == suite.horizon
        assert problem.n_arms >= 10 * suite.horizon
        assert np.abs(mean).max() <= 1  # |f| <= norm sqrt(k)


# ---- bbkb nas ----


def played(**batches: list[int]) -> Runs:
    """Three repetitions of each agent with batches of these lengths; an evaluation costs 2 and a choice 0.5 s."""

    def table(lengths: list[int], r: int) -> pd.DataFrame:
        T = sum(lengths)
        return pd.DataFrame(
            {
                "t": np.arange(1, T + 1),
                "regret": np.full(T, 1.0 + r),
                "batch": np.repeat(np.arange(1, len(lengths) + 1), lengths),
                "policy_seconds": np.full(T, 0.5),
                "cost": np.full(T, 2.0),
            }
        )

    return Runs({agent: {r: table(lengths, r) for r in range(3)} for agent, lengths in batches.items()})


def test_linear_batches_grow_with_power_1_and_equal_ones_with_0() -> None:
    linear = [100]
    while sum(linear) < 20_000:
        linear.append(round(0.1 * sum(linear)))
    batched = played(linear=linear, equal=[20] * 100, few=[100, 100])
    assert batch_growth("linear")(batched).estimate == pytest.approx(1.0, abs=0.01)
    assert batch_growth("equal")(batched).estimate == pytest.approx(0.0, abs=1e-12)
    assert not batch_growth("few")(batched).is_known
    # Against a clock that began 2,000 evaluations before, the same batches grow faster.
    assert batch_growth("linear", 2_000)(batched).estimate > 1.1


def test_total_time_is_one_training_a_batch_and_all_seconds() -> None:
    batched = played(batched=[4, 4], sequential=[1] * 8)
    slow, fast = 8 * 2.0 + 4.0, 2 * 2.0 + 4.0
    assert total_time("", "batched", "sequential")(batched).estimate == pytest.approx(math.log10(slow / fast))
    assert fewer_batches("", "batched", "sequential")(batched).estimate == pytest.approx(math.log(4))


def test_mean_simple_regret_is_the_area_under_its_curve() -> None:
    T = 4
    tables = {
        agent: {
            r: pd.DataFrame({"t": np.arange(T), "regret": row, "batch": np.arange(T), "policy_seconds": np.zeros(T)})
            for r in range(2)
        }
        for agent, row in {"a": [3.0, 1.0, 2.0, 0.0], "b": [1.0, 1.0, 1.0, 1.0]}.items()
    }
    assert mean_simple("", "a", "b")(Runs(tables)).estimate == pytest.approx((3 + 1 + 1 + 0) / 4 - 1)
    # Existing data with a regret of 0.5: b knows 0.5 from the start, a 0 at the end.
    before = {agent: dict.fromkeys(range(2), 0.5) for agent in "ab"}
    assert mean_simple("", "a", "b")(Runs(tables, before)).estimate == pytest.approx((0.5 * 3 + 0) / 4 - 0.5)


def test_the_least_regret_of_existing_data_is_read_with_the_runs(tmp_path: Path) -> None:
    env = ("GPBandit/GPSample-v0", {"n_arms": 30, "initial": 6})
    store, specs = Store(tmp_path), []
    for repetition in range(2):
        run = leaderboards.run(env, "Uniform", repetition, 5)
        store.write(run)
        specs.append(run.spec)
    read = Runs.read(store, rows_of(specs, several=False), specs)
    found = read.before("Uniform", [0, 1])
    for spec, least in zip(specs, found, strict=True):
        there = gymnasium.make(spec.env.id, **spec.env.kwargs, horizon=5)
        there.reset(seed=env_seed(spec))
        inner: Any = there.unwrapped
        means = inner.mean(np.arange(30))
        assert least == pytest.approx((means.max() - means[inner.problem.initial.actions]).min())
    assert np.isinf(Runs({}).before("Uniform", [0])).all()


# ---- the claims of the UHE-BO paper: measures over several problems, and estimates from chosen data ----


def of_simple(**simple: list[float]) -> Runs:
    """Rows of runs of two evaluations that end with these simple regrets."""
    return runs(**{row: np.array([[value + 1, value] for value in values]) for row, values in simple.items()})


def test_differences_are_in_units_of_a_third_row() -> None:
    made = of_simple(a=[0.3, 0.5, 0.4], b=[0.1, 0.3, 0.2], random=[1.0, 3.0, 2.0])
    assert simple_in("", "a", "b", "random")(made).estimate == pytest.approx(0.1)


def test_a_share_of_runs_weighs_problems_alike_and_halves_ties() -> None:
    made = of_simple(a1=[0.0, 0.0], b1=[1.0, 1.0], a2=[0.0, 2.0], b2=[0.0, 1.0])
    share = lower_simple("", [("a1", "b1"), ("a2", "b2")])(made)
    assert share.estimate == pytest.approx((1 + 0.25) / 2)
    assert share.n == 2


def test_a_share_of_runs_that_meet_a_hill_is_taken_off_the_mean_of_others() -> None:
    made = of_simple(a=[0.1, 0.1, 0.3, 0.2], b=[0.1, 0.5, 0.5, 0.1], c=[0.5, 0.5, 0.5, 0.1])
    share = found_more("", "a", ["b", "c"], 0.2)(made)
    assert share.estimate == pytest.approx(3 / 4 - (2 / 4 + 1 / 4) / 2)
    assert share.n == 4
    assert share.low < share.estimate < share.high


def test_each_reading_is_compared_with_rivals_of_its_own() -> None:
    """Rivals have the prior of the reading; the noise is UHE-BO's alone, and random search has neither."""
    regrets = {
        "UHE-BO, noise data": 0.1,
        "UHE-BO, noise data, prior gamma-rate": 0.2,
        "MAP-UCB": 0.4,
        "MAP-UCB, prior gamma-rate": 0.8,
        "Random": 1.6,
    }
    made = of_simple(**{f"{row}@H1": [value + 1e-3 * r for r in range(6)] for row, value in regrets.items()})
    synthetic = tuple(uhe.synthetic())
    claims = {one.name: one.check(made).interval.estimate for one in synthetic}
    unit = 1.6 + 2.5e-3  # mean of random search
    assert claims["h1-better-than-map-ucb"] == pytest.approx((0.1 - 0.4) / unit)
    assert claims["h1-better-than-map-ucb-gamma-rate"] == pytest.approx((0.2 - 0.8) / unit)
    assert claims["h1-better-than-random"] == pytest.approx((0.1 - 1.6) / unit)
    assert "h1-better-than-random-gamma-rate" not in claims
    assert all(one.reading for one in synthetic if one.name.endswith(("-gamma-rate", "-pseudo", "-stated")))


def test_a_verdict_on_regret_needs_five_repetitions() -> None:
    claim = next(one for one in uhe.synthetic() if one.name == "deceptive-better-than-random")
    for n, verdict in ((4, "cannot be told"), (5, "agrees")):
        rows = {"UHE-BO, noise data@Deceptive": [0.1 + 0.01 * k for k in range(n)], "Random@Deceptive": [0.5] * n}
        assert claim.check(of_simple(**rows)).verdict == verdict


def test_the_hill_of_a_maximum_excludes_the_other_local_maxima() -> None:
    """A regret that counts as having met the global hill is less than that of any other local maximum."""
    for name, tolerance in uhe.HILL.items():
        env = gymnasium.make(f"GPBandit/{name}-v0")
        env.reset(seed=0)
        axis = np.linspace(0, 1, 401)
        grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
        f = env.unwrapped.mean(grid).reshape(401, 401)  # type: ignore[attr-defined]
        regret = env.unwrapped.optimum - f  # type: ignore[attr-defined]
        # On a grid: what meets the tolerance is one connected hill around the maximum, a small part of the square.
        i, j = np.nonzero(regret < tolerance)
        assert len(i)
        assert (np.ptp(i) + 1) * (np.ptp(j) + 1) < 0.05 * f.size, name
        env.close()


def test_a_plain_estimate_is_that_of_all_data() -> None:
    rng = np.random.default_rng(1)
    true = Hyperparameters(1.0, 0.01, (0.2,))
    X = rng.random((80, 1))
    K = true.kernel()(X, X) + true.noise * np.eye(80)
    y = np.linalg.cholesky(K) @ rng.standard_normal(80)
    problem = Problem(name="line", dim=1, horizon=80)
    found = estimate("plain", problem, X, y, np.random.default_rng(0))
    assert len(found.y) == 80
    assert abs(np.log(found.hyperparameters[0].lengthscales[0] / 0.2)) < 0.5
    mean, _ = found.predict(X)
    assert np.sqrt(np.mean((mean - y) ** 2)) < 0.2
    # The other loss estimates from other data, whose lengthscale it finds.
    other = estimate("unbiased", problem, X, y, np.random.default_rng(0))
    assert other.hyperparameters[0].lengthscales != found.hyperparameters[0].lengthscales


@pytest.mark.slow
def test_the_study_has_the_rows_that_its_claims_ask_for() -> None:
    short = tuple(Case(case.name, case.id, case.kwargs, 12, case.drawn) for case in CASES[::2])
    made = study(2, cases=short)
    # Beside these, RA-BO's estimates after two numbers of evaluations, on the one case that is drawn.
    assert len(made.agents) == len(short) * len(COLLECTORS) * len(LOSSES) + 2
    asked = [claim for claim in estimates.CLAIMS if claim.name.startswith(("draws-1-", "deceptive-"))]
    assert len(asked) == 4 * len(short) + 1
    for claim in asked:
        interval = claim.check(made).interval
        assert interval.n == 2
        assert np.isfinite(interval.estimate)
    again = study(1, cases=short[:1])
    row = again.agents[0]
    assert again.column(row, "rmse", [0]) == made.column(row, "rmse", [0])


# ---- the widths of Flynn and Reeb: ratios of half-widths against the bands that agents state ----


def test_ratios_are_those_of_the_bands_that_agents_state() -> None:
    problem, mean = truth(mixtures.SUITE, "SE, d = 1", 0)
    T = 12
    problem = replace(problem, horizon=T)
    rng = np.random.default_rng(0)
    arms = rng.integers(problem.n_arms, size=T)
    rewards = mean[arms] + 0.1 * rng.standard_normal(T)
    policies: dict[str, Any] = {width: make("GP-UCB", width=width) for width in ("theory", "amm", "dmm")}
    largest = np.zeros(3)
    for agent in policies.values():
        agent.reset(problem, np.random.default_rng(0))
    for t in range(T):
        bands = {}
        for width, agent in policies.items():
            agent.observe(Feedback.of([t], arms[t : t + 1], rewards[t : t + 1]))
            bands[width] = agent.predict(problem.arms)
        half = {width: band[1] for width, band in bands.items()}
        found = (
            (half["amm"] / half["theory"]).max(),
            (half["dmm"] / half["theory"]).max(),
            (half["dmm"] / half["amm"]).max(),
        )
        largest = np.maximum(largest, found)
    np.testing.assert_allclose(list(ratios(problem, mean, arms, rewards).values()), largest, rtol=1e-6)


def test_the_suite_states_norms_exactly_too_large_and_too_small() -> None:
    suite = load_suite(mixtures.SUITE)
    factors = {dict(entry.ref.kwargs.get("norm_bound") or {}).get("times", 1.0) for entry in suite.agents}
    assert factors == {1.0, 3.0, 0.3333}
    for entry in suite.environments:
        problem, _ = truth(mixtures.SUITE, str(entry.ref.label), 0)
        assert problem.norm_bound == entry.ref.kwargs["norm"]
        assert problem.knowledge == "oracle"


# ---- both forms of GP-BUCB against a posterior computed anew for every pick ----


@pytest.mark.parametrize("lazy", [False, True])
def test_pulls_are_those_of_the_textbook(lazy: bool) -> None:
    env = gymnasium.make("GPBandit/GPSample-v0", n_arms=60, noise_std=0.3)
    env.reset(seed=3)
    problem: Problem = problem_of(env)
    f = env.unwrapped.mean(np.arange(60))  # type: ignore[attr-defined]
    assert problem.kernel is not None
    noise = np.random.default_rng(0).normal(0.0, 0.3, 40)
    arms, computed = play(problem, f, noise, lazy)
    assert (computed == 40 * 60) if not lazy else (40 <= computed < 40 * 60)
    K = problem.kernel(np.asarray(problem.arms), np.asarray(problem.arms))
    for t in range(40):
        known = t - t % BATCH
        mean = dense(K, arms[:known], (f[arms] + noise)[:known], 0.09)[0] if known else np.zeros(60)
        variance = dense(K, arms[:t], np.zeros(t), 0.09)[1] if t else K.diagonal()
        width = FiniteBayes()(WidthContext(known + 1, 60, 0.09, 0.3, norm_bound=1.0, delta=1 / 40))
        assert arms[t] == np.argmax(mean + width * np.sqrt(variance))
