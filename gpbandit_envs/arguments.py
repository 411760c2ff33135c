"""Checks of arguments."""

from __future__ import annotations

import numpy as np

__all__ = ["positive_int", "positive_number"]


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
