"""Measurements of an agent at a checkpoint of an audit: confidence band, sketch and memory.

| symbol | meaning |
|---|---|
| `f(x)` | noise-free mean of an arm or point |
| `d_eff` | effective dimension `Tr(K_t (K_t + lam I)^-1)` of the pulls |
| `ratio(x)` | sketched over exact posterior variance |
| `RATIO_BOUND` | `(1 + eps) / (1 - eps)` with `eps = 1/2`: in theory `ratio(x)` is at most that, at least its inverse |

Reference for sketches: Calandriello et al. (2019), Theorem 1; Calandriello et al. (2020), Lemma 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from agents import Sketch
from gpbandit_envs.arrays import Array, namespace_of
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.gp.kernel_rows import KernelRows
from gpbandit_envs.problem import Problem

BAND_COLUMNS = ("violations", "required_scaling", "half_width")
"""Arms whose mean is outside the band; the smallest scaling of the band that covers every mean; largest half-width."""

RATIO_BOUND = 3.0

SKETCH_COLUMNS = (
    "dictionary",
    "d_eff",
    "sketched_d_eff",
    "ratio_low",
    "ratio_median",
    "ratio_high",
    "resparsifications",
)
"""Arms in the dictionary; exact and sketched effective dimension; smallest, median and largest ratio; dictionaries
drawn. All of them are NaN for an agent without a sketch."""

# Where the band has no width the mean may differ by rounding alone.
_ROUNDING = 1e-9
# Below this share of the prior variance the exact variance is rounding, and so is a ratio to it.
_RESOLUTION = 1e-9


def band_violations(band: tuple[np.ndarray, np.ndarray] | None, f: Float[np.ndarray, " p"]) -> dict[str, float]:
    """`BAND_COLUMNS` of a band at p points.

    Args:
        band: Mean and half-width, each of shape (p,), as `Agent.predict` returns them; all columns are NaN for None.
        f: The noise-free means there.

    Raises:
        ValueError: if the band has another shape, or a half-width is negative or NaN.
    """
    if band is None:
        return dict.fromkeys(BAND_COLUMNS, np.nan)
    mean, half_width = (np.asarray(part, np.float64) for part in band)
    if mean.shape != f.shape or half_width.shape != f.shape or not (half_width >= 0).all() or np.isnan(mean).any():
        raise ValueError(
            f"predict: expected means and half-widths >= 0 of shape {f.shape}, got shapes {mean.shape} and "
            f"{half_width.shape} with smallest half-width {half_width.min(initial=np.inf)}"
        )
    outside, scaling = misses(mean, half_width, f)
    values = (float(outside.sum()), float(scaling.max()), float(half_width.max()))
    return dict(zip(BAND_COLUMNS, values, strict=True))


def misses(mean: Array, half_width: Array, f: Array) -> tuple[Array, Array]:
    """Where `f` is outside a band, and by which scaling of it it would just be covered, each of shape (..., p).

    Args:
        mean: Middle of the band, shape (..., p), in any namespace.
        half_width: Half of it.
        f: The noise-free means.
    """
    xp = namespace_of(mean)
    error = xp.abs(f - mean)
    rounding = _ROUNDING * xp.clip(xp.max(xp.abs(f), axis=-1, keepdims=True), 1.0, None)
    error = xp.where(error <= rounding, error * 0.0, error)
    with np.errstate(divide="ignore", invalid="ignore"):
        return error > half_width, xp.where(error == 0, error, error / half_width)


def informative(band: tuple[np.ndarray, np.ndarray] | None, f: Float[np.ndarray, " p"]) -> float:
    """Share of p points at which the band is narrower than the range of the means; NaN without a band."""
    if band is None:
        return np.nan
    return float((2 * np.asarray(band[1], np.float64) < np.ptp(f)).mean())


def sketch_accuracy(sketch: Sketch | None, arms: Int[np.ndarray, " p"]) -> dict[str, float]:
    """`SKETCH_COLUMNS`: a sketched posterior beside the exact one of the same pulls.

    The exact posterior is built of the agent's own pulls, kernel and lam: O(u^3 + u^2 p) for u distinct pulled arms.

    Args:
        sketch: The agent's sketch; None if it has none.
        arms: Arms at which the two variances are compared, shape (p,).
    """
    if sketch is None:
        return dict.fromkeys(SKETCH_COLUMNS, np.nan)
    posterior, rows = sketch.posterior, sketch.posterior.rows
    pulled = np.flatnonzero(posterior.n)
    exact_variance, d_eff = rows.prior[arms], 0.0
    if len(pulled):
        exact = ExactPosterior(rows.kernel, rows.X[rows.arms[pulled]], posterior.lam)
        exact.update(np.arange(len(pulled)), posterior.n[pulled], np.zeros(len(pulled)))
        exact_variance = exact.at(rows.X[arms])[1]
        d_eff = exact.effective_dimension()
    resolved = exact_variance > _RESOLUTION * rows.prior[arms]
    ratio = posterior.variance_at(arms)[resolved] / exact_variance[resolved]
    low, median, high = np.quantile(ratio, [0.0, 0.5, 1.0]) if len(ratio) else (np.nan,) * 3
    values = (
        len(posterior.dictionary),
        d_eff,
        posterior.effective_dimension(),
        low,
        median,
        high,
        sketch.resparsifications,
    )
    return dict(zip(SKETCH_COLUMNS, map(float, values), strict=True))


_NOTHING = (Problem, type, str, bytes, int, float, NoneType, np.generic)


def held_bytes(thing: Any) -> int:
    """Bytes of all arrays that `thing` reaches through attributes and containers, each memory block once.

    Arrays of the problem are not the agent's and do not count. Of kernel rows only those in use count
    (`KernelRows.nbytes`): the system has given no page to the rest of their blocks. Python objects do not count.
    """
    total = 0
    seen = _arrays_of_the_problem(thing)
    stack = [thing]
    while stack:
        this = stack.pop()
        if isinstance(this, _NOTHING):  # most of what is met: numbers of a history, say
            continue
        while isinstance(this, np.ndarray) and isinstance(this.base, np.ndarray):
            this = this.base
        if id(this) in seen:
            continue
        seen.add(id(this))
        if isinstance(this, np.ndarray | KernelRows):
            total += this.nbytes
        elif isinstance(this, Mapping):
            stack += [*this.keys(), *this.values()]
        elif isinstance(this, list | tuple | set | frozenset):
            stack += this
        elif hasattr(this, "__dict__") and not callable(this):
            stack += vars(this).values()
    return total


def _arrays_of_the_problem(thing: Any) -> set[int]:
    """Identities of the blocks of the problem's arrays, if the agent keeps the problem as its attribute `problem`."""
    problem = getattr(thing, "problem", None)
    if not isinstance(problem, Problem):
        return set()
    blocks = set()
    for array in (problem.arms, problem.neighbours):
        while isinstance(array, np.ndarray):
            blocks.add(id(array))
            array = array.base
    return blocks
