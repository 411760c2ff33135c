"""Acquisition maximisation finds maxima that are known, and says so when it is given nonsense."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from agents.core.maximise import finite_values, maximise
from gpbandit_envs.domain import Dimension, Domain

Pair = tuple[np.ndarray, np.ndarray]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def quadratic(centre: np.ndarray) -> Callable[[np.ndarray], Pair]:
    """`-|x - centre|^2`."""
    return lambda X: (-np.square(X - centre).sum(axis=1), -2 * (X - centre))


def hartmann6(X: np.ndarray) -> Pair:
    """Maximum 3.32236801 at a known point."""
    A = np.array(
        [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
    )
    P = 1e-4 * np.array(
        [
            [1312, 1696, 5569, 124, 8283, 5886],
            [2329, 4135, 8307, 3736, 1004, 9991],
            [2348, 1451, 3522, 2883, 3047, 6650],
            [4047, 8828, 8732, 5743, 1091, 381],
        ]
    )
    difference = X[:, None, :] - P
    terms = np.array([1.0, 1.2, 3.0, 3.2]) * np.exp(-(A * difference**2).sum(axis=2))
    return terms.sum(axis=1), -2 * (terms[:, :, None] * A * difference).sum(axis=1)


def peaks(X: np.ndarray) -> Pair:
    """Four bumps of nearly equal height in a plane that is flat between them; the highest, 1, is at (0.8, 0.3)."""
    centres = np.array([[0.8, 0.3], [0.2, 0.2], [0.3, 0.8], [0.7, 0.7]])
    heights = np.array([1.0, 0.97, 0.98, 0.96])
    difference = X[:, None, :] - centres
    terms = heights * np.exp(-0.5 * (difference**2).sum(axis=2) / 0.05**2)
    return terms.sum(axis=1), -(terms[:, :, None] * difference).sum(axis=1) / 0.05**2


@pytest.mark.parametrize("seed", range(5))
def test_known_maxima(seed: int) -> None:
    x, value = maximise(hartmann6, Domain.cube(6), rng(seed))
    assert value == pytest.approx(3.322368011415512, abs=1e-8)
    np.testing.assert_allclose(x, [0.20168952, 0.15001069, 0.47687398, 0.27533243, 0.31165162, 0.65730053], atol=1e-4)
    x, value = maximise(peaks, Domain.cube(2), rng(seed))
    np.testing.assert_allclose(x, [0.8, 0.3], atol=1e-4)


def test_maximum_on_the_border_and_in_twelve_dimensions() -> None:
    centre = np.r_[-0.5, 1.5, rng(3).random(10)]
    x, value = maximise(quadratic(centre), Domain.cube(12), rng())
    np.testing.assert_allclose(x, np.clip(centre, 0, 1), atol=1e-6)
    assert value == quadratic(centre)(x[None])[0][0]


@pytest.mark.parametrize(("scale", "shift"), [(1e-12, 0.0), (1e9, 0.0), (1.0, 1e6)])
def test_values_of_any_scale(scale: float, shift: float) -> None:
    """Expected improvement late in a run is of the order 1e-12: stopping rules must be relative to the spread."""

    def rescaled(X: np.ndarray) -> Pair:
        a, G = hartmann6(X)
        return scale * a + shift, scale * G

    x, _ = maximise(rescaled, Domain.cube(6), rng())
    np.testing.assert_allclose(x, maximise(hartmann6, Domain.cube(6), rng())[0], atol=1e-3)


def test_equal_generators_equal_results_and_others_differ() -> None:
    one, other = (maximise(peaks, Domain.cube(2), rng(7), starts=1, iterations=1) for _ in range(2))
    np.testing.assert_array_equal(one[0], other[0])
    assert (maximise(peaks, Domain.cube(2), rng(8), starts=1, iterations=1)[0] != one[0]).any()


def test_a_generator_restored_from_its_state_gives_the_same() -> None:
    """Policies save the state of their generator, and not how many children it has had."""
    one, other = rng(1), rng(2)
    maximise(peaks, Domain.cube(2), one)
    other.bit_generator.state = one.bit_generator.state
    expected = maximise(peaks, Domain.cube(2), one, starts=1, iterations=1)[0]
    np.testing.assert_array_equal(maximise(peaks, Domain.cube(2), other, starts=1, iterations=1)[0], expected)


def test_never_worse_than_a_candidate_or_an_extra_point() -> None:
    """A needle too thin for any candidate is found where it is pointed at."""
    needle = np.array([0.123, 0.456, 0.789])

    def thin(X: np.ndarray) -> Pair:
        difference = X - needle
        a = np.exp(-0.5 * (difference**2).sum(axis=1) / 1e-6)
        return a + 1e-3 * X[:, 0], np.column_stack([np.full(len(X), 1e-3), np.zeros((len(X), 2))]) - a[
            :, None
        ] * difference / 1e-6

    assert maximise(thin, Domain.cube(3), rng())[1] == pytest.approx(1e-3)
    x, value = maximise(thin, Domain.cube(3), rng(), extra=needle[None] + 1e-4)
    np.testing.assert_allclose(x, needle, atol=1e-5)
    assert value >= 1.0


def test_a_flat_function_gives_a_point_of_the_cube() -> None:
    x, value = maximise(lambda X: (np.full(len(X), 2.0), np.zeros_like(X)), Domain.cube(4), rng())
    assert value == 2.0
    assert ((x >= 0) & (x <= 1)).all()


def test_one_call_a_step_whatever_the_number_of_starts() -> None:
    calls: list[int] = []

    def counted(X: np.ndarray) -> Pair:
        calls.append(len(X))
        return hartmann6(X)

    maximise(counted, Domain.cube(6), rng(), starts=16, iterations=20, values=lambda X: hartmann6(X)[0])
    assert set(calls) == {16, 1}
    assert len(calls) < 100


def brute(domain: Domain, f: Callable[[np.ndarray], Pair]) -> float:
    """The maximum over all levels, real coordinates on a fine grid."""
    axes = [np.linspace(0, 1, d.levels or 401) for d in domain]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    for j, d in enumerate(domain):
        if d.levels is not None:
            points[:, j] = d.unit(d.low + np.round(points[:, j] * (d.levels - 1)))
    return float(f(points)[0].max())


MIXED = Domain(
    (Dimension(1, 9, integer=True), Dimension(1e-4, 1.0, log=True), Dimension(1, 64, integer=True, log=True))
)


@pytest.mark.parametrize("seed", range(4))
def test_mixed_boxes(seed: int) -> None:
    """A tilted valley, so that integers and reals have to be moved in turns."""
    R = rng(seed)
    centre, M = R.random(3), np.eye(3) + 0.8 * R.standard_normal((3, 3))
    H = M @ M.T

    def tilted(X: np.ndarray) -> Pair:
        D = X - centre
        return -np.einsum("ij,jk,ik->i", D, H, D), -2 * D @ H

    x, value = maximise(tilted, MIXED, rng(seed), candidates=32, starts=4)
    np.testing.assert_array_equal(MIXED.snap(x[None])[0], x)
    assert value >= brute(MIXED, tilted) - 1e-9


def test_all_integers() -> None:
    domain = Domain((Dimension(0, 30, integer=True),) * 3)
    centre = domain.unit([[7, 29, 0]])[0]
    x, value = maximise(quadratic(centre), domain, rng(), candidates=4, starts=1)
    np.testing.assert_array_equal(domain.values(x[None])[0], [7, 29, 0])
    assert value == pytest.approx(0.0, abs=1e-30)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: maximise(peaks, Domain.cube(2), rng(), starts=0), "starts: expected at least 1, got 0"),
        (lambda: maximise(peaks, Domain.cube(2), rng(), candidates=0), "candidates: expected at least 1"),
        (lambda: maximise(peaks, Domain.cube(2), rng(), extra=np.zeros((1, 3))), r"extra: expected points .*\(k, 2\)"),
        (lambda: maximise(peaks, Domain.cube(2), rng(), extra=np.full((1, 2), 2.0)), "extra: expected points"),
        (
            lambda: maximise(lambda X: (X[:, 0] * np.nan, X), Domain.cube(2), rng()),
            "expected finite values, got nan at",
        ),
        (lambda: maximise(lambda X: (X[:, :1], X), Domain.cube(2), rng()), r"expected values of shape \(1024,\)"),
        (lambda: maximise(lambda X: (X[:, 0], X[0]), Domain.cube(2), rng()), "expected finite gradients of shape"),
        (lambda: finite_values(np.full(2, np.inf), np.zeros((2, 1))), "expected finite values, got inf"),
    ],
)
def test_bad_input(call: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()
