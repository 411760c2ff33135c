"""Kernels: their numbers, gradients, blocks, and features that approximate them."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.gaussian_process import kernels as sk

import gpbandit_envs.gp.kernel_rows as module
from gpbandit_envs.gp import SE, Kernel, Linear, Matern, Polynomial, RationalQuadratic, as_kernel
from gpbandit_envs.gp.features import draw_fourier_sample
from gpbandit_envs.gp.kernel_rows import KernelRows, as_bytes
from gpbandit_envs.gp.kernels import stationary
from gpbandit_envs.gp.sketch import SketchedArmPosterior

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 3)), RNG.normal(size=(7, 3))

PAIRS = [
    (SE(0.7), sk.RBF(0.7)),
    (SE((0.5, 1.0, 2.0)), sk.RBF([0.5, 1.0, 2.0])),
    *[(Matern(1.3, nu), sk.Matern(1.3, nu=nu)) for nu in (0.5, 0.8, 1.0, 1.5, 2.2, 2.5, 7.0, 40.0)],
    (RationalQuadratic(0.9, 2.0), sk.RationalQuadratic(0.9, 2.0)),
    (Linear(offset=4.0), sk.DotProduct(2.0)),
    (3.0 * SE(1.0), sk.ConstantKernel(3.0) * sk.RBF(1.0)),
    (SE(1.0) + Linear(1.0), sk.RBF(1.0) + sk.DotProduct(1.0)),
    (SE(1.0) * Matern(2.0), sk.RBF(1.0) * sk.Matern(2.0, nu=2.5)),
]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=lambda k: str(k)[:30])
def test_agrees_with_scikit_learn(ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(ours(X, Y), theirs(X, Y), rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(ours.diag(X), theirs.diag(X), rtol=1e-13)
    np.testing.assert_allclose(np.diagonal(ours(X, X)), ours.diag(X), rtol=1e-12)


@pytest.mark.parametrize("ours", [ours for ours, _ in PAIRS] + [Polynomial(3, 0.5, 2.0)], ids=str)
def test_positive_semi_definite_and_round_trip(ours: Any) -> None:
    K = ours(X, X)
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-12 * K.max() * len(K)
    assert as_kernel(json.loads(json.dumps(ours.to_spec()))) == ours


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_bessel_form_meets_the_closed_forms(nu: float) -> None:
    r = np.geomspace(1e-12, 60, 200)[:, None]
    origin = np.zeros((1, 1))
    np.testing.assert_allclose(Matern(1.0, nu)(r, origin), Matern(1.0, nu * (1 + 1e-12))(r, origin), rtol=1e-8)


@pytest.mark.parametrize("nu", [0.3, 2.1, 30.0, 100.0])
def test_bessel_form_survives_tiny_and_huge_distances(nu: float) -> None:
    r = np.r_[0.0, np.geomspace(1e-300, 1e6, 500)][:, None]
    k = Matern(1.0, nu)(r, np.zeros((1, 1)))[:, 0]
    assert np.isfinite(k).all()
    assert k[0] == 1.0
    assert (np.diff(k) <= 1e-12).all()
    assert k[-1] == 0.0


@pytest.mark.parametrize(
    ("spec", "error", "words"),
    [
        ({"name": "sse"}, ValueError, 'expected "name" to be one of se, matern'),
        ({"name": "se", "lengthscales": 1}, ValueError, "unknown parameter 'lengthscales'"),
        ({"name": "se", "lengthscale": 0}, ValueError, "lengthscale: expected a finite number > 0, got 0"),
        ({"name": "se", "lengthscale": "1"}, TypeError, "lengthscale: expected a finite number > 0"),
        ({"name": "se", "lengthscale": []}, ValueError, "empty sequence"),
        ({"name": "matern", "nu": 1000}, ValueError, "nu: expected at most 100"),
        ({"name": "scale", "variance": 2}, ValueError, "missing parameter 'kernel'"),
        ({"name": "sum", "kernels": [{"name": "se"}]}, ValueError, "at least two"),
        ({"name": "polynomial", "degree": 1.5}, ValueError, "degree: expected an integer"),
        ({"name": "linear", "offset": -1}, ValueError, "offset"),
        ("se", TypeError, "kernel: expected a spec"),
    ],
)
def test_bad_specs_are_named(spec: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        as_kernel(spec)


def test_bad_shapes_are_named() -> None:
    with pytest.raises(ValueError, match=r"X, Y: expected shapes"):
        SE()(X, Y[:, :2])
    with pytest.raises(ValueError, match="lengthscale: expected 3 entries"):
        SE((1.0, 2.0))(X, Y)


DIFFERENTIABLE = [ours for ours, _ in PAIRS] + [Polynomial(3, 0.5, 2.0), Linear(1.0) * Matern((0.5, 1.0, 2.0), 1.5)]


@pytest.mark.parametrize("kernel", DIFFERENTIABLE, ids=str)
def test_gradients_with_respect_to_inputs_are_finite_differences(kernel: Any) -> None:
    W, step = RNG.normal(size=(len(X), len(Y))), 1e-6
    gradient, of_diag = kernel.with_input_gradient(X, Y)[1](W), kernel.diag_gradient(X)
    for j in range(X.shape[1]):
        ahead, behind = X.copy(), X.copy()
        ahead[:, j] += step
        behind[:, j] -= step
        slope = (W * (kernel(ahead, Y) - kernel(behind, Y))).sum(axis=1) / (2 * step)
        np.testing.assert_allclose(gradient[:, j], slope, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(
            of_diag[:, j], (kernel.diag(ahead) - kernel.diag(behind)) / (2 * step), rtol=1e-6, atol=1e-7
        )


@pytest.mark.parametrize("kernel", [*DIFFERENTIABLE, 2.0 * SE(0.7), 0.5 * (SE() + Linear())], ids=str)
def test_covariances_come_with_their_gradients_bit_for_bit(kernel: Any) -> None:
    W = RNG.normal(size=(1, len(Y)))
    K, gradient = kernel.with_input_gradient(X, Y)
    np.testing.assert_array_equal(K, kernel(X, Y))
    np.testing.assert_array_equal(gradient(W), gradient(np.broadcast_to(W, K.shape)))


@pytest.mark.parametrize("kernel", DIFFERENTIABLE, ids=str)
def test_gradients_survive_coinciding_and_distant_inputs(kernel: Any) -> None:
    far = np.vstack([X[:3], X[:1] + 1e-200, X[:1] + 1e6])
    gradient = kernel.with_input_gradient(X[:3], far)[1](np.ones((3, 5)))
    assert np.isfinite(gradient).all()


def test_a_kernel_without_a_gradient_says_so() -> None:
    class Bare(SE):
        with_input_gradient = Kernel.with_input_gradient

    with pytest.raises(TypeError, match="offers no gradient"):
        Bare().with_input_gradient(X, Y)


@pytest.mark.parametrize("kernel", [SE(0.3), Matern(0.3), Matern(0.3, 1.5), Matern(0.3, 0.8), RationalQuadratic(0.3)])
def test_large_matrices_in_blocks_are_those_at_once(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y = np.random.default_rng(0).random((2, 90, 2))
    at_once = kernel(X, Y)
    monkeypatch.setattr(stationary, "_BLOCK", 1_000)
    np.testing.assert_array_equal(kernel(X, Y), at_once)


# ---- random Fourier features have the kernel's covariance, and gradients that are theirs ----


KERNELS = [
    SE(0.3),
    SE((0.2, 0.7)),
    Matern(0.4, nu=0.5),
    Matern((0.3, 0.5), nu=2.5),
    RationalQuadratic(0.3, alpha=0.7),
    2.5 * SE(0.5) * Matern(0.8, nu=1.5),
    SE(0.2) + 0.5 * RationalQuadratic((0.4, 0.9), alpha=2.0),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_covariance(kernel: Kernel) -> None:
    """`E cos(<omega, x> + b) cos(<omega, y> + b) * 2 variance` over the features, within 5 standard errors."""
    X = np.random.default_rng(1).random((12, 2))
    sample = draw_fourier_sample(kernel, 2, 40_000, np.random.default_rng(0))
    # The weights' variance is what a sum has in place of a factor: each term keeps its own.
    terms = np.split(np.arange(len(sample.weights)), len(sample.weights) // 40_000)
    K, error = np.zeros((12, 12)), np.zeros((12, 12))
    for rows in terms:
        features = np.cos(X @ sample.frequencies[rows].T + sample.phases[rows])
        products = sample.weights[rows].var() * len(rows) * features[:, None] * features[None]
        K += products.mean(axis=2)
        error += products.std(axis=2) / np.sqrt(len(rows)) + 0.01 * np.abs(products.mean(axis=2))
    assert (np.abs(K - kernel(X, X)) < 5 * error).all()


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_gradient(kernel: Kernel) -> None:
    sample = draw_fourier_sample(kernel, 2, 200, np.random.default_rng(0))
    for x in np.random.default_rng(2).random((5, 2)):
        error = check_grad(lambda z: sample(z[None])[0], lambda z: sample.gradient(z[None])[0], x)
        assert error < 1e-6 * sample.curvature_bound


def test_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = draw_fourier_sample(SE(0.2), 3, 64, np.random.default_rng(0))
    X = np.random.default_rng(0).random((100, 3))
    whole = sample(X)
    monkeypatch.setattr("gpbandit_envs.gp.features._CHUNK", 7)
    np.testing.assert_allclose(sample(X), whole, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kernel", [Linear(), SE(0.3) * (SE(0.2) + Matern(0.3))], ids=str)
def test_kernels_without_features(kernel: Kernel) -> None:
    with pytest.raises(TypeError, match="random features need an SE, Matern or rational quadratic kernel"):
        draw_fourier_sample(kernel, 2, 8, np.random.default_rng(0))


# ---- kernel rows ----


MANY = np.random.default_rng(0).random((50, 2))
K = SE(0.3)(MANY, MANY)
ARMS = np.random.default_rng(1).permutation(50)[:40]


def filled(max_memory: int | None = None) -> KernelRows:
    rows = KernelRows(SE(0.3), MANY, max_memory)
    for part in np.split(ARMS, [1, 5, 29]):
        np.testing.assert_array_equal(rows.add(part), [list(ARMS).index(a) for a in part])
    return rows


@pytest.mark.parametrize("kept", [None, 0, 7, 39, 1000])
@pytest.mark.parametrize("chunk", [16, 50])
@pytest.mark.parametrize("block", [1024, 2**22])
def test_products_do_not_depend_on_where_rows_are_kept(
    kept: int | None, chunk: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CHUNK_BYTES", chunk * 8 * len(MANY))
    monkeypatch.setattr(module, "_BLOCK_BYTES", block)
    rows = filled(None if kept is None else kept * 8 * len(MANY))
    assert rows.n_kept == 0
    rng = np.random.default_rng(2)
    np.testing.assert_allclose(rows.gram, K[np.ix_(ARMS, ARMS)], atol=1e-14)
    for p in (1, 3, 4, 20):
        for positions in (None, np.array([39, 3, 0, 20]), rng.permutation(40)[:30]):
            C = rng.normal(size=(p, 40 if positions is None else len(positions)))
            C[:, ::2] = 0.0
            expected = C @ K[ARMS if positions is None else ARMS[positions]]
            np.testing.assert_allclose(rows.product(C, positions), expected, atol=1e-13)
    np.testing.assert_allclose(rows.product(np.ones((1, 40)))[0], K[ARMS].sum(axis=0), atol=1e-12)
    assert rows.n_kept == min(40, 40 if kept is None else kept)
    np.testing.assert_allclose(rows.product(np.ones((2, 5))), np.ones((2, 5)) @ K[ARMS[:5]], atol=1e-13)
    np.testing.assert_array_equal(rows.product(np.zeros((2, 40))), np.zeros((2, 50)))
    positions, arms = np.array([39, 0, 17]), np.array([4, 4, 49])
    np.testing.assert_allclose(rows.at(positions, arms), K[np.ix_(ARMS[positions], arms)], atol=1e-14)
    assert rows.at(np.zeros(0, np.int64), arms).shape == (0, 3)


def test_rows_out_of_use_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_KEEP_BYTES", 8 * 8 * len(MANY))
    rows = filled()
    for start in range(0, 36, 4):
        positions = np.arange(start, start + 4)
        np.testing.assert_allclose(rows.product(np.ones((1, 4)), positions)[0], K[ARMS[positions]].sum(axis=0))
        assert rows.n_kept == min(start + 4, 8)
    rows.product(np.ones((1, 4)), np.array([0, 1, 32, 33]))
    assert np.flatnonzero(rows._slot[ARMS] >= 0).tolist() == [0, 1, 30, 31, 32, 33, 34, 35]


def test_many_arms_are_taken_in_blocks_of_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(3).random((5000, 1))
    monkeypatch.setattr(module, "_BLOCK_COLUMNS", 1000)
    monkeypatch.setattr(module, "_BLOCK_BYTES", 8 * 1024)
    rows = KernelRows(SE(0.2), points)
    rows.add(np.arange(6))
    C = np.random.default_rng(4).normal(size=(2, 6))
    assert len(list(rows.products(C))) == 5
    np.testing.assert_allclose(rows.product(C), C @ SE(0.2)(points[:6], points), atol=1e-13)


@pytest.mark.parametrize("kept", [None, 4])
def test_long_products_gather_rows_of_several_chunks(kept: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(3).random((5000, 1))
    monkeypatch.setattr(module, "_CHUNK_BYTES", 16 * 8 * 5000)
    monkeypatch.setattr(module, "_BLOCK_BYTES", 8 * 1024)
    rows = KernelRows(SE(0.2), points, None if kept is None else kept * 8 * 5000)
    rows.add(np.arange(40))
    C, positions = np.random.default_rng(4).normal(size=(15, 30)), np.random.default_rng(5).permutation(40)[:30]
    blocks = list(rows.products(C, positions))
    assert [columns.stop - columns.start for columns, _ in blocks] == [1024] * 4 + [904]
    expected = C @ SE(0.2)(points[positions], points)
    np.testing.assert_allclose(np.concatenate([block for _, block in blocks], axis=1), expected, atol=1e-12)


@pytest.mark.parametrize("kernel", [SE(0.3), 2.0 * Matern(0.3), Linear(0.5)], ids=repr)
@pytest.mark.parametrize("kept", [None, 0, 7, 1000])
@pytest.mark.parametrize("chunk", [16, 50])
def test_whole_rows_are_copied_and_their_bits_do_not_depend_on_what_else_is_kept(
    kernel: Kernel, kept: int | None, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CHUNK_BYTES", chunk * 8 * len(MANY))
    rows = KernelRows(kernel, MANY, None if kept is None else kept * 8 * len(MANY))
    one = {arm: KernelRows(kernel, MANY).take(np.array([arm]))[0] for arm in range(50)}
    rng = np.random.default_rng(6)
    out = np.empty((9, 50))
    for _ in range(20):
        arms = rng.integers(0, 30, 9)
        assert rows.take(arms, out=out) is out
        np.testing.assert_array_equal(out, [one[arm] for arm in arms.tolist()])
        np.testing.assert_allclose(out, kernel(MANY[arms], MANY), rtol=1e-13, atol=1e-15)
        np.testing.assert_array_equal(out[np.arange(9), arms], kernel.diag(MANY)[arms])
        out[:] = np.nan  # a copy: nothing that is kept changes
        np.testing.assert_array_equal(rows.take(arms), [one[arm] for arm in arms.tolist()])
    assert len(rows) == 0
    assert rows.n_kept == (30 if kept is None else min(30, kept))


def test_copied_rows_are_kept_from_their_second_use_on_without_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_KEEP_BYTES", 8 * 8 * len(MANY))
    rows = KernelRows(SE(0.3), MANY)
    for arm in ARMS:
        rows.take(np.array([arm]))
    assert rows.n_kept == 0
    for n, arm in enumerate(ARMS):
        assert rows.n_kept == n
        np.testing.assert_array_equal(rows.take(np.array([arm]))[0], KernelRows(SE(0.3), MANY).take(np.array([arm]))[0])
    restored = pickle.loads(pickle.dumps(rows))
    restored.take(ARMS)
    assert restored.n_kept == 40


def test_a_budget_changes_no_posterior() -> None:
    rng = np.random.default_rng(5)
    free, bound = (SketchedArmPosterior(SE(0.3), MANY, 1e-3, max_memory=m) for m in (None, 6 * 8 * len(MANY)))
    for arm in rng.integers(0, 50, 60).tolist():
        y = rng.normal(size=1)
        for p in (free, bound):
            p.record(np.array([arm]), np.ones(1), y)
            p.embed(np.sort(p.rows.arms)[::2] if len(p.rows) > 1 else p.rows.arms)
    np.testing.assert_allclose(bound.mean, free.mean, atol=1e-8)
    np.testing.assert_allclose(bound.variance, free.variance, atol=1e-10)
    np.testing.assert_allclose(
        bound.covariance(np.arange(3), np.arange(9)), free.covariance(np.arange(3), np.arange(9)), atol=1e-9
    )
    assert bound.rows.n_kept == 6
    assert bound.rows.nbytes < free.rows.nbytes


def test_memory_is_given_in_bytes_or_units() -> None:
    assert [as_bytes(m) for m in (7, "12B", "1.5 kB", "1GB", " 2 tb ")] == [7, 12, 1500, 10**9, 2 * 10**12]
    for wrong in ("1", "GB", "-1GB", "1 gibibyte"):
        with pytest.raises(ValueError, match="max_memory: expected bytes or a text such as '1GB'"):
            as_bytes(wrong)
    with pytest.raises(ValueError, match="at least 0 bytes, got -1"):
        as_bytes(-1)
    with pytest.raises(TypeError, match="max_memory"):
        as_bytes(1.5)  # type: ignore[arg-type]
