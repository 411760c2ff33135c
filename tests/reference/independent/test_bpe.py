"""Li and Scarlett (2022), Algorithm 1 (BPE) and the batch lengths of Theorem 2."""

from __future__ import annotations

from math import ceil, log, sqrt

import numpy as np
import pytest

from agents.few_batches.bpe import BPE
from gpbandit_envs.gp.kernels import SE, Kernel, Matern
from gpbandit_envs.problem import Problem
from tests.agents.play import noisy, play
from tests.reference.independent import dense
from tests.reference.independent.episodes import Batch, Picks

PSI, R, DELTA = 1.5, 0.05, 0.1


def batch_lengths(T: int) -> list[int]:
    """Lines 2, 4 and 11: `N_i = ceil(sqrt(T N_{i-1}))` from `N_0 = 1`, until T points are chosen."""
    lengths, N = list[int](), 1
    while sum(lengths) < T:
        N = ceil(sqrt(T * N))
        lengths.append(min(N, T - sum(lengths)))
    return lengths


def theorem_2_lengths(T: int, B: int, eta: float) -> list[int]:
    """Theorem 2 for the Matern kernel; for the SE kernel "with the logarithmic term ignored", as section 5 has it."""
    lengths = [ceil(T ** ((1 - eta**i) / (1 - eta**B))) for i in range(1, B)]
    return [*lengths, T - sum(lengths)]


def sqrt_beta(n_arms: int, B: int) -> float:
    """Line 15, with `lam = R^2` as in Theorem 1."""
    return PSI + R / sqrt(R**2) * sqrt(2 * log(n_arms * B / DELTA))


def survivors(
    K: np.ndarray, batch: Batch, width: float, candidates: np.ndarray, rounding: float
) -> tuple[np.ndarray, np.ndarray]:
    """Line 15 on the data of one batch alone: who stays, and who is too close to the bound to tell."""
    mean = dense.mean(K, batch.arms, batch.rewards, R**2)
    sd = np.sqrt(dense.variance(K, batch.arms, R**2))
    margin = mean + width * sd - np.max((mean - width * sd)[candidates])
    return candidates & (margin >= 0), candidates & (np.abs(margin) < rounding)


def grid(d: int, n: int) -> np.ndarray:
    axes = np.meshgrid(*[np.linspace(0, 1, n)] * d, indexing="ij")
    return np.stack([axis.ravel() for axis in axes], axis=1)


@pytest.mark.parametrize("width", ["theory", sqrt(2), sqrt(6)])
@pytest.mark.parametrize(("d", "n", "lengthscale", "T"), [(1, 80, 0.1, 300), (2, 11, 0.3, 250)])
def test_algorithm_1(d: int, n: int, lengthscale: float, T: int, width: str | float) -> None:
    X = grid(d, n)
    K = dense.squared_exponential(X, lengthscale)
    weights = np.random.default_rng(d).standard_normal(len(X))
    f = K @ weights * PSI / sqrt(weights @ K @ weights)
    problem = Problem(name="grid", dim=d, arms=X, kernel=SE(lengthscale), noise_std=R, norm_bound=PSI, horizon=T)
    agent = BPE(width=width, delta=DELTA)
    batches: list[Batch] = []
    candidates: list[np.ndarray] = []
    reward = noisy(f, R, seed=0)

    def feedback(arms: np.ndarray) -> np.ndarray:
        candidates.append(np.isin(np.arange(len(X)), agent.alive))
        batches.append(Batch(arms.tolist(), reward(arms), agent.diagnostics()["width"], []))
        return batches[-1].rewards

    play(agent, problem, feedback, seed=0)

    lengths = batch_lengths(T)
    assert [len(batch.arms) for batch in batches] == lengths
    expected = sqrt_beta(len(X), len(lengths)) if width == "theory" else float(width)
    remain, picks = np.ones(len(X), dtype=bool), Picks()
    for batch, alive in zip(batches, candidates, strict=True):
        assert batch.width == pytest.approx(expected, rel=1e-13)
        assert np.array_equal(alive, remain)
        for j, arm in enumerate(batch.arms):
            sd = np.sqrt(dense.variance(K, batch.arms[:j], R**2))
            picks.check(arm, np.where(remain, sd, 0.0))
        remain, unsure = survivors(K, batch, expected, remain, rounding=1e-10)
        assert not unsure.any()
    assert candidates[-1].sum() < len(X) / 2
    assert picks.decided > 0.5


@pytest.mark.parametrize(("T", "B"), [(400, 2), (1000, 2), (1000, 3)])
@pytest.mark.parametrize(("kernel", "eta"), [(SE(0.5), 1 / 2), (Matern(0.5, nu=1.5), 1.5 / (2 * 1.5 + 2))])
def test_lengths_of_theorem_2(kernel: Kernel, eta: float, T: int, B: int) -> None:
    X = grid(2, 4)
    problem = Problem(name="grid", dim=2, arms=X, kernel=kernel, noise_std=R, norm_bound=PSI, horizon=T)
    agent = BPE(n_batches=B, lengths="theorem", width=1.0)
    lengths = [len(batch) for batch in play(agent, problem, noisy(np.zeros(len(X)), R, seed=0), seed=0)]
    assert lengths == theorem_2_lengths(T, B, eta)
