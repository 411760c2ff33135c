"""Points of a polytope within the unit cube, drawn by a walk that keeps its pace in thin ones.

| symbol | meaning | shape |
|---|---|---|
| `A u <= b` | the inequalities, bounds of the cube among them | (r, k), (r,) |
| `V` | some vertices | (v, k) |
| `B` | principal axes of the vertices around their mean, each as long as they spread along it | (k, q) |

The vertices are found by linear programs. Their mean is inside, and `B` spans what equalities leave, also those that
two inequalities make. A step of the walk goes along `B z` for a random direction `z`, so that a polytope that is long
and thin is walked as if it were round (hit-and-run after rounding).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import linprog

_TOLERANCE = 1e-9  # in coordinates of the unit cube
_FLAT = 1e-7  # width of the unit cube below which there is no extent: more than linear programs err by
_STEPS = 8  # of the walk, and as many more as there are axes times this


class Polytope:
    """`{u: low <= u <= high, A u <= b, E u = e}` with `0 <= low <= high <= 1`.

    Args:
        low: Lower bounds, shape (k,); k may be 0.
        high: Upper bounds, shape (k,); where they are equal to `low`, a coordinate is fixed.
        A: Rows of the inequalities, shape (r, k).
        b: Their bounds, shape (r,).
        E: Rows of the equalities, shape (s, k).
        e: Their values, shape (s,).

    Attributes:
        vertices: Vertices that span it, shape (v, k); of a plain box two opposite ones.
        centre: A point in its relative interior, shape (k,).
        axes: `B`, shape (k, q), q being its dimension.

    Raises:
        ValueError: if it is empty.

    Reference: Smith (1984), Efficient Monte Carlo procedures for generating points uniformly distributed over bounded
    regions, Operations Research 32(6); Lovasz and Vempala (2006), Hit-and-run from a corner, SIAM Journal on Computing
    35(4), for its pace after rounding.
    """

    def __init__(
        self,
        low: Float[np.ndarray, " k"],
        high: Float[np.ndarray, " k"],
        A: Float[np.ndarray, "r k"],
        b: Float[np.ndarray, " r"],
        E: Float[np.ndarray, "s k"],
        e: Float[np.ndarray, " s"],
    ) -> None:
        k = len(low)
        self._low, self._high = np.asarray(low, np.float64), np.asarray(high, np.float64)
        self._given = (A, b, E, e)
        self.A, self.b = np.concatenate([A, np.eye(k), -np.eye(k)]), np.concatenate([b, self._high, -self._low])
        self._plain = len(A) + len(E) == 0
        if (self._low > self._high).any():
            raise ValueError("polytope: expected at least one point, got none")
        if self._plain:
            self.vertices = np.array([self._low, self._high])
            width = self._high - self._low
            self.axes = np.diag(width)[:, width > _FLAT]
        else:
            self.vertices = self._found_vertices()
            around = self.vertices - self.vertices.mean(axis=0)
            _, spread, axes = np.linalg.svd(around, full_matrices=False)
            wide = spread > _FLAT
            self.axes = (axes[wide] * spread[wide, None] / np.sqrt(len(self.vertices))).T
        self.centre = self.vertices.mean(axis=0)

    def _extreme(self, direction: Float[np.ndarray, " k"]) -> Float[np.ndarray, " k"]:
        """A vertex in a direction."""
        A, b, E, e = self._given
        bounds = np.column_stack([self._low, self._high])
        found = linprog(
            -direction,
            A_ub=A if len(A) else None,
            b_ub=b if len(A) else None,
            A_eq=E if len(E) else None,
            b_eq=e if len(E) else None,
            bounds=bounds,
            method="highs",
        )
        if found.x is None or not found.success:
            raise ValueError("polytope: expected at least one point, got none")
        return np.clip(found.x, self._low, self._high)

    def _found_vertices(self) -> Float[np.ndarray, "v k"]:
        """Vertices along all axes, and along others until they span all that there is."""
        k = len(self._low)
        found = [self._extreme(sign * axis) for axis in np.eye(k) for sign in (1.0, -1.0)]
        rng = np.random.default_rng(0)
        for _ in range(k):  # others, which give an idea of its shape
            direction = rng.standard_normal(k)
            found += [self._extreme(direction), self._extreme(-direction)]
        while True:
            V = np.array(found)
            _, spread, axes = np.linalg.svd(V - V.mean(axis=0), full_matrices=True)
            rest = axes[int((spread > _FLAT).sum()) :]
            if len(rest) == 0:
                break
            direction = rng.standard_normal(len(rest)) @ rest
            ends = [self._extreme(direction), self._extreme(-direction)]
            if abs((ends[0] - ends[1]) @ direction) <= _FLAT * np.linalg.norm(direction):
                break  # a random direction, so that there is no extent in any other
            found += ends
        return np.unique(V.round(12), axis=0)

    def contains(self, U: Float[np.ndarray, "n k"]) -> Bool[np.ndarray, " n"]:
        """Which points are in it, up to rounding."""
        _, _, E, e = self._given
        inside = (self.b + _FLAT >= U @ self.A.T).all(axis=1)
        return inside & (np.abs(U @ E.T - e) <= _FLAT).all(axis=1)

    def chords(
        self, U: Float[np.ndarray, "n k"], directions: Float[np.ndarray, "n k"]
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """How far one can go from points within it, backwards (<= 0) and forwards (>= 0), in lengths of a direction."""
        room = np.maximum(self.b - U @ self.A.T, 0.0)
        pace = directions @ self.A.T
        away, back = pace > _TOLERANCE, pace < -_TOLERANCE
        with np.errstate(divide="ignore", invalid="ignore"):
            forwards = np.where(away, room / pace, np.inf).min(axis=1, initial=np.inf)
            backwards = np.where(back, room / pace, -np.inf).max(axis=1, initial=-np.inf)
        still = ~np.isfinite(forwards) | ~np.isfinite(backwards)
        return np.where(still, 0.0, backwards), np.where(still, 0.0, forwards)

    def sample(self, n: int, rng: np.random.Generator) -> Float[np.ndarray, "n k"]:
        """`n` points, nearly uniform: the ends of as many walks, from random mixtures of the vertices."""
        if self._plain:
            return rng.uniform(self._low, self._high, (n, len(self._low)))
        U = rng.dirichlet(np.ones(len(self.vertices)), n) @ self.vertices
        q = self.axes.shape[1]
        for _ in range(_STEPS * (1 + q) if q else 0):
            directions = rng.standard_normal((n, q)) @ self.axes.T
            backwards, forwards = self.chords(U, directions)
            U = U + rng.uniform(backwards, forwards)[:, None] * directions
        return np.clip(U, self._low, self._high)

    def around(self, U: Float[np.ndarray, "n k"], scale: float, rng: np.random.Generator) -> Float[np.ndarray, "n k"]:
        """A point near each point, at most at the boundary; `scale` is in the spread of the polytope."""
        directions = rng.standard_normal((len(U), self.axes.shape[1])) @ self.axes.T
        backwards, forwards = self.chords(U, directions)
        return np.clip(U + np.clip(scale, backwards, forwards)[:, None] * directions, self._low, self._high)
