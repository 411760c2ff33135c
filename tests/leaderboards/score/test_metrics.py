""""""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import leaderboards
from agents import RegretGuarantee
from agents.core.information import greedy_information, realised_information
from gpbandit_envs.channels import WorkerQueue
from gpbandit_envs.gp import SE, Linear
from leaderboards.play import measures
from leaderboards.play.build import build_env
from leaderboards.play.record import RunRecord
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.score import metrics
from leaderboards.score.delay_cost import DelayStudy, delay_studies
from leaderboards.score.statistics import paired_difference, ratio_interval
from leaderboards.score.summary import summarise
from leaderboards.show.rebuilt import task_theory
from leaderboards.store.store import Store
from tests.leaderboards.folders import folder, record, trace

REGRETS = hnp.arrays(np.float64, st.integers(1, 40), elements=st.floats(0, 1e3))


def test_regrets_of_a_run_worked_by_hand() -> None:
    regret = np.array([3.0, 1.0, 2.0, 0.0])
    np.testing.assert_array_equal(measures.cumulative(regret), [3, 4, 6, 6])
    np.testing.assert_array_equal(metrics.average_regret(regret), [3, 2, 2, 1.5])
    np.testing.assert_array_equal(measures.simple_regret(regret), [3, 1, 1, 0])
    np.testing.assert_array_equal(metrics.regret_ratio(regret, np.array([6.0, 0.0, 4.0, 1.0])), [0.5, np.nan, 0.5, 0.0])


def test_runs_are_rows_and_time_is_the_last_axis() -> None:
    regret = np.arange(12.0).reshape(3, 4)[:, ::-1]
    for f in (measures.cumulative, metrics.average_regret, measures.simple_regret):
        np.testing.assert_array_equal(f(regret), [f(row) for row in regret])


@given(REGRETS)
def test_simple_regret_never_rises_and_never_exceeds_the_average(regret: np.ndarray) -> None:
    simple = measures.simple_regret(regret)
    assert (np.diff(simple) <= 0).all()
    assert (simple <= metrics.average_regret(regret) * (1 + 1e-12) + 1e-300).all()
    assert simple[-1] == regret.min()


@given(REGRETS)
def test_the_ratio_to_oneself_is_one(regret: np.ndarray) -> None:
    R = measures.cumulative(regret)
    ratio = metrics.regret_ratio(R, R)
    assert (ratio[R > 0] == 1).all()
    assert np.isnan(ratio[R == 0]).all()


def test_an_unknown_mean_stays_unknown() -> None:
    regret = np.array([1.0, np.nan, 0.5])
    for f in (measures.cumulative, metrics.average_regret, measures.simple_regret):
        np.testing.assert_array_equal(np.isnan(f(regret)), [False, True, True])


def test_inference_regret_holds_the_last_recommendation() -> None:
    x = np.array([np.nan, 2.0, np.nan, np.nan, 1.0, np.nan])
    np.testing.assert_array_equal(measures.inference_regret(x), [np.nan, 2, 2, 2, 1, 1])


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(0, 5))
def test_batch_lengths_are_recovered_whatever_the_batches_are_called(lengths: list[int], skip: int) -> None:
    # A delivery between which nothing was chosen leaves a gap in the numbers.
    names = np.cumsum(1 + skip * (np.arange(len(lengths)) % 2))
    batch = np.repeat(names, lengths)
    np.testing.assert_array_equal(measures.batch_lengths(batch), lengths)
    assert measures.batches_so_far(batch)[-1] == len(lengths)


def test_simulated_time_of_two_batches_on_two_workers_worked_by_hand() -> None:
    cost = np.array([4.0, 1.0, 2.0, 1.0, 5.0, 1.0])
    batch = np.array([1, 1, 1, 1, 2, 2])
    # Worker A: 4; worker B: 1, 2, 1. Then 5 beside 1.
    np.testing.assert_allclose(measures.simulated_time(cost, batch, 2), [4, 4, 4, 4, 9, 9])


def test_equal_costs_take_the_short_way_to_the_same_time() -> None:
    for length, workers in itertools.product((1, 3, 7), (1, 2, 5)):
        batch = 1 + np.arange(20) // length
        equal = measures.simulated_time(np.full(20, 2.0), batch, workers)
        nearly = measures.simulated_time(np.full(20, 2.0) + 1e-12 * np.arange(20), batch, workers)
        np.testing.assert_allclose(equal, nearly, rtol=1e-9)


def test_completion_times_of_two_workers_worked_by_hand() -> None:
    # 0 runs to time 5; on the other worker 1 to 1, then 2 to 3, then 3 to 4, then 4 to 8.
    ends = measures.completion_times(np.array([5.0, 1, 2, 1, 4]), np.array([1, 1, 2, 3, 4]), 2)
    np.testing.assert_array_equal(ends, [5, 1, 3, 4, 8])


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0, 1.5, 7.25]), st.booleans()), min_size=1, max_size=40),
    st.integers(1, 5),
)
def test_completion_times_are_those_of_the_channel(steps: list[tuple[float, bool]], workers: int) -> None:
    """Also where the agent would rather wait, though a worker is free."""
    channel = WorkerQueue(workers)
    batch, ends, deliveries = [], [], 0
    for ticket, (cost, waits) in enumerate(steps):
        if waits and channel.wait():
            deliveries += 1
        batch.append(deliveries + 1)
        ends.append(channel.clock.now + cost)
        channel.start(ticket, cost)
        deliveries += bool(channel.arrived())
    costs = np.array([cost for cost, _ in steps])
    np.testing.assert_array_equal(measures.completion_times(costs, np.array(batch), workers), ends)
    while channel.wait():
        pass
    assert channel.clock.now == max(ends)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: measures.batches_so_far(np.array([1, 3, 2])), "batch: expected non-decreasing"),
        (lambda: measures.simulated_time(-np.ones(3), np.ones(3), 2), "cost: expected finite costs >= 0"),
        (lambda: measures.completion_times(-np.ones(3), np.ones(3), 2), "cost: expected finite costs >= 0"),
        (lambda: measures.completion_times(np.ones(3), np.ones(3), 2), "deliveries of 2 workers, got 1.0 for"),
        (lambda: measures.completion_times(np.ones(3), np.array([1, 3, 4]), 2), "got 3 for evaluation 2"),
    ],
)
def test_bad_input_is_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]


# ---- theory ----


BATCHED = (("GP-BUCB", {"batch_size": 3, "c": 8.0}), "GP-AUCB")  # without c no bound is proven
ENV: tuple[str, dict[str, object]] = ("GPBandit/RKHS-v0", {"n_arms": 60, "dim": 1, "lengthscale": 0.2})


def rng(*key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(key))


@pytest.mark.parametrize("lam", [1e-3, 1.0])
def test_orthogonal_arms_under_the_linear_kernel_have_a_closed_form(lam: float) -> None:
    d, rounds = 5, 4
    found = greedy_information(Linear(), np.eye(d), lam, d * rounds)
    for m in range(1, rounds + 1):
        assert found.gain[m * d - 1] == pytest.approx(d / 2 * math.log1p(m / lam), rel=1e-9)
    assert found.d_eff == pytest.approx(d * rounds / (rounds + lam), rel=1e-9)


def test_the_realised_gain_is_the_log_determinant() -> None:
    X = rng(1).normal(size=(12, 2))
    actions = rng(2).integers(0, 12, 30)
    kernel, lam = SE(0.8), 0.05
    found = realised_information(kernel, X, lam, actions)
    for t in (1, 7, 30):
        K = kernel(X[actions[:t]], X[actions[:t]])
        assert found.gain[t - 1] == pytest.approx(0.5 * np.linalg.slogdet(np.eye(t) + K / lam)[1], rel=1e-8)
    assert found.d_eff == pytest.approx(np.trace(K @ np.linalg.inv(K + lam * np.eye(30))), rel=1e-8)


def test_greedy_gains_more_than_chance_and_at_least_its_share_of_the_best() -> None:
    X, kernel, lam = rng(3).normal(size=(9, 2)), SE(1.0), 0.1
    greedy = greedy_information(kernel, X, lam, 3).gain[-1]
    sets = [realised_information(kernel, X, lam, np.array(s)).gain[-1] for s in np.ndindex(9, 9, 9)]
    assert (1 - 1 / math.e) * max(sets) <= greedy <= max(sets) + 1e-12
    assert greedy >= np.median(sets)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: greedy_information(SE(1.0), np.eye(2), 0.1, 0), "T: expected at least 1"),
        (lambda: realised_information(SE(1.0), np.eye(2), 0.1, np.zeros(0, int)), "actions: expected at least one"),
    ],
)
def test_bad_input_of_theory_is_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]


def test_real_runs_stay_below_what_was_proven_and_learn_no_more_than_there_is(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for agent in ("Uniform", ("GP-UCB", {"width": "theory"}), ("BBKB", {"width": "theory"}), "BPE", *BATCHED):
        for repetition in range(2):
            store.write(leaderboards.run(ENV, agent, repetition, 80))
    found = task_theory(summarise(store), "RKHS")
    assert found is not None
    assert found.t == 80
    compared = {comparison.agent: comparison for comparison in found.comparisons}
    assert compared["Uniform"].proven == RegretGuarantee()
    most = found.greedy.gain[-1] / (1 - 1 / math.e)
    # Its theorem asks for lam >= 1 and a dictionary that is larger than the default.
    assert compared["BBKB"].proven == RegretGuarantee()
    for name in ("GP-UCB", "BPE", "GP-BUCB", "GP-AUCB"):
        comparison = compared[name]
        assert comparison.proven.bound is not None
        assert comparison.measured.estimate < comparison.proven.bound
        assert comparison.proven.exponent == 0.5
        assert comparison.gain is not None
        assert comparison.d_eff is not None
        if name in ("GP-UCB", "GP-BUCB", "GP-AUCB"):
            assert 0 < comparison.gain <= most
            assert comparison.d_eff <= 2 * comparison.gain + 1e-9, "d_eff is at most logdet"
    sequential = compared["GP-UCB"].proven.bound or 0.0
    assert compared["GP-AUCB"].proven.bound == pytest.approx(2 * sequential), "its threshold is 2"
    assert (compared["GP-BUCB"].proven.bound or 0.0) > sequential
    assert compared["GP-BUCB"].proven.theorem == "Desautels et al. (2012), Theorem 1"


def test_a_draw_from_the_prior_has_the_bayesian_bounds_and_a_wrong_kernel_none(tmp_path: Path) -> None:
    store = Store(tmp_path)
    kwargs = {"n_arms": 50, "dim": 1}
    wrong = {**kwargs, "misspecification": {"lengthscale": 2.0}}
    for agent in (("GP-UCB", {"width": "bayes"}), ("GP-BUCB", {"width": "bayes", "batch_size": 1}), "BBKB"):
        store.write(leaderboards.run(("GPBandit/GPSample-v0", kwargs), agent, 0, 60))
        store.write(leaderboards.run(("GPBandit/GPSample-v0", wrong), agent, 0, 60))
    summary = summarise(store)
    reports = {task.knowledge: task_theory(summary, name) for name, task in summary.tasks.items()}
    assert reports.keys() == {"oracle", "misspecified"}
    true, other = reports["oracle"], reports["misspecified"]
    assert true is not None
    assert other is not None
    bounds = {comparison.agent: comparison for comparison in true.comparisons}
    assert bounds["GP-UCB"].proven.theorem == "Srinivas et al. (2010), Theorem 1"
    assert bounds["GP-UCB"].proven.bound == pytest.approx(bounds["GP-BUCB"].proven.bound), "a batch of one"
    assert bounds["GP-UCB"].measured.estimate < (bounds["GP-UCB"].proven.bound or 0.0)
    assert bounds["BBKB"].proven.bound is None
    assert all(comparison.proven.bound is None for comparison in other.comparisons)


def test_the_greedy_gain_is_that_of_the_instance_of_the_first_repetition(tmp_path: Path) -> None:
    store = folder(tmp_path, [Ref(*ENV)], [Ref("GP-UCB")], 2, T=1500)
    found = task_theory(summarise(store), "RKHS")
    assert found is not None
    assert 900 < found.t <= 1000
    problem = build_env(Ref(*ENV), 1500).unwrapped.problem  # type: ignore[attr-defined]
    expected = greedy_information(problem.kernel, problem.arms, problem.noise_std**2, found.t)
    np.testing.assert_allclose(found.greedy.gain, expected.gain)
    cell = summarise(store).scores["RKHS", "GP-UCB"]
    at = int(np.searchsorted(cell.t, found.t))
    assert found.comparisons[0].measured.estimate == pytest.approx(cell.curves["cumulative_regret"][:, at].mean())


def test_what_theory_does_not_reach_has_no_report_and_what_cannot_be_built_says_why(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write(record(Ref("object:thing", label="thing"), Ref("GP-UCB"), 0))
    store.write(record(Ref("GPBandit/Gone-v0"), Ref("GP-UCB"), 0))
    store.write(record(Ref("GPBandit/RKHS-v0", {"n_arm": 3}), Ref("GP-UCB"), 0))
    summary = summarise(store)
    assert task_theory(summary, "thing") is None
    assert task_theory(summary, "Gone") is None
    with pytest.raises(TypeError, match="n_arm"):
        task_theory(summary, "RKHS")


# ---- delay costs of folders in which they are known ----


RKHS = Ref("GPBandit/RKHS-v0")


def write(store: Store, agent: str, feedback: str, extra: float, repetitions: int = 4, env: Ref = RKHS) -> np.ndarray:
    """Runs whose total regret is that of the repetition plus `extra` a piece; returns the totals."""
    totals = []
    for repetition in range(repetitions):
        spec = RunSpec(env=env, agent=Ref(agent), repetition=repetition, horizon=40, feedback=feedback)
        frame = trace(40, 0.5, np.random.default_rng(np.random.SeedSequence([repetition])))
        frame["regret"] += extra * (1 + 0.1 * repetition) / 40
        totals.append(float(frame["regret"].sum()))
        store.write(RunRecord(spec, "done", frame, facts={"optimum": 1.0}))
    return np.array(totals)


def test_the_delay_cost_is_the_paired_difference_with_immediate_feedback(tmp_path: Path) -> None:
    store = Store(tmp_path)
    base = write(store, "GP-BUCB", "batch:1", 0.0)
    late = {d: write(store, "GP-BUCB", f"delay:{d}", float(d)) for d in (10, 2)}
    write(store, "GP-AUCB", "batch:1", 0.0)
    write(store, "GP-AUCB", "batch:5", 3.0)
    found = delay_studies(summarise(store))
    assert [(study.kind, list(study.tasks), list(study.costs)) for study in found] == [
        ("delay", [2.0, 10.0], ["GP-BUCB"]),
        ("batch", [5.0], ["GP-AUCB"]),
    ]
    for d, cost in found[0].costs["GP-BUCB"].items():
        expected = paired_difference(late[int(d)], base)
        assert cost.difference.estimate == pytest.approx(d * 1.15)
        assert cost.difference.low == pytest.approx(expected.low)
        assert cost.base == pytest.approx(base.mean())
        relative = ratio_interval(late[int(d)] - base, base)  # the base is measured as well
        found_ = (cost.relative.estimate, cost.relative.low, cost.relative.high)
        assert found_ == pytest.approx((relative.estimate, relative.low, relative.high))
        assert cost.difference.n == 4
        assert cost.regret == pytest.approx(late[int(d)].mean())


def test_noise_that_all_regimes_share_does_not_widen_the_delay_cost(tmp_path: Path) -> None:
    store = Store(tmp_path)
    write(store, "GP-BUCB", "delay:0", 0.0)
    write(store, "GP-BUCB", "delay:4", 4.0)
    difference = delay_studies(summarise(store))[0].costs["GP-BUCB"][4.0].difference
    assert difference.high - difference.low < 2, "the extra differs by 10 % a repetition, the totals by far more"
    assert difference.low > 3


@pytest.mark.parametrize("base", ["batch:1", "delay:0", "geometric:0", "poisson:0", "workers:1"])
def test_all_regimes_without_delay_are_immediate(tmp_path: Path, base: str) -> None:
    store = Store(tmp_path)
    write(store, "GP-BUCB", base, 0.0, 2)
    write(store, "GP-BUCB", "workers:8", 1.0, 2)
    write(store, "GP-BUCB", "geometric:2.5", 1.0, 2)
    assert [(study.kind, study.base) for study in delay_studies(summarise(store))] == [
        ("geometric", _name(store, base)),
        ("workers", _name(store, base)),
    ]


def write_family(store: Store, feedback: str, members: list[int]) -> None:
    """Runs of a repetition each, whose total regret is 1000 times their member, plus 8 where feedback is late."""
    for repetition, member in enumerate(members):
        spec = RunSpec(
            env=RKHS,
            agent=Ref("GP-BUCB"),
            repetition=repetition,
            horizon=40,
            feedback=feedback,
            member={"norm": member},
        )
        frame = trace(40, 0.5, np.random.default_rng(0))
        frame["regret"] = (1000.0 * member + 8.0 * (feedback != "batch:1")) / 40
        store.write(RunRecord(spec, "done", frame, facts={"optimum": 1.0}))


def test_members_of_a_family_are_compared_with_themselves(tmp_path: Path) -> None:
    store = Store(tmp_path)
    write_family(store, "batch:1", [1, 2, 3, 1, 2, 3, 1])
    write_family(store, "batch:4", [1, 3, 2, 1, 3, 2, 1])
    write_family(store, "delay:4", [3, 1, 2, 3, 1, 2, 3])  # never the member of the same repetition
    (study,) = delay_studies(summarise(store))
    assert study.kind == "batch"
    cost = study.costs["GP-BUCB"][4.0]
    assert cost.difference.n == 3
    assert cost.base == pytest.approx(1000.0)
    ends = (cost.difference.estimate, cost.difference.low, cost.difference.high)
    assert ends == pytest.approx((8.0, 8.0, 8.0))


def _name(store: Store, feedback: str) -> str:
    return next(name for name, task in summarise(store).tasks.items() if task.feedback == feedback)


def test_without_an_immediate_task_or_a_pair_of_runs_there_is_no_delay_cost(tmp_path: Path) -> None:
    def found(name: str, *written: tuple[str, str, int, Ref]) -> list[DelayStudy]:
        store = Store(tmp_path / name)
        for agent, feedback, repetitions, env in written:
            write(store, agent, feedback, 0.0, repetitions, env)
        return delay_studies(summarise(store))

    other = Ref("GPBandit/RKHS-v0", {"n_arms": 7})
    assert found("no base", ("GP-BUCB", "delay:3", 2, RKHS), ("GP-BUCB", "on_request", 2, RKHS)) == []
    assert found("two agents", ("GP-BUCB", "delay:3", 2, RKHS), ("Uniform", "batch:1", 2, RKHS)) == []
    assert found("two environments", ("GP-BUCB", "delay:3", 2, RKHS), ("GP-BUCB", "batch:1", 2, other)) == []
    one = found("one repetition", ("GP-BUCB", "delay:3", 3, RKHS), ("GP-BUCB", "batch:1", 1, RKHS))
    cost = one[0].costs["GP-BUCB"][3.0]
    assert cost.difference.n == 1
    assert not cost.difference.is_known
