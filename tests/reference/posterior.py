"""Textbook posteriors."""

from __future__ import annotations

from typing import Any

import numpy as np


def dense(K: np.ndarray, arms: np.ndarray, y: np.ndarray, lam: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance at all arms from the t x t formula (Rasmussen and Williams, eq. 2.23-2.24)."""
    Kt = K[np.ix_(arms, arms)] + lam * np.eye(len(arms))
    kt = K[arms]
    solved = np.linalg.solve(Kt, np.column_stack([y, kt]))
    return kt.T @ solved[:, 0], np.diagonal(K) - np.einsum("ij,ij->j", kt, solved[:, 1:])


def extended(K: np.ndarray, arms: np.ndarray, y: np.ndarray, lam: float) -> tuple[np.ndarray, np.ndarray]:
    """The same in 80-bit arithmetic, by a Cholesky factorisation of the t x t matrix written out: the judge."""
    long = np.longdouble
    A = K[np.ix_(arms, arms)].astype(long) + long(lam) * np.eye(len(arms), dtype=long)
    B = np.column_stack([K[arms].astype(long), y.astype(long)])
    t = len(arms)
    L = np.zeros((t, t), long)
    for j in range(t):
        L[j, j] = np.sqrt(A[j, j] - L[j, :j] @ L[j, :j])
        L[j + 1 :, j] = (A[j + 1 :, j] - L[j + 1 :, :j] @ L[j, :j]) / L[j, j]
        B[j] = (B[j] - L[j, :j] @ B[:j]) / L[j, j]
    G, w = B[:, :-1], B[:, -1]
    return (w @ G).astype(np.float64), (np.diagonal(K) - np.einsum("ij,ij->j", G, G)).astype(np.float64)


def sketched(
    K: np.ndarray, dictionary: np.ndarray, arms: np.ndarray, y: np.ndarray, lam: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, leverage score and matrix `z_a^T V^-1 z_b` at all arms by the symmetric root (BBKB eq. 1-3)."""
    values, vectors = np.linalg.eigh(K[np.ix_(dictionary, dictionary)])
    keep = values > 1e-13 * len(values) * values.max()
    Z = (K[:, dictionary] @ vectors[:, keep]) / np.sqrt(values[keep])  # z(x) = K_S^{+/2} k_S(x), up to rotation
    Zt = Z[arms]
    V = Zt.T @ Zt + lam * np.eye(Z.shape[1])
    E = Z @ np.linalg.solve(V, Z.T)
    mean = Z @ np.linalg.solve(V, Zt.T @ y)
    return mean, (np.diagonal(K) - np.einsum("ij,ij->i", Z, Z)) / lam + np.diagonal(E), E


def dual_squares(
    K: np.ndarray, arms: np.ndarray, y: np.ndarray, lam: float, a: np.ndarray, R: float, F: float, delta: float
) -> tuple[np.ndarray, np.ndarray]:
    """`rad_a^2` of DMM for each regulariser, by the t x t formulas in 80-bit arithmetic, and their largest terms."""
    long = np.longdouble

    def factored(noise: float) -> tuple[Any, Any]:
        """`y^T (K + noise I)^-1 y` and `logdet(K / noise + I)`."""
        A = K[np.ix_(arms, arms)].astype(long) + long(noise) * np.eye(len(arms), dtype=long)
        z, logdet = y.astype(long), long(0)
        for j in range(len(arms)):
            root = np.sqrt(A[j, j])
            column = A[j + 1 :, j] / root
            z[j] /= root
            z[j + 1 :] -= column * z[j]
            A[j + 1 :, j + 1 :] -= np.outer(column, column)
            logdet += 2 * np.log(root) - np.log(long(noise))
        return z @ z, logdet

    quadratic, logdet = factored(lam)
    base = long(R) ** 2 * (logdet + 2 * np.log(1 / long(delta)))
    squares, scale = [], []
    for value in a:
        terms = base + long(value) * long(F) ** 2
        misfit = long(value) * factored(float(value))[0]
        squares.append(long(lam) * quadratic + terms - misfit)
        scale.append(max(long(lam) * quadratic, terms, misfit))
    return np.array(squares, np.float64), np.array(scale, np.float64)
