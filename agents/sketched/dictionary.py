"""Sampling a dictionary of inducing arms from the pulled arms."""

from __future__ import annotations

from typing import Literal

import numpy as np
from jaxtyping import Float, Int

Draws = Literal["pull", "arm"]
"""`"pull"`: one Bernoulli draw a pull, as the papers write; `"arm"`: one an arm, as their authors' code does."""


def inclusion_probabilities(
    pulls: Float[np.ndarray, " u"], leverage: Float[np.ndarray, " u"], qbar: float, draws: Draws = "arm"
) -> Float[np.ndarray, " u"]:
    """The probability that each pulled arm enters the dictionary.

    With `p = min(1, qbar * lev)`, an arm pulled n times is in it with probability `1 - (1 - p)^n` if every pull is a
    draw of its own, and with `min(1, n * qbar * lev)` if every arm is. The latter is larger, and certain once
    `n lev >= 1 / qbar`, as it is for an arm that has been pulled often; the former leaves such an arm out about once in
    `exp(qbar)` draws, and its leverage score then jumps.

    Args:
        pulls: How often each was pulled, shape (u,).
        leverage: Leverage score of each, shape (u,).
        qbar: Oversampling `q >= 1`; larger dictionaries are more accurate.
        draws: Whether pulls or arms are drawn.

    Reference: Calandriello et al. (2019), Algorithm 1; Calandriello et al. (2020), Algorithm 1, lines 11-16.
    """
    if draws == "arm":
        return np.minimum(pulls * qbar * leverage, 1.0)
    p = np.minimum(qbar * leverage, 1.0)
    with np.errstate(divide="ignore"):
        return -np.expm1(pulls * np.log1p(-p))


def posterior_sampling(
    arms: Int[np.ndarray, " u"],
    pulls: Float[np.ndarray, " u"],
    leverage: Float[np.ndarray, " u"],
    qbar: float,
    rng: np.random.Generator,
    draws: Draws = "arm",
) -> Int[np.ndarray, " m"]:
    """Draw a dictionary from the pulled arms, with `inclusion_probabilities` that grow with their leverage scores.

    The dictionary is never empty: if nothing was drawn, the arm of largest inclusion probability is taken.

    Args:
        arms: Distinct pulled arms, shape (u,).
        pulls: How often each was pulled, shape (u,).
        leverage: Leverage score of each, shape (u,).
        qbar: Oversampling `q >= 1`; larger dictionaries are more accurate.
        rng: Source of the draws.
        draws: Whether pulls or arms are drawn.

    Returns:
        The arms drawn, in the order of `arms`.
    """
    inclusion = inclusion_probabilities(pulls, leverage, qbar, draws)
    drawn = rng.random(len(arms)) < inclusion
    if not drawn.any():
        drawn[np.argmax(inclusion)] = True
    return arms[drawn]
