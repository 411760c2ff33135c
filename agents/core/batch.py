"""Selection inside a batch: mean and dictionary are fixed, variances shrink, and each pick maximises the score.

| symbol | meaning | shape |
|---|---|---|
| `score` | `mean + width * sqrt(v)` | (A,) |
| `c(a, b)` | reducible covariance at the start of the batch | |

Picking x changes `v(a)` by `-c(a, x)^2 / (c(x, x) + lam)` and `c` itself likewise, so scores only fall: an old score is
an upper bound, and the best of a few arms with current scores is the best of all while it exceeds every old score of
the others (Desautels et al., 2014, section 4.2; BBKB, App. A.3). The choice is exactly that of recomputing every score
after every pick.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from math import inf, sqrt

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp.arm_posterior import ArmPosterior
from gpbandit_envs.gp.compiled import compiled
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.gp.linalg import whitened

__all__ = ["Batch", "LazyBatch", "RowBatch"]

_TOP, _SPARE = 3, 32
_RUNS = 256  # of the best three arms, before they are looked at from outside
_REPEATS = 8  # 4 to 16 take the same time


class Batch(ABC):
    """Picks arms one by one on a posterior that does not see their feedback.

    Args:
        posterior: Posterior at the start of the batch; it must not change while the builder is in use.
        width: Multiplies the standard deviation; at least 0.
        pending: Arms already under evaluation, whose pulls count as picked, shape (p,).

    Attributes:
        picks: Arms picked so far, without the pending ones.
        n_pending: Number of pending pulls.
        variance: Variance of every arm at the start of the batch, shape (A,).
        picked_variance: Variance of the arm last proposed, as of the proposal.
    """

    def __init__(self, posterior: ArmPosterior, width: float, pending: Int[np.ndarray, " p"] | None = None) -> None:
        self.posterior, self.width = posterior, width
        self.picks: list[int] = []
        self.n_pending = 0 if pending is None else len(pending)
        self.variance = posterior.variance
        self.picked_variance = 0.0

    def next(self) -> int:
        """Pick the arm of highest score; ties go to the lowest index."""
        arm, _ = self.propose(1)
        self.take(1)
        return arm

    @abstractmethod
    def propose(self, limit: int) -> tuple[int, int]:
        """The arm of highest score, and how many times in a row (at most `limit`) it is to be picked.

        Nothing changes before `take`. The run may be shorter than it could be: the next proposal then goes on with it.
        """

    @abstractmethod
    def take(self, count: int) -> None:
        """Pick the arm last proposed `count` times, at most as many as were proposed."""

    def take_below(self, total: float, threshold: float, limit: int) -> float:
        """Pick on while `total`, to which each pick adds its leverage score, stays at most `threshold`.

        At most `limit` arms, and fewer, or none, where the next one takes more than a few steps to find.

        Returns:
            The new total.
        """
        return total


class RowBatch(Batch):
    """Picks on an exact posterior: with a whitened row over all arms for each, then by `LazyBatch`.

    The posterior needs the rows of distinct arms anyway once their feedback is there. Those of repeated picks are for
    nothing, and after a few of them the batch goes on lazily.

    Measured: GP-AUCB on 1,000 arms with T = 300 (`vector/gp-aucb` of the benchmarks) takes half the time that it takes
    with `LazyBatch` alone, and on Abalone with T = 3,000 two fifths of the time that it takes with rows alone.

    Args:
        posterior, width, pending: As for `Batch`; nothing but the batch and its feedback may change the posterior.
    """

    posterior: ExactPosterior

    def __init__(self, posterior: ExactPosterior, width: float, pending: Int[np.ndarray, " p"] | None = None) -> None:
        super().__init__(posterior, width, pending)
        self._pending: list[int] = [] if pending is None else pending.tolist()
        posterior.engine.keep_open(posterior.i, self._pending)
        self._pulled = 0
        self._proposed = -1
        self._lazy: LazyBatch | None = None

    def propose(self, limit: int) -> tuple[int, int]:
        if self._lazy is None and len(self.picks) - len(set(self.picks)) >= _REPEATS:
            self._lazy = LazyBatch(self.posterior, self.width, pending=np.array(self._pending + self.picks, np.int64))
        if self._lazy is not None:
            self._proposed, count = self._lazy.propose(limit)
            self.picked_variance = self._lazy.picked_variance
            return self._proposed, count
        engine, i = self.posterior.engine, self.posterior.i
        # Not when it was picked: the row of the last pick is computed with its feedback.
        for arm in self.picks[self._pulled :]:
            engine.pull(i, arm)
        self._pulled = len(self.picks)
        self._proposed = engine.best_score(i, self.width, ahead=True)
        self.picked_variance = max(float(engine.ahead(i)[self._proposed]), 0.0)
        return self._proposed, 1

    def take(self, count: int) -> None:
        self.picks += [self._proposed] * count
        if self._lazy is not None:
            self._lazy.take(count)

    def take_below(self, total: float, threshold: float, limit: int) -> float:
        if self._lazy is None:
            return total
        known = len(self._lazy.picks)
        total = self._lazy.take_below(total, threshold, limit)
        self.picks += self._lazy.picks[known:]
        return total


class LazyBatch(Batch):
    """Picks on any posterior, exact or sketched.

    Scores are updated for as few arms as possible: for the three best candidates after every pick; for the candidates,
    a few dozen arms of high score with their covariance, when these three may no longer contain the best of them; for
    all arms when the candidates may not contain the best arm. Before that, every arm whose old score exceeds the best
    current one becomes a candidate, unless they are too many.

    Measured with the cases of `benchmarks/bench_policies.py`: updating all arms after every pick takes 19 times as long
    for BBKB on Abalone with T = 10,000 (`bbkb-5`), 70 times for BBKB-GlobalLocal (`local-17.5`), and twice as long with
    A = 20,640 and T = 2,000 (`bbkb-20640`). Picks between the three best that are taken in one go (`take_below`) let
    all picks of `bbkb-5` take a third of the time.

    Args:
        posterior, width, pending: As for `Batch`.
        mean: Mean to add, shape (A,); the posterior's by default, zeros to pick by variance alone.
        n_candidates: How many candidates to begin with; by default 32, or one in 256 arms if that is more.
        max_candidates: How many are too many; by default a quarter of all arms.
    """

    def __init__(
        self,
        posterior: ArmPosterior,
        width: float,
        pending: Int[np.ndarray, " p"] | None = None,
        mean: Float[np.ndarray, " A"] | None = None,
        n_candidates: int | None = None,
        max_candidates: int | None = None,
    ) -> None:
        super().__init__(posterior, width, pending)
        self._n_candidates = max(32, posterior.n_arms // 256) if n_candidates is None else n_candidates
        self._max_candidates = posterior.n_arms // 4 if max_candidates is None else max_candidates
        self._all = _ArmSet(
            np.arange(posterior.n_arms),
            posterior.mean if mean is None else mean,
            self.variance,
            np.zeros((0, posterior.n_arms)),
            posterior.reducible_covariance,
            posterior.lam,
        )
        self._scores = self._all.scores(width)
        # Pulls since the scores of all arms were updated: while there are any, these scores are upper bounds.
        self._unseen = Counter[int]([] if pending is None else pending.tolist())
        self._candidates: _ArmSet | None = None
        self._outside = -np.inf  # no arm that is no candidate has a higher score
        self._top: _TopArms | None = None
        self._proposed = -1

    def propose(self, limit: int) -> tuple[int, int]:
        if self._unseen and (self._top is None or not self._top.leads):
            self._find_top()
        if self._top is None:
            self._proposed, count = int(np.argmax(self._scores)), 1
            variance = float(self._all.v[self._proposed])
        else:
            top = self._top
            self._proposed, count, variance = top.arms[top.best], top.run(limit), top.v[top.best]
        self.picked_variance = max(variance, 0.0)
        return self._proposed, count

    def take(self, count: int) -> None:
        self._unseen[self._proposed] += count
        self.picks += [self._proposed] * count
        if self._top is not None:
            self._top.pull(count)

    def take_below(self, total: float, threshold: float, limit: int) -> float:
        if self._top is None:
            return total
        leverage = [float(self.variance[arm]) / self.posterior.lam for arm in self._top.arms]
        while limit > 0 and self._top.leads:
            total, picks = self._top.pull_below(leverage, total, threshold, limit)
            if not picks:
                break
            self._unseen.update(picks)
            self.picks += picks
            limit -= len(picks)
        return total

    def _find_top(self) -> None:
        """Choose the three best arms anew; update the scores of all arms if the candidates cannot decide."""
        if self._candidates is None:
            self._candidates = self._choose(self._n_candidates)
        elif self._top is not None:
            self._candidates.pull(self._top.pulls)
        self._top = None
        while True:
            candidates = self._candidates
            scores = candidates.scores(self.width)
            best = int(np.argmax(scores))
            if scores[best] > self._outside:
                members, outside = _highest(scores, _TOP)
                if best not in members:
                    members[0] = best  # a tie, which goes to the lowest index
                self._top = _TopArms(candidates, np.sort(members), max(outside, self._outside), self.width)
                return
            # No other arm can have a score of at least the best candidate's now.
            above = int(np.count_nonzero(self._scores >= scores[best]))
            n = 2 * max(above, len(scores))
            if n > self._max_candidates:
                break
            self._candidates = self._choose(n)
        self._all.pull(self._unseen)
        self._scores = self._all.scores(self.width)
        self._unseen = Counter()
        self._candidates = None

    def _choose(self, n: int) -> _ArmSet:
        """Candidates: the `n` arms of highest score at the last update of all arms, and those pulled since."""
        highest, self._outside = _highest(self._scores, n)
        arms = np.union1d(highest, np.fromiter(self._unseen, np.int64))
        every = self._all
        candidates = _ArmSet(
            arms, every.mean[arms], every.v[arms], every.B[:, arms], self.posterior.reducible_among(arms), every.lam
        )
        candidates.pull(Counter({int(np.searchsorted(arms, arm)): n for arm, n in self._unseen.items()}))
        return candidates


def _highest(scores: Float[np.ndarray, " n"], k: int) -> tuple[Int[np.ndarray, " k"], float]:
    """Where the `k` highest scores are, in any order, and the best of the others."""
    if k >= len(scores):
        return np.arange(len(scores)), -np.inf
    order = np.argpartition(scores, len(scores) - k - 1)
    return order[len(scores) - k :], float(scores[order[len(scores) - k - 1]])


class _ArmSet:
    """Some arms under pulls of them, whose feedback is not seen.

    Args:
        arms: In increasing order, shape (k,).
        mean: Shape (k,).
        v: Variance, shape (k,).
        B: `B^T B` has been taken off the covariance before, shape (r, k).
        covariance: Reducible covariance at the start of the batch, of some of the arms with all of them or (second
            argument) some others.
        lam: Noise variance.
    """

    def __init__(
        self,
        arms: Int[np.ndarray, " k"],
        mean: Float[np.ndarray, " k"],
        v: Float[np.ndarray, " k"],
        B: Float[np.ndarray, "r k"],
        covariance: Callable[[np.ndarray, np.ndarray | None], np.ndarray],
        lam: float,
    ) -> None:
        self.arms, self.mean, self.v, self.B, self.lam = arms, mean, v, B, lam
        self._covariance = covariance
        self._start = v, B
        self._pulls = Counter[int]()

    def scores(self, width: float) -> Float[np.ndarray, " k"]:
        """`mean + width * sd`."""
        return self.mean + width * np.sqrt(np.maximum(self.v, 0.0))

    def covariance(self, members: Int[np.ndarray, " p"]) -> Float[np.ndarray, "p p"]:
        """Present reducible covariance among some of them."""
        B = self.B[:, members]
        return self._covariance(members, members) - B.T @ B

    def pull(self, pulls: Counter[int]) -> None:
        """Update the variance for pulls of the arms at these positions."""
        self._pulls.update(pulls)
        if len(self.B) + len(pulls) > len(self._start[1]) + 2 * len(self._pulls) + _SPARE:
            # The same arms in many updates: start over with one row for each arm.
            pulls, (self.v, self.B) = self._pulls, self._start
        members, counts = np.fromiter(pulls, np.int64), np.fromiter(pulls.values(), np.float64)
        H = self._covariance(members, None)
        H -= self.B[:, members].T @ self.B
        rows = whitened(H, H[:, members], self.lam / counts)
        self.v = self.v - np.einsum("ij,ij->j", rows, rows)
        self.B = np.concatenate([self.B, rows])


class _TopArms:
    """The best three candidates in plain floats: NumPy's overhead on three numbers exceeds the work on them.

    Late batches pull two or three arms thousands of times. Here such a pick costs about a microsecond, and a run of one
    arm is a single step.

    Args:
        candidates: The set they are taken from.
        members: Their positions among the candidates, in increasing order, shape (f,) with f at most 3.
        outside: No other arm has a higher score.
        width: Multiplies the standard deviation, at least 0.

    Attributes:
        arms: The arms.
        v: Present variances.
        best: Which has the highest score; the first in a tie.
        leads: Whether `best` is certainly the best of all arms.
    """

    def __init__(self, candidates: _ArmSet, members: Int[np.ndarray, " f"], outside: float, width: float) -> None:
        self._members: list[int] = members.tolist()
        self.arms: list[int] = candidates.arms[members].tolist()
        # Where there are fewer than three, others that nothing pulls make up for them.
        missing = _TOP - len(members)
        self.v: list[float] = candidates.v[members].tolist() + [0.0] * missing
        self._mean: list[float] = candidates.mean[members].tolist() + [-inf] * missing
        self._C: list[list[float]] = [row + [0.0] * missing for row in candidates.covariance(members).tolist()]
        self._C += [[0.0] * _TOP for _ in range(missing)]
        self._counts = [0] * _TOP
        self._outside, self._width, self._lam = outside, width, candidates.lam
        self._score()
        self.leads = True  # even in a tie with another candidate, whose index is higher

    @property
    def pulls(self) -> Counter[int]:
        """Pulls since the candidates were chosen, by position among them."""
        return Counter({j: n for j, n in zip(self._members, self._counts) if n})

    def _score(self) -> None:
        width = self._width
        self._scores = [m + width * sqrt(v) if v > 0 else m for m, v in zip(self._mean, self.v)]
        highest = max(self._scores)
        self.best = self._scores.index(highest)
        self.leads = highest > self._outside

    def run(self, limit: int) -> int:
        """How often in a row, from 1 to `limit`, the best surely stays best; never too often."""
        j, (a, b) = self.best, (score for i, score in enumerate(self._scores) if i != self.best)
        bound = max(self._outside, a, b)
        return _run(self._mean[j], self.v[j], self._C[j][j], self._scores[j], bound, self._width, self._lam, limit)

    def pull(self, count: int) -> None:
        """Account for `count` pulls of the best."""
        row = list(self._C[self.best])
        d = max(row[self.best], 0.0) + self._lam / count
        for i, c in enumerate(row):
            scaled = c / d
            self.v[i] -= c * scaled
            Ci = self._C[i]
            for k, ck in enumerate(row):
                Ci[k] -= scaled * ck
        self._counts[self.best] += count
        self._score()

    def pull_below(self, leverage: list[float], total: float, threshold: float, limit: int) -> tuple[float, list[int]]:
        """Pull the best again and again while it is certainly the best, as far as `Batch.take_below` says.

        Args:
            leverage: What a pull of each of `arms` adds to `total`.
            total: As for `Batch.take_below`.
            threshold: Likewise.
            limit: Likewise.

        Returns:
            The new total, and the arms in the order of their pulls.
        """
        leverage = leverage + [0.0] * (_TOP - len(leverage))
        numbers = self.best, self._width, self._lam, self._outside, total, threshold, limit
        fast = compiled(_pull_best, _run)
        if fast is None:
            places, counts = [0] * _RUNS, [0] * _RUNS
            n_runs, total = _pull_best(self._mean, leverage, *numbers, self.v, self._C, places, counts)
            places, counts = places[:n_runs], counts[:n_runs]
        else:
            v, C, runs = np.array(self.v), np.array(self._C), np.empty((2, _RUNS), np.int64)
            n_runs, total = fast(np.array(self._mean), np.array(leverage), *numbers, v, C, runs[0], runs[1])
            self.v, self._C = v.tolist(), C.tolist()
            places, counts = runs[:, :n_runs].tolist()
        for j, n in zip(places, counts):
            self._counts[j] += n
        if n_runs:
            self._score()
        return total, np.repeat([self.arms[j] for j in places], counts).tolist()


def _run(mean: float, v: float, c: float, score: float, bound: float, width: float, lam: float, limit: int) -> int:
    """How often in a row, from 1 to `limit`, the arm of highest score surely stays best; never too often.

    While nothing else is pulled the others' scores can only fall, so it does until its score reaches theirs.

    Args:
        mean: Mean of the arm.
        v: Its variance.
        c: Its reducible variance.
        score: Its score.
        bound: The highest score of the others.
        width: Multiplies the standard deviation.
        lam: Noise variance.
        limit: The largest number of interest.
    """
    gap = bound - mean
    if width == 0 or gap < 0:
        return limit if score > bound else 1
    # After n pulls v_j = v - c^2 n / (lam + n c), which stays above g while n (c^2 - c h) < h lam, h = v - g.
    h = v - (gap / width) ** 2
    if h <= 0:
        return 1
    if c <= h:
        return limit
    return min(limit, 1 + int(min(h * lam / (c * (c - h)) * (1 - 1e-9), limit)))


def _pull_best(
    mean: list[float],
    leverage: list[float],
    best: int,
    width: float,
    lam: float,
    outside: float,
    total: float,
    threshold: float,
    limit: int,
    v: list[float],
    C: list[list[float]],
    places: list[int],
    counts: list[int],
) -> tuple[int, float]:
    """`_TopArms.pull_below` on its three arms; `v` and `C` are updated, and runs are written to `places` and `counts`.

    The numbers are in variables of their own: with lists of three a pick takes twice as long. Machine code of it takes
    arrays in place of the lists.

    Returns:
        How many runs there were, and the new total.
    """
    m0, m1, m2 = mean[0], mean[1], mean[2]
    v0, v1, v2 = v[0], v[1], v[2]
    c00, c01, c02, c11, c12, c22 = C[0][0], C[0][1], C[0][2], C[1][1], C[1][2], C[2][2]
    s0 = s1 = s2 = 0.0
    n_runs, last = 0, -1
    while limit > 0 and n_runs < len(places):
        lev = leverage[best]
        if total + lev > threshold:
            break
        if best == 0:
            r0, r1, r2, c = c00, c01, c02, c00
        elif best == 1:
            r0, r1, r2, c = c01, c11, c12, c11
        else:
            r0, r1, r2, c = c02, c12, c22, c22
        n = 1
        total += lev
        if best == last:
            if best == 0:
                most = _run(m0, v0, c, s0, max(outside, s1, s2), width, lam, limit)
            elif best == 1:
                most = _run(m1, v1, c, s1, max(outside, s0, s2), width, lam, limit)
            else:
                most = _run(m2, v2, c, s2, max(outside, s0, s1), width, lam, limit)
            while n < most and total + lev <= threshold:
                total += lev
                n += 1
            counts[n_runs - 1] += n
        else:
            places[n_runs], counts[n_runs], last = best, n, best
            n_runs += 1
        limit -= n
        d = (c if c > 0 else 0.0) + lam / n
        a0, a1, a2 = r0 / d, r1 / d, r2 / d
        v0 -= r0 * a0
        v1 -= r1 * a1
        v2 -= r2 * a2
        c00 -= a0 * r0
        c01 -= a0 * r1
        c02 -= a0 * r2
        c11 -= a1 * r1
        c12 -= a1 * r2
        c22 -= a2 * r2
        s0 = m0 + width * sqrt(v0) if v0 > 0 else m0
        s1 = m1 + width * sqrt(v1) if v1 > 0 else m1
        s2 = m2 + width * sqrt(v2) if v2 > 0 else m2
        best, highest = (0, s0) if s0 >= s1 else (1, s1)
        if s2 > highest:
            best, highest = 2, s2
        if highest <= outside:
            break
    v[0], v[1], v[2] = v0, v1, v2
    C[0][0], C[0][1], C[0][2] = c00, c01, c02
    C[1][0], C[1][1], C[1][2] = c01, c11, c12
    C[2][0], C[2][1], C[2][2] = c02, c12, c22
    return n_runs, total
