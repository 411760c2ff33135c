"""Fixed arm sets in the unit cube."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from gpbandit_envs.arguments import positive_int

__all__ = ["even_arms", "lattice"]

# The scrambling is part of the arm set's definition: another number would be another environment version.
_SOBOL_SCRAMBLE = 20111


def even_arms(n_arms: int, dim: int) -> Float[np.ndarray, "n_arms dim"]:
    """Arms that fill the unit cube evenly: a grid with both ends for one dimension, else scrambled Sobol points.

    The same arguments give the same arms, always.

    Raises:
        TypeError, ValueError: if an argument is not a positive integer.
    """
    n_arms, dim = positive_int("n_arms", n_arms), positive_int("dim", dim)
    if dim == 1:
        return _read_only(np.linspace(0.0, 1.0, n_arms)[:, None] if n_arms > 1 else np.full((1, 1), 0.5))
    from scipy.stats import qmc  # here, since `scipy.stats` takes a quarter of the time in which a command starts

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
    """The same array, read-only, so that problems share it instead of copying it."""
    arms.flags.writeable = False
    return arms
