"""Machine code against the plain forms: the same numbers, the same picks, the same arms."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from time import process_time

import numpy as np
import pytest

import agents
from agents.core.batch import LazyBatch
from gpbandit_envs.gp import SE
from gpbandit_envs.gp import compiled as module
from gpbandit_envs.gp.embedding import AmbiguousRankError, Embedding
from gpbandit_envs.gp.kernel_rows import KernelRows
from gpbandit_envs.gp.sketch import SketchedArmPosterior
from gpbandit_envs.problem import Problem
from leaderboards.play.run import policy_clock
from tests.agents.play import noisy, play

needs_numba = pytest.mark.skipif(find_spec("numba") is None, reason="numba is not installed; pip install '.[fast]'")
# The loops as Python runs them, on small problems, and as numba compiles them.
FORMS = ["interpreted", pytest.param("compiled", marks=needs_numba)]


def forget() -> None:
    """Decide anew, at the next call, whether there is numba."""
    module._compiler.cache_clear()
    module.compiled.cache_clear()


@pytest.fixture
def switch() -> Iterator[Callable[[str], None]]:
    """Turns to one of the forms: "plain", "interpreted" or "compiled"."""
    patch = pytest.MonkeyPatch()

    def turn(form: str) -> None:
        patch.undo()
        forget()
        patch.setenv("GPBANDIT_COMPILED", "0" if form == "plain" else "1")
        if form == "interpreted":
            patch.setattr(module, "_compiler", cache(lambda: lambda **_: lambda function: function))
        assert module.has_compiler() == (form != "plain")

    yield turn
    patch.undo()
    forget()


def test_without_numba_or_by_request_all_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPBANDIT_COMPILED", "0")
    forget()
    assert not module.has_compiler()
    assert module.compiled(forget) is None
    monkeypatch.setenv("GPBANDIT_COMPILED", "1")
    monkeypatch.setitem(sys.modules, "numba", None)
    forget()
    assert not module.has_compiler()
    forget()


def _add(x: float, y: float) -> float:
    return x + y


def test_what_a_loop_takes_to_become_ready_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once: at the first call. Where the project times policies, `leaderboards.play`, that is not theirs."""

    def code(function: Callable[..., float]) -> Callable[..., float]:
        calls = []

        def call(*args: float) -> float:
            calls.append(args)
            end = process_time() + 0.05 * (len(calls) == 1)
            while process_time() < end:
                pass
            return function(*args)

        return call

    forget()
    monkeypatch.setattr(module, "_compiler", cache(lambda: lambda **_: code))
    loop = module.compiled(_add)
    assert loop is not None
    before, clock = module.loading_seconds(), policy_clock()
    assert loop(1.0, 2.0) == 3.0
    ready = module.loading_seconds()
    assert ready - before >= 0.05
    assert policy_clock() - clock < 0.05
    assert [loop(2.0, 2.0) for _ in range(3)] == [4.0] * 3
    assert module.loading_seconds() == ready
    monkeypatch.undo()
    forget()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("p", range(1, 10))
def test_few_combinations_are_a_product(p: int, form: str, switch: Callable[[str], None]) -> None:
    switch(form)
    rng = np.random.default_rng(p)
    for s, width, begin in ((0, 5, 0), (1, 1, 0), (3, 7, 2), (4, 128, 0), (11, 300, 9)):
        K, rows = rng.normal(size=(12, width + begin + 3)), rng.permutation(12)[:s]
        C = rng.normal(size=(s, p)).T
        columns = slice(begin, begin + width)
        found = module.few_combinations(C, K, rows, columns)
        np.testing.assert_allclose(found, C @ K[rows, columns], rtol=1e-12, atol=1e-12)


def events(seed: int, lam: float) -> list[np.ndarray | str]:
    """What single pulls, arms that join and arms that leave do to an embedding; some of the arms are all but equal."""
    rng = np.random.default_rng(seed)
    X = rng.random((24, 2))
    X[12:16] = X[:4] + 1e-6
    rows = KernelRows(SE(0.15), X)
    positions = rows.add(np.arange(24))
    n, s = np.zeros(24), rng.normal(size=24)
    embedding = Embedding(rows, lam)
    embedding.rebuild(positions[:6], n)
    seen: list[np.ndarray | str] = []
    for _ in range(60):
        inside = set(embedding.S.tolist())
        k = int(rng.integers(24))
        try:
            if rng.random() < 0.5:
                count = float(rng.integers(1, 5))
                n[k] += count
                change = embedding.pull(np.array([k]), np.array([count]))
            elif k not in inside:
                change = embedding.add(np.array([k]), n)
            elif len(inside) > 3:
                change = embedding.remove(np.array([k]))
            else:
                continue
        except AmbiguousRankError:
            seen.append("ambiguous")
            continue
        seen += [change.positions, change.rows**2, change.signs, embedding.S, embedding.P, embedding.T]
        seen += [embedding.weights(n, s), *embedding.norms_and_variances(positions)]
    return seen


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("lam", [1e-3, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_steps_of_an_embedding_are_the_same(seed: int, lam: float, form: str, switch: Callable[[str], None]) -> None:
    switch("plain")
    plain = events(seed, lam)
    switch(form)
    fast = events(seed, lam)
    assert len(plain) == len(fast) > 100
    for a, b in zip(plain, fast):
        if isinstance(a, str) or isinstance(b, str):
            assert isinstance(a, str) == isinstance(b, str)
        else:
            np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-7 * max(1.0, float(np.abs(a).max(initial=0.0))))


@pytest.mark.parametrize("form", ["plain", *FORMS])
def test_an_arm_that_equals_one_of_the_dictionary_never_joins(form: str, switch: Callable[[str], None]) -> None:
    switch(form)
    X = np.random.default_rng(0).random((20, 2))
    X[10:] = X[:10]
    rows = KernelRows(SE(0.3), X)
    positions, n = rows.add(np.arange(20)), np.ones(20)
    embedding = Embedding(rows, 0.1)
    embedding.rebuild(positions[:10], n)
    T, P = embedding.T.copy(), embedding.P.copy()
    for k in range(10, 20):
        # Whether rounding leaves nothing of its variance or next to nothing, nothing changes.
        with suppress(AmbiguousRankError):
            assert len(embedding.add(np.array([k]), n).rows) == 0
    assert sorted(embedding.S.tolist()) == list(range(10))
    np.testing.assert_array_equal(embedding.T, T)
    np.testing.assert_array_equal(embedding.P, P)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("max_memory", [None, 8 * 300 * 9, 0])
def test_products_with_rows_are_the_same(
    max_memory: int | None, form: str, switch: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all rows kept in several chunks, with some of them computed anew, and with none kept."""
    monkeypatch.setattr("gpbandit_envs.gp.kernel_rows._CHUNK_BYTES", 1)  # 16 rows a chunk
    rng = np.random.default_rng(1)
    X = rng.random((300, 3))
    C, positions = rng.normal(size=(5, 30)), rng.permutation(40)[:30]
    found = []
    for each in ("plain", form):
        switch(each)
        rows = KernelRows(SE(0.4), X, max_memory)
        rows.add(np.arange(40))
        found.append([rows.product(C[:p], positions) for p in (1, 2, 5)])
    for plain, fast in zip(*found, strict=True):
        np.testing.assert_allclose(fast, plain, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_arms", [1, 2, 3, 60])
def test_picks_of_the_best_three_are_the_same(n_arms: int, form: str, switch: Callable[[str], None]) -> None:
    rng = np.random.default_rng(n_arms)
    posterior = SketchedArmPosterior(SE(0.5), rng.random((n_arms, 2)), 0.01)
    arms = np.arange(min(n_arms, 8))
    posterior.record(arms, np.full(len(arms), 20.0), rng.normal(size=len(arms)))
    posterior.embed(arms)
    found = []
    for each in ("plain", form):
        switch(each)
        batch, total = LazyBatch(posterior, 3.0), 1.0
        while len(batch.picks) < 400:
            batch.next()
            total = batch.take_below(total, 3.0, 400 - len(batch.picks))
        found.append((batch.picks, total))
    assert found[0][0] == found[1][0]
    assert found[0][1] == pytest.approx(found[1][1], rel=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("id", ["BBKB", "BBKB-GlobalLocal", "BKB", "GP-AUCB"])
@pytest.mark.parametrize("seed", range(2))
def test_policies_choose_the_same_arms(id: str, seed: int, form: str, switch: Callable[[str], None]) -> None:
    n_arms, horizon = (400, 300) if form == "compiled" else (60, 80)
    rng = np.random.default_rng(seed)
    X = rng.random((n_arms, 3))
    mean = np.sin(5 * X[:, 0]) * np.cos(3 * X[:, 1]) + 0.3 * X[:, 2]
    problem = Problem(
        name="test", dim=3, arms=X, kernel=SE((0.3, 0.6)[seed % 2]), noise_std=0.1, norm_bound=1.5, horizon=horizon
    )
    found = []
    for each in ("plain", form):
        switch(each)
        found.append(play(agents.make(id, width="practical"), problem, noisy(mean, 0.1, seed), seed))
    assert found[0] == found[1]
