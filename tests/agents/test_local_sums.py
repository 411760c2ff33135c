"""The bounds of BBKB's local rule against its sums, added up for every arm."""

from __future__ import annotations

import numpy as np
import pytest

from agents.sketched import local_rule
from agents.sketched.local_rule import LocalSums
from gpbandit_envs.gp import SE
from gpbandit_envs.gp.sketch import SketchedArmPosterior

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
