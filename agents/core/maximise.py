"""Maximisation of acquisition functions over the unit cube, and boxes with integers and choices.

| symbol | meaning | shape |
|---|---|---|
| `a` | acquisition function | |
| `X` | points of the unit cube, one a row | (n, d) |
| `N` | number of candidates | |

Candidates are scrambled Sobol points, evaluated in one batch. Those from which to climb are chosen as in multi-level
single linkage (Rinnooy Kan and Timmer 1987): the best that have no better candidate within the critical distance, so
that a broad hill is climbed once. All are climbed together by L-BFGS-B on the sum of their values, with one call of `a`
per step whatever the number of starts. The best point is then polished alone. Integers and choices are held while the
others climb, and searched by steps of one level in between; at the end, all neighbours of the best point are climbed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float
from scipy.spatial.distance import cdist
from scipy.special import gammaln

from agents.core.protocol import Actions
from gpbandit_envs.domain import Domain
from gpbandit_envs.gp.lbfgs import minimise_within
from gpbandit_envs.problem import Problem

Acquisition = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""`a(X)` for points `(n, d)`: values `(n,)` and gradients `(n, d)`, rows independent of each other."""
Values = Callable[[np.ndarray], np.ndarray]
"""The values of an acquisition function alone."""

_RELATIVE, _GRADIENT = 1e-10, 1e-7  # of the spread of the candidates' values
_ROUNDS = 50  # of climbing and stepping, beyond which integer coordinates stay as they are
_BLOCK = 8_192


def maximise(
    acquisition: Acquisition,
    domain: Domain,
    rng: np.random.Generator,
    *,
    candidates: int = 1_024,
    starts: int = 8,
    iterations: int = 60,
    extra: Float[np.ndarray, "k d"] | None = None,
    values: Values | None = None,
) -> tuple[Float[np.ndarray, " d"], float]:
    """`argmax a(x)` over a box, and the value there.

    Deterministic given the generator. The value is at least that of every candidate and extra point.

    Args:
        acquisition: `a`, smooth within the cube; evaluated only where integer coordinates are at a level.
        domain: The box; `Domain.cube(d)` for the plain unit cube.
        rng: Scrambles the candidates.
        candidates: Number of Sobol points `N`, rounded up to a power of two.
        starts: Number of points from which it is climbed, >= 1.
        iterations: Most steps of L-BFGS-B, for the joint climb and for the last polish each.
        extra: Further candidates, such as the best points seen so far, shape (k, d).
        values: Cheaper function for `a(X)[0]`, used where no gradient is needed.

    Returns:
        The point, shape (d,), and `a` there.

    Raises:
        ValueError: if a number is out of range, `extra` has the wrong shape, or `a` returns what is not finite or of
            the wrong shape.
    """
    for name, number in (("candidates", candidates), ("starts", starts), ("iterations", iterations)):
        if number < 1:
            raise ValueError(f"{name}: expected at least 1, got {number!r}")
    target = _Checked(acquisition, values, domain.dim)
    X = domain.snap(_candidates(domain.dim, candidates, extra, rng))
    a = target.values(X)
    best = int(np.argmax(a))
    spread = float(a[best] - np.median(a))
    if not spread > 0:
        # All candidates have the same value: nothing to climb, and the tie goes to the first.
        return X[best], float(a[best])
    chosen = _starts(X, a, starts)
    climber = _Climber(target, domain, spread, iterations)
    U, b = climber.improve(X[chosen], a[chosen])
    top = int(np.argmax(b))
    return climber.polish(U[top], float(b[top]))


def search_domain(problem: Problem) -> Domain:
    """The box of a problem's actions: the domain in its notes, or else the plain unit cube."""
    spec = problem.notes.get("domain")
    return Domain.cube(problem.dim) if spec is None else Domain.from_spec(spec)  # type: ignore[arg-type]


def _candidates(dim: int, n: int, extra: np.ndarray | None, rng: np.random.Generator) -> Float[np.ndarray, "n d"]:
    from scipy.stats import qmc  # here, since `scipy.stats` takes a quarter of the time in which a command starts

    # SciPy would spawn a child of the generator, so that candidates depended on how many children it had before.
    scramble = np.random.default_rng(rng.integers(2**32, size=4, dtype=np.uint32))
    # Sobol sequences are balanced at powers of two; SciPy warns about any other number.
    points: np.ndarray = qmc.Sobol(dim, scramble=True, rng=scramble).random_base2((n - 1).bit_length())
    if extra is None:
        return points
    if extra.ndim != 2 or extra.shape[1] != dim or not ((extra >= 0) & (extra <= 1)).all():
        raise ValueError(f"extra: expected points of the unit cube, shape (k, {dim}), got {extra!r}")
    return np.concatenate([points, extra])


def _starts(X: Float[np.ndarray, "n d"], a: Float[np.ndarray, " n"], n: int) -> list[int]:
    """The best candidates without a better one nearby, filled up by the best of the others."""
    dim = X.shape[1]
    order = np.argsort(-a, kind="stable")[: 8 * n]
    # Critical distance of multi-level single linkage at one iteration, sigma = 4.
    log_volume = np.log(4 * np.log(max(len(X), 2)) / len(X))
    reach = np.exp((gammaln(1 + dim / 2) + log_volume) / dim) / np.sqrt(np.pi)
    near = np.tril(cdist(X[order], X[order]) < reach, -1).any(axis=1)
    return order[np.argsort(near, kind="stable")][:n].tolist()


class _Checked:
    """An acquisition function whose values and gradients are checked."""

    def __init__(self, acquisition: Acquisition, values: Values | None, dim: int) -> None:
        self._acquisition = acquisition
        self._values = values
        self._dim = dim

    def __call__(self, X: Float[np.ndarray, "n d"]) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n d"]]:
        a, G = self._acquisition(X)
        if G.shape != X.shape or not np.isfinite(G).all():
            raise ValueError(f"acquisition: expected finite gradients of shape {X.shape}, got {G!r}")
        return finite_values(a, X), G

    def values(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        evaluate = self._values if self._values is not None else lambda block: self(block)[0]
        blocks = (X[start : start + _BLOCK] for start in range(0, len(X), _BLOCK))
        return np.concatenate([finite_values(evaluate(block), block) for block in blocks])


class _Climber:
    """Improves several points at once, and never makes one worse."""

    def __init__(self, target: _Checked, domain: Domain, spread: float, iterations: int) -> None:
        self._target = target
        self._domain = domain
        self._spread = spread
        self._iterations = iterations
        self._held = domain.discrete

    def improve(
        self, U: Float[np.ndarray, "s d"], a: Float[np.ndarray, " s"]
    ) -> tuple[Float[np.ndarray, "s d"], Float[np.ndarray, " s"]]:
        """Climb and, where there are integers, step and climb again until no step helps."""
        U, a = self.climb(U, a)
        for _ in range(_ROUNDS if self._held.any() else 0):
            moved = self._step(U, a)
            if not moved.any():
                break
            U[moved], a[moved] = self.climb(U[moved], a[moved])
        return U, a

    def polish(self, u: Float[np.ndarray, " d"], a: float) -> tuple[Float[np.ndarray, " d"], float]:
        """Climb from one point and, where there are integers, from its neighbours, until none leads higher."""
        for _ in range(_ROUNDS):
            U, b = self.climb(u[None], np.array([a]))
            u, a = U[0], float(b[0])
            around = self._domain.neighbours(u)
            if len(around) == 0:
                break
            U, b = self.climb(around, self._target.values(around))
            top = int(np.argmax(b))
            if not b[top] > a:
                break
            u, a = U[top], float(b[top])
        return u, a

    def climb(
        self, U: Float[np.ndarray, "s d"], a: Float[np.ndarray, " s"]
    ) -> tuple[Float[np.ndarray, "s d"], Float[np.ndarray, " s"]]:
        """L-BFGS-B on the sum of the values, over the coordinates that are not held."""
        best, where = a.copy(), U.copy()
        if self._held.all():
            return where, best
        free = ~self._held if self._held.any() else slice(None)  # a mask costs as much as the values

        def loss(z: Float[np.ndarray, " sk"]) -> tuple[float, Float[np.ndarray, " sk"]]:
            X = U.copy()
            X[:, free] = z.reshape(len(U), -1)
            values, G = self._target(X)
            # The joint line search may trade one point against another, so each keeps its best so far.
            better = values > best
            if better.any():
                best[better], where[better] = values[better], X[better]
            return -float(values.sum()) / self._spread, -G[:, free].ravel() / self._spread

        z = U[:, free].ravel()
        bounds = [(0.0, 1.0)] * len(z)
        minimise_within(loss, z, bounds, maxiter=self._iterations, ftol=_RELATIVE, gtol=_GRADIENT)
        return where, best

    def _step(self, U: Float[np.ndarray, "s d"], a: Float[np.ndarray, " s"]) -> Bool[np.ndarray, " s"]:
        """Move each point, in place, to its best neighbour if that is better; True for those that moved."""
        around = [self._domain.neighbours(u) for u in U]
        values = self._target.values(np.concatenate(around))
        moved = np.zeros(len(U), bool)
        start = 0
        for i, points in enumerate(around):
            block = values[start : start + len(points)]
            start += len(points)
            j = int(np.argmax(block))
            if block[j] > a[i]:
                U[i], a[i], moved[i] = points[j], block[j], True
        return moved


def finite_values(a: np.ndarray, X: Actions) -> Float[np.ndarray, " n"]:
    """Values of an acquisition function at `X`, points or arms, once they are seen to be finite numbers.

    Raises:
        ValueError: if they are not.
    """
    if a.shape != (len(X),):
        raise ValueError(f"acquisition: expected values of shape {(len(X),)}, got {a.shape}")
    bad = ~np.isfinite(a)
    if bad.any():
        k = int(np.flatnonzero(bad)[0])
        raise ValueError(f"acquisition: expected finite values, got {a[k]} at {X[k].tolist()}")
    return a
