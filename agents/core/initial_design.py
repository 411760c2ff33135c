"""A start by uncertainty sampling: the arms pulled before the first confidence bound, chosen without feedback."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from agents.core.gp_settings import Model
from gpbandit_envs.gp.exact import ExactPosterior

__all__ = ["most_uncertain"]


def most_uncertain(
    model: Model, X: Float[np.ndarray, "A d"], most: int | None, min_batch: float | None = None
) -> Int[np.ndarray, " n"]:
    """Pull the arm of largest posterior variance, again and again.

    Args:
        model: Prior and noise.
        X: Arms, shape (A, d).
        most: Largest number of pulls; None for no limit.
        min_batch: End once the largest leverage score is at most `1 / min_batch`. That bounds all later batches of BBKB
            from below by about `min_batch (C~ - 1)`; BBKB's Algorithm 3 states the bound on sigma, its proof and
            Proposition 4 on sigma^2, the leverage score.

    References: Desautels et al. (2012), section 4, Lemma 2; Calandriello et al. (2020), Algorithm 3.
    """
    posterior = ExactPosterior(model.kernel, X, model.lam)
    arms: list[int] = []
    while len(arms) != most:
        arm = int(np.argmax(posterior.ahead()))
        if min_batch is not None and max(posterior.ahead()[arm], 0.0) / model.lam <= 1 / min_batch:
            break  # the arm that shows the bound to hold need not be pulled
        posterior.pull(arm)
        arms.append(arm)
    return np.array(arms, np.int64)
