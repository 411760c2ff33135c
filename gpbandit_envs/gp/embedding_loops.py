"""The steps of an embedding for one arm at a time, as loops that numba compiles; see `gpbandit_envs.gp.embedding`.

Their matrices have some 20 to 200 rows: a product with a vector takes one or two microseconds, and so does a call of
NumPy. `Embedding` has the same steps in NumPy, which are the ones to read.

| symbol | meaning | shape |
|---|---|---|
| `G` | Gram matrix of the cached arms, with room for more | at least (u, u) |
| `n, s` | pulls and feedback sum of each cached arm | (u,) |
| `S, T, P` | dictionary, basis and inverse | (m,), (m, m), (m, m) |
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np


def _times(M: Any, x: Any) -> Any:
    """`M x`."""
    out = np.empty(len(M))
    for i in range(len(M)):
        row, total = M[i], 0.0
        for j in range(len(x)):
            total += row[j] * x[j]
        out[i] = total
    return out


def _transposed_times(M: Any, x: Any) -> Any:
    """`M^T x`."""
    out = np.zeros(M.shape[1])
    for i in range(len(x)):
        row, factor = M[i], x[i]
        for j in range(len(out)):
            out[j] += factor * row[j]
    return out


def _dot(x: Any, y: Any) -> Any:
    total = 0.0
    for j in range(len(x)):
        total += x[j] * y[j]
    return total


def _of_rows(G: Any, S: Any, x: Any) -> Any:
    """`G[S] x`, of the first `len(x)` columns."""
    out = np.empty(len(S))
    for i in range(len(S)):
        row, total = G[S[i]], 0.0
        for j in range(len(x)):
            total += row[j] * x[j]
        out[i] = total
    return out


def _combined_rows(G: Any, S: Any, x: Any, u: int) -> Any:
    """`G[S]^T x`, of the first `u` columns."""
    out = np.zeros(u)
    for i in range(len(S)):
        row, factor = G[S[i]], x[i]
        for j in range(u):
            out[j] += factor * row[j]
    return out


def _add_outer(M: Any, factor: float, x: Any, y: Any) -> None:
    """`M += factor x y^T`."""
    for i in range(len(x)):
        row, scaled = M[i], factor * x[i]
        for j in range(len(y)):
            row[j] += scaled * y[j]


HELPERS = (_times, _transposed_times, _dot, _of_rows, _combined_rows, _add_outer)


def weights(G: Any, n: Any, s: Any, S: Any, T: Any, P: Any, lam: float) -> Any:
    """`Embedding.weights`."""
    w = _transposed_times(P, _transposed_times(T, _of_rows(G, S, s)))
    residual = s - n * _combined_rows(G, S, _times(T, w), len(s))
    w += _transposed_times(P, _transposed_times(T, _of_rows(G, S, residual)) - lam * w)
    return _times(T, w)


def pull_one(G: Any, k: int, count: float, S: Any, T: Any, P: Any, lam: float) -> Any:
    """`Embedding.pull` of the arm at position k; updates `P` and returns the row of the change."""
    z = _transposed_times(T, G[k][S])
    b = _transposed_times(P, z)
    b /= sqrt(max(_dot(b, z), 0.0) + 1 / count)
    _add_outer(P, -1.0, b, b)
    return sqrt(lam) * _times(T, b)


def norms_and_variances(G: Any, positions: Any, S: Any, T: Any, P: Any, lam: float) -> Any:
    """`Embedding.norms_and_variances`."""
    norms, variances = np.empty(len(positions)), np.empty(len(positions))
    for i in range(len(positions)):
        k = positions[i]
        z = _transposed_times(T, G[k][S])
        norms[i] = _dot(z, z)
        variances[i] = G[k, k] - norms[i] + lam * _dot(z, _transposed_times(P, z))
    return norms, variances


def add_one(G: Any, k: int, n: Any, S: Any, T: Any, P: Any, lam: float, least: float) -> Any:
    """`Embedding.add` of the arm at position k.

    Returns:
        What of its variance the others leave; the Schur complement; and where neither is too small (`least`, `lam / 2`)
        the new dictionary, basis and inverse, and the rows of the change.
    """
    m = len(S)
    z = _transposed_times(T, G[k][S])
    rest = G[k, k] - _dot(z, z)
    if rest < least:
        return rest, lam, S, T, P, T
    t, joined = np.empty(m + 1), np.empty(m + 1, np.int64)
    t[:m], t[m] = _times(T, z), -1.0
    joined[:m], joined[m] = S, k
    t /= -sqrt(rest)
    f = _combined_rows(G, joined, t, len(n))
    nf = n * f
    c = _transposed_times(T, _of_rows(G, S, nf))
    b = np.empty(m + 1)
    b[:m], b[m] = _transposed_times(P, c), -1.0
    schur = _dot(f, nf) - _dot(c, b[:m]) + lam
    if schur < 0.5 * lam:
        return rest, schur, S, T, P, T
    b /= sqrt(schur)
    basis, inverse, rows = np.empty((m + 1, m + 1)), np.empty((m + 1, m + 1)), np.empty((2, m + 1))
    for i in range(m + 1):
        basis_row, inverse_row, factor = basis[i], inverse[i], b[i]
        for j in range(m + 1):
            inverse_row[j] = factor * b[j]
        if i < m:
            T_row, P_row = T[i], P[i]
            for j in range(m):
                basis_row[j] = T_row[j]
                inverse_row[j] += P_row[j]
        else:
            basis_row[:] = 0.0
        basis_row[m] = t[i]
    rows[0], rows[1] = t, sqrt(lam) * _times(basis, b)
    return rest, schur, joined, basis, inverse, rows


def remove_one(i: int, S: Any, T: Any, P: Any, lam: float) -> Any:
    """`Embedding.remove` of the i-th arm: the new dictionary, basis and inverse, and the rows of the change."""
    m = len(S)
    # The reflection that makes the direction of T[i] the first coordinate.
    v = T[i].copy()
    v[0] += sqrt(_dot(v, v)) if v[0] >= 0 else -sqrt(_dot(v, v))
    v /= sqrt(_dot(v, v))
    y = _transposed_times(P, v)
    y -= _dot(v, y) * v
    # The reflected basis is T - 2 (T v) v^T, and the reflected inverse P - 2 (v y^T + y v^T).
    Tv = _times(T, v)
    b = P[0] - 2 * (v[0] * y + y[0] * v)
    b /= sqrt(b[0])
    rows = np.empty((2, m))
    rows[0], rows[1] = T[:, 0] - 2 * v[0] * Tv, sqrt(lam) * (_times(T, b) - 2 * _dot(v, b) * Tv)
    left, basis, rest = np.empty(m - 1, np.int64), np.empty((m - 1, m - 1)), np.empty((m - 1, m - 1))
    for j in range(m - 1):
        from_row = j if j < i else j + 1
        left[j] = S[from_row]
        T_row, basis_row, along = T[from_row], basis[j], 2 * Tv[from_row]
        P_row, rest_row, vj, yj, bj = P[j + 1], rest[j], 2 * v[j + 1], 2 * y[j + 1], b[j + 1]
        for k in range(m - 1):
            basis_row[k] = T_row[k + 1] - along * v[k + 1]
            rest_row[k] = P_row[k + 1] - vj * y[k + 1] - yj * v[k + 1] - bj * b[k + 1]
    return left, basis, rest, rows
