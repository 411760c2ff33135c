"""A Nystrom embedding and its regression, as seen from the cached arms alone: small matrices only.

| symbol | meaning | shape |
|---|---|---|
| `S` | dictionary, positions among the cached arms `U` | (m,) |
| `T` | basis, `T T^T = k(S, S)^-1` | (m, m) |
| `z(x)` | embedding `T^T k(S, x)` | (m,) |
| `n, s` | pulls and feedback sum of each cached arm | (u,) |
| `P` | `V^-1` with `V = sum_s z(x_s) z(x_s)^T + lam I` over all pulls | (m, m) |
| `v(x)` | Bayesian variance `k(x, x) - z^T z + lam z^T P z` | unit of y^2 |

Every event changes `v` by a signed sum of few squares, each a combination of kernel rows of the dictionary:

- p pulls of arms R: with `C C^T = Z_R P Z_R^T + diag(1 / n)` it falls by the squares of `sqrt(lam) C^-1 Z_R P z`.
- Arms R join S: the new coordinates f are what the others leave of `k(R, x)`. It falls by the squares of f, which is
  explained now, and rises by `lam |g|^2`, which is not known yet: with `s` the Schur complement of the old V in the new
  one and `s = L L^T`, `g = L^-1 (V_new,old P z - f)`.
- Arms R leave S: the rows R of T span the directions that only they express. Householder reflections make these the
  first coordinates, and the change is that of joining with the signs reversed.

So an event costs O(m^2) here and one product of a few rows for all arms, instead of a factorisation and m rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg.blas import dgemm
from scipy.linalg.lapack import dgeqrf, dormqr

from gpbandit_envs.gp.kernel_rows import KernelRows
from gpbandit_envs.gp.linalg import jittered_cholesky, pivoted_cholesky, solve_lower, whitened

_CLEAR, _DEPENDENT = 1e-8, 1e-14
# Signs of a change; see `Change`. Of an arm that joins or leaves the second row alone changes what pulls can reduce.
_NONE = np.zeros(0)
_FALL_RISE, _RISE_FALL = np.array([-1.0, 1.0]), np.array([1.0, -1.0])
_SECOND_RISES, _SECOND_FALLS = np.array([0.0, 1.0]), np.array([0.0, -1.0])


class AmbiguousRankError(ArithmeticError):
    """The variance of an arm given the other arms of the dictionary is mostly rounding error."""


@dataclass(frozen=True)
class Change:
    """A change of the variance of every arm: a signed sum of squares, each of a combination of kernel rows.

    Attributes:
        positions: Cached arms whose kernel rows are combined, shape (m,).
        rows: Coefficients, shape (p, m).
        signs: +1 where the variance rises by the square, -1 where it falls, shape (p,).
        reducible: Signs in `lam z^T P z'`, the covariance that pulls can reduce, shape (p,): 0 where the square is of
            what the embedding leaves unexplained, or no longer does.
        slopes: By which multiples of the combinations the mean rises, shape (p,); zeros where it is not asked for.
    """

    positions: Int[np.ndarray, " m"]
    rows: Float[np.ndarray, "p m"]
    signs: Float[np.ndarray, " p"]
    reducible: Float[np.ndarray, " p"]
    slopes: Float[np.ndarray, " p"]


def together(changes: list[Change], u: int) -> Change:
    """One change made of several that follow one another, of `u` cached arms."""
    if len(changes) == 1:
        return changes[0]
    signs, reducible, slopes = (
        np.concatenate([getattr(change, name) for change in changes]) for name in ("signs", "reducible", "slopes")
    )
    rows, first = np.zeros((len(signs), u)), 0
    for change in changes:
        rows[first : first + len(change.rows), change.positions] = change.rows
        first += len(change.rows)
    return Change(np.arange(u), rows, signs, reducible, slopes)


class Embedding:
    """The dictionary, its basis and the inverse `P`; the dictionary is empty at first.

    Args:
        rows: Cached kernel rows, shared with the posterior.
        lam: Noise variance of one feedback.

    Attributes:
        S: Positions of the dictionary, shape (m,).
        T: Basis, shape (m, m).
        P: Inverse, shape (m, m).
    """

    def __init__(self, rows: KernelRows, lam: float) -> None:
        self.rows, self.lam = rows, lam
        self.S = np.zeros(0, np.int64)
        self.T = self.P = np.zeros((0, 0))
        self._scale = float(rows.prior.max())
        # A direction dropped for a remaining variance of tol changes a leverage score by tol / lam.
        self._tol = self._scale * float(np.clip(1e-6 * lam / self._scale, 1e-14, 1e-10))

    def __len__(self) -> int:
        return len(self.S)

    def rebuild(self, positions: Int[np.ndarray, " q"], n: Float[np.ndarray, " u"]) -> None:
        """Compute everything from scratch, for the dictionary `positions` without arms that depend on the others.

        Args:
            positions: The arms, distinct.
            n: Pulls of each cached arm.
        """
        gram = self.rows.gram
        L, pivots = pivoted_cholesky(gram[np.ix_(positions, positions)], self._tol)
        self.S = positions[pivots]
        Z = solve_lower(L, gram[self.S])
        V = (Z * n) @ Z.T
        V[np.diag_indices(len(V))] += self.lam
        R, _ = jittered_cholesky(V)
        W = solve_lower(R, np.eye(len(R)))
        self.T = np.ascontiguousarray(solve_lower(L, np.eye(len(L))).T)
        self.P = W.T @ W

    def of(self, positions: Int[np.ndarray, " p"]) -> Float[np.ndarray, "m p"]:
        """`z` of cached arms."""
        return self.T.T @ self.rows.gram[self.S[:, None], positions]

    def of_arms(self, arms: Int[np.ndarray, " p"]) -> Float[np.ndarray, "m p"]:
        """`z` of any arms."""
        return self.T.T @ self.rows.at(self.S, arms)

    def pull(self, positions: Int[np.ndarray, " p"], counts: Float[np.ndarray, " p"]) -> Change:
        """Account for `counts` new pulls of distinct cached arms."""
        z = self.of(positions)
        H = (self.P @ z).T
        B = whitened(H, H @ z, 1 / counts)
        self.P = _with(self.P, -1.0, B, B)
        signs = np.full(len(B), -1.0)
        return Change(self.S, sqrt(self.lam) * (B @ self.T.T), signs, signs, np.zeros(len(B)))

    def add(self, positions: Int[np.ndarray, " q"], n: Float[np.ndarray, " u"]) -> Change:
        """Add cached arms to the dictionary, all but those that depend on others in it.

        Args:
            positions: The arms, distinct and not in the dictionary.
            n: Pulls of each cached arm, as many as were passed to `rebuild` and `pull`.

        Raises:
            AmbiguousRankError: if rounding hides which of them depend on others; nothing has changed then.
        """
        if len(positions) == 1:
            return self._add_one(positions, n)
        gram, m = self.rows.gram, len(self.S)
        Z = self.of(positions)
        schur = gram[np.ix_(positions, positions)] - Z.T @ Z
        rest, pivots = pivoted_cholesky(schur, self._tol)
        least = float((rest.diagonal() ** 2).min(initial=np.inf))
        dropped = 0.0 if len(pivots) == len(schur) else float(np.delete(schur.diagonal(), pivots).max())
        if least < _CLEAR * self._scale or dropped > _DEPENDENT * self._scale:
            raise AmbiguousRankError
        S, q = np.concatenate([self.S, positions[pivots]]), len(pivots)
        t = solve_lower(rest, np.concatenate([-(self.T @ Z[:, pivots]), np.eye(q)]).T).T
        f = gram @ self._spread(S, t)
        nf = n[:, None] * f
        c = self.T.T @ (gram @ nf)[self.S]
        Q = self.P @ c
        L, _ = jittered_cholesky(f.T @ nf - c.T @ Q + self.lam * np.eye(q))
        if (L.diagonal() ** 2 < 0.5 * self.lam).any():  # exactly, at least lam
            raise AmbiguousRankError
        T, P = np.zeros((m + q, m + q)), np.zeros((m + q, m + q))
        T[:m, :m], T[:, m:] = self.T, t
        P[:m, :m] = self.P
        B = solve_lower(L, np.concatenate([Q, -np.eye(q)]).T)
        self.S, self.T, self.P = S, T, _with(P, 1.0, B, B)
        rows = np.concatenate([t.T, sqrt(self.lam) * (B @ T.T)])
        return Change(S, rows, np.repeat(_FALL_RISE, q), np.repeat(_SECOND_RISES, q), np.zeros(2 * q))

    def _add_one(self, position: Int[np.ndarray, " 1"], n: Float[np.ndarray, " u"]) -> Change:
        """`add` for a single arm, as most dictionaries differ in: vectors take half of the time of matrices."""
        gram, S, k, m = self.rows.gram, self.S, int(position[0]), len(self.S)
        z = self.T.T @ gram[k, S]
        rest = float(gram[k, k] - z @ z)
        if rest <= 0:
            return Change(S, np.zeros((0, m)), _NONE, _NONE, _NONE)
        if rest < _CLEAR * self._scale:
            raise AmbiguousRankError
        t = np.empty(m + 1)
        t[:m], t[m] = self.T @ z, -1.0
        t /= -sqrt(rest)
        S = np.append(S, k)
        f = gram @ self._spread(S, t)
        nf = n * f
        c = self.T.T @ (gram @ nf)[self.S]
        b = np.empty(m + 1)
        b[:m], b[m] = self.P @ c, -1.0
        schur = float(f @ nf - c @ b[:m]) + self.lam
        if schur < 0.5 * self.lam:
            raise AmbiguousRankError
        b /= sqrt(schur)
        T, P = np.zeros((m + 1, m + 1)), np.zeros((m + 1, m + 1))
        T[:m, :m], T[:, m] = self.T, t
        P[:m, :m] = self.P
        self.S, self.T, self.P = S, T, _with(P, 1.0, b[None], b[None])
        return Change(S, np.stack([t, sqrt(self.lam) * (T @ b)]), _FALL_RISE, _SECOND_RISES, np.zeros(2))

    def remove(self, positions: Int[np.ndarray, " k"]) -> Change:
        """Remove arms from the dictionary.

        Raises:
            AmbiguousRankError: if one nearly depends on the others, so that rounding decides what is lost with it.
        """
        where, k = np.flatnonzero((positions[:, None] == self.S).any(axis=0)), len(positions)
        lost = self.T[where].T
        if float(np.einsum("ij,ij->j", lost, lost).max()) * _CLEAR * self._scale > 1:
            raise AmbiguousRankError
        T, P = _reflected(lost, self.T, self.P)
        if k == 1:
            B = P[:1] / sqrt(float(P[0, 0]))
        else:
            L, _ = jittered_cholesky(P[:k, :k])
            B = solve_lower(L, P[:k])
        rows = np.concatenate([T[:, :k].T, sqrt(self.lam) * (B @ T.T)])
        change = Change(self.S, rows, np.repeat(_RISE_FALL, k), np.repeat(_SECOND_FALLS, k), np.zeros(2 * k))
        keep = np.ones(len(self.S), bool)
        keep[where] = False
        self.S, self.T = self.S[keep], T[keep, k:]
        self.P = _with(P[k:, k:].copy(), -1.0, B[:, k:], B[:, k:])
        return change

    def weights(self, n: Float[np.ndarray, " u"], s: Float[np.ndarray, " u"]) -> Float[np.ndarray, " m"]:
        """`T P sum_s z(x_s) y_s`: the posterior mean is these weights times `k(S, .)`."""
        gram = self.rows.gram
        w = self.P @ (self.T.T @ (gram @ s)[self.S])
        # One step of iterative refinement: P carries the rounding of all its updates, the Gram matrix none.
        residual = s - n * (gram @ self._spread(self.S, self.T @ w))
        w += self.P @ (self.T.T @ (gram @ residual)[self.S] - self.lam * w)
        return self.T @ w

    def explained(self) -> Float[np.ndarray, "m m"]:
        """`F^T T^T` with `F F^T = I - lam P`: these rows' squares times `k(S, x)` add up to `k(x, x) - v(x)`."""
        F, _ = jittered_cholesky(np.eye(len(self.P)) - self.lam * self.P, 1.0)
        return F.T @ self.T.T

    def norms_and_variances(self, positions: Int[np.ndarray, " p"]) -> tuple[np.ndarray, np.ndarray]:
        """`|z|^2` and `v` of cached arms, each computed anew."""
        z = self.of(positions)
        norms = np.einsum("ij,ij->j", z, z)
        known = np.einsum("ij,ij->j", z, self.P @ z)
        return norms, np.diagonal(self.rows.gram)[positions] - norms + self.lam * known

    def _spread(self, positions: np.ndarray, values: np.ndarray) -> np.ndarray:
        out = np.zeros((len(self.rows), *values.shape[1:]))
        out[positions] = values
        return out


def _with(
    M: Float[np.ndarray, "m n"], factor: float, B: Float[np.ndarray, "p m"], D: Float[np.ndarray, "p n"]
) -> Float[np.ndarray, "m n"]:
    """`M + factor B^T D`, in the place of `M`, which is contiguous by rows: a third of the time of NumPy's product."""
    return dgemm(factor, D, B, 1.0, M.T, trans_a=1, overwrite_c=1).T


def _reflected(
    lost: Float[np.ndarray, "m k"], T: Float[np.ndarray, "m m"], P: Float[np.ndarray, "m m"]
) -> tuple[Float[np.ndarray, "m m"], Float[np.ndarray, "m m"]]:
    """`T Q` and `Q^T P Q` with the orthogonal Q whose first k columns span `lost`."""
    k = lost.shape[1]
    if k == 1:
        v = lost[:, 0].copy()
        v[0] += np.copysign(np.sqrt(v @ v), v[0])
        v /= np.sqrt(v @ v)
        Pv = P @ v
        y = Pv - float(v @ Pv) * v
        T, P = T.copy(), P.copy()
        return _with(T, -2.0, (T @ v)[None], v[None]), _with(P, -2.0, np.stack([v, y]), np.stack([y, v]))
    factor, tau, _, _ = dgeqrf(lost)
    size = 64 * max(len(T), k)
    T, _, _ = dormqr("R", "N", factor, tau, T, size)
    P, _, _ = dormqr("L", "T", factor, tau, P, size)
    P, _, _ = dormqr("R", "N", factor, tau, P, size)
    return np.ascontiguousarray(T), np.ascontiguousarray(0.5 * (P + P.T))
