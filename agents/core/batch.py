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
from math import inf, sqrt

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp.arm_posterior import ArmPosterior, LookAhead
from gpbandit_envs.gp.exact import ExactPosterior

_TOP, _FEW = 3, 32
_MANY = 2**11  # candidates that have candidates in turn
_MOST = 2**17  # candidates: 1 MB for each arm of a dictionary
_REPEATS = 8  # 4 to 16 take the same time


class Batch(ABC):
    """Picks arms one by one on a posterior that does not see their feedback.

    Args:
        posterior: Posterior at the start of the batch; it must not change while the batch is.
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

    Measured: GP-AUCB on 1,000 arms with T = 300 takes three fifths of the time that it takes with `LazyBatch` alone,
    and on Abalone with T = 3,000 two fifths of the time that it takes with rows alone.

    Args:
        posterior, width, pending: As for `Batch`; nothing but the batch and its feedback may change the posterior.
    """

    posterior: ExactPosterior

    def __init__(self, posterior: ExactPosterior, width: float, pending: Int[np.ndarray, " p"] | None = None) -> None:
        super().__init__(posterior, width, pending)
        self._pending: list[int] = [] if pending is None else pending.tolist()
        posterior.keep_open(self._pending)
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
        # Not when it was picked: the row of the last pick is computed with its feedback.
        for arm in self.picks[self._pulled :]:
            self.posterior.pull(arm)
        self._pulled = len(self.picks)
        self._proposed = self.posterior.best_score(self.width, ahead=True)
        self.picked_variance = max(float(self.posterior.ahead()[self._proposed]), 0.0)
        return self._proposed, 1

    def take(self, count: int) -> None:
        self.picks += [self._proposed] * count
        if self._lazy is not None:
            self._lazy.take(count)


class LazyBatch(Batch):
    """Picks on any posterior, exact or sketched, with one noise variance for all arms.

    Scores are updated for as few arms as possible: for the three best candidates after every pick; for the candidates,
    a few dozen arms of high score with their covariance, when these three may no longer contain the best of them; for
    all arms when the candidates may not contain the best arm. Before that, every arm whose old score exceeds the best
    current one becomes a candidate, unless they are too many. Where candidates are many, they have candidates in turn.

    Measured with the cases of `benchmarks/bench_policies.py`: updating all arms after every pick takes 19 times as long
    for BBKB on Abalone with T = 10,000 (`bbkb-5`), 70 times for BBKB-GlobalLocal (`local-17.5`), and twice as long with
    A = 20,640 and T = 2,000 (`bbkb-20640`).

    Args:
        posterior, width, pending: As for `Batch`.
    """

    def __init__(self, posterior: ArmPosterior, width: float, pending: Int[np.ndarray, " p"] | None = None) -> None:
        super().__init__(posterior, width, pending)
        ahead = posterior.look_ahead()
        self.variance = ahead.v  # the same numbers in the same array
        self._arms = _Arms(None, posterior.mean, ahead, width, posterior.lam)
        if pending is not None:
            self._arms.pull(Counter(pending.tolist()))
        self._top: _TopArms | None = None
        self._proposed = -1

    def propose(self, limit: int) -> tuple[int, int]:
        if self._top is None or not self._top.leads:
            if self._top is not None:
                self._arms.pull(self._top.pulls)
            self._top = self._arms.top()
        top = self._top
        self._proposed, count = top.arms[top.best], top.run(limit)
        self.picked_variance = max(top.v[top.best], 0.0)
        return self._proposed, count

    def take(self, count: int) -> None:
        assert self._top is not None
        self.picks += [self._proposed] * count
        self._top.pull(count)


class _Arms:
    """All arms or some, under pulls whose feedback is not seen; scores are updated when a few do not decide."""

    def __init__(
        self,
        arms: Int[np.ndarray, " k"] | None,
        mean: Float[np.ndarray, " k"],
        ahead: LookAhead,
        width: float,
        lam: float,
    ) -> None:
        self._arms, self._mean, self.ahead, self._width, self._lam = arms, mean, ahead, width, lam
        self._scores = _scores(mean, ahead.v, width)
        self.n_few = max(_FEW, len(mean) // 256)  # candidates to begin with
        # How many are too many. Some dozens or hundreds of arms are updated after every pick.
        self.max_few = min(len(mean) // 4, _MOST) if arms is None or len(mean) > _MANY else 0
        # Pulls since the scores were updated: while there are any, they are upper bounds.
        self._unseen = Counter[int]()
        self._few: _Arms | None = None
        self._outside = -np.inf  # no other arm of these has a higher score

    def __len__(self) -> int:
        return len(self._mean)

    def pull(self, pulls: Counter[int]) -> None:
        """Account for pulls of some of these arms."""
        self._unseen.update(pulls)
        if self._few is not None:
            self._few.pull(pulls)

    def top(self) -> _TopArms:
        """The three best and their scores; the best is that of all, the first of them in a tie."""
        while self._unseen:
            if self._few is None:
                n = self.n_few
            else:
                top = self._few.top()
                if top.highest > self._outside:
                    top.others_up_to(self._outside)
                    return top
                # No other arm can have a score of at least that now.
                n = 2 * max(int(np.count_nonzero(self._scores >= top.highest)), len(self._few))
            if n + len(self._unseen) > self.max_few:
                self._update()
            else:
                self._few = self._choose(n)
        members, outside = _highest(self._scores, _TOP)
        best = int(np.argmax(self._scores))
        if best not in members:
            members[0] = best  # a tie, which goes to the lowest index
        members.sort()
        ahead = self.ahead
        C = ahead.covariance(members)
        return _TopArms(self._named(members), self._mean[members], ahead.v[members], C, outside, self._width, self._lam)

    def _update(self) -> None:
        """Bring the scores up to date."""
        counts = np.fromiter(self._unseen.values(), np.float64)
        self.ahead.pull(self._places(self._unseen), counts)
        self._scores = _scores(self._mean, self.ahead.v, self._width)
        self._unseen = Counter()
        self._few = None

    def _choose(self, n: int) -> _Arms:
        """The `n` arms of highest score at the last update, and those pulled since."""
        highest, self._outside = _highest(self._scores, n)
        members = np.sort(np.concatenate([highest, self._places(self._unseen)]))
        members = members[np.diff(members, prepend=-1) > 0]
        few = _Arms(self._named(members), self._mean[members], self.ahead.among(members), self._width, self._lam)
        few.pull(self._unseen)
        return few

    def _named(self, places: Int[np.ndarray, " p"]) -> Int[np.ndarray, " p"]:
        return places if self._arms is None else self._arms[places]

    def _places(self, pulls: Counter[int]) -> Int[np.ndarray, " p"]:
        arms = np.fromiter(pulls, np.int64)
        return arms if self._arms is None else np.searchsorted(self._arms, arms)


def _scores(mean: Float[np.ndarray, " k"], v: Float[np.ndarray, " k"], width: float) -> Float[np.ndarray, " k"]:
    """`mean + width * sd`, in one array: there may be millions."""
    scores = np.maximum(v, 0.0)
    np.sqrt(scores, out=scores)
    scores *= width
    scores += mean
    return scores


def _highest(scores: Float[np.ndarray, " n"], k: int) -> tuple[Int[np.ndarray, " k"], float]:
    """Where the `k` highest scores are, in any order, and the best of the others."""
    if k >= len(scores):
        return np.arange(len(scores)), -np.inf
    order = np.argpartition(scores, len(scores) - k - 1)
    return order[len(scores) - k :], float(scores[order[len(scores) - k - 1]])


class _TopArms:
    """The best three candidates in plain floats: NumPy's overhead on three numbers exceeds the work on them.

    Late batches pull two or three arms thousands of times. Here a run of one arm is a single step.
    """

    def __init__(
        self,
        arms: Int[np.ndarray, " f"],
        mean: Float[np.ndarray, " f"],
        v: Float[np.ndarray, " f"],
        C: Float[np.ndarray, "f f"],
        outside: float,
        width: float,
        lam: float,
    ) -> None:
        self.arms: list[int] = arms.tolist()
        # Where there are fewer than three, others that nothing pulls make up for them.
        missing = _TOP - len(arms)
        self.v: list[float] = v.tolist() + [0.0] * missing
        self._mean: list[float] = mean.tolist() + [-inf] * missing
        self._C: list[list[float]] = [row + [0.0] * missing for row in C.tolist()]
        self._C += [[0.0] * _TOP for _ in range(missing)]
        self._counts = [0] * _TOP
        self._outside, self._width, self._lam = outside, width, lam
        self._score()
        self.leads = True  # even in a tie with an arm outside, whose index is higher

    def others_up_to(self, score: float) -> None:
        """There are other arms too, whose score is at most that, and below `highest`."""
        self._outside = max(self._outside, score)

    @property
    def pulls(self) -> Counter[int]:
        """Pulls of these arms."""
        return Counter({arm: n for arm, n in zip(self.arms, self._counts) if n})

    def _score(self) -> None:
        width = self._width
        self._scores = [m + width * sqrt(v) if v > 0 else m for m, v in zip(self._mean, self.v)]
        self.highest = max(self._scores)
        self.best = self._scores.index(self.highest)
        self.leads = self.highest > self._outside

    def pull(self, count: int) -> None:
        """Account for `count` pulls of the best."""
        v, j = self.v, self.best
        c0, c1, c2 = self._C[j]
        d = max(self._C[j][j], 0.0) + self._lam / count
        for i, (c, row) in enumerate(zip((c0, c1, c2), self._C)):
            scaled = c / d
            v[i] -= c * scaled
            row[0] -= scaled * c0
            row[1] -= scaled * c1
            row[2] -= scaled * c2
        self._counts[j] += count
        self._score()

    def run(self, limit: int) -> int:
        """How often in a row, from 1 to `limit`, the best surely stays best; never too often.

        While nothing else is pulled the others' scores can only fall, so it does until its score reaches theirs.
        """
        j, scores, width, lam = self.best, self._scores, self._width, self._lam
        bound = max(self._outside, scores[j - 1], scores[j - 2])
        v, c, gap = self.v[j], self._C[j][j], bound - self._mean[j]
        if width == 0 or gap < 0:
            return limit if scores[j] > bound else 1
        # After n pulls v_j = v - c^2 n / (lam + n c), which stays above g while n (c^2 - c h) < h lam, h = v - g.
        h = v - (gap / width) ** 2
        if h <= 0:
            return 1
        if c <= h:
            return limit
        return min(limit, 1 + int(min(h * lam / (c * (c - h)) * (1 - 1e-9), limit)))
