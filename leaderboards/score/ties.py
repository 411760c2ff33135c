"""Who is better than whom, from paired values: Holm-corrected tests, tie groups and ranks that admit what is unknown.

| symbol | meaning | shape |
|---|---|---|
| `Y` | score of each agent on each block; smaller is better | (n, k) |
| `n` | blocks: the repetitions of a task, the same for all agents (common random numbers) | |
| `k` | agents | |
| `p[i, j]` | p-value of "agents i and j do equally well", two-sided, adjusted for all pairs | (k, k) |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.stats
from jaxtyping import Float, Int

__all__ = ["Ranking", "holm", "paired_t", "rank", "sign_flip"]

ALPHA = 0.05
_EXACT_BLOCKS = 12


@dataclass(frozen=True)
class Ranking:
    """Agents in tie groups.

    Attributes:
        group: Place of each agent's tie group, shape `(k,)`: 1 for the leading group, then 1 + the number of agents in
            better groups; an agent is in the group of its leader unless it is told apart from it.
        best: Smallest rank that the tests leave open, `1 + |agents that are better|`, shape `(k,)`.
        worst: Largest rank that the tests leave open, `k - |agents that are worse|`, shape `(k,)`.
        p: Adjusted p-values, shape `(k, k)`, 1 on the diagonal.
    """

    group: Int[np.ndarray, " k"]
    best: Int[np.ndarray, " k"]
    worst: Int[np.ndarray, " k"]
    p: Float[np.ndarray, "k k"]


def rank(Y: Float[np.ndarray, "n k"], p: Float[np.ndarray, "k k"] | None = None, alpha: float = ALPHA) -> Ranking:
    """Rank agents by their mean score, with ties wherever the tests cannot tell them apart.

    Args:
        Y: Score of each agent on each block, shape `(n, k)`; smaller is better.
        p: Adjusted p-values of all pairs, shape `(k, k)`; by default Holm's adjustment of paired t-tests.
        alpha: Family-wise error rate over all pairs.

    Returns:
        Tie groups and rank intervals. With one block nothing can be told apart, and all agents tie.
    """
    Y = _scores(Y)
    k = Y.shape[1]
    p = holm(paired_t(Y)) if p is None else np.asarray(p, np.float64)
    if p.shape != (k, k):
        raise ValueError(f"p: expected shape {(k, k)}, one p-value a pair, got {p.shape}")
    mean = Y.mean(axis=0)
    apart = p < alpha
    beats = apart & (mean[:, None] < mean[None, :])
    group = np.zeros(k, np.int64)
    place, leader = 0, -1
    for position, agent in enumerate(np.argsort(mean, kind="stable")):
        if leader < 0 or beats[leader, agent]:
            place, leader = position + 1, int(agent)
        group[agent] = place
    return Ranking(group, 1 + beats.sum(axis=0), k - beats.sum(axis=1), p)


def paired_t(Y: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "k k"]:
    """Two-sided p-values of paired t-tests between all columns; 1 for one block, which has no spread to judge by."""
    Y = _scores(Y)
    n, k = Y.shape
    if n == 1:
        return np.ones((k, k))
    D = Y[:, :, None] - Y[:, None, :]
    mean, sd = D.mean(axis=0), D.std(axis=0, ddof=1)
    # A difference that is the same in every block, up to rounding, has no spread: it is certain, or it is none.
    certain = sd <= 1e-12 * np.abs(Y).max(initial=0.0)
    t = np.abs(mean) / np.where(certain, 1.0, sd / np.sqrt(n))
    p = np.where(
        certain, np.where(np.abs(mean) <= 1e-12 * np.abs(Y).max(initial=0.0), 1.0, 0.0), 2 * scipy.stats.t.sf(t, n - 1)
    )
    np.fill_diagonal(p, 1.0)
    return p


def sign_flip(Y: Float[np.ndarray, "n k"], rng: np.random.Generator, n_flips: int = 4999) -> Float[np.ndarray, "k k"]:
    """Two-sided p-values of sign-flip tests between all columns.

    If two agents do equally well, each block's difference is as likely as its negative. All `2^n` sign patterns are
    tried for n <= 12, else a random sample that counts the pattern seen as one of its own, which keeps the test valid
    (Phipson and Smyth 2010). No distribution is assumed, but p cannot fall below `2^(1-n)`.

    Args:
        Y: Score of each agent on each block, shape `(n, k)`.
        rng: Source of the random patterns.
        n_flips: Size of the random sample.
    """
    Y = _scores(Y)
    n, k = Y.shape
    exact = n <= _EXACT_BLOCKS
    if exact:
        signs = 1.0 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    else:
        signs = rng.choice((-1.0, 1.0), size=(n_flips, n))
    p = np.ones((k, k))
    for i in range(k):
        D = Y[:, i, None] - Y[:, i + 1 :]
        seen = np.abs(D.sum(axis=0))
        # Patterns with the same sum in exact arithmetic must count as ties whatever their rounding.
        tail = (np.abs(signs @ D) >= seen - 1e-10 * np.abs(D).sum(axis=0)).sum(axis=0)
        p[i, i + 1 :] = p[i + 1 :, i] = tail / len(signs) if exact else (tail + 1) / (len(signs) + 1)
    return p


def holm(p: Float[np.ndarray, "k k"]) -> Float[np.ndarray, "k k"]:
    """Holm's step-down adjustment over the `k (k-1) / 2` pairs (Holm 1979): controls the family-wise error rate.

    Args:
        p: Symmetric matrix of p-values, shape `(k, k)`; the diagonal is ignored.

    Returns:
        Adjusted p-values, shape `(k, k)`, 1 on the diagonal.

    Raises:
        ValueError: if `p` is not square and symmetric with entries in [0, 1].
    """
    p = np.asarray(p, np.float64)
    if p.ndim != 2 or p.shape[0] != p.shape[1] or not np.array_equal(p, p.T):
        raise ValueError(f"p: expected a symmetric matrix, got shape {p.shape}")
    rows, cols = np.triu_indices(len(p), 1)
    raw = p[rows, cols]
    if not ((raw >= 0) & (raw <= 1)).all():
        raise ValueError("p: expected entries in [0, 1]")
    order = np.argsort(raw, kind="stable")
    stepped = np.maximum.accumulate(raw[order] * np.arange(len(raw), 0, -1))
    adjusted = np.ones_like(p)
    values = np.empty_like(raw)
    values[order] = np.minimum(stepped, 1.0)
    adjusted[rows, cols] = adjusted[cols, rows] = values
    return adjusted


def _scores(Y: np.ndarray) -> np.ndarray:
    Y = np.asarray(Y, np.float64)
    if Y.ndim != 2 or not Y.size:
        raise ValueError(f"Y: expected shape (n, k), one row a block and one column an agent, got {Y.shape}")
    if not np.isfinite(Y).all():
        raise ValueError("Y: expected finite scores, got NaN or infinity")
    return Y
