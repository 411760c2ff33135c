"""The two functions of the experiments of Li and Scarlett (2022), rebuilt from their description.

The paper shows f1 with one clear peak and f2 with several near-optimal ones on a 50 x 50 grid, under an SE kernel of
lengthscale 0.5, and gives no formulas. These are expansions of that kernel through stated values, scaled to the norms
that the widths of the experiments, `sqrt(2)` and `sqrt(6)`, would cover.
"""

from __future__ import annotations

import numpy as np

from gpbandit_envs.functions.rkhs import Expansion
from gpbandit_envs.gp.kernels import SE

__all__ = ["BPE_F1", "BPE_F2"]

_KERNEL = SE(0.5)


def _through(points: list[tuple[float, float]], values: list[float], norm: float) -> Expansion:
    """The expansion of smallest norm whose values at `points` are in the ratio of `values`, scaled to `norm`."""
    centres = np.array(points)
    raw = Expansion(_KERNEL, centres, np.linalg.solve(_KERNEL(centres, centres), np.array(values)))
    return Expansion(_KERNEL, centres, raw.coefficients * (norm / raw.norm))


BPE_F1 = _through([(0.7, 0.35), (0.15, 0.8), (0.1, 0.1), (0.95, 0.95)], [1.0, 0.1, 0.2, 0.0], float(np.sqrt(2)))
"""One clear peak near (0.7, 0.35)."""

BPE_F2 = _through(
    [(0.1, 0.1), (0.9, 0.1), (0.1, 0.9), (0.9, 0.9), (0.5, 0.5), (0.5, 0.1), (0.1, 0.5), (0.9, 0.5), (0.5, 0.9)],
    [0.98, 0.97, 1.0, 0.99, 0.3, 0.5, 0.5, 0.5, 0.5],
    float(np.sqrt(6)),
)
"""Four peaks near the corners, within a few hundredths of the best."""
