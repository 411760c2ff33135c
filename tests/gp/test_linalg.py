"""Linear algebra and numerics below the posteriors: factors, climbs, other array libraries."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from gpbandit_envs.arrays import Device, is_out_of_memory, special
from gpbandit_envs.gp import SE, ActiveDims, Linear, Matern, Polynomial, RationalQuadratic
from gpbandit_envs.gp import many as module
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.gp.lbfgs import minimise_within
from gpbandit_envs.gp.linalg import (
    FactorisationError,
    jittered_cholesky,
    low_rank_root,
    pivoted_cholesky,
    solve_lower,
    whitened,
)
from gpbandit_envs.gp.many import CovarianceRows


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


@pytest.mark.parametrize("rank", [3, 40, 500])
def test_the_low_rank_root_keeps_marginals(rank: int) -> None:
    X = np.random.default_rng(0).random((120, 2))
    root, rest = low_rank_root(SE(0.3), X, 1e-10, rank)
    assert root.shape[1] <= min(rank, 120)
    np.testing.assert_allclose(np.einsum("ij,ij->i", root, root) + rest, np.ones(120), atol=1e-9)
    if rank == 500:
        np.testing.assert_allclose(root @ root.T, SE(0.3)(X, X), atol=1e-7)


@pytest.mark.parametrize("p", [1, 2, 7])
def test_whitened_rows_are_what_observations_take_off_a_covariance(p: int) -> None:
    X = np.random.default_rng(1).random((30, 2))
    K, noise = SE(0.3)(X, X), np.linspace(0.01, 0.2, p)
    B = whitened(K[:p], K[:p, :p], noise)
    expected = K[:, :p] @ np.linalg.solve(K[:p, :p] + np.diag(noise), K[:p])
    np.testing.assert_allclose(B.T @ B, expected, atol=1e-12)


# ---- l-BFGS-B: every step is SciPy's own ----


def test_every_step_is_scipys() -> None:
    asked: list[np.ndarray] = []

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        asked.append(x.copy())
        return float(rosen(x)), rosen_der(x)

    start, bounds = np.array([-1.2, 1.0, 0.5]), [(-2.0, 0.7)] * 3
    ours = minimise_within(loss, start, bounds, maxiter=30, ftol=1e-10)
    steps = asked.copy()
    asked.clear()
    theirs = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 30, "ftol": 1e-10})
    np.testing.assert_array_equal(steps, asked)
    np.testing.assert_array_equal(ours.x, theirs.x)
    assert ours.fun == theirs.fun


# ---- kernels and posteriors in other namespaces ----


X = np.random.default_rng(0).random((12, 3))


@pytest.mark.parametrize("name", ["array_api_strict", "torch", "numpy"])
@pytest.mark.parametrize(
    "kernel",
    [
        SE((0.2, 0.3, 0.4)),
        Matern(0.3, 0.5),
        Matern(0.3, 1.5) + 2.0 * Matern(0.3, 2.5),
        RationalQuadratic(0.4, 2.0) * SE(0.5),
        Polynomial(3, 0.5, 0.7),
        ActiveDims(Linear(), (2, 0)),
        Matern(0.3, 1.1),
        ActiveDims(Matern(0.3, 1.1), (0,)),
        2.0 * (SE() + Matern(0.3, 1.1)),
    ],
    ids=str,
)
def test_rows_that_do_not_all_fit_are_the_kernels(kernel: Kernel, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(name)
    monkeypatch.setattr(module, "_GRAM_BYTES", 0)
    device = Device(name)
    rows = device.get(CovarianceRows(kernel, X, device).take(device.put(np.array([3, 7, 3]))))
    np.testing.assert_allclose(rows, kernel(X[[3, 7, 3]], X), rtol=1e-12)


@pytest.mark.parametrize("name", ["array_api_strict", "torch"])
def test_functions_that_the_standard_lacks(name: str) -> None:
    pytest.importorskip(name)
    device, x = Device(name), np.linspace(-3, 3, 7)
    np.testing.assert_allclose(device.get(special("ndtr", device.put(x))), special("ndtr", x), rtol=1e-12)


def test_memory_that_does_not_suffice_has_many_names() -> None:
    class OutOfMemoryError(RuntimeError): ...

    assert all(map(is_out_of_memory, (MemoryError(), OutOfMemoryError(), RuntimeError("can't allocate memory"))))
    assert not is_out_of_memory(RuntimeError("no"))
    assert Device().free_bytes() > 2**20
