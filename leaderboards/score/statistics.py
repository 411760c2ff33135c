"""Statistics over repetitions: intervals, paired tests, rankings with ties, robust means, growth exponents.

| symbol | meaning | shape |
|---|---|---|
| `n` | repetitions (blocks): all agents face the same instances, noise and delays in a block | |
| `k` | agents | |
| `x`, `y` | scores of two agents on the same blocks; smaller is better | (n,) |
| `Y` | score of each agent on each block; smaller is better | (n, k) |
| `p[i, j]` | two-sided p-value of "agents i and j do equally well", adjusted for all pairs | (k, k) |
| `strata` | scores of one agent on several tasks, one stratum a task | list of (n_e,) |
| `level` | coverage of an interval, 0.95 by default | |

One repetition says nothing about the spread: its interval has the value as estimate and NaN as both ends.
Performance profiles and interquartile means follow Agarwal et al. (2021), *Deep reinforcement learning at the edge of
the statistical precipice*.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.special
import scipy.stats
from jaxtyping import Float, Int, Real

__all__ = [
    "ALPHA",
    "LEVEL",
    "Interval",
    "Ranking",
    "Slope",
    "exchange_test",
    "holm",
    "holm_levels",
    "improvement",
    "iqm",
    "loglog_slope",
    "mean_band",
    "mean_interval",
    "paired_difference",
    "paired_t",
    "pairwise_p",
    "performance_profile",
    "quantile_interval",
    "rank",
    "repetitions_needed",
    "score_band",
    "score_interval",
    "sign_flip",
    "stratified_mean",
]

LEVEL = 0.95
"""Coverage of intervals."""
ALPHA = 0.05
"""Family-wise error rate of rankings."""

_FARTHEST = (
    3.0  # of an upper end from the mean, over Student's: coverage hardly grows beyond, and charts would be empty
)


@dataclass(frozen=True)
class Interval:
    """An estimate with the ends of its confidence interval.

    Attributes:
        estimate: The statistic of the sample.
        low: Lower end; NaN if the sample does not determine it.
        high: Upper end; NaN if the sample does not determine it.
        n: Size of the sample.
        level: Nominal coverage.
    """

    estimate: float
    low: float
    high: float
    n: int
    level: float = LEVEL

    @property
    def is_known(self) -> bool:
        """Whether both ends are finite."""
        return bool(np.isfinite(self.low) and np.isfinite(self.high))

    def __contains__(self, value: float) -> bool:
        return bool(self.low <= value <= self.high)


# ---- intervals ----


def mean_interval(x: Float[np.ndarray, " n"], level: float = LEVEL) -> Interval:
    """Mean with Student's interval `mean +- t_{n-1} s / sqrt(n)`.

    Args:
        x: One value per repetition, shape `(n,)`.
        level: Nominal coverage, in (0, 1).

    Returns:
        The interval; its ends are NaN for n = 1, all three numbers if a value is NaN.

    Raises:
        ValueError: for an empty sample or a level outside (0, 1).
    """
    return _at_one_point(mean_band, x, level)


def _at_one_point(
    band: Callable[[Float[np.ndarray, "n p"], float], tuple[np.ndarray, np.ndarray, np.ndarray]],
    x: Float[np.ndarray, " n"],
    level: float,
) -> Interval:
    """The interval that `band` has for one score."""
    mean, low, high = band(_sample(x)[:, None], level)
    return Interval(float(mean[0]), float(low[0]), float(high[0]), len(x), level)


def mean_band(Y: Float[np.ndarray, "n p"], level: float = LEVEL) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean curve with Student's interval at each point.

    Args:
        Y: One row per repetition, shape `(n, p)`.
        level: Nominal coverage at each point by itself, in (0, 1).

    Returns:
        Mean, lower and upper end, each of shape `(p,)`.
    """
    Y = np.asarray(Y, np.float64)
    if Y.ndim != 2 or not len(Y):
        raise ValueError(f"Y: expected shape (n, p) with n >= 1, got {Y.shape}")
    _check_level(level)
    n = len(Y)
    mean = Y.mean(axis=0)
    if n == 1:
        nowhere = np.full(Y.shape[1], np.nan)
        return mean, nowhere, nowhere.copy()
    half = scipy.special.stdtrit(n - 1, (1 + level) / 2) * Y.std(axis=0, ddof=1) / np.sqrt(n)
    return mean, mean - half, mean + half


def score_interval(x: Float[np.ndarray, " n"], level: float = LEVEL) -> Interval:
    """Mean of scores that cannot be negative, with the interval of `score_band`.

    Args:
        x: One value per repetition, shape `(n,)`.
        level: Nominal coverage, in (0, 1).

    Returns:
        The interval; its ends are NaN for n = 1, all three numbers if a value is NaN.

    Raises:
        ValueError: for an empty sample or a level outside (0, 1).
    """
    return _at_one_point(score_band, x, level)


def score_band(Y: Float[np.ndarray, "n p"], level: float = LEVEL) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean curve of scores that cannot be negative, with an interval at each point that holds for skewed scores too.

    Regret is skewed to the right: a large value is rare, and a sample without one has a small mean and a small standard
    deviation at once. Student's interval of 5 lognormal values (`sigma = 1`) ends below their mean in 18 % of samples.
    So the upper end is the larger of Student's and of Cox's for lognormal values with Student's quantile,

        exp(l + s^2 / 2 + t_{n-1} sqrt(s^2 / n + s^4 / (2 (n - 1)))),

    l and s being mean and standard deviation of the logarithms, but at most 3 times as far from the mean as Student's:
    the logarithm of a score next to 0 says nothing of the large ones. The lower end is Student's, and no less than 0.
    Where a value is 0 there are no logarithms, and Student's upper end stays. What it covers is measured in
    `docs/robustness.md`.

    Args:
        Y: One row per repetition, shape `(n, p)`, no value below 0.
        level: Nominal coverage at each point by itself, in (0, 1).

    Returns:
        Mean, lower and upper end, each of shape `(p,)`.

    Reference: Olsson (2005), *Confidence intervals for the mean of a log-normal distribution*, Journal of Statistics
    Education 13(1), equation 6.
    """
    Y = np.asarray(Y, np.float64)
    mean, low, high = mean_band(Y, level)
    n = len(Y)
    positive = (Y > 0).all(axis=0)
    if n > 1 and positive.any():
        logs = np.log(Y[:, positive])
        variance = logs.var(axis=0, ddof=1)
        half = scipy.special.stdtrit(n - 1, (1 + level) / 2) * np.sqrt(variance / n + variance**2 / (2 * (n - 1)))
        with np.errstate(over="ignore"):
            cox = np.exp(logs.mean(axis=0) + variance / 2 + half)
        student = high[positive]
        farthest = student + (_FARTHEST - 1) * (student - mean[positive])
        high[positive] = np.fmax(student, np.fmin(cox, farthest))
    return mean, np.where(low < 0, np.minimum(mean, 0.0), low), high


def quantile_interval(x: Float[np.ndarray, " n"], q: float, level: float = LEVEL) -> Interval:
    """Quantile with the interval between two order statistics, exact for any continuous distribution.

    The number of values below the q-quantile is binomial (n, q); the ends are the order statistics that leave at most
    half of `1 - level` outside on either side, and NaN if the sample is too small.

    Args:
        x: One value per repetition, shape `(n,)`.
        q: Which quantile, in (0, 1); 0.5 is the median.
        level: Least coverage, in (0, 1).
    """
    x = _sample(x)
    _check_level(level)
    if not 0 < q < 1:
        raise ValueError(f"q: expected a number in (0, 1), got {q!r}")
    if np.isnan(x).any():
        return Interval(np.nan, np.nan, np.nan, len(x), level)
    n, tail = len(x), (1 - level) / 2
    # `scipy.stats.quantile_test` gives the same ends, and takes milliseconds to document a distribution anew.
    ends = np.concatenate([[np.nan], np.sort(x), [np.nan]])
    low = np.searchsorted(scipy.special.bdtr(np.arange(n), n, q), tail, side="right")
    high = n + 1 - np.searchsorted(scipy.special.bdtrc(np.arange(n)[::-1], n, q), tail, side="right")
    return Interval(float(np.quantile(x, q)), float(ends[low]), float(ends[high]), n, level)


def stratified_mean(strata: list[Float[np.ndarray, " _n"]], level: float = LEVEL) -> Interval:
    """Mean of the strata's means with Welch's interval.

    The variance is `sum_e s_e^2 / n_e / E^2`, with the degrees of freedom of Welch and Satterthwaite.

    Args:
        strata: Values of each of E strata.
        level: Nominal coverage, in (0, 1).

    Returns:
        The interval; its ends are NaN if a stratum has a single value.

    Raises:
        ValueError: without strata, for an empty one, or for a level outside (0, 1).
    """
    _check_level(level)
    if not strata or any(not len(x) for x in strata):
        raise ValueError("strata: expected at least one stratum, and none empty")
    n = np.array([len(x) for x in strata])
    mean = float(np.mean([np.mean(x) for x in strata]))
    if (n == 1).any():
        return Interval(mean, np.nan, np.nan, int(n.sum()), level)
    parts = np.array([np.var(x, ddof=1) for x in strata]) / n / len(strata) ** 2
    variance = float(parts.sum())
    if variance == 0:
        return Interval(mean, mean, mean, int(n.sum()), level)
    freedom = variance**2 / float((parts**2 / (n - 1)).sum())
    half = float(scipy.special.stdtrit(freedom, (1 + level) / 2)) * variance**0.5
    return Interval(mean, mean - half, mean + half, int(n.sum()), level)


# ---- two agents on the same blocks ----


def paired_difference(x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"]) -> Interval:
    """Mean of `x - y` over blocks that both agents played, with Student's interval.

    Args:
        x: Scores of one agent, shape `(n,)`.
        y: Scores of the other on the same blocks, shape `(n,)`.

    Raises:
        ValueError: if the shapes differ: the scores are then not paired.
    """
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if x.shape != y.shape:
        raise ValueError(f"y: expected the shape {x.shape} of x, one score a block, got {y.shape}")
    return mean_interval(x - y)


def improvement(x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"], level: float = LEVEL) -> Interval:
    """Probability that the first agent does better on a block, ties counting half, with Clopper and Pearson's interval.

    `P(x < y) + P(x = y) / 2`, over pairs of the same block. Wilson's interval is shorter, and covers less than it says
    for few blocks: for 5 of them and equal agents 93.8 % instead of 95 %.

    Args:
        x: Scores of the first agent, shape `(n,)`; less is better.
        y: Scores of the other on the same blocks, shape `(n,)`.
        level: Least coverage, in (0, 1).

    Raises:
        ValueError: without scores, if the shapes differ, or for a level outside (0, 1).
    """
    _check_level(level)
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if x.shape != y.shape or x.ndim != 1 or not len(x):
        raise ValueError(f"y: expected one score a block as in x, shape {x.shape}, got {y.shape}")
    wins = float(np.sum((x < y) + 0.5 * (x == y)))
    n, tail = len(x), (1 - level) / 2
    low = scipy.special.betaincinv(wins, n - wins + 1, tail) if wins > 0 else 0.0
    high = scipy.special.betaincinv(wins + 1, n - wins, 1 - tail) if wins < n else 1.0
    return Interval(wins / n, float(low), float(high), n, level)


def repetitions_needed(
    difference: float, sd: float, power: float = 0.8, alpha: float = ALPHA, most: int = 100_000
) -> int | None:
    """Paired repetitions that a two-sided t-test needs to find a difference between two agents.

    The power of n repetitions is `1 - F(t_{n-1, 1 - alpha/2}; n - 1, sqrt(n) difference / sd)`, F being the
    distribution function of the noncentral t; the tail on the other side is negligible.

    Args:
        difference: Mean of the paired differences that is to be found.
        sd: Standard deviation of the paired differences.
        power: Probability of finding it.
        alpha: Level of the test; of a ranking, what Holm's correction leaves to the pair, see `holm_levels`.
        most: Give up beyond this many.

    Returns:
        The least number of repetitions, at least 2; None if it exceeds `most`.
    """
    if not (sd >= 0 and math.isfinite(difference)):
        raise ValueError(f"difference, sd: expected a finite difference and sd >= 0, got {difference!r} and {sd!r}")
    if not (0 < alpha < 1 and alpha < power < 1):
        raise ValueError(f"alpha, power: expected 0 < alpha < power < 1, got {alpha!r} and {power!r}")
    if difference == 0:
        return None
    if sd == 0:
        return 2
    effect, z = abs(difference) / sd, float(scipy.special.ndtri(1 - alpha / 2))
    # With a known spread it would be this many; an unknown one costs about z^2 / 2 more, and more where n is small.
    normal = ((z + float(scipy.special.ndtri(power))) / effect) ** 2
    if normal > most:
        return None
    n = np.arange(max(2, math.floor(normal)), math.ceil(normal + z**2) + 10)
    misses = scipy.special.nctdtr(n - 1, effect * np.sqrt(n), scipy.special.stdtrit(n - 1, 1 - alpha / 2))
    # SciPy has no number for a miss that is next to impossible.
    enough = n[1 - np.nan_to_num(misses, nan=0.0) >= power]
    return int(enough[0]) if len(enough) and enough[0] <= most else None


# ---- ranking agents ----


@dataclass(frozen=True)
class Ranking:
    """Agents in tie groups.

    Attributes:
        group: Rank of each agent's tie group, shape `(k,)`: 1 for the leading group, then 1 + the number of agents in
            better groups; an agent ties with the best of its group unless they differ significantly.
        best: Smallest rank that the tests leave open, `1 + |agents that are better|`, shape `(k,)`.
        worst: Largest rank that the tests leave open, `k - |agents that are worse|`, shape `(k,)`.
        p: Adjusted p-values, shape `(k, k)`, 1 on the diagonal.
        alpha: Family-wise error rate: pairs with a smaller p differ.
    """

    group: Int[np.ndarray, " k"]
    best: Int[np.ndarray, " k"]
    worst: Int[np.ndarray, " k"]
    p: Float[np.ndarray, "k k"]
    alpha: float = ALPHA

    def marked(self, rank: int) -> str:
        """The rank of a tie group as text: "2", or "2=" where several agents share it."""
        return f"{rank}=" if int((self.group == rank).sum()) > 1 else str(rank)


def rank(Y: Float[np.ndarray, "n k"], p: Float[np.ndarray, "k k"] | None = None, alpha: float = ALPHA) -> Ranking:
    """Rank agents by their mean score, with ties where differences are not significant.

    Args:
        Y: Score of each agent on each block, shape `(n, k)`; smaller is better.
        p: Adjusted p-values of all pairs, shape `(k, k)`; by default Holm's adjustment of paired t-tests.
        alpha: Family-wise error rate over all pairs.

    Returns:
        Tie groups and rank intervals. With one block no difference is significant, and all agents tie.
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
    tied_rank, leader = 0, -1
    for position, agent in enumerate(np.argsort(mean, kind="stable")):
        if leader < 0 or beats[leader, agent]:
            tied_rank, leader = position + 1, int(agent)
        group[agent] = tied_rank
    return Ranking(group, 1 + beats.sum(axis=0), k - beats.sum(axis=1), p, alpha)


def paired_t(Y: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "k k"]:
    """Two-sided p-values of paired t-tests between all columns; 1 for a single block, which has no spread."""
    Y = _scores(Y)
    n, k = Y.shape
    p = np.ones((k, k))
    if n == 1 or k == 1:
        return p
    i, j = np.triu_indices(k, 1)
    D = Y[:, i] - Y[:, j]
    # A difference that is the same in every block, up to rounding, has no spread: it is certain, or it is none.
    rounding = 1e-12 * np.abs(Y).max()
    certain = D.std(axis=0, ddof=1) <= rounding
    values = np.where(np.abs(D.mean(axis=0)) <= rounding, 1.0, 0.0)
    if not certain.all():
        values[~certain] = scipy.stats.ttest_1samp(D[:, ~certain], 0.0).pvalue
    p[i, j] = p[j, i] = values
    return p


def pairwise_p(Y: Float[np.ndarray, "n k"], rng: np.random.Generator) -> Float[np.ndarray, "k k"]:
    """Adjusted p-values of all pairs: Holm's of paired t-tests, and no smaller than that of `exchange_test`.

    Far out in their tails, where many pairs and few blocks send them, t-tests trust in normal scores: of rankings of 15
    equal agents on 5 blocks whose scores are 0 or 1, they find a difference in 14 % instead of 5 %. So no pair differs
    unless the agents as a whole do, which a test that assumes no distribution has to find. Real differences pass it;
    `docs/robustness.md` has both rates.

    Two agents on 3 to 5 blocks have too few orders for that test, and the t-test stands alone; its error rate was found
    to be right. Two blocks and up to three agents have too few as well, and nothing differs.

    Args:
        Y: Score of each agent on each block, shape `(n, k)`.
        rng: Source of the exchanges.
    """
    Y = _scores(Y)
    n, k = Y.shape
    p = holm(paired_t(Y))
    if not (p < ALPHA).any():
        return p
    if math.factorial(k) ** (n - 1) < 1 / ALPHA:  # whole numbers: twelve agents on 100 blocks have 10^859 orders
        return np.ones((k, k)) if n == 2 else p
    return np.maximum(p, exchange_test(Y, rng))


def exchange_test(Y: Float[np.ndarray, "n k"], rng: np.random.Generator, n_exchanges: int = 999) -> float:
    """P-value of "all agents are equal", whatever the distribution of their scores: lumpy, skewed or tied.

    If all agents are equal, each order of a block's scores is as likely as any other. The largest paired t of all pairs
    is compared with its values after random exchanges of scores within blocks.

    Args:
        Y: Score of each agent on each block, shape `(n, k)`; at least two of each.
        rng: Source of the exchanges.
        n_exchanges: How many are drawn; all are tried if there are no more.

    Reference: Welch (1990), *Construction of permutation tests*, Journal of the American Statistical Association 85.
    """
    found = scipy.stats.permutation_test(
        tuple(_scores(Y).T),
        _largest_t,
        permutation_type="samples",
        vectorized=True,
        n_resamples=n_exchanges,
        batch=100,
        alternative="greater",
        rng=rng,
    )
    return float(found.pvalue)


def _largest_t(*columns: Float[np.ndarray, "*shape n"], axis: int) -> Float[np.ndarray, "*shape"]:
    """The largest absolute paired t of all pairs of columns."""
    Y = np.stack([np.moveaxis(column, axis, -1) for column in columns], axis=-1)
    Y = Y - Y.mean(axis=-1, keepdims=True)
    n, mean, products = Y.shape[-2], Y.mean(axis=-2), np.swapaxes(Y, -1, -2) @ Y
    squares = np.diagonal(products, axis1=-2, axis2=-1)
    d = mean[..., :, None] - mean[..., None, :]
    s2 = (squares[..., :, None] + squares[..., None, :] - 2 * products - n * d**2) / (n - 1)
    # Products round to about 1e-16 of the squares: a smaller variance is none, in every order of the scores alike.
    least = 1e-13 * max(float((Y**2).max()), np.finfo(np.float64).tiny)
    return np.asarray(np.sqrt((d**2 * n / np.maximum(s2, least)).max(axis=(-1, -2))))


def sign_flip(Y: Float[np.ndarray, "n k"], rng: np.random.Generator, n_flips: int = 4999) -> Float[np.ndarray, "k k"]:
    """Adjusted two-sided p-values of sign-flip tests between all columns.

    If two agents do equally well, each block's difference is as likely as its negative. All `2^n` sign patterns are
    tried if there are at most `n_flips`, else a random sample that counts the pattern seen as one of its own, which
    keeps the test valid (Phipson and Smyth 2010). No distribution is assumed, but p cannot fall below `2^(1-n)`.

    The adjustment for all pairs is that of the largest statistic, stepping down (Westfall and Young 1993): each pair is
    compared with the largest of those that are no clearer than itself under the same signs. Unlike a correction that
    multiplies p by the number of pairs, 435 among thirty agents, it leaves the smallest p within reach.

    Args:
        Y: Score of each agent on each block, shape `(n, k)`.
        rng: Source of the random patterns.
        n_flips: Size of the random sample.
    """
    Y = _scores(Y)
    n, k = Y.shape
    p = np.ones((k, k))
    if n == 1 or k == 1:
        return p
    i, j = np.triu_indices(k, 1)
    D = Y[:, i] - Y[:, j]
    # Flips keep the norm: divided by it, the sum of a pair's differences is as good as its t, and pairs are comparable.
    D = D / np.maximum(np.linalg.norm(D, axis=0), np.finfo(np.float64).tiny)
    clearest = np.argsort(-np.abs(D.sum(axis=0)), kind="stable")
    D, i, j = D[:, clearest], i[clearest], j[clearest]

    def largest(signs: np.ndarray, axis: int) -> np.ndarray:
        """By pair, the largest absolute sum of it and of the pairs after it."""
        sums = np.abs(np.tensordot(signs, D, axes=([axis], [0])))
        return np.maximum.accumulate(sums[..., ::-1], axis=-1)[..., ::-1]

    # The sample whose signs are flipped is the sign of each block, the same for all pairs: one product tests them all.
    found = scipy.stats.permutation_test(
        (np.ones(n),),
        largest,
        permutation_type="samples",
        vectorized=True,
        alternative="greater",
        n_resamples=n_flips,
        batch=1000,
        rng=rng,
    )
    p[i, j] = p[j, i] = np.maximum.accumulate(found.pvalue)
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
    i, j = np.triu_indices(len(p), 1)
    raw = p[i, j]
    if not ((raw >= 0) & (raw <= 1)).all():
        raise ValueError("p: expected entries in [0, 1]")
    adjusted = np.ones_like(p)
    # Here and not by statsmodels, which collects garbage at every call: a second, in a process that holds much.
    order = np.argsort(raw)
    steps = np.maximum.accumulate(raw[order] * np.arange(len(raw), 0, -1))
    adjusted[i[order], j[order]] = adjusted[j[order], i[order]] = np.minimum(steps, 1.0)
    return adjusted


def holm_levels(p: Float[np.ndarray, "k k"], alpha: float = ALPHA) -> Float[np.ndarray, "k k"]:
    """Level at which Holm's correction tests each pair, given the p-values of the others.

    The r-th smallest of m p-values is tested at `alpha / (m - r + 1)`; after the first one that is not below its level,
    the others would be tested at the level of that one.

    Args:
        p: Symmetric matrix of p-values before adjustment, shape `(k, k)`; the diagonal is ignored.
        alpha: Family-wise error rate.

    Returns:
        Levels, shape `(k, k)`, `alpha` on the diagonal.
    """
    i, j = np.triu_indices(len(p), 1)
    raw = np.asarray(p, np.float64)[i, j]
    step = scipy.stats.rankdata(raw, method="ordinal") - 1
    found = int(np.argmin(np.append(np.sort(raw) < alpha / (len(raw) - np.arange(len(raw))), False)))
    levels = np.full(np.shape(p), alpha)
    levels[i, j] = levels[j, i] = alpha / (len(raw) - np.minimum(step, found))
    return levels


# ---- scores beyond the mean ----


def iqm(x: Float[np.ndarray, "*shape n"], axis: int = -1) -> np.ndarray:
    """Interquartile mean: mean without the lowest and the highest quarter, each rounded down.

    It notices more of the sample than the median and is moved less by outliers than the mean.
    """
    return np.asarray(scipy.stats.trim_mean(np.asarray(x, np.float64), 0.25, axis=axis))


def performance_profile(
    strata: list[Float[np.ndarray, " _n"]], tau: Float[np.ndarray, " m"]
) -> Float[np.ndarray, " m"]:
    """Share of runs with a score of at most tau, every task with the same weight.

    Args:
        strata: Scores of each task; smaller is better.
        tau: Thresholds, shape `(m,)`.
    """
    if not strata or any(not len(x) for x in strata):
        raise ValueError("strata: expected at least one stratum, and none empty")
    shares = [np.searchsorted(np.sort(x), tau, side="right") / len(x) for x in strata]
    return np.mean(shares, axis=0)


@dataclass(frozen=True)
class Slope:
    """Fitted power of t.

    Attributes:
        exponent: Mean over repetitions of the slope of log R against log t, with its interval.
        start: First evaluation that counts.
    """

    exponent: Interval
    start: int


def loglog_slope(t: Real[np.ndarray, " p"], R: Float[np.ndarray, "n p"], share: float = 0.9) -> Slope | None:
    """Growth exponent of the regret: the least-squares slope of `log R_t` against `log t` late in the run.

    Each repetition gives one slope, from points evenly spread in log t; the interval is over repetitions, since the
    points of one run are far from independent.

    Args:
        t: Times, shape `(p,)`.
        R: Cumulative regret, shape `(n, p)`.
        share: The last share of the evaluations that counts: 0.9 is the last decade.

    Returns:
        The slope; None if some run has no regret by the start of that span, or the span holds fewer than 3 times.
    """
    if not 0 < share < 1:
        raise ValueError(f"share: expected a number in (0, 1), got {share!r}")
    t, R = np.asarray(t, np.float64), np.asarray(R, np.float64)
    if R.ndim != 2 or R.shape[1] != len(t):
        raise ValueError(f"R: expected shape (n, {len(t)}), one column a time, got {R.shape}")
    start = max(float(t[-1]) * (1 - share), float(t[0]))
    late = t >= start
    if late.sum() < 3 or not np.isfinite(R[:, late]).all() or (R[:, late] <= 0).any():
        return None
    grid = np.linspace(np.log(t[late][0]), np.log(t[-1]), 50)
    centred = grid - grid.mean()
    slopes = [centred @ np.interp(grid, np.log(t[late]), np.log(row[late])) / (centred @ centred) for row in R]
    return Slope(mean_interval(np.array(slopes)), math.ceil(t[late][0]))


# ---- checks ----


def _sample(x: np.ndarray) -> np.ndarray:
    x = np.asarray(x, np.float64)
    if x.ndim != 1 or not len(x):
        raise ValueError(f"x: expected one value per repetition, shape (n,) with n >= 1, got {x.shape}")
    return x


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level: expected a number in (0, 1), got {level!r}")


def _scores(Y: np.ndarray) -> np.ndarray:
    Y = np.asarray(Y, np.float64)
    if Y.ndim != 2 or not Y.size:
        raise ValueError(f"Y: expected shape (n, k), one row a block and one column an agent, got {Y.shape}")
    if not np.isfinite(Y).all():
        raise ValueError("Y: expected finite scores, got NaN or infinity")
    return Y
