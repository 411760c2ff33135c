"""Sets of arms within sets of arms, each looked at only when the one inside it can no longer tell the best arm.

All arms, or for very many of them the few thousand of highest score; a few dozen candidates with their covariance; the
front of three in plain floats. Scores only fall within a batch, so the best arm of an inner set is the best of all
while its score exceeds `tau`, the best score outside when the set was chosen.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from agents.core.front import Front
from gpbandit_envs.gp.linalg import jittered_cholesky, solve_lower

__all__ = ["Candidates", "Covariance", "Level"]

Covariance = Callable[[np.ndarray, np.ndarray | None], np.ndarray]
"""Covariance that pulls can reduce, of some arms with others or (None) with all of a set."""

_FRONT = 3
_WORTH = 8  # a subset costs a gather besides: worth it up to an eighth of the arms


class Candidates:
    """A few dozen arms with their covariance, shape (k, k); the best of them are kept in a `Front`.

    Args:
        mean: Shape (k,).
        v: Variance, shape (k,); changed in place.
        C: Covariance that pulls can reduce, shape (k, k); changed in place.
        width: Multiplies the standard deviation, at least 0.
        lam: Noise variance.
        tau: Best score outside.
    """

    def __init__(self, mean: np.ndarray, v: np.ndarray, C: np.ndarray, width: float, lam: float, tau: float) -> None:
        self._mean, self._v, self._C = mean, v, C
        self._width, self._lam, self._tau = width, lam, tau
        self._front: Front | None = None
        self._proposed = -1
        self.pulls: dict[int, int] = {}

    def propose(self, limit: int) -> tuple[int, int, float]:
        """The best arm, how often in a row it surely stays best (0 if an arm outside may be better), its variance."""
        if self._front is not None:
            j, count = self._front.propose(limit)
            if count == 0:
                self._settle()
        if self._front is None:
            scores = self._mean + self._width * np.sqrt(np.maximum(self._v, 0.0))
            best = int(np.argmax(scores))
            if not scores[best] > self._tau:
                return best, 0, 0.0
            self._front = self._new_front(scores, best)
            j, count = self._front.propose(limit)
        self._proposed = j
        return self._numbers[j], count, max(self._front.v[j], 0.0)

    def take(self, arm: int, count: int) -> None:
        """Account for `count` pulls of `arm`: the one proposed last, or any before the first proposal."""
        self.pulls[arm] = self.pulls.get(arm, 0) + count
        if self._front is None:
            self._shrink(np.array([arm]), np.array([float(count)]))
        else:
            self._front.take(self._proposed, count)

    def _new_front(self, scores: np.ndarray, best: int) -> Front:
        members, tau = highest(scores, _FRONT, best)
        self._members, self._numbers = members, members.tolist()
        C = self._C[np.ix_(members, members)]
        return Front(self._mean[members], self._v[members], C, self._width, self._lam, max(tau, self._tau))

    def _settle(self) -> None:
        """Carry what the front has pulled to all candidates."""
        assert self._front is not None
        counts = np.array(self._front.counts, np.float64)
        pulled = counts > 0
        self._shrink(self._members[pulled], counts[pulled])
        self._front = None

    def _shrink(self, members: Int[np.ndarray, " p"], counts: Float[np.ndarray, " p"]) -> None:
        B = shrinking_rows(self._C[members], members, self._lam / counts)
        self._v -= np.einsum("ij,ij->j", B, B)
        self._C -= B.T @ B


class Level:
    """Many arms, whose variances are brought up to date only when the set inside cannot tell the best arm.

    Args:
        mean: Shape (n,).
        v: Variance, shape (n,).
        covariance: Covariance at the start of the batch; `among(members)` gives it for a subset.
        among: Prepares the covariance of a subset for many calls.
        B: Rows whose products with one another have been taken off the covariance since, shape (r, n).
        width: Multiplies the standard deviation, at least 0.
        lam: Noise variance.
        tau: Best score outside.
        sizes: How many arms the sets inside have, outermost first.

    Attributes:
        pulls: How often each arm has been pulled here.
    """

    def __init__(
        self,
        mean: Float[np.ndarray, " n"],
        v: Float[np.ndarray, " n"],
        covariance: Covariance,
        among: Callable[[np.ndarray], Covariance],
        B: Float[np.ndarray, "r n"],
        width: float,
        lam: float,
        tau: float,
        sizes: tuple[int, ...],
    ) -> None:
        self._mean, self._v, self._covariance, self._among, self._B = mean, v, covariance, among, B
        self._width, self._lam, self._tau, self._sizes = width, lam, tau, sizes
        self._start = v, B
        self._inside: Level | Candidates | None = None
        self._last = self._proposed = -1
        self._folded: dict[int, int] = {}
        self._unseen: dict[int, int] = {}
        self.pulls: dict[int, int] = {}
        self._scores: np.ndarray | None = None
        self._best = -1

    def propose(self, limit: int) -> tuple[int, int, float]:
        """As `Candidates.propose`."""
        if self._scores is None:
            self._scores = self._mean + self._width * np.sqrt(np.maximum(self._v, 0.0))
            self._best = int(np.argmax(self._scores))
        if self._best >= 0:
            sure = not self.pulls or self._scores[self._best] > self._tau
            return self._best, int(sure), max(float(self._v[self._best]), 0.0)
        if self._inside is None:
            self._look_inside()
        assert self._inside is not None
        j, count, variance = self._inside.propose(limit)
        if count:
            self._proposed = j
            return self._numbers[j], count, variance
        for j, n in self._inside.pulls.items():
            self._unseen[self._numbers[j]] = self._unseen.get(self._numbers[j], 0) + n
        if not (isinstance(self._inside, Level) and self._widen(self._inside.top)):
            self.fold(self._unseen)
        return self.propose(limit)

    @property
    def top(self) -> float:
        """The best score, once a proposal has found that an arm outside may be better."""
        assert self._scores is not None
        return float(self._scores[self._best])

    def take(self, arm: int, count: int) -> None:
        """Account for `count` pulls of `arm`, the one proposed last."""
        self.pulls[arm] = self.pulls.get(arm, 0) + count
        if self._best >= 0:
            # The set inside is chosen when a second pick is asked for: many batches have but one.
            self._last, self._best = arm, -1
        else:
            assert self._inside is not None
            self._inside.take(self._proposed, count)

    def fold(self, pulls: dict[int, int]) -> None:
        """Bring all arms up to date with pulls that they have not seen."""
        if len(self._B) + len(pulls) > len(self._start[1]) + 2 * len(self._folded | pulls) + 32:
            # Arms folded again and again: start over with one row for each.
            pulls = {arm: self._folded.get(arm, 0) + pulls.get(arm, 0) for arm in [*self._folded, *pulls]}
            self._folded, (self._v, self._B) = {}, self._start
        arms, counts = np.fromiter(pulls, np.int64), np.fromiter(pulls.values(), np.float64)
        H = self._covariance(arms, None)
        if len(self._B):
            H -= self._B[:, arms].T @ self._B
        B = shrinking_rows(H, arms, self._lam / counts)
        self._v = self._v - np.einsum("ij,ij->j", B, B)
        self._B = np.concatenate([self._B, B])
        for arm, count in pulls.items():
            self._folded[arm] = self._folded.get(arm, 0) + count
        self._inside = self._scores = None
        self._unseen = {}

    def _widen(self, floor: float) -> bool:
        """Choose the set inside anew, by old scores; False if that may not tell the best arm, or saves no work.

        Scores only fall, so none below `floor`, the present score of some arm, can be the best: while those above it
        are few, the others need not be brought up to date.
        """
        assert self._scores is not None
        above = int(np.count_nonzero(self._scores >= floor))
        if floor <= self._tau or _WORTH * above > len(self._scores):
            return False
        members, tau = highest(self._scores, max(self._sizes[0], 2 * above), self._last)
        members = np.union1d(members, np.fromiter(self._unseen, np.int64))
        inner = self._subset(members, max(tau, self._tau))
        inner.fold({int(np.searchsorted(members, arm)): n for arm, n in self._unseen.items()})
        self._inside, self._numbers = inner, members.tolist()
        return True

    def _subset(self, members: Int[np.ndarray, " k"], tau: float) -> Level:
        """Those arms as a set of their own, as of the last time that all were up to date."""
        covariance = self._among(members)
        return Level(
            self._mean[members],
            self._v[members],
            covariance,
            _subsets(covariance),
            self._B[:, members],
            self._width,
            self._lam,
            tau,
            self._sizes[1:],
        )

    def _look_inside(self) -> None:
        """Choose the set inside by the scores from before the last pick, then account for that pick."""
        assert self._scores is not None
        members, tau = highest(self._scores, self._sizes[0], self._last)
        tau = max(tau, self._tau)
        if len(self._sizes) > 1:
            self._inside = self._subset(members, tau)
            self._inside.propose(1)
        else:
            C = self._covariance(members, members)
            B = self._B[:, members]
            if len(B):
                C = C - B.T @ B
            self._inside = Candidates(self._mean[members], self._v[members], C, self._width, self._lam, tau)
        self._numbers = members.tolist()
        self._inside.take(int(np.searchsorted(members, self._last)), 1)


def _subsets(covariance: Covariance) -> Callable[[np.ndarray], Covariance]:
    def among(members: np.ndarray) -> Covariance:
        def of_subset(arms: np.ndarray, others: np.ndarray | None) -> np.ndarray:
            some = members[arms]
            return covariance(some, members if others is None else some if others is arms else members[others])

        return of_subset

    return among


def highest(scores: Float[np.ndarray, " n"], k: int, best: int) -> tuple[Int[np.ndarray, " k"], float]:
    """The arms of the `k` highest scores in order of index, `best` among them, and the best score of the others."""
    if k >= len(scores):
        return np.arange(len(scores)), -np.inf
    order = np.argpartition(scores, len(scores) - k - 1)
    members = order[len(scores) - k :]
    if best not in members:
        members[0] = best  # only in a tie across the border
    members.sort()
    return members, float(scores[order[len(scores) - k - 1]])


def shrinking_rows(
    H: Float[np.ndarray, "p n"], arms: Int[np.ndarray, " p"], noise: Float[np.ndarray, " p"]
) -> Float[np.ndarray, "p n"]:
    """Rows whose squares are what pulls of `arms` take off the variances, given their covariances `H`."""
    if len(arms) == 1:
        return H / np.sqrt(max(float(H[0, arms[0]]), 0.0) + noise[0])
    S = H[:, arms]
    L, _ = jittered_cholesky(0.5 * (S + S.T) + np.diag(noise))
    return solve_lower(L, H)
