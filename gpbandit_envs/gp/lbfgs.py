"""L-BFGS-B within bounds, of a function that gives its value and its gradient together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.optimize import OptimizeResult, minimize

Loss = Callable[[np.ndarray], tuple[float, np.ndarray]]


def minimise_within(
    loss: Loss, start: Float[np.ndarray, " k"], bounds: Sequence[tuple[float, float]], **options: Any
) -> OptimizeResult:
    """`argmin loss` from `start`, as SciPy finds it.

    SciPy asks for a value first and then for the gradient at the same point. Told that they come together it compares
    the point with the last one twice and copies it, a quarter of what it takes for itself of an evaluation.

    Args:
        loss: Value and gradient, shape (k,).
        start: First point, shape (k,), moved within the bounds.
        bounds: Smallest and largest number of each coordinate.
        options: Those of SciPy's `L-BFGS-B`.
    """
    slope = np.zeros_like(start)

    def value(x: Float[np.ndarray, " k"]) -> float:
        nonlocal slope
        at, slope = loss(x)
        return at

    return minimize(value, start, jac=lambda _: slope, method="L-BFGS-B", bounds=bounds, options=options)
