from __future__ import annotations

import numpy as np
import pytest

from gpbandit_envs.gp.linalg import FactorisationError, jittered_cholesky, pivoted_cholesky, solve_lower


def test_no_jitter_where_none_is_needed() -> None:
    A = np.array([[4.0, 2.0], [2.0, 3.0]])
    L, jitter = jittered_cholesky(A)
    assert jitter == 0
    np.testing.assert_allclose(L, np.linalg.cholesky(A))


def test_a_singular_matrix_gets_a_jitter_near_rounding() -> None:
    x = np.random.default_rng(0).normal(size=(50, 3))
    A = x @ x.T
    L, jitter = jittered_cholesky(A)
    assert 0 < jitter < 1e-9
    np.testing.assert_allclose(L @ L.T, A, atol=1e-8)


@pytest.mark.parametrize("bad", [-np.eye(3), np.full((2, 2), np.nan)])
def test_what_is_not_a_covariance_is_refused(bad: np.ndarray) -> None:
    with pytest.raises(FactorisationError, match="K:"):
        jittered_cholesky(bad)


def test_pivoting_finds_the_rank() -> None:
    x = np.random.default_rng(1).normal(size=(40, 6))
    A = x @ x.T
    L, pivots = pivoted_cholesky(A, 1e-9)
    assert len(pivots) == 6
    assert len(set(pivots.tolist())) == 6
    np.testing.assert_allclose(L @ L.T, A[np.ix_(pivots, pivots)], atol=1e-12)
    residual = A - A[:, pivots] @ np.linalg.solve(A[np.ix_(pivots, pivots)], A[pivots])
    assert np.abs(residual).max() < 1e-8


def test_pivoting_nothing() -> None:
    L, pivots = pivoted_cholesky(np.zeros((0, 0)), 1e-9)
    assert L.shape == (0, 0)
    assert len(pivots) == 0


def test_triangular_solves() -> None:
    L = np.array([[2.0, 0.0], [1.0, 3.0]])
    b = np.array([1.0, 2.0])
    np.testing.assert_allclose(L @ solve_lower(L, b), b)
    np.testing.assert_allclose(L.T @ solve_lower(L, b, transposed=True), b)
