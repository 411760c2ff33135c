"""Machine code against the plain forms: the same numbers, the same picks, the same arms."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agents
from agents.core.batch import LazyBatch
from gpbandit_envs.gp import SE
from gpbandit_envs.gp import compiled as module
from gpbandit_envs.gp.kernel_rows import KernelRows
from gpbandit_envs.gp.sketch import SketchedArmPosterior
from gpbandit_envs.problem import Problem
from tests.agents.play import noisy, play

needs_numba = pytest.mark.skipif(find_spec("numba") is None, reason="numba is not installed; pip install '.[fast]'")


def forget() -> None:
    """Decide anew, at the next call, whether there is numba."""
    module._compiler.cache_clear()
    module.compiled.cache_clear()


@pytest.fixture
def switch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bool], None]]:
    """Turns machine code on or off."""

    def turn(on: bool) -> None:
        monkeypatch.setenv("GPBANDIT_COMPILED", "1" if on else "0")
        forget()

    yield turn
    monkeypatch.undo()
    forget()


def test_without_numba_or_by_request_all_is_plain(
    monkeypatch: pytest.MonkeyPatch, switch: Callable[[bool], None]
) -> None:
    switch(False)
    assert not module.has_compiler()
    assert module.compiled(forget) is None
    switch(True)
    monkeypatch.setitem(sys.modules, "numba", None)
    assert not module.has_compiler()


@needs_numba
@settings(max_examples=60, deadline=None)
@given(
    p=st.integers(1, 9),
    s=st.integers(0, 11),
    width=st.sampled_from([1, 7, 128, 500, 2500]),
    begin=st.integers(0, 9),
    seed=st.integers(0, 99),
)
def test_few_combinations_are_a_product(p: int, s: int, width: int, begin: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    K, rows = rng.normal(size=(12, width + begin + 3)), rng.permutation(12)[:s]
    C = rng.normal(size=(s, p)).T
    columns = slice(begin, begin + width)
    expected = C @ K[rows, columns]
    np.testing.assert_allclose(module.few_combinations(C, K, rows, columns), expected, rtol=1e-12, atol=1e-12)


@needs_numba
@pytest.mark.parametrize("max_memory", [None, 8 * 300 * 9, 0])
def test_products_with_rows_are_the_same(
    max_memory: int | None, switch: Callable[[bool], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all rows kept in several chunks, with some of them computed anew, and with none kept."""
    monkeypatch.setattr("gpbandit_envs.gp.kernel_rows._CHUNK_BYTES", 1)  # 16 rows a chunk
    rng = np.random.default_rng(1)
    X = rng.random((300, 3))
    C, positions = rng.normal(size=(5, 30)), rng.permutation(40)[:30]
    found = []
    for on in (False, True):
        switch(on)
        assert module.has_compiler() == on
        rows = KernelRows(SE(0.4), X, max_memory)
        rows.add(np.arange(40))
        found.append([rows.product(C[:p], positions) for p in (1, 2, 5)])
    for plain, fast in zip(*found, strict=True):
        np.testing.assert_allclose(fast, plain, rtol=1e-12, atol=1e-12)


@needs_numba
@pytest.mark.parametrize("n_arms", [1, 2, 3, 60])
def test_picks_of_the_best_three_are_the_same(n_arms: int, switch: Callable[[bool], None]) -> None:
    rng = np.random.default_rng(n_arms)
    posterior = SketchedArmPosterior(SE(0.5), rng.random((n_arms, 2)), 0.01)
    arms = np.arange(min(n_arms, 8))
    posterior.record(arms, np.full(len(arms), 20.0), rng.normal(size=len(arms)))
    posterior.embed(arms)
    found = []
    for on in (False, True):
        switch(on)
        batch, total = LazyBatch(posterior, 3.0), 1.0
        while len(batch.picks) < 400:
            batch.next()
            total = batch.take_below(total, 3.0, 400 - len(batch.picks))
        found.append((batch.picks, total))
    assert found[0][0] == found[1][0]
    assert found[0][1] == pytest.approx(found[1][1], rel=1e-12)


@needs_numba
@pytest.mark.parametrize("id", ["BBKB", "BBKB-GlobalLocal", "BKB", "GP-AUCB"])
@pytest.mark.parametrize("seed", range(4))
def test_policies_choose_the_same_arms(id: str, seed: int, switch: Callable[[bool], None]) -> None:
    rng = np.random.default_rng(seed)
    X = rng.random((400, 3))
    mean = np.sin(5 * X[:, 0]) * np.cos(3 * X[:, 1]) + 0.3 * X[:, 2]
    problem = Problem(
        name="test", dim=3, arms=X, kernel=SE((0.3, 0.6)[seed % 2]), noise_std=0.1, norm_bound=1.5, horizon=300
    )
    found = []
    for on in (False, True):
        switch(on)
        found.append(play(agents.make(id, width="practical"), problem, noisy(mean, 0.1, seed), seed))
    assert found[0] == found[1]
