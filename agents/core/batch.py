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
from math import sqrt

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp.arm_posterior import ArmPosterior
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.gp.look_ahead import LookAhead

__all__ = ["Batch", "LazyBatch", "RowBatch"]

_TOP = 3
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


class LazyBatch(Batch):
    """Picks on any posterior, exact or sketched.

    Scores are updated for as few arms as possible: for the three best candidates after every pick; for the candidates,
    a few dozen arms of high score with their covariance, when these three may no longer contain the best of them; for
    all arms when the candidates may not contain the best arm. Before that, every arm whose old score exceeds the best
    current one becomes a candidate, unless they are too many.

    Measured with the cases of `benchmarks/bench_policies.py`: updating all arms after every pick takes 19 times as long
    for BBKB on Abalone with T = 10,000 (`bbkb-5`), 70 times for BBKB-GlobalLocal (`local-17.5`), and twice as long with
    A = 20,640 and T = 2,000 (`bbkb-20640`).

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
        self._mean = posterior.mean if mean is None else mean
        self._all = posterior.look_ahead()
        self._scores = _scores(self._mean, self._all.v, width)
        # Pulls since the scores of all arms were updated: while there are any, these scores are upper bounds.
        self._unseen = Counter[int]([] if pending is None else pending.tolist())
        self._candidates: _Candidates | None = None
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
        self._all.pull(*_arrays(self._unseen))
        self._scores = _scores(self._mean, self._all.v, self.width)
        self._unseen = Counter()
        self._candidates = None

    def _choose(self, n: int) -> _Candidates:
        """Candidates: the `n` arms of highest score at the last update of all arms, and those pulled since."""
        highest, self._outside = _highest(self._scores, n)
        arms = np.union1d(highest, np.fromiter(self._unseen, np.int64))
        candidates = _Candidates(arms, self._mean[arms], self._all.among(arms), self.posterior.lam)
        candidates.pull(Counter({int(np.searchsorted(arms, arm)): n for arm, n in self._unseen.items()}))
        return candidates


class _Candidates:
    """Some arms under pulls of them, whose feedback is not seen.

    Args:
        arms: In increasing order, shape (k,).
        mean: Shape (k,).
        ahead: Their variances.
        lam: Noise variance.
    """

    def __init__(
        self, arms: Int[np.ndarray, " k"], mean: Float[np.ndarray, " k"], ahead: LookAhead, lam: float
    ) -> None:
        self.arms, self.mean, self.ahead, self.lam = arms, mean, ahead, lam

    def scores(self, width: float) -> Float[np.ndarray, " k"]:
        return _scores(self.mean, self.ahead.v, width)

    def pull(self, pulls: Counter[int]) -> None:
        """Update the variances for pulls of the arms at these positions."""
        self.ahead.pull(*_arrays(pulls))


def _scores(mean: Float[np.ndarray, " k"], v: Float[np.ndarray, " k"], width: float) -> Float[np.ndarray, " k"]:
    """`mean + width * sd`."""
    return mean + width * np.sqrt(np.maximum(v, 0.0))


def _arrays(pulls: Counter[int]) -> tuple[Int[np.ndarray, " p"], Float[np.ndarray, " p"]]:
    return np.fromiter(pulls, np.int64), np.fromiter(pulls.values(), np.float64)


def _highest(scores: Float[np.ndarray, " n"], k: int) -> tuple[Int[np.ndarray, " k"], float]:
    """Where the `k` highest scores are, in any order, and the best of the others."""
    if k >= len(scores):
        return np.arange(len(scores)), -np.inf
    order = np.argpartition(scores, len(scores) - k - 1)
    return order[len(scores) - k :], float(scores[order[len(scores) - k - 1]])


class _TopArms:
    """The best few candidates in plain floats: NumPy's overhead on three numbers exceeds the work on them.

    Late batches pull two or three arms thousands of times. Here such a pick costs a few microseconds, and a run of one
    arm is a single step. With all candidates in NumPy instead, BBKB on Abalone (lengthscale 5, T = 10,000; `bbkb-5` of
    the benchmarks) takes 1.3 times as long.

    Args:
        candidates: The set they are taken from.
        members: Their positions among the candidates, in increasing order, shape (f,).
        outside: No other arm has a higher score.
        width: Multiplies the standard deviation, at least 0.

    Attributes:
        arms: The arms.
        v: Present variances.
        best: Which has the highest score; the first in a tie.
        leads: Whether `best` is certainly the best of all arms.
    """

    def __init__(self, candidates: _Candidates, members: Int[np.ndarray, " f"], outside: float, width: float) -> None:
        self._members: list[int] = members.tolist()
        self.arms: list[int] = candidates.arms[members].tolist()
        self.v: list[float] = candidates.ahead.v[members].tolist()
        self._mean: list[float] = candidates.mean[members].tolist()
        self._C: list[list[float]] = candidates.ahead.covariance(members).tolist()
        self._counts = [0] * len(self.arms)
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
        """How often in a row, from 1 to `limit`, the best surely stays best; never too often.

        While nothing else is pulled the others' scores can only fall, so it does until its score reaches theirs.
        """
        j, bound = self.best, self._outside
        for i, score in enumerate(self._scores):
            if i != j and score > bound:
                bound = score
        gap = bound - self._mean[j]
        if self._width == 0 or gap < 0:
            return limit if self._scores[j] > bound else 1
        # After n pulls v_j = v - c^2 n / (lam + n c), which stays above g while n (c^2 - c h) < h lam, h = v - g.
        c, h = self._C[j][j], self.v[j] - (gap / self._width) ** 2
        if h <= 0:
            return 1
        if c <= h:
            return limit
        return min(limit, 1 + int(min(h * self._lam / (c * (c - h)) * (1 - 1e-9), limit)))

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
