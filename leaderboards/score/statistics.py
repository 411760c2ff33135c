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
from dataclasses import dataclass, replace

import numpy as np
import scipy  # SciPy loads `scipy.stats` when it is first asked for, which a command that plays seldom does
import scipy.special
from jaxtyping import Bool, Float, Int, Real

LEVEL = 0.95
"""Coverage of intervals."""
ALPHA = 0.05
"""Family-wise error rate of rankings."""
LEAST_BLOCKS = 6
"""Blocks below which no test by signs finds a difference at `ALPHA`: the least p-value is `2^(1-n)`."""

_ROUNDING = 1e-9  # relative, of statistics
_MEANS = 2_001  # that are tried, evenly spread between the bounds
_BATCH = 32  # pairs at once, of the most patterns that are tried: 1 MB, what the cache of a core holds
_AT_ONCE = 16_384  # pairs whose differences are in memory: a thousand agents have half a million
_FEW_BLOCKS = 32  # up to which the product of pairs and signs is the faster one
_FAR = 1e4  # from the median, over the root mean square of a difference: beyond, sums lose more than `_ROUNDING` bears

_LATE = 0.9  # the last share of the evaluations, from which the growth of regret is fitted

# Of an upper end from the mean, over Student's: coverage hardly grows beyond, and charts would be empty.
_FARTHEST = 3.0


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


Band = tuple[Float[np.ndarray, "*shape"], Float[np.ndarray, "*shape"], Float[np.ndarray, "*shape"]]
"""Mean, lower and upper end at each point."""


# ---- intervals ----


def mean_interval(x: Float[np.ndarray, " n"], level: float = LEVEL) -> Interval:
    """Mean of one value per repetition with Student's interval `mean +- t_{n-1} s / sqrt(n)`.

    Its ends are NaN for n = 1, all three numbers if a value is NaN.

    Raises:
        ValueError: for an empty sample or a level outside (0, 1).
    """
    return mean_intervals(_sample(x)[None, :], level)[0]


def mean_intervals(X: Float[np.ndarray, "k n"], level: float = LEVEL) -> list[Interval]:
    """`mean_interval` of the k rows of `X` at once, which takes as long as that of one."""
    return _at_each_point(mean_band, X, level)


def _at_each_point(band: Callable[..., Band], X: Float[np.ndarray, "k n"], level: float) -> list[Interval]:
    """The intervals that `band` has for the rows of `X`."""
    # Of rows that are contiguous sums are the same to the last bit whatever stands beside them.
    X = np.ascontiguousarray(X, np.float64)
    ends = (values.tolist() for values in band(X.T, level))
    return [Interval(mean, low, high, X.shape[1], level) for mean, low, high in zip(*ends)]


def mean_band(Y: Float[np.ndarray, "n *shape"], level: float = LEVEL) -> Band:
    """Mean curve with Student's interval at each point.

    Args:
        Y: One row per repetition, shape `(n, p)`; or curves of k agents side by side, shape `(n, k, p)`.
        level: Nominal coverage at each point by itself, in (0, 1).

    Returns:
        Mean, lower and upper end, each of shape `(p,)` or `(k, p)`.
    """
    Y = np.asarray(Y, np.float64)
    if Y.ndim < 2 or not len(Y):
        raise ValueError(f"Y: expected shape (n, p) with n >= 1, got {Y.shape}")
    _check_level(level)
    n, mean = len(Y), Y.mean(axis=0)
    if n == 1:
        return mean, np.full(mean.shape, np.nan), np.full(mean.shape, np.nan)
    half = scipy.special.stdtrit(n - 1, (1 + level) / 2) * Y.std(axis=0, ddof=1) / np.sqrt(n)
    return mean, mean - half, mean + half


def score_interval(x: Float[np.ndarray, " n"], level: float = LEVEL) -> Interval:
    """Mean of one score per repetition with the interval of `score_band`.

    Its ends are NaN for n = 1 and for values that are all equal, all three numbers if a value is NaN. Of scores that
    are 0 in four runs of five, a third of samples of five are all 0.

    Raises:
        ValueError: for an empty sample or a level outside (0, 1).
    """
    return score_intervals(_sample(x)[None, :], level)[0]


def score_intervals(X: Float[np.ndarray, "k n"], level: float = LEVEL) -> list[Interval]:
    """`score_interval` of the k rows of `X` at once, which takes as long as that of one."""
    found = _at_each_point(score_band, X, level)
    equal = (np.ptp(X, axis=1) == 0).tolist()
    return [replace(one, low=np.nan, high=np.nan) if flat else one for one, flat in zip(found, equal)]


def score_band(Y: Float[np.ndarray, "n *shape"], level: float = LEVEL) -> Band:
    """Mean curve of scores, with an interval at each point that holds for scores that are skewed to the right too.

    Regret is skewed to the right: a large value is rare, and a sample without one has a small mean and a small standard
    deviation at once. Student's interval of 5 lognormal values (`sigma = 1`) ends below their mean in 18 % of samples.
    So the upper end is the larger of Student's and of Cox's for lognormal values with Student's quantile,

        exp(l + s^2 / 2 + t_{n-1} sqrt(s^2 / n + s^4 / (2 (n - 1)))),

    l and s being mean and standard deviation of the logarithms, but at most 3 times as far from the mean as Student's:
    the logarithm of a score next to 0 says nothing of the large ones. The lower end is Student's, and no less than 0
    where no value is below 0. Where a value is 0 or less there are no logarithms, and Student's upper end stays. What
    it covers is measured in `docs/robustness.md`. Shapes are those of `mean_band`.

    Reference: Olsson (2005), *Confidence intervals for the mean of a log-normal distribution*, Journal of Statistics
    Education 13(1), equation 6.
    """
    Y = np.asarray(Y, np.float64)
    mean, low, high = mean_band(Y, level)
    n = len(Y)
    positive = (Y > 0).all(axis=0)
    if n > 1 and positive.any():
        # In the order of Y in memory, so that sums over a sample are the same to the last bit beside others and alone.
        logs = np.log(Y[:, positive] if Y.flags.c_contiguous else np.asfortranarray(Y[:, positive]))
        variance = logs.var(axis=0, ddof=1)
        half = scipy.special.stdtrit(n - 1, (1 + level) / 2) * np.sqrt(variance / n + variance**2 / (2 * (n - 1)))
        with np.errstate(over="ignore"):
            cox = np.exp(logs.mean(axis=0) + variance / 2 + half)
        student = high[positive]
        farthest = student + (_FARTHEST - 1) * (student - mean[positive])
        high[positive] = np.fmax(student, np.fmin(cox, farthest))
    return mean, np.where((low < 0) & (Y >= 0).all(axis=0), 0.0, low), high


def median_intervals(X: Float[np.ndarray, "k n"], level: float = LEVEL) -> list[Interval]:
    """Median of each sample with the interval between two order statistics, exact for any continuous distribution.

    The number of values below the median is binomial (n, 1/2); the ends are the order statistics that leave at most
    half of `1 - level` outside on either side, and NaN if the sample is too small.

    Args:
        X: One sample a row, shape `(k, n)`.
        level: Least coverage of each by itself, in (0, 1).
    """
    X = np.asarray(X, np.float64)
    n = X.shape[1]
    # `scipy.stats.quantile_test` gives the same ends, and takes milliseconds to document a distribution anew.
    low = np.searchsorted(scipy.special.bdtr(np.arange(n), n, 0.5), (1 - level) / 2, side="right")
    found = np.full((3, len(X)), np.nan)
    known = ~np.isnan(X).any(axis=1)
    if known.any():
        ends = np.pad(np.sort(X[known], axis=1), ((0, 0), (1, 1)), constant_values=np.nan)
        found[:, known] = np.median(X[known], axis=1), ends[:, low], ends[:, n + 1 - low]
    return [Interval(estimate, lower, upper, n, level) for estimate, lower, upper in found.T.tolist()]


def stratified_means(strata: list[Float[np.ndarray, "_n k"]], level: float = LEVEL) -> list[Interval]:
    """Mean of the means of E strata with Welch's interval, of k agents at once, one column an agent.

    The variance is `sum_e s_e^2 / n_e / E^2`, with the degrees of freedom of Welch and Satterthwaite. The ends are NaN
    if a stratum has a single value, or if all values of each are equal.

    Raises:
        ValueError: without strata, for an empty one, or for a level outside (0, 1).
    """
    _check_level(level)
    if not strata or any(not len(x) for x in strata):
        raise ValueError("strata: expected at least one stratum, and none empty")
    n = np.array([len(x) for x in strata])
    # Of rows that are contiguous sums are the same to the last bit whatever stands beside them.
    rows = [np.ascontiguousarray(x.T, np.float64) for x in strata]
    mean = np.stack([x.mean(axis=1) for x in rows], axis=1).mean(axis=1)
    half = np.full(len(mean), np.nan)
    if (n > 1).all():
        # Equal values may differ from their mean by rounding.
        parts = np.stack([x.var(axis=1, ddof=1) * (np.ptp(x, axis=1) > 0) for x in rows], axis=1) / n / len(strata) ** 2
        variance = parts.sum(axis=1)
        differ = variance > 0
        freedom = variance[differ] ** 2 / (parts[differ] ** 2 / (n - 1)).sum(axis=1)
        half[differ] = scipy.special.stdtrit(freedom, (1 + level) / 2) * np.sqrt(variance[differ])
    ends = zip(mean.tolist(), (mean - half).tolist(), (mean + half).tolist())
    return [Interval(estimate, low, high, int(n.sum()), level) for estimate, low, high in ends]


# ---- two agents on the same blocks ----


def paired_difference(x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"], level: float = LEVEL) -> Interval:
    """Mean of `x - y` over blocks that both agents played, with Student's interval.

    Raises:
        ValueError: if the shapes differ: the scores are then not paired.
    """
    _check_paired(x, y)
    return mean_interval(x - y, level)


def ratio_interval(x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"], level: float = LEVEL) -> Interval:
    """Mean of x over the mean of y, both over the same blocks, with Fieller's interval.

    The ratios r for which `x - r y` has a mean of 0 by Student's test: of normal values it covers what it says, while
    the interval of `x / mean(y)`, which takes the sample's mean for the true one, may miss in most samples. It leaves
    out 0 where Student's interval of the mean of x does.

    Its ends are NaN for n = 1, and where the mean of y is not told apart from 0.

    Raises:
        ValueError: for an empty sample, if the shapes differ, or for a level outside (0, 1).

    Reference: Fieller (1954), *Some problems in interval estimation*, Journal of the Royal Statistical Society B 16(2).
    """
    x, y = _sample(x), _sample(y)
    _check_paired(x, y)
    _check_level(level)
    n, a, b = len(x), float(x.mean()), float(y.mean())
    estimate = a / b if b else math.nan
    nowhere = Interval(estimate, math.nan, math.nan, n, level)
    if n == 1 or not (math.isfinite(estimate) and b):
        return nowhere
    # In units of y's mean, in which the square of the quantile bounds (a - r)^2 / (var x - 2 r cov + r^2 var y).
    (xx, xy), (_, yy) = np.cov(x / b, y / b) / n
    square = float(scipy.special.stdtrit(n - 1, (1 + level) / 2)) ** 2
    A, B, C = 1 - square * yy, estimate - square * xy, estimate**2 - square * xx
    if A <= 0:
        return nowhere
    half = math.sqrt(max(B**2 - A * C, 0.0))
    return Interval(estimate, float((B - half) / A), float((B + half) / A), n, level)


def proportion(hits: int, n: int, level: float = LEVEL) -> Interval:
    """A proportion of repetitions with its Clopper-Pearson interval."""
    low, high = clopper_pearson(np.array([hits]), n, (1 - level) / 2)
    return Interval(hits / n, float(low[0]), float(high[0]), n, level)


def clopper_pearson(
    hits: Real[np.ndarray, " k"], n: int, tail: float
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Clopper and Pearson's limits of probabilities, each of which misses with probability `tail` at most.

    Args:
        hits: How often each happened, shape `(k,)`; halves stand for ties.
        n: Of how many, at least 1.
        tail: What lies beyond each limit: half of what an interval may miss, or all that a one-sided limit may.

    Returns:
        Lower and upper limits, of shape `(k,)` each.
    """
    some, not_all = hits > 0, hits < n
    low, high = np.zeros(len(hits)), np.ones(len(hits))
    low[some] = scipy.special.betaincinv(hits[some], n - hits[some] + 1, tail)
    high[not_all] = scipy.special.betaincinv(hits[not_all] + 1, n - hits[not_all], 1 - tail)
    return low, high


def bounded_interval(x: Float[np.ndarray, " n"], least: float, most: float, level: float = LEVEL) -> Interval:
    """Mean of values between two bounds, such as shares, with an interval that covers what it says for every n.

    Student's interval of values most of which are equal is too short, and of length 0 where all of them are. This one
    holds the means against which nobody could have won `1 / (1 - level)` times the stake by betting on each value in
    turn, at a fair price. The bets are those of the predictable plug-in with both sides hedged.

    Args:
        x: One value a repetition, in the order of the repetitions, shape `(n,)`.
        least: Lower bound of the values.
        most: Upper bound.
        level: Least coverage, in (0, 1).

    Raises:
        ValueError: for an empty sample, a value outside the bounds, or a level outside (0, 1).

    Reference: Waudby-Smith and Ramdas (2024), *Estimating means of bounded random variables by betting*, Journal of the
    Royal Statistical Society B 86(1), the hedged capital process; its text could not be consulted, and the coverage is
    tested.
    """
    x = _sample(x)
    _check_level(level)
    if not ((x >= least) & (x <= most)).all():
        raise ValueError(f"x: expected values from {least:g} to {most:g}, got {x.min():g} to {x.max():g}")
    n, u = len(x), (x - least) / (most - least)
    t = np.arange(1, n + 1)
    means = (0.5 + np.cumsum(u)) / (t + 1)
    variances = (0.25 + np.cumsum((u - means) ** 2)) / (t + 1)
    bets = np.sqrt(2 * math.log(2 / (1 - level)) / (n * np.concatenate([[0.25], variances[:-1]])))
    m = np.linspace(0, 1, _MEANS)[:, None]
    with np.errstate(divide="ignore"):
        # No bet may lose more than three quarters of what there is.
        up, down = (np.minimum(bets, 0.75 / side) for side in (m, 1 - m))
    won = [np.log1p(sign * bet * (u - m)).cumsum(axis=1).max(axis=1) for sign, bet in ((1, up), (-1, down))]
    held = np.flatnonzero(np.maximum(*won) < math.log(2 / (1 - level)))
    mean, width = float(x.mean()), most - least
    if not len(held):  # as of values that change on the way
        return Interval(mean, math.nan, math.nan, n, level)
    low, high = (m[min(max(i, 0), _MEANS - 1), 0] for i in (held[0] - 1, held[-1] + 1))
    return Interval(mean, min(float(least + width * low), mean), max(float(least + width * high), mean), n, level)


def improvements(x: Float[np.ndarray, " n"], Y: Float[np.ndarray, "k n"]) -> list[Interval]:
    """Probability that an agent does better than each of k others on a block, with Clopper and Pearson's interval.

    `P(x < y) + P(x = y) / 2`, over pairs of the same block. Wilson's interval is shorter, and covers less than it says
    for few blocks: for 5 of them and equal agents 93.8 % instead of 95 %.

    Args:
        x: Scores of the agent, shape `(n,)`; less is better.
        Y: Scores of the others on the same blocks, shape `(k, n)`.
    """
    wins = ((x < Y) + 0.5 * (x == Y)).sum(axis=1)
    n = len(x)
    low, high = clopper_pearson(wins, n, (1 - LEVEL) / 2)
    return [Interval(*values, n) for values in zip((wins / n).tolist(), low.tolist(), high.tolist())]


def repetitions_needed(
    differences: Real[np.ndarray, " k"],
    sds: Real[np.ndarray, " k"],
    alpha: float = ALPHA,
    power: float = 0.8,
    most: int = 100_000,
) -> list[int | None]:
    """Paired repetitions that a two-sided test of one pair needs to find the differences between k pairs of agents.

    The power of n repetitions is that of the t-test, `1 - F(t_{n-1, 1 - alpha/2}; n - 1, sqrt(n) difference / sd)`, F
    being the distribution function of the noncentral t, which the power of `flip_test` of one pair comes close to for
    normal differences. The tail on the other side is negligible.

    Args:
        differences: Mean of the paired differences of each pair that is to be found.
        sds: Standard deviation of the paired differences, at least 0.
        alpha: Level of the test.
        power: Probability of finding it, above `alpha`.
        most: Give up beyond this many.

    Returns:
        The least number of repetitions of each pair, at least `LEAST_BLOCKS`; None if it exceeds `most`.
    """
    z = float(scipy.special.ndtri(1 - alpha / 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = np.abs(differences) / sds
        # With a known spread it would be this many; an unknown one costs about z^2 / 2 more, and more where n is small.
        normal = ((z + float(scipy.special.ndtri(power))) / effect) ** 2
    at = np.flatnonzero((differences != 0) & (sds > 0) & (normal <= most))
    effect, normal = effect[at], normal[at]
    low = np.maximum(LEAST_BLOCKS, np.floor(normal))
    end = np.maximum(LEAST_BLOCKS, np.ceil(normal + z**2)) + 10
    high, tried = end.copy(), np.ceil(normal + z**2 / 2) - 1  # most often the number, or next to it
    while len(left := np.flatnonzero(low < high)):  # power grows with n
        n = np.clip(tried[left], low[left], high[left] - 1)
        miss = scipy.special.nctdtr(n - 1, effect[left] * np.sqrt(n), scipy.special.stdtrit(n - 1, 1 - alpha / 2))
        enough = np.isnan(miss) | (1 - miss >= power)  # SciPy has no number for a miss that is next to impossible
        low[left], high[left] = np.where(enough, low[left], n + 1), np.where(enough, n, high[left])
        tried[left] = n + np.where(enough, -1, 1)
    found = [LEAST_BLOCKS if differs and sd == 0 else None for differs, sd in zip(differences != 0, sds)]
    for i, n, last in zip(at.tolist(), low.tolist(), end.tolist()):
        found[i] = int(n) if n < last and n <= most else None
    return found


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
        n: Blocks that the tests rest on.
    """

    group: Int[np.ndarray, " k"]
    best: Int[np.ndarray, " k"]
    worst: Int[np.ndarray, " k"]
    p: Float[np.ndarray, "k k"]
    n: int

    @property
    def is_told(self) -> bool:
        """Whether there were blocks enough to tell agents apart; where not, that all tie means nothing."""
        return self.n >= LEAST_BLOCKS or len(self.group) == 1

    @property
    def caveat(self) -> str:
        """Why there are no places; "" where the test could tell two agents apart."""
        if self.is_told:
            return ""
        have = "1 has" if self.n == 1 else f"{self.n} have"
        return f"too few repetitions to tell agents apart: {have} finished, places begin at {LEAST_BLOCKS}"

    def marked(self, rank: int, in_groups: bool = False) -> str:
        """The rank of a tie group as text: "2", "2=" where several agents share it, "–" where there are no places.

        In groups it is the letter of the group: "A", and after "Z" comes "AA".
        """
        if not self.is_told:
            return "–"
        if in_groups:
            before = len(np.unique(self.group[self.group < rank]))
            return chr(ord("A") + before % 26) * (before // 26 + 1)
        return f"{rank}=" if int((self.group == rank).sum()) > 1 else str(rank)


def rank(Y: Float[np.ndarray, "n k"], p: Float[np.ndarray, "k k"]) -> Ranking:
    """Rank agents by their mean score, with ties where differences are not significant at `ALPHA`.

    Args:
        Y: Score of each agent on each block, shape `(n, k)`; smaller is better.
        p: Adjusted p-values of all pairs, shape `(k, k)`, as those of `flip_test`.
    """
    Y = _scores(Y)
    k = Y.shape[1]
    mean = levelled(Y.mean(axis=0))
    apart = p < ALPHA
    beats = apart & (mean[:, None] < mean[None, :])
    group = np.zeros(k, np.int64)
    tied_rank, placed, leaders = 0, 0, np.zeros(0, np.int64)
    for value in np.unique(mean):
        # Agents of one mean lead together, and join a group or open one each by itself: in whichever order they come.
        those = np.flatnonzero(mean == value)
        beaten = beats[np.ix_(leaders, those)].any(axis=0) if len(leaders) else np.ones(len(those), bool)
        group[those[~beaten]] = tied_rank
        if beaten.any():
            tied_rank, leaders = placed + int((~beaten).sum()) + 1, those[beaten]
            group[leaders] = tied_rank
        placed += len(those)
    return Ranking(group, 1 + beats.sum(axis=0), k - beats.sum(axis=1), p, len(Y))


@dataclass(frozen=True)
class FlipTest:
    """What `flip_test` found of pairs of agents; entries of pairs outside of the family are NaN.

    Attributes:
        p: Two-sided p-values, adjusted for all pairs of the family, shape `(k, k)`, 1 on the diagonal.
        p_single: Two-sided p-values of each pair by itself, shape `(k, k)`, 1 on the diagonal.
        low: Lower ends of the interval of each pair by itself, of the mean difference, row minus column, shape
            `(k, k)`; 0 is outside exactly where `p_single` is below `alpha`. Minus infinity for five blocks or fewer.
        high: Upper ends, shape `(k, k)`.
    """

    p: Float[np.ndarray, "k k"]
    p_single: Float[np.ndarray, "k k"]
    low: Float[np.ndarray, "k k"]
    high: Float[np.ndarray, "k k"]


def levelled(Y: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Scores among which those that differ by rounding alone, a sum in another order, are equal; for ranks of them."""
    scale = np.abs(Y).max(initial=0.0)
    return np.round(Y / scale, 10) if 0 < scale < np.inf else np.asarray(Y)


def flip_test(
    Y: Float[np.ndarray, "n k"],
    signs: np.random.Generator | Float[np.ndarray, "n m"],
    family: Bool[np.ndarray, "k k"] | None = None,
    alpha: float = ALPHA,
    n_flips: int = 4999,
    ends: bool = True,
    weights: Float[np.ndarray, " n"] | None = None,
) -> FlipTest:
    """Step-down test of the largest statistic under random signs that are the same for all pairs.

    What is tested of a pair is that its differences are symmetric about 0, jointly over blocks: each block's is then as
    likely as its negative. That two agents have equal means is less. The statistic of a pair with differences `d_r` is

        |sum_r s_r d_r| / sqrt(sum_r d_r^2)

    under the signs `s_r`, which leave its denominator as it is. So no other agent changes it, pairs of small and of
    large differences are on one scale, and it grows with the paired t. Each pair is compared with the largest statistic
    of those that are no clearer than itself, under the same signs (Westfall and Young 1993, algorithm 4.1), which
    keeps the chance of any false difference in the family at `alpha` whatever other agents differ. All `2^(n-1)`
    patterns of signs are tried if there are at most `n_flips`, else a random sample with the pattern that was seen
    (Phipson and Smyth 2010). `docs/robustness.md` has the rates where differences are not symmetric.

    No p-value is below `2^(1-n)`, so with fewer than `LEAST_BLOCKS` blocks nothing can be told apart, and nothing is.
    The interval of a pair holds the shifts of its differences that the test of this pair alone does not reject.

    Args:
        Y: Score of each agent on each block, shape `(n, k)`.
        signs: The patterns, as `sign_patterns` gives them; or what draws them.
        family: Which pairs are asked about, shape `(k, k)`; a pair counts if either of its two entries is true. By
            default all of them. Fewer questions need less of a difference.
        alpha: One minus the coverage of each interval by itself, in (0, 1).
        n_flips: Size of the random sample.
        ends: Whether intervals are wanted, which take longer than the p-values; they are NaN if not.
        weights: How much each block counts, shape `(n,)`, above 0; all as much by default. The differences are
            multiplied by them, and the intervals are of the weighted mean.

    Raises:
        ValueError: if Y holds no finite scores.
    """
    Y = _scores(Y)
    _check_level(1 - alpha)
    n, k = Y.shape
    asked = np.ones((k, k), bool) if family is None else family
    i, j = np.nonzero(np.triu(asked | asked.T, 1))
    p, p_single = (np.full((k, k), np.nan) for _ in range(2))
    low, high = (np.full((k, k), np.nan) if ends else np.broadcast_to(np.nan, (k, k)) for _ in range(2))
    np.fill_diagonal(p, 1.0)
    np.fill_diagonal(p_single, 1.0)
    if not len(i):
        return FlipTest(p, p_single, low, high)
    # In units of a power of two, which changes no digit: squares of tiny scores would be 0, of huge ones infinite.
    unit = float(np.ldexp(1.0, min(int(np.frexp(np.abs(Y).max())[1]), 1023)))
    Y = Y / unit
    counts = np.ones(n) if weights is None else np.asarray(weights, np.float64)

    def differences(of: np.ndarray) -> np.ndarray:
        return counts[:, None] * (Y[:, i[of]] - Y[:, j[of]])

    squares, seen = np.empty((2, len(i)))
    for of in np.array_split(np.arange(len(i)), math.ceil(len(i) / _AT_ONCE)):
        D = differences(of)
        squares[of], seen[of] = (D**2).sum(axis=0), np.abs(D.sum(axis=0))
    # What is left of equal scores by rounding is no difference.
    squares[squares <= n * (1e-12 * np.abs(Y).max()) ** 2] = 0.0
    scale = np.where(squares > 0, np.sqrt(n * squares), np.inf)
    if isinstance(signs, np.random.Generator):
        signs = sign_patterns(n, signs, n_flips)
    # With many blocks signs are put to the scores of agents, of which there are fewer than pairs; not where two that
    # are far from all others, and near to each other, would lose in it the digits by which they differ.
    centred = Y - np.median(Y, axis=1, keepdims=True)
    is_exact = np.abs(centred).max() < _FAR * float(scale.min()) / n
    of_agents = (centred * counts[:, None]).T @ signs if n > _FEW_BLOCKS and is_exact else None
    seen /= scale
    clearest = np.argsort(-seen, kind="stable")
    # Patterns that are equal but for rounding count as equal, here and for intervals.
    reached = seen * (1 - _ROUNDING)
    largest = np.zeros(signs.shape[1])  # by pattern, of a pair and of those less clear
    joint = np.ones(len(i))
    a, b = i[clearest], j[clearest]
    size = _BATCH if ends else max(_BATCH, _BATCH * 4_096 // signs.shape[1])
    for stop in range(len(i), 0, -size):
        part = slice(max(stop - size, 0), stop)
        batch = clearest[part]
        if of_agents is None:
            sums = (differences(batch) / scale[batch]).T @ signs
        else:
            sums = (of_agents[a[part]] - of_agents[b[part]]) / scale[batch, None]
        sizes, least = np.abs(sums), reached[batch, None]
        p_single[a[part], b[part]] = p_single[b[part], a[part]] = _shares(sizes >= least)
        np.maximum(sizes[-1], largest, out=sizes[-1])
        np.maximum.accumulate(sizes[::-1], axis=0, out=sizes[::-1])
        largest = sizes[0]
        joint[part] = np.where(seen[batch] > 0, _shares(sizes >= least), 1.0)
        if ends:
            units = np.where(squares > 0, scale, 1.0)[batch] * unit
            low[a[part], b[part]], high[a[part], b[part]] = _not_rejected(sums, signs, counts, alpha) * units
    p[a, b] = p[b, a] = np.maximum.accumulate(joint)
    if not ends:
        return FlipTest(p, p_single, low, high)
    # Rounding must not part an interval from its p-value.
    held = p_single >= alpha
    low[held], high[held] = np.minimum(low[held], 0.0), np.maximum(high[held], 0.0)
    low[b, a], high[b, a] = -high[a, b], -low[a, b]
    return FlipTest(p, p_single, low, high)


def _shares(reaches: Bool[np.ndarray, "b m"]) -> Float[np.ndarray, " b"]:
    """The share of true entries of each row; NumPy counts those of one row several times as fast as along an axis."""
    return np.array([np.count_nonzero(row) for row in reaches]) / reaches.shape[1]


def _not_rejected(
    sums: Float[np.ndarray, "b m"], signs: Float[np.ndarray, "n m"], weights: Float[np.ndarray, " n"], alpha: float
) -> Float[np.ndarray, "2 b"]:
    """Lowest and highest shift of the differences of each pair that its own test does not reject.

    Under a pattern the sum of shifted differences is as large as without it for the shifts between the mean of those
    that keep their sign and the mean of those that change it; every such interval holds the mean of all. So the ends
    are order statistics of the ends of these. The pattern that was seen is as large for every shift.
    """
    m = signs.shape[1]
    kept, whole = weights @ (signs > 0), np.ptp(signs, axis=0) == 0
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = (sums[:, :1] + sums) / (2 * kept), (sums[:, :1] - sums) / (2 * (weights.sum() - kept))
    first[:, whole], second[:, whole] = -np.inf, np.inf
    at = math.ceil(alpha * m - _ROUNDING) - 1
    lows, highs = np.minimum(first, second), np.maximum(first, second, out=first)
    lows.partition(at)
    highs.partition(m - 1 - at)
    return np.stack([lows[:, at], highs[:, m - 1 - at]])


def sign_patterns(n: int, rng: np.random.Generator, n_flips: int = 4999) -> Float[np.ndarray, "n m"]:
    """Patterns of n signs, the first of them all plus; one of each pair of opposites, which say the same."""
    if n - 1 <= math.log2(n_flips):
        minus = (np.arange(2 ** (n - 1))[:, None] >> np.arange(n)) & 1
    else:
        minus = np.concatenate([np.zeros((1, n), np.int64), rng.integers(0, 2, (n_flips, n))])
    return 1.0 - 2.0 * minus.T


# ---- scores beyond the mean ----


def iqm(x: Float[np.ndarray, "*shape n"]) -> np.ndarray:
    """Interquartile mean of the last axis: mean without the lowest and the highest quarter, each rounded down.

    It notices more of the sample than the median and is moved less by outliers than the mean.
    """
    return np.asarray(scipy.stats.trim_mean(np.asarray(x, np.float64), 0.25, axis=-1))


def performance_profile(
    strata: list[Float[np.ndarray, " _n"]], tau: Float[np.ndarray, " m"]
) -> Float[np.ndarray, " m"]:
    """Share of runs with a score of at most tau, every task with the same weight."""
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


def loglog_slope(t: Real[np.ndarray, " p"], R: Float[np.ndarray, "n p"], level: float = LEVEL) -> Slope | None:
    """Growth exponent of the regret: the least-squares slope of `log R_t` against `log t` in the run's last decade.

    Each repetition gives one slope, from points evenly spread in log t; the interval is over repetitions, since the
    points of one run are far from independent.

    Args:
        t: Times, shape `(p,)`.
        R: Cumulative regret, shape `(n, p)`.
        level: Nominal coverage of the interval, in (0, 1).

    Returns:
        The slope; None if some run has no regret by the start of the decade, or it holds fewer than 3 times.
    """
    t, R = np.asarray(t, np.float64), np.asarray(R, np.float64)
    start = max(float(t[-1]) * (1 - _LATE), float(t[0]))
    late = t >= start
    if late.sum() < 3 or not np.isfinite(R[:, late]).all() or (R[:, late] <= 0).any():
        return None
    grid = np.linspace(np.log(t[late][0]), np.log(t[-1]), 50)
    centred = grid - grid.mean()
    slopes = [centred @ np.interp(grid, np.log(t[late]), np.log(row[late])) / (centred @ centred) for row in R]
    return Slope(mean_interval(np.array(slopes), level), math.ceil(t[late][0]))


# ---- checks ----


def _sample(x: np.ndarray) -> np.ndarray:
    x = np.asarray(x, np.float64)
    if x.ndim != 1 or not len(x):
        raise ValueError(f"x: expected one value per repetition, shape (n,) with n >= 1, got {x.shape}")
    return x


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level: expected a number in (0, 1), got {level!r}")


def _check_paired(x: np.ndarray, y: np.ndarray) -> None:
    """One score would be taken for all by NumPy."""
    if x.shape != y.shape:
        raise ValueError(f"y: expected the shape {x.shape} of x, one value a block, got {y.shape}")


def _scores(Y: np.ndarray) -> np.ndarray:
    Y = np.asarray(Y, np.float64)
    if Y.ndim != 2 or not Y.size:
        raise ValueError(f"Y: expected shape (n, k), one row a block and one column an agent, got {Y.shape}")
    if not np.isfinite(Y).all():
        raise ValueError("Y: expected finite scores, got NaN or infinity")
    return Y
