"""The loop inside a batch: mean and dictionary stand still, variances shrink, and the best score is picked each time.

| symbol | meaning | shape |
|---|---|---|
| `score` | `mean + width * sqrt(v)` | (A,) |
| `c(a, b)` | reducible covariance at the start of the batch | |
| `tau` | best score outside the candidates | |

Picking x changes `v(a)` by `-c(a, x)^2 / (c(x, x) + lam)` and `c` itself likewise, so scores only fall. It is enough
to keep the few arms of highest score and their covariance: the best of them is the best of all while its score exceeds
tau. Once it does not, all picks so far are folded into all arms by one product and candidates are chosen anew. The same
again among the candidates: a front of three of them is kept in plain floats. The choice is exactly that of recomputing
every score after every pick (BBKB, App. A.3, argues so for its lazy updates).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from agents.core.front import Front
from gpbandit_envs.gp.arms import ArmPosterior
from gpbandit_envs.gp.linalg import jittered_cholesky, solve_lower

__all__ = ["BatchBuilder"]

_FRONT, _FEW, _MANY = 3, 32, 256
_LARGE = 20_000


class BatchBuilder:
    """Picks arms one by one on a posterior that does not see their feedback.

    Args:
        posterior: Posterior at the start of the batch; it must not change while the builder is in use.
        width: Multiplies the standard deviation; at least 0.
        mean: Mean to add, shape (A,); the posterior's by default, zeros to pick by variance alone.
        pending: Arms already under evaluation, whose pulls count as picked, shape (p,).
        candidates: How many arms to keep; by default 32, or 256 for more than 20,000 arms.

    Attributes:
        picks: Arms picked so far, without the pending ones.
        n_pending: Number of pending pulls.
        variance: Variance of every arm at the start of the batch, shape (A,).
        picked_variance: Variance of the last pick just before it was picked.
    """

    def __init__(
        self,
        posterior: ArmPosterior,
        width: float,
        mean: Float[np.ndarray, " A"] | None = None,
        pending: Int[np.ndarray, " p"] | None = None,
        candidates: int | None = None,
    ) -> None:
        self.posterior = posterior
        self.width = width
        self.picks: list[int] = []
        self.picked_variance = 0.0
        self.variance = posterior.variance
        self._mean = posterior.mean if mean is None else mean
        default = _FEW if posterior.n_arms <= _LARGE else _MANY
        self._best = -1
        self._front: Front | None = None
        self._k = min(default if candidates is None else candidates, posterior.n_arms)
        self._v = self.variance
        self._folded: dict[int, int] = {}
        self._new: dict[int, int] = {}
        self._B = np.zeros((0, posterior.n_arms))
        self.n_pending = 0 if pending is None else len(pending)
        if pending is not None:
            for arm in pending.tolist():
                self._new[arm] = self._new.get(arm, 0) + 1
        self._score_all()

    def next(self) -> int:
        """Pick the arm of highest score; ties go to the lowest index."""
        arm, _ = self.propose(1)
        self.take(1)
        return arm

    def propose(self, limit: int) -> tuple[int, int]:
        """The arm of highest score, and how many times in a row (at most `limit`) it is to be picked.

        Nothing changes before `take`. The run may be shorter than it could be: the next proposal then goes on with it.
        """
        if self._best >= 0:
            self._run = self._best, -1
            self.picked_variance = max(float(self._v[self._best]), 0.0)
            return self._best, 1
        if not self._narrowed:
            self._narrow(self.picks[-1])
        if self._front is not None:
            j, count = self._front.propose(limit)
            if count == 0:
                self._settle()
        if self._front is None:
            best = int(np.argmax(self._scores))
            if not self._scores[best] > self._tau:
                self._score_all()
                return self.propose(limit)
            self._front = self._new_front(best)
            j, count = self._front.propose(limit)
        arm = int(self._arms[self._members[j]])
        self._run = arm, j
        self.picked_variance = max(self._front.v[j], 0.0)
        return arm, count

    def take(self, count: int) -> None:
        """Pick the arm last proposed `count` times, at most as many as were proposed."""
        arm, j = self._run
        if j < 0:
            self._best = -1
        else:
            assert self._front is not None
            self._front.take(j, count)
        self._new[arm] = self._new.get(arm, 0) + count
        self.picks += [arm] * count

    def _score_all(self) -> None:
        """Fold all picks into the variances of all arms and find the best arm; candidates are chosen when needed."""
        if self._new:
            self._fold()
        self._all_scores = self._mean + self.width * np.sqrt(np.maximum(self._v, 0.0))
        self._best = int(np.argmax(self._all_scores))
        self._narrowed = False
        self._front = None

    def _fold(self) -> None:
        if len(self._B) + len(self._new) > 2 * len(self._folded | self._new) + _FEW:
            # Arms folded again and again: start over with one row for each.
            for arm, count in self._folded.items():
                self._new[arm] = self._new.get(arm, 0) + count
            self._folded, self._B, self._v = {}, self._B[:0], self.variance
        arms = np.fromiter(self._new, np.int64)
        counts = np.fromiter(self._new.values(), np.float64)
        H = self.posterior.reducible_covariance(arms)
        if len(self._B):
            H -= self._B[:, arms].T @ self._B
        S = H[:, arms]
        L, _ = jittered_cholesky(0.5 * (S + S.T) + np.diag(self.posterior.lam / counts))
        B = solve_lower(L, H)
        self._v = self._v - np.einsum("ij,ij->j", B, B)
        self._B = np.concatenate([self._B, B])
        for arm, count in self._new.items():
            self._folded[arm] = self._folded.get(arm, 0) + count
        self._new = {}

    def _narrow(self, best: int) -> None:
        """Choose the candidates on the scores from before `best` was picked, then account for that pick."""
        scores, k = self._all_scores, self._k
        if k == len(scores):
            arms, self._tau = np.arange(k), -np.inf
        else:
            order = np.argpartition(scores, len(scores) - k - 1)
            arms, self._tau = order[len(scores) - k :], float(scores[order[len(scores) - k - 1]])
            if best not in arms:
                # Only in a tie across the border, so tau stays what it is.
                arms[0] = best
            arms.sort()
        self._arms, self._narrowed = arms, True
        self._candidate_mean = self._mean[arms]
        self._candidate_v = self._v[arms]
        self._C = self.posterior.reducible_covariance(arms, arms)
        if len(self._B):
            B = self._B[:, arms]
            self._C -= B.T @ B
        self._shrink(np.searchsorted(arms, [best]), np.ones(1))

    def _shrink(self, members: Int[np.ndarray, " p"], counts: Float[np.ndarray, " p"]) -> None:
        """Account for `counts` pulls of the candidates `members`."""
        noise, c = self.posterior.lam / counts, self._C[members]
        if len(members) == 1:
            B = c / np.sqrt(max(float(c[0, members[0]]), 0.0) + noise[0])
        else:
            S = c[:, members]
            L, _ = jittered_cholesky(0.5 * (S + S.T) + np.diag(noise))
            B = solve_lower(L, c)
        self._candidate_v -= np.einsum("ij,ij->j", B, B)
        self._C -= B.T @ B
        self._scores = self._candidate_mean + self.width * np.sqrt(np.maximum(self._candidate_v, 0.0))

    def _new_front(self, best: int) -> Front:
        """The candidates of highest score, among them `best`, which is the first of the highest."""
        k = min(_FRONT, len(self._scores))
        scores, tau = self._scores, self._tau
        if k < len(scores):
            order = np.argpartition(scores, len(scores) - k - 1)
            members, tau = order[len(scores) - k :], max(tau, float(scores[order[len(scores) - k - 1]]))
            if best not in members:
                members[0] = best  # only in a tie across the border
            members.sort()
        else:
            members = np.arange(k)
        self._members = members
        C = self._C[np.ix_(members, members)]
        return Front(self._candidate_mean[members], self._candidate_v[members], C, self.width, self.posterior.lam, tau)

    def _settle(self) -> None:
        """Carry what the front has pulled to all candidates."""
        assert self._front is not None
        counts = np.array(self._front.counts, np.float64)
        pulled = counts > 0
        self._shrink(self._members[pulled], counts[pulled])
        self._front = None
