from __future__ import annotations

import pickle

import numpy as np
import pytest

import gpbandit_envs.gp.kernel_rows as module
from gpbandit_envs.gp import SE, Kernel, Linear, Matern
from gpbandit_envs.gp.kernel_rows import KernelRows, as_bytes
from gpbandit_envs.gp.sketch import SketchedArmPosterior

X = np.random.default_rng(0).random((50, 2))
K = SE(0.3)(X, X)
ARMS = np.random.default_rng(1).permutation(50)[:40]


def filled(max_memory: int | None = None) -> KernelRows:
    rows = KernelRows(SE(0.3), X, max_memory)
    for part in np.split(ARMS, [1, 5, 29]):
        np.testing.assert_array_equal(rows.add(part), [list(ARMS).index(a) for a in part])
    return rows


@pytest.mark.parametrize("kept", [None, 0, 7, 39, 1000])
@pytest.mark.parametrize("chunk", [16, 50])
@pytest.mark.parametrize("block", [1024, 2**22])
def test_products_do_not_depend_on_where_rows_are_kept(
    kept: int | None, chunk: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CHUNK_BYTES", chunk * 8 * len(X))
    monkeypatch.setattr(module, "_BLOCK_BYTES", block)
    rows = filled(None if kept is None else kept * 8 * len(X))
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
    monkeypatch.setattr(module, "_KEEP_BYTES", 8 * 8 * len(X))
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
    monkeypatch.setattr(module, "_CHUNK_BYTES", chunk * 8 * len(X))
    rows = KernelRows(kernel, X, None if kept is None else kept * 8 * len(X))
    one = {arm: KernelRows(kernel, X).take(np.array([arm]))[0] for arm in range(50)}
    rng = np.random.default_rng(6)
    out = np.empty((9, 50))
    for _ in range(20):
        arms = rng.integers(0, 30, 9)
        assert rows.take(arms, out=out) is out
        np.testing.assert_array_equal(out, [one[arm] for arm in arms.tolist()])
        np.testing.assert_allclose(out, kernel(X[arms], X), rtol=1e-13, atol=1e-15)
        np.testing.assert_array_equal(out[np.arange(9), arms], kernel.diag(X)[arms])
        out[:] = np.nan  # a copy: nothing that is kept changes
        np.testing.assert_array_equal(rows.take(arms), [one[arm] for arm in arms.tolist()])
    assert len(rows) == 0
    assert rows.n_kept == (30 if kept is None else min(30, kept))


def test_copied_rows_are_kept_from_their_second_use_on_without_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_KEEP_BYTES", 8 * 8 * len(X))
    rows = KernelRows(SE(0.3), X)
    for arm in ARMS:
        rows.take(np.array([arm]))
    assert rows.n_kept == 0
    for n, arm in enumerate(ARMS):
        assert rows.n_kept == n
        np.testing.assert_array_equal(rows.take(np.array([arm]))[0], KernelRows(SE(0.3), X).take(np.array([arm]))[0])
    restored = pickle.loads(pickle.dumps(rows))
    restored.take(ARMS)
    assert restored.n_kept == 40


def test_a_budget_changes_no_posterior() -> None:
    rng = np.random.default_rng(5)
    free, bound = (SketchedArmPosterior(SE(0.3), X, 1e-3, max_memory=m) for m in (None, 6 * 8 * len(X)))
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
