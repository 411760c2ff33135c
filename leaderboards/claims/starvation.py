"""Fig. 1 of Calandriello et al. (2019): no variance starvation. Posteriors only, nobody chooses arms.

t arms are drawn uniformly from the left half of [0, 1]. The dictionary is drawn from them with the probabilities
`min(1, qbar lev)` of Algorithm 1, once, from the exact leverage scores. On one dictionary

- DTC (BKB): `k(x, x) - z^T z + lam z^T V^-1 z`;
- subset of regressors: `lam z^T V^-1 z`;

with the same mean. What the paper leaves open: the noise (here the environment's), qbar (here 2, as in the successor
paper) and whether the dictionary is drawn step by step (here once).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import cho_solve

from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.gp.linalg import jittered_cholesky, solve_lower
from leaderboards.claims.claim import Claim, at_least
from leaderboards.claims.measures import first, of_runs
from leaderboards.claims.runs import Runs, drawn, told
from leaderboards.play.spec import Ref
from leaderboards.score.statistics import Interval, bounded_interval, paired_difference

EVALUATIONS = (6, 63, 215)
QBAR = 2.0
_BAND = 3.0  # the figure shows the mean plus and minus 3 standard deviations


def bands(
    kernel: Kernel,
    X: Float[np.ndarray, "A d"],
    lam: float,
    arms: Int[np.ndarray, " t"],
    y: Float[np.ndarray, " t"],
    dictionary: Int[np.ndarray, " m"],
) -> tuple[Float[np.ndarray, " A"], Float[np.ndarray, " A"], Float[np.ndarray, " A"]]:
    """Mean and the two variances of a Nystrom posterior: DTC's, then that of the subset of regressors."""
    Z = solve_lower(jittered_cholesky(kernel(X[dictionary], X[dictionary]))[0], kernel(X[dictionary], X))
    P = Z[:, arms]
    V = np.linalg.cholesky(P @ P.T + lam * np.eye(len(dictionary)))
    solved = cho_solve((V, True), Z)
    regressors = lam * np.einsum("ma,ma->a", Z, solved)
    explained = np.einsum("ma,ma->a", Z, Z)
    return solved.T @ (P @ y), np.maximum(kernel.diag(X) - explained, 0.0) + regressors, regressors


def study(repetitions: int, seed: int = 0) -> Runs:
    """Share of the unsampled half that each band covers, and how wide it is there."""
    return Runs.of_study(map(_measured, np.random.SeedSequence(seed).spawn(repetitions)))


def _measured(seed: np.random.SeedSequence) -> dict[str, dict[str, float]]:
    rng, found = np.random.default_rng(seed), {}
    problem, f = drawn(Ref("GPBandit/VarianceStarvation-v0"), max(EVALUATIONS), int(rng.integers(2**31)))
    X, kernel, noise_std = told(problem)
    left = int((X[:, 0] <= 0.5).sum())
    for t in EVALUATIONS:
        arms = rng.integers(left, size=t)
        y = f[arms] + rng.normal(0.0, noise_std, t)
        K = kernel(X[arms], X[arms])
        leverage = np.diag(np.linalg.solve(K + noise_std**2 * np.eye(t), K))
        chosen = arms[rng.random(t) < QBAR * leverage]
        dictionary = np.unique(chosen if len(chosen) else arms[:1])
        mean, dtc, regressors = bands(kernel, X, noise_std**2, arms, y, dictionary)
        for name, variance in (("BKB", dtc), ("SoR", regressors)):
            sd = np.sqrt(variance[left:])
            covered = float((np.abs(f - mean)[left:] <= _BAND * sd).mean())
            found[f"{name}, t = {t}"] = {"covered": covered, "sd": float(sd.mean())}
    return found


def _covers(values: np.ndarray, level: float) -> Interval:
    return bounded_interval(values, 0.0, 1.0, level)


def _at(t: int) -> Iterator[Claim]:
    bkb, regressors = f"BKB, t = {t}", f"SoR, t = {t}"
    text = "share of the unsampled half where f is within 3 standard deviations"
    figure = of_runs(text, _covers, first, bkb, columns=("covered",))
    said = f"BKB's band keeps covering f where nothing was evaluated (t = {t})."
    # Not quick: it takes some 90 runs, all of them covered.
    yield Claim(f"no-starvation-{t}", "Fig. 1; section 3.2, after Theorem 1", said, figure, at_least(0.95))
    text = "share covered by BKB less that covered by the subset of regressors"
    figure = of_runs(text, paired_difference, first, bkb, regressors, columns=("covered",))
    said, expected = f"The subset of regressors starves on the same data (t = {t}).", at_least(0.3)
    name, source, note = f"regressors-starve-{t}", "section 3.1, after eq. 4", "Fig. 1 shows BKB alone."
    yield Claim(name, source, said, figure, expected, quick=True, note=note, scope="ours")


CLAIMS: tuple[Claim, ...] = tuple(claim for t in EVALUATIONS for claim in _at(t))
