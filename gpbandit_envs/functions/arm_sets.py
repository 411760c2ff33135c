"""Fixed arm sets in the unit cube."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.stats import qmc

__all__ = ["even_arms", "lattice", "positive_int", "positive_number"]

# The scrambling is part of the arm set's definition: another number would be another environment version.
_SOBOL_SCRAMBLE = 20111


def positive_int(name: str, value: object) -> int:
    """`value` as an int.

    Raises:
        TypeError: if it is no integer.
        ValueError: if it is below 1.
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name}: expected an integer >= 1, got {value!r}")
    if value < 1:
        raise ValueError(f"{name}: expected an integer >= 1, got {value!r}")
    return int(value)


def positive_number(name: str, value: object) -> float:
    """`value` as a float.

    Raises:
        TypeError: if it is no number.
        ValueError: if it is not finite, or not above 0.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name}: expected a finite number > 0, got {value!r}")
    if not (np.isfinite(value) and value > 0):
        raise ValueError(f"{name}: expected a finite number > 0, got {value!r}")
    return float(value)


def even_arms(n_arms: int, dim: int) -> Float[np.ndarray, "n_arms dim"]:
    """Arms that fill the unit cube evenly: a grid with both ends for one dimension, else scrambled Sobol points.

    The same arguments give the same arms, always.

    Raises:
        TypeError, ValueError: if an argument is not a positive integer.
    """
    n_arms, dim = positive_int("n_arms", n_arms), positive_int("dim", dim)
    if dim == 1:
        return _read_only(np.linspace(0.0, 1.0, n_arms)[:, None] if n_arms > 1 else np.full((1, 1), 0.5))
    sobol = qmc.Sobol(dim, scramble=True, rng=np.random.default_rng(_SOBOL_SCRAMBLE))
    # Sobol sequences are balanced at powers of two; SciPy warns about any other number.
    points: np.ndarray = sobol.random_base2(max(0, int(n_arms - 1).bit_length()))
    return _read_only(np.ascontiguousarray(points[:n_arms]))


def lattice(per_axis: int, dim: int) -> Float[np.ndarray, "n dim"]:
    """All `per_axis ** dim` points of the regular grid with both ends, the first coordinate varying slowest."""
    axis = even_arms(per_axis, 1)[:, 0]
    grid = np.meshgrid(*[axis] * positive_int("dim", dim), indexing="ij")
    return _read_only(np.stack(grid, axis=-1).reshape(-1, dim))


def _read_only(arms: np.ndarray) -> np.ndarray:
    """The same array, so that cards can share it instead of copying it."""
    arms.flags.writeable = False
    return arms
