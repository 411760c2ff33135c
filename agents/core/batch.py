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

from collections import Counter
from dataclasses import dataclass
from math import sqrt

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp.linalg import whitened

__all__ = ["Batch"]

_TOP, _SPARE = 3, 32


class Batch:
    """Picks arms one by one on a posterior that does not see their feedback.

    Scores are updated for as few arms as possible: for the three best candidates after every pick; for the candidates,
    a few dozen arms of high score with their covariance, when these three may no longer contain the best of them; for
    all arms when the candidates may not contain the best arm. Before that, every arm whose old score exceeds the best
    current one becomes a candidate, unless they are too many.

    Args:
        posterior: Posterior at the start of the batch; it must not change while the builder is in use.
        width: Multiplies the standard deviation; at least 0.
        mean: Mean to add, shape (A,); the posterior's by default, zeros to pick by variance alone.
        pending: Arms already under evaluation, whose pulls count as picked, shape (p,).
        n_candidates: How many candidates to begin with.
        max_candidates: How many are too many; by default an eighth of all arms, and at most 1024.

    Attributes:
        picks: Arms picked so far, without the pending ones.
        n_pending: Number of pending pulls.
        variance: Variance of every arm at the start of the batch, shape (A,).
        picked_variance: Variance of the arm last proposed, as of the proposal.
    """

    def __init__(
        self,
        posterior: ArmPosterior,
        width: float,
        mean: Float[np.ndarray, " A"] | None = None,
        pending: Int[np.ndarray, " p"] | None = None,
        n_candidates: int = 32,
        max_candidates: int | None = None,
    ) -> None:
        self.posterior = posterior
        self.width = width
        self.picks: list[int] = []
        self.n_pending = 0 if pending is None else len(pending)
        self.variance = posterior.variance
        self.picked_variance = 0.0
        self._mean = posterior.mean if mean is None else mean
        self._n_candidates = n_candidates
        self._max_candidates = min(posterior.n_arms // 8, 1024) if max_candidates is None else max_candidates
        # Variance and score of all arms, after the pulls `_seen`; these have taken B^T B off the covariance. While
        # `_unseen`, the pulls since, is not empty, the scores are upper bounds.
        self._v = self.variance
        self._scores = self._mean + width * np.sqrt(self._v)
        self._B = np.zeros((0, posterior.n_arms))
        self._seen, self._unseen = Counter[int](), Counter[int]([] if pending is None else pending.tolist())
        self._candidates: _Candidates | None = None
        self._top: _TopArms | None = None
        self._proposed = -1

    def next(self) -> int:
        """Pick the arm of highest score; ties go to the lowest index."""
        arm, _ = self.propose(1)
        self.take(1)
        return arm

    def propose(self, limit: int) -> tuple[int, int]:
        """The arm of highest score, and how many times in a row (at most `limit`) it is to be picked.

        Nothing changes before `take`. The run may be shorter than it could be: the next proposal then goes on with it.
        """
        if self._unseen and (self._top is None or not self._top.leads):
            self._find_top()
        if self._top is None:
            self._proposed, count = int(np.argmax(self._scores)), 1
            variance = float(self._v[self._proposed])
        else:
            top = self._top
            self._proposed, count, variance = top.arms[top.best], top.run(limit), top.v[top.best]
        self.picked_variance = max(variance, 0.0)
        return self._proposed, count

    def take(self, count: int) -> None:
        """Pick the arm last proposed `count` times, at most as many as were proposed."""
        self._unseen[self._proposed] += count
        self.picks += [self._proposed] * count
        if self._top is not None:
            self._top.pull(count)

    def _find_top(self) -> None:
        """Choose the three best arms anew, or update the scores of all arms if that is what it takes."""
        if self._candidates is None:
            self._candidates = self._choose(self._n_candidates)
        elif self._top is not None:
            self._candidates.pull(self._top.members, self._top.counts)
        self._top = None
        while True:
            candidates = self._candidates
            scores = candidates.mean + self.width * np.sqrt(np.maximum(candidates.v, 0.0))
            best = scores.max()
            if best > candidates.outside:
                self._top = _TopArms(candidates, scores, self.width)
                return
            # No other arm can have a score of at least `best` now.
            above = int(np.count_nonzero(self._scores >= best))
            n = 2 * max(above, len(candidates.arms))
            if n > self._max_candidates:
                self._update_all()
                return
            self._candidates = self._choose(n)

    def _choose(self, n: int) -> _Candidates:
        """The `n` arms of highest score at the last update of all arms, and those pulled since."""
        scores, outside = self._scores, -np.inf
        arms, (pulled, counts) = np.arange(len(scores)), _arrays(self._unseen)
        if n < len(scores):
            order = np.argpartition(scores, len(scores) - n - 1)
            arms = np.union1d(order[len(scores) - n :], pulled)
            outside = float(scores[order[len(scores) - n - 1]])
        B = self._B[:, arms]
        C = self.posterior.reducible_covariance(arms, arms) - B.T @ B
        candidates = _Candidates(arms, self._mean[arms], self._v[arms], C, self.posterior.lam, outside)
        candidates.pull(np.searchsorted(arms, pulled), counts)
        return candidates

    def _update_all(self) -> None:
        """Update the scores of all arms."""
        pulls, self._unseen = self._unseen, Counter()
        self._seen.update(pulls)
        if len(self._B) + len(pulls) > 2 * len(self._seen) + _SPARE:
            # The same arms in many updates: start over with one row for each arm.
            pulls, self._v, self._B = self._seen, self.variance, self._B[:0]
        arms, counts = _arrays(pulls)
        H = self.posterior.reducible_covariance(arms) - self._B[:, arms].T @ self._B
        B = whitened(H, H[:, arms], self.posterior.lam / counts)
        self._v = self._v - np.einsum("ij,ij->j", B, B)
        self._B = np.concatenate([self._B, B])
        self._scores = self._mean + self.width * np.sqrt(np.maximum(self._v, 0.0))
        self._candidates = None


def _arrays(pulls: Counter[int]) -> tuple[Int[np.ndarray, " p"], Float[np.ndarray, " p"]]:
    return np.fromiter(pulls, np.int64), np.fromiter(pulls.values(), np.float64)


@dataclass
class _Candidates:
    """Arms of high score.

    Attributes:
        arms: In increasing order, shape (k,).
        mean: Shape (k,).
        v: Present variance, shape (k,).
        C: Present reducible covariance, shape (k, k).
        lam: Noise variance.
        outside: No other arm has a higher score.
    """

    arms: Int[np.ndarray, " k"]
    mean: Float[np.ndarray, " k"]
    v: Float[np.ndarray, " k"]
    C: Float[np.ndarray, "k k"]
    lam: float
    outside: float

    def pull(self, members: Int[np.ndarray, " p"], counts: Float[np.ndarray, " p"]) -> None:
        """Account for pulls of the arms at `members`, distinct; counts may be 0."""
        members, counts = members[counts > 0], counts[counts > 0]
        H = self.C[members]
        B = whitened(H, H[:, members], self.lam / counts)
        self.v -= np.einsum("ij,ij->j", B, B)
        self.C -= B.T @ B


class _TopArms:
    """The best few candidates in plain floats: NumPy's overhead on three numbers exceeds the work on them.

    Late batches pull two or three arms thousands of times. Here such a pick costs a few microseconds, and a run of one
    arm is a single step. With all candidates in NumPy instead, BBKB on Abalone (lengthscale 5, T = 10,000; `bbkb-5` of
    the benchmarks) takes 1.3 times as long.

    Args:
        candidates: Where they are taken from.
        scores: Present scores of the candidates, shape (k,).
        width: Multiplies the standard deviation, at least 0.

    Attributes:
        members: Their places among the candidates, shape (3,).
        arms: The arms, in increasing order.
        v: Present variances.
        best: Which has the highest score; the first in a tie.
        leads: Whether `best` is the best of all arms.
    """

    def __init__(self, candidates: _Candidates, scores: Float[np.ndarray, " k"], width: float) -> None:
        order = np.argsort(-scores, kind="stable")
        self.members: Int[np.ndarray, " f"] = np.sort(order[:_TOP])
        self.arms: list[int] = candidates.arms[self.members].tolist()
        self.v: list[float] = candidates.v[self.members].tolist()
        self._mean: list[float] = candidates.mean[self.members].tolist()
        self._C: list[list[float]] = candidates.C[np.ix_(self.members, self.members)].tolist()
        self._counts = [0] * len(self.arms)
        self._width, self._lam = width, candidates.lam
        others = float(scores[order[_TOP]]) if len(order) > _TOP else -np.inf
        self._outside = max(others, candidates.outside)
        self._score()
        self.leads = True  # even in a tie with another candidate, whose index is higher

    @property
    def counts(self) -> Float[np.ndarray, " f"]:
        """Pulls of each since they were chosen."""
        return np.array(self._counts, np.float64)

    def _score(self) -> None:
        width = self._width
        self._scores = [m + width * sqrt(v) if v > 0 else m for m, v in zip(self._mean, self.v)]
        highest = max(self._scores)
        self.best = self._scores.index(highest)
        self.leads = highest > self._outside

    def run(self, limit: int) -> int:
        """How often in a row, from 1 to `limit`, the best surely stays best; never beyond the truth.

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
