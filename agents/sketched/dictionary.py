"""How a dictionary of inducing arms is drawn from the pulled arms."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

__all__ = ["posterior_sampling"]


def posterior_sampling(
    arms: Int[np.ndarray, " u"],
    pulls: Float[np.ndarray, " u"],
    leverage: Float[np.ndarray, " u"],
    qbar: float,
    rng: np.random.Generator,
) -> Int[np.ndarray, " m"]:
    """Draw a dictionary: every pull enters with probability `min(1, qbar * lev)`, independently.

    An arm pulled n times is in it unless n Bernoulli draws all fail, so with probability `1 - (1 - p)^n`: one uniform
    number an arm decides. The authors' code uses `min(1, n p)` instead, which is larger. The dictionary is never
    empty: if nothing was drawn, the arm of largest inclusion probability is taken.

    Args:
        arms: Distinct pulled arms, shape (u,).
        pulls: How often each was pulled, shape (u,).
        leverage: Leverage score of each, shape (u,).
        qbar: Oversampling `q >= 1`; larger dictionaries are more accurate.
        rng: Source of the draws.

    Returns:
        The arms drawn, in the order of `arms`.

    Reference: Calandriello et al. (2019), Algorithm 1; Calandriello et al. (2020), Algorithm 1, lines 11-16.
    """
    p = np.minimum(qbar * leverage, 1.0)
    with np.errstate(divide="ignore"):
        inclusion = -np.expm1(pulls * np.log1p(-p))
    drawn = rng.random(len(arms)) < inclusion
    if not drawn.any():
        drawn[np.argmax(inclusion)] = True
    return arms[drawn]
