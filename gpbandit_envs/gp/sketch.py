"""The posterior of a Nystrom embedding over a finite set of arms: a dictionary instead of all pulled arms.

With `z(x)` the embedding on the dictionary S and `V = sum_s z(x_s) z(x_s)^T + lam I` (see
`gpbandit_envs.gp.embedding`)

- the mean is `z^T V^-1 sum_s z(x_s) y_s`,
- the variance is `k(x, x) - z^T z + lam z^T V^-1 z`, on the Bayesian scale: BKB and BBKB write it, divided by lam, as
  the squared sigma.

Neither depends on the basis of the embedding, so a Cholesky factor is as right as the papers' symmetric root, and
cheaper. Dictionaries drawn one after the other have most arms in common: what was pulled, what joined and what left
changes the variance of all arms by a signed sum of a few squares, which is one product with as many rows. Of an arm
that was pulled lately not even that is needed; see `gpbandit_envs.gp.all_arms`.

References: Calandriello et al. (2019), Gaussian process optimization with adaptive sketching, eq. 4;
Calandriello et al. (2020), Near-linear time Gaussian process optimization, eq. 1-3.
"""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp.all_arms import AllArms
from gpbandit_envs.gp.arm_posterior import ArmPosterior, LookAhead
from gpbandit_envs.gp.embedding import AmbiguousRankError, Change, Embedding, together
from gpbandit_envs.gp.kernel_rows import products
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.gp.linalg import whitened

_GUARD_VARIANCE, _GUARD_NORM, _GUARD_MEAN = 1e-10, 1e-9, 1e-9
_GUARDED, _GUARDED_ARMS = 4, 8
_CHECK_AFTER, _MEAN_AFTER, _REFRESH_AFTER = 8, 16, 500


class SketchedArmPosterior(ArmPosterior):
    """The DTC posterior of a dictionary; beside the kernel rows it takes O(m^2) numbers and up to seven an arm.

    `record` stores pulls without changing mean and variance; `embed` sets the dictionary and conditions on all pulls
    recorded so far. Until the first `embed` the dictionary is empty: the mean is 0 and the variance the prior's.

    Args:
        kernel: Prior covariance.
        X: Arms, shape (A, d).
        lam: Noise variance of one feedback, > 0.
        max_memory: Bytes for kernel rows; see `gpbandit_envs.gp.kernel_rows.KernelRows`.

    Attributes:
        refreshes: How often all arms were embedded from scratch.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Float[np.ndarray, "A d"],
        lam: float,
        max_memory: int | None = None,
    ) -> None:
        super().__init__(kernel, X, lam, max_memory)
        self._all = AllArms(self.rows.prior, self.lam)
        self._n = np.zeros(0)
        self._s = np.zeros(0)
        self.refreshes = 0
        self._embedding = Embedding(self.rows, self.lam)
        self._scale = float(self.rows.prior.max())
        self._requested = np.zeros(0, np.int64)
        # Count and sum of the feedback of arms, by position, since the last dictionary.
        self._new: dict[int, tuple[float, float]] = {}
        self._events = 0
        # Until it is seen to drift, as it does where feedback is many times the noise; see `_drifts`.
        self._carries_mean = True

    @property
    def dictionary(self) -> Int[np.ndarray, " m"]:
        """Arms of the dictionary, shape (m,), without those that depend on others."""
        return self.rows.arms[self._embedding.S]

    @property
    def mean(self) -> Float[np.ndarray, " A"]:
        return self._all.mean

    @property
    def variance(self) -> Float[np.ndarray, " A"]:
        return np.maximum(self._all.v, 0.0)

    def variance_at(self, arms: Int[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        return np.maximum(self._all.v[arms], 0.0)

    @property
    def n(self) -> Float[np.ndarray, " u"]:
        """Pulls of each cached arm, in the order of the rows."""
        return self._n

    def effective_dimension(self) -> float:
        return float(self._n @ self.variance_at(self.rows.arms)) / self.lam

    def record(
        self, arms: Int[np.ndarray, " p"], counts: Float[np.ndarray, " p"], sums: Float[np.ndarray, " p"]
    ) -> None:
        """Count `counts` new pulls of each of the distinct `arms`, whose feedback adds up to `sums`.

        Raises:
            ValueError: if a sum is not finite.
        """
        if not np.isfinite(sums).all():
            raise ValueError(f"sums: expected finite feedback, got {sums[~np.isfinite(sums)][0]}")
        positions = self.rows.add(arms)
        self._grow()
        self._n[positions] += counts
        self._s[positions] += sums
        for k, count, total in zip(positions.tolist(), counts.tolist(), sums.tolist(), strict=True):
            known = self._new.get(k, (0.0, 0.0))
            self._new[k] = known[0] + count, known[1] + total

    def _grow(self) -> None:
        missing = len(self.rows) - len(self._n)
        if missing:
            self._n = np.concatenate([self._n, np.zeros(missing)])
            self._s = np.concatenate([self._s, np.zeros(missing)])

    def embed(self, arms: Int[np.ndarray, " m"]) -> None:
        """Make `arms` (distinct) the dictionary and bring mean and variance of all arms up to date."""
        positions = self.rows.add(arms)
        self._grow()
        self._events += 1
        if not self._carry_over(positions):
            self._refresh(positions)
        self._requested = positions
        self._new = {}

    def _carry_over(self, positions: np.ndarray) -> bool:
        """Update the last dictionary to this one; False if a refresh is cheaper, or needed because of rounding."""
        leaving, joining = self._difference(positions)
        if len(self._new) + 2 * (len(leaving) + len(joining)) >= len(self._embedding):
            return False
        if self._events >= _REFRESH_AFTER:
            return False
        pulled, embedding = list(self._new), self._embedding
        # Pulls alone round little, and what accumulates over them shows at the next check; where feedback is many times
        # the noise, at the first.
        alone = not leaving and not joining
        check = not alone or self._events < _CHECK_AFTER or self._events % _CHECK_AFTER == 0
        # A change by one arm changes the mean along one row. By more arms it is computed anew; so it is from time to
        # time, and where an arm is pulled whose row is not kept: four rows of a product take no longer than three.
        few = max(len(pulled), len(leaving), len(joining)) <= 1
        known = all(int(self.rows.arms[k]) in self._all.recent for k in pulled)
        carry = self._carries_mean and few and known and self._events % _MEAN_AFTER != 0
        changes: list[Change] = []
        try:
            if pulled:
                counts = np.array([count for count, _ in self._new.values()])
                changes.append(embedding.pull(np.array(pulled), counts))
            if leaving:
                changes.append(self._without(leaving, carry))
            if joining:
                changes.append(embedding.add(np.array(joining), self._n))
        except AmbiguousRankError:
            return False
        weights = embedding.weights(self._n, self._s) if check or not carry else None
        if joining and carry and len(changes[-1].rows):
            # As in `_without`; the weight was 0, and the arm is the last of the dictionary.
            assert weights is not None
            slope = weights[-1] / changes[-1].rows[1, -1]
            changes[-1] = replace(changes[-1], slopes=np.array([0.0, slope]))
        self._apply(changes, None if carry else weights)
        if weights is None:
            return True
        positions = self._guarded([*pulled, *joining])
        if not self._sound(positions):
            return False
        if carry and self._drifts(positions, weights):
            self._carries_mean = False
            for columns, h in self.rows.products(weights[None], embedding.S):
                self._all.mean[columns] = h[0]
        return True

    def _difference(self, positions: np.ndarray) -> tuple[list[int], list[int]]:
        """Positions that leave the dictionary, and those that may join it."""
        if np.array_equal(positions, self._requested):
            return [], []
        now, before = set(positions.tolist()), set(self._embedding.S.tolist())
        leaving = sorted(before - now)
        # An arm that depended on others still does, unless one of them leaves.
        known = before if leaving else before.union(self._requested.tolist())
        return leaving, sorted(now - known)

    def _without(self, leaving: list[int], carry: bool) -> Change:
        """The change by arms that leave, with the slopes of the mean if it is carried along."""
        embedding = self._embedding
        if not carry:
            return embedding.remove(np.array(leaving))
        where = embedding.S.tolist().index(leaving[0])
        weight = embedding.weights(self._n, self._s)[where]
        change = embedding.remove(np.array(leaving))
        # The mean changes along the second row alone, and the weight of the arm that leaves becomes 0.
        return replace(change, slopes=np.array([0.0, -weight / change.rows[1, where]]))

    def _apply(self, changes: list[Change], weights: Float[np.ndarray, " m"] | None) -> None:
        """Update mean and variance of all arms, the mean by the slopes of the changes, or anew where there are weights.

        The first change is that of the pulls since the last dictionary, if there are any.
        """
        place, kept = -1, 0.0
        if len(self._new) > 1:
            self._all.forget()
        elif self._new:
            changes, place, kept = self._pull(changes)
        if weights is not None:
            changes = [*changes, Change(self._embedding.S, weights[None], np.zeros(1), np.zeros(1), np.ones(1))]
            self._all.mean[:] = 0.0
        changes = [change for change in changes if len(change.signs)]
        if not changes:
            return
        change = together(changes, len(self.rows))
        factors = np.zeros((0, len(change.signs)))
        if self._all.recent:
            recent = self.rows.position[np.array(self._all.recent)]
            factors = (change.rows @ self.rows.gram[change.positions[:, None], recent]).T * change.reducible
            factors = np.ascontiguousarray(factors)
        if place >= 0:
            factors[place, 0] = kept
        for columns, h in self.rows.products(change.rows, change.positions):
            self._all.change(columns, h, change.signs, change.slopes, factors)

    def _pull(self, changes: list[Change]) -> tuple[list[Change], int, float]:
        """Pull one arm: along its own row where that is kept, or by the first of the changes.

        The changes that are left, where to keep the arm's row from now on, or -1, and which multiple of the first
        change it is then: that takes `c(x, .) / sqrt(d)` off the covariance, and `lam / n / d` of `c(x, .)` is left.
        """
        ((k, (count, total)),) = self._new.items()
        arm, noise = int(self.rows.arms[k]), self.lam / count
        if self._all.pull(arm, count, total / count):
            return changes[1:], -1, 0.0
        pull = changes[0]
        # At the arm itself the change is `c(x, x) / sqrt(d) = sqrt(d) - lam / n / sqrt(d)`.
        at_arm = float(pull.rows[0] @ self.rows.gram[k, pull.positions])
        root = 0.5 * (at_arm + sqrt(at_arm * at_arm + 4 * noise))
        pulled_before = self._n[k] > count  # and so perhaps again
        return changes, self._all.make_room(arm) if pulled_before else -1, noise / root

    def _guarded(self, touched: list[int]) -> Int[np.ndarray, " p"]:
        """These positions and a few others, at which what was updated is computed anew."""
        u = len(self.rows)
        others = (self._events * _GUARDED + np.arange(min(_GUARDED, u))) % u
        return np.concatenate([np.array(touched, np.int64), others])

    def _sound(self, positions: Int[np.ndarray, " p"]) -> bool:
        """Whether the updated variances are right at these positions."""
        u = len(self.rows)
        norms, variances = self._embedding.norms_and_variances(positions)
        prior = self.rows.gram.diagonal()[positions]
        inside = np.zeros(u, bool)
        inside[self._embedding.S] = True
        gap = np.abs(variances - self._all.v[self.rows.arms[positions]])
        excess = norms - prior
        np.abs(excess, out=excess, where=inside[positions])
        return bool(gap.max() <= _GUARD_VARIANCE * self._scale and excess.max() <= _GUARD_NORM * self._scale)

    def _drifts(self, positions: Int[np.ndarray, " p"], weights: Float[np.ndarray, " m"]) -> bool:
        """Whether the updated mean is wrong at one of these positions, or at one of a few other arms.

        Each pull adds the rounding of a variance, divided by that of the noise, times the surprise; at arms that were
        never pulled it can be a hundred times what it is at those that were.
        """
        S, A = self._embedding.S, len(self.rows.X)
        others = (self._events * _GUARDED_ARMS + np.arange(min(_GUARDED_ARMS, A))) % A
        arms = np.concatenate([self.rows.arms[positions], others])
        covariances = np.concatenate([self.rows.gram[S[:, None], positions], self.rows.at(S, others)], axis=1)
        gap = np.abs(weights @ covariances - self._all.mean[arms])
        return not gap.max() <= _GUARD_MEAN * np.abs(self._s / np.maximum(self._n, 1.0)).max()

    def _refresh(self, positions: np.ndarray) -> None:
        embedding = self._embedding
        embedding.rebuild(positions, self._n)
        C = np.vstack([embedding.explained(), embedding.weights(self._n, self._s)])
        for columns, H in self.rows.products(C, embedding.S):
            self._all.mean[columns] = H[-1]
            self._all.v[columns] = self.rows.prior[columns] - np.einsum("ij,ij->j", H[:-1], H[:-1])
        self._all.forget()
        self.refreshes += 1
        self._events = 0
        self._carries_mean = True

    def covariance(
        self, arms: Int[np.ndarray, " p"], others: Int[np.ndarray, " q"] | None = None
    ) -> Float[np.ndarray, "p q"]:
        X, P = self.rows.X, self._embedding.P
        prior = self.rows.kernel(X[arms], X if others is None else X[others])
        prior -= self._product(np.eye(len(P)) - self.lam * P, arms, others)
        return prior

    def reducible_covariance(
        self, arms: Int[np.ndarray, " p"], others: Int[np.ndarray, " q"] | None = None
    ) -> Float[np.ndarray, "p q"]:
        """`lam z^T V^-1 z'`: pulls change V, and never what the dictionary cannot express (BBKB, Alg. 1, line 7)."""
        return self._product(self.lam * self._embedding.P, arms, others)

    def look_ahead(self) -> LookAhead:
        return _ArmsAhead(self)

    def _product(self, M: np.ndarray, arms: np.ndarray, others: np.ndarray | None) -> np.ndarray:
        """`Z M Z'^T`."""
        embedding = self._embedding
        z = embedding.of_arms(arms)
        left = z.T @ M
        if others is None:
            return self.rows.product(left @ embedding.T.T, embedding.S)
        return left @ (z if others is arms else embedding.of_arms(others))

    def at(self, X: Float[np.ndarray, "q d"]) -> tuple[Float[np.ndarray, " q"], Float[np.ndarray, " q"]]:
        # As in `ExactPosterior.at`.
        if np.array_equal(X, self.rows.X):
            return self.mean.copy(), self.variance
        K = self.rows.kernel(self.rows.X[self.dictionary], X)
        H = self._embedding.explained() @ K
        variance = np.maximum(self.rows.kernel.diag(X) - np.einsum("ij,ij->j", H, H), 0.0)
        return self._embedding.weights(self._n, self._s) @ K, variance


class _BasisAhead(LookAhead):
    """Some arms whose reducible covariance is `Z^T M Z`: pulls change M, and nothing is kept for each of them."""

    def __init__(
        self, v: Float[np.ndarray, " k"], Z: Float[np.ndarray, "m k"], M: Float[np.ndarray, "m m"], lam: float
    ) -> None:
        self.v, self._Z, self._M, self._lam = v, Z, M, lam

    def covariance(self, arms: Int[np.ndarray, " p"]) -> Float[np.ndarray, "p p"]:
        Z = self._Z[:, arms]
        return Z.T @ (self._M @ Z)

    def pull(self, arms: Int[np.ndarray, " p"], counts: Float[np.ndarray, " p"]) -> None:
        F, self._M = _pulled(self._M, self._Z[:, arms], self._lam / counts)
        self.v = self.v.copy()
        for columns, H in products(F, self._Z):
            self.v[columns] -= np.einsum("ij,ij->j", H, H)

    def among(self, arms: Int[np.ndarray, " n"]) -> _BasisAhead:
        return _BasisAhead(self.v[arms], self._Z[:, arms], self._M, self._lam)


class _ArmsAhead(LookAhead):
    """The same of all arms of a posterior, whose embedding is not kept."""

    def __init__(self, posterior: SketchedArmPosterior) -> None:
        self._embedding, self._rows, self._lam = posterior._embedding, posterior.rows, posterior.lam
        self._M = self._lam * self._embedding.P
        self.v = posterior.variance

    def covariance(self, arms: Int[np.ndarray, " p"]) -> Float[np.ndarray, "p p"]:
        Z = self._embedding.of_arms(arms)
        return Z.T @ (self._M @ Z)

    def pull(self, arms: Int[np.ndarray, " p"], counts: Float[np.ndarray, " p"]) -> None:
        embedding = self._embedding
        F, self._M = _pulled(self._M, embedding.of_arms(arms), self._lam / counts)
        self.v = self.v.copy()
        for columns, H in self._rows.products(F @ embedding.T.T, embedding.S):
            self.v[columns] -= np.einsum("ij,ij->j", H, H)

    def among(self, arms: Int[np.ndarray, " n"]) -> _BasisAhead:
        return _BasisAhead(self.v[arms], self._embedding.of_arms(arms), self._M, self._lam)


def _pulled(
    M: Float[np.ndarray, "m m"], Z: Float[np.ndarray, "m p"], noise: Float[np.ndarray, " p"]
) -> tuple[Float[np.ndarray, "r m"], Float[np.ndarray, "m m"]]:
    """F and `M - F^T F` after noisy observations of `Z^T M Z`: of at most m rows, however many pulls."""
    H = (M @ Z).T
    F = whitened(H, H @ Z, noise)
    rest = M - F.T @ F
    if len(F) > len(M):
        F = np.asarray(np.linalg.qr(F, mode="r"))
    return F, rest
