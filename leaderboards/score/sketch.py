"""Is the sketch good enough? A sketched posterior beside the exact one of the same pulls, on sampled arms.

| symbol | meaning |
|---|---|
| `m` | size of the dictionary |
| `d_eff` | effective dimension `Tr(K_t (K_t + lam I)^-1)` of the pulls |
| `ratio(x)` | sketched over exact posterior variance |
| `ALPHA` | `(1 + eps) / (1 - eps)` with `eps = 1/2`: what the theorems promise is `1/ALPHA <= ratio(x) <= ALPHA` |

Reference: Calandriello et al. (2019), Theorem 1; Calandriello et al. (2020), Lemma 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Int

from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.gp.sketch import SketchedArmPosterior

__all__ = ["ALPHA", "SKETCH_COLUMNS", "look_at_sketch", "sketched_posterior"]

ALPHA = 3.0

SKETCH_COLUMNS = (
    "dictionary",
    "d_eff",
    "sketched_d_eff",
    "ratio_low",
    "ratio_median",
    "ratio_high",
    "resparsifications",
)
"""What a look at a sketch tells; all of it NaN for an agent without one."""

# Below this share of the prior variance the exact variance is rounding, and so is a ratio to it.
_RESOLUTION = 1e-9


def sketched_posterior(agent: Any) -> SketchedArmPosterior | None:
    """The sketched posterior that the agent acts on; None if it has none."""
    posterior = getattr(agent, "posterior", None)
    return posterior if isinstance(posterior, SketchedArmPosterior) else None


def look_at_sketch(agent: Any, arms: Int[np.ndarray, " p"]) -> dict[str, float]:
    """`SKETCH_COLUMNS` as of now.

    Args:
        agent: What is looked at.
        arms: Arms at which the two variances are compared, shape (p,).

    The exact posterior is built of the agent's own pulls, kernel and lam: O(u^3 + u^2 p) for u distinct pulled arms.
    """
    posterior = sketched_posterior(agent)
    if posterior is None:
        return dict.fromkeys(SKETCH_COLUMNS, np.nan)
    rows = posterior.rows
    pulled = np.flatnonzero(posterior.n)
    exact_variance, d_eff = rows.prior[arms], 0.0
    if len(pulled):
        exact = ExactPosterior(rows.kernel, rows.X[rows.arms[pulled]], posterior.lam)
        exact.update(np.arange(len(pulled)), posterior.n[pulled], np.zeros(len(pulled)))
        exact_variance = exact.at(rows.X[arms])[1]
        d_eff = exact.effective_dimension()
    told_apart = exact_variance > _RESOLUTION * rows.prior[arms]
    ratio = posterior.variance_at(arms)[told_apart] / exact_variance[told_apart]
    low, median, high = np.quantile(ratio, [0.0, 0.5, 1.0]) if len(ratio) else (np.nan,) * 3
    values = (
        len(posterior.dictionary),
        d_eff,
        posterior.effective_dimension(),
        low,
        median,
        high,
        getattr(agent, "resparsifications", np.nan),
    )
    return dict(zip(SKETCH_COLUMNS, map(float, values), strict=True))
