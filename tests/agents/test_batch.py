"""The in-batch loop against recomputing every score after every pick."""

from __future__ import annotations

import tracemalloc
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.core import batch
from agents.core.batch import LazyBatch, RowBatch
from agents.sketched import local_rule
from agents.sketched.local_rule import LocalSums
from gpbandit_envs.gp import SE, Matern
from gpbandit_envs.gp.arm_posterior import ArmPosterior, RowsAhead
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.gp.sketch import SketchedArmPosterior


def eager(posterior: ArmPosterior, width: float, n: int, pending: np.ndarray) -> tuple[list[int], list[float]]:
    """Every variance downdated after every pick; returns the picks and how far ahead of the next each one was."""
    v, C = posterior.variance.copy(), posterior.reducible_covariance(np.arange(posterior.n_arms))
    picks: list[int] = []
    leads: list[float] = []
    for arm in [*pending.tolist(), *[-1] * n]:
        if arm < 0:
            score = posterior.mean + width * np.sqrt(np.maximum(v, 0))
            arm = int(np.argmax(score))
            picks.append(arm)
            leads.append(float(score[arm] - np.max(np.delete(score, arm), initial=-np.inf)))
        v = v - C[arm] ** 2 / (C[arm, arm] + posterior.lam)
        C = C - np.outer(C[arm], C[arm]) / (C[arm, arm] + posterior.lam)
    return picks, leads


def posterior_of(kind: str, rng: np.random.Generator, n_arms: int, lam: float) -> ArmPosterior:
    X = rng.random((n_arms, 2))
    arms = np.unique(rng.integers(0, n_arms, 6))
    counts, sums = rng.integers(1, 5, len(arms)).astype(float), rng.normal(size=len(arms))
    if kind == "exact":
        exact = ExactPosterior(Matern(0.3, 1.5), X, lam)
        exact.update(arms, counts, sums)
        return exact
    sketch = SketchedArmPosterior(SE(0.3), X, lam)
    sketch.record(arms, counts, sums)
    sketch.embed(arms[::2])
    return sketch


def lazy(
    posterior: ArmPosterior, width: float, few: int | None, most: int | None = None, pending: np.ndarray | None = None
) -> LazyBatch:
    """A batch with so many candidates to begin with, and at most."""
    builder = LazyBatch(posterior, width, pending)
    arms = builder._arms
    arms.n_few, arms.max_few = few or arms.n_few, most or arms.max_few
    return builder


@settings(max_examples=150)
@given(
    kind=st.sampled_from(["exact", "sketched"]),
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 70),
    lam=st.floats(-5, 1).map(lambda e: 10.0**e),
    n_candidates=st.sampled_from([1, 2, 7, 12, 20]),
    max_candidates=st.sampled_from([None, 10, 35, 100]),
    n_pending=st.integers(0, 4),
    many=st.sampled_from([1, 20, 2_048]),
)
def test_lazy_equals_eager(
    kind: str,
    seed: int,
    n_arms: int,
    lam: float,
    n_candidates: int,
    max_candidates: int | None,
    n_pending: int,
    many: int,
) -> None:
    rng = np.random.default_rng(seed)
    posterior = posterior_of(kind, rng, n_arms, lam)
    pending = rng.integers(0, n_arms, n_pending)
    picks, leads = eager(posterior, 2.0, 60, pending)
    builder = lazy(posterior, 2.0, n_candidates, max_candidates, pending)
    with patch.multiple(batch, _MANY=many, _FEW=2):  # so that candidates have candidates
        for pick, lead in zip(picks, leads, strict=True):
            mine = builder.next()
            if lead < 1e-9:
                break  # a tie up to rounding: from here on the two may differ honestly
            assert mine == pick


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 70),
    lam=st.floats(-5, 1).map(lambda e: 10.0**e),
    n_pending=st.integers(0, 4),
)
def test_rows_equal_eager(seed: int, n_arms: int, lam: float, n_pending: int) -> None:
    rng = np.random.default_rng(seed)
    posterior = posterior_of("exact", rng, n_arms, lam)
    pending = rng.integers(0, n_arms, n_pending)
    picks, leads = eager(posterior, 2.0, 60, pending)
    assert isinstance(posterior, ExactPosterior)
    for _ in range(2):  # a batch that is given up leaves nothing behind
        builder = RowBatch(posterior, 2.0, pending)
        for pick, lead in zip(picks, leads, strict=True):
            assert builder.propose(5) == builder.propose(5)
            mine = builder.next()
            if lead < 1e-9:
                break  # a tie up to rounding: from here on the two may differ honestly
            assert mine == pick


@pytest.mark.parametrize("n_told", [1, 4, 11, 40])
def test_feedback_after_a_batch_by_rows_gives_the_posterior_without_it(n_told: int) -> None:
    """All of the feedback or the first of it, with repeated arms and pulls that the posterior was not told of."""
    posterior, plain = (posterior_of("exact", np.random.default_rng(5), 30, 0.05) for _ in range(2))
    assert isinstance(posterior, ExactPosterior)
    assert isinstance(plain, ExactPosterior)
    builder = RowBatch(posterior, 2.0)
    picks = [builder.next() for _ in range(40)]
    assert 12 < len(set(picks)) < 32
    arms, counts = np.unique(picks[:n_told], return_counts=True)
    sums = np.random.default_rng(6).normal(size=len(arms))
    for one in (posterior, plain):
        one.update(arms, counts.astype(float), sums)
    left = np.array(picks[n_told:], np.int64)
    following = RowBatch(posterior, 2.0, left)
    np.testing.assert_allclose(posterior.mean, plain.mean, atol=1e-10)
    np.testing.assert_allclose(posterior.variance, plain.variance, atol=1e-10)
    assert posterior.information_gain == pytest.approx(plain.information_gain, rel=1e-10)
    assert posterior.distinct().tolist() == plain.distinct().tolist()
    assert [following.next() for _ in range(5)] == eager(plain, 2.0, 5, left)[0]


@settings(max_examples=60)
@given(
    kind=st.sampled_from(["exact", "sketched"]),
    seed=st.integers(0, 2**32),
    lam=st.floats(-5, 1).map(lambda e: 10.0**e),
    width=st.sampled_from([0.0, 0.1, 2.0, 50.0]),
    limit=st.integers(1, 300),
)
def test_runs_of_one_arm_are_what_single_picks_are(kind: str, seed: int, lam: float, width: float, limit: int) -> None:
    rng = np.random.default_rng(seed)
    posterior = posterior_of(kind, rng, 30, lam)
    picks, leads = eager(posterior, width, 250, np.zeros(0, np.int64))
    sure = next((i for i, lead in enumerate(leads) if lead < 1e-9), len(picks))
    builder = lazy(posterior, width, 5)
    while len(builder.picks) < sure:
        arm, count = builder.propose(limit)
        assert 1 <= count <= limit
        taken = int(rng.integers(1, count + 1))
        builder.take(taken)
        assert set(builder.picks[len(builder.picks) - taken :]) == {arm}
    assert builder.picks[:sure] == picks[:sure]


def test_a_long_run_takes_few_steps() -> None:
    posterior = ExactPosterior(SE(0.01), np.linspace(0, 1, 40)[:, None], 1.0)
    posterior.update(np.array([7]), np.array([1e4]), np.array([3e4]))
    builder = LazyBatch(posterior, 1.0)
    steps = 0
    while len(builder.picks) < 10_000:
        builder.take(builder.propose(10_000 - len(builder.picks))[1])
        steps += 1
    assert builder.picks == [7] * 10_000
    assert steps <= 4


def test_ties_go_to_the_lowest_index() -> None:
    posterior = ExactPosterior(SE(1e-3), np.arange(50.0)[:, None], 1.0)
    builder = lazy(posterior, 1.0, 4)
    assert [builder.next() for _ in range(50)] == list(range(50))


def test_updating_all_arms_again_and_again_keeps_few_rows() -> None:
    rng = np.random.default_rng(3)
    posterior = ExactPosterior(SE(0.3), rng.random((40, 2)), 1e-2)
    builder = lazy(posterior, 1.0, 3)
    picks = [builder.next() for _ in range(800)]
    assert picks[:300] == eager(posterior, 1.0, 300, np.zeros(0, np.int64))[0]
    assert isinstance(builder._arms.ahead, RowsAhead)
    assert len(builder._arms.ahead.B) <= 2 * 40 + 40


def large(n_arms: int) -> SketchedArmPosterior:
    """A sketched posterior on which a batch has hundreds of distinct picks."""
    rng = np.random.default_rng(8)
    posterior = SketchedArmPosterior(SE(0.3), rng.random((n_arms, 2)), 1.0)
    arms = rng.choice(n_arms, 60, replace=False)
    posterior.record(arms, np.ones(60), rng.normal(size=60))
    posterior.embed(arms)
    return posterior


def test_a_batch_on_a_sketch_needs_the_memory_of_a_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    n_arms = 40_000
    posterior = large(n_arms)
    updated: list[int] = []
    update = batch._Arms._update

    def counting(self: batch._Arms) -> None:
        updated.append(len(self))
        update(self)

    monkeypatch.setattr(batch._Arms, "_update", counting)
    tracemalloc.start()
    builder = lazy(posterior, 3.0, None, 2_000)
    distinct = len({builder.next() for _ in range(600)})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert updated.count(n_arms) >= 20
    assert distinct > 200
    # A row for every distinct pick would be 200 rows and more; blocks and candidates take a dozen.
    assert peak < 40 * 8 * n_arms


def test_a_batch_on_a_sketch_picks_as_with_a_row_for_every_pick() -> None:
    posterior = large(6_000)
    mine = LazyBatch(posterior, 3.0)
    with patch.object(SketchedArmPosterior, "look_ahead", ArmPosterior.look_ahead):
        plain = LazyBatch(posterior, 3.0)
    assert type(plain._arms.ahead) is not type(mine._arms.ahead)
    assert [mine.next() for _ in range(600)] == [plain.next() for _ in range(600)]


def test_picked_variance_is_the_one_before_the_pick() -> None:
    posterior = ExactPosterior(SE(0.3), np.array([[0.0], [5.0]]), 1.0)
    builder = LazyBatch(posterior, 1.0)
    seen = []
    for _ in range(4):
        builder.next()
        seen.append(builder.picked_variance)
    assert seen == pytest.approx([1.0, 1.0, 0.5, 0.5])


# ---- the bounds of BBKB's local rule against its sums, added up for every arm ----


LAM = 0.01


def sketched(n_arms: int, lengthscale: float, seed: int) -> SketchedArmPosterior:
    """A sketched posterior after pulls of some arms, with a duplicate of the first arm."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_arms, 2))
    X[-1] = X[0]
    posterior = SketchedArmPosterior(SE(lengthscale), X, LAM)
    arms = rng.choice(n_arms, 12, replace=False)
    counts = rng.integers(1, 20, 12).astype(float)
    posterior.record(arms, counts, counts * rng.normal(size=12))
    posterior.embed(arms[::2])
    return posterior


def all_sums(posterior: SketchedArmPosterior, picks: list[int]) -> np.ndarray:
    """`1 + q(x)` of every arm."""
    variance = posterior.variance
    covariance = posterior.covariance(np.array(picks))
    scale = np.where(variance > 1e-12, LAM * variance, np.inf)
    return np.asarray(1 + (covariance**2).sum(axis=0) / scale)


@pytest.mark.parametrize("lengthscale", [0.05, 0.3, 3.0])
@pytest.mark.parametrize("n_arms", [40, 1_000])
@pytest.mark.parametrize("some", [5, 400])
def test_the_bound_holds_and_exceeds_the_threshold_only_with_a_sum(lengthscale: float, n_arms: int, some: int) -> None:
    decided = 0
    for seed in range(6):
        posterior = sketched(n_arms, lengthscale, seed)
        rng = np.random.default_rng(100 + seed)
        among = rng.choice(n_arms, min(some, n_arms), replace=False)
        order = np.argsort(posterior.variance[among])  # first those that add little, so that batches are long
        among = among[order][: max(3, len(among) // 2)]
        lev = float(posterior.variance[among].mean()) / LAM
        sums = LocalSums(posterior, posterior.variance, c := 1 + 6 * lev)
        picks: list[int] = []
        for _ in range(60):
            new: dict[int, int] = {}
            for arm in rng.choice(among, rng.integers(1, 5)).tolist():
                new[arm] = new.get(arm, 0) + 1
                picks.append(arm)
            bound, truth = sums.largest(new), float(all_sums(posterior, picks).max())
            assert (bound > c) == (truth > c), (seed, bound, truth)
            if truth > c:
                decided += 1
                break
            assert bound >= truth * (1 - 1e-9)
    assert decided >= 3


def test_a_few_arms_decide_most_checks_of_a_long_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    posterior = sketched(4_000, 0.1, 0)
    looked: list[int] = []
    bounds = LocalSums._bounds

    def counting(self: LocalSums, arms: np.ndarray, B: np.ndarray) -> np.ndarray:
        looked.append(len(arms))
        return bounds(self, arms, B)

    monkeypatch.setattr(LocalSums, "_bounds", counting)
    rng = np.random.default_rng(1)
    among = rng.choice(4_000, 300, replace=False)
    sums, checks = LocalSums(posterior, posterior.variance, 1 + 20 * float(posterior.variance.max()) / LAM), 0
    while sums.largest({int(rng.choice(among)): 1}) <= sums._c:
        checks += 1
    assert checks > 200
    assert 4_000 <= sum(looked) < 4_000 * checks / 20


def test_arms_of_no_variance_have_no_sum() -> None:
    posterior = sketched(50, 1.0, 3)
    variance = posterior.variance.copy()
    variance[:] = 0.0
    sums = LocalSums(posterior, variance, 1.5)
    assert sums.largest({1: 3, 2: 1}) == 1.0


def test_blocks_of_arms_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    posterior = sketched(300, 0.2, 4)

    def bounds() -> np.ndarray:
        sums = LocalSums(posterior, posterior.variance, 2.0)
        sums._record({3: 4, 50: 2, 7: 1})
        sums._extend(1e-6)
        return sums._bounds_of_all()

    whole = bounds()
    monkeypatch.setattr(local_rule, "_BLOCK", 17)
    assert np.allclose(bounds(), whole, rtol=1e-9)
    exact = all_sums(posterior, [3] * 4 + [50] * 2 + [7])
    assert np.allclose(whole, exact, rtol=1e-4)
    assert (whole >= exact * (1 - 1e-9)).all()
