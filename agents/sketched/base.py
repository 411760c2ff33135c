"""What the policies on a sketched posterior share."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from agents.core.ucb import UCBAgent
from agents.sketched.dictionary import Draws, posterior_sampling
from gpbandit_envs.gp import Kernel
from gpbandit_envs.gp.sketch import SketchedArmPosterior

__all__ = ["SketchedUCBAgent"]


class SketchedUCBAgent(UCBAgent):
    """A UCB policy whose posterior is rebuilt on a freshly drawn dictionary after every batch.

    Args:
        qbar: Oversampling of the dictionary, `q >= 1` in theory, > 0 here.
        draws: Whether every pull or every arm is drawn; see `agents.sketched.dictionary.posterior_sampling`.
        **arguments: As for `UCBAgent`.

    Attributes:
        resparsifications: Dictionaries drawn so far.
    """

    posterior: SketchedArmPosterior

    def __init__(self, *, qbar: float, draws: Draws, **arguments: Any) -> None:
        super().__init__(**arguments)
        if not 0 < qbar < float("inf"):
            raise ValueError(f"qbar: expected a finite number > 0, got {qbar!r}")
        if draws not in ("pull", "arm"):
            raise ValueError(f"draws: expected 'pull' or 'arm', got {draws!r}")
        self.qbar = float(qbar)
        self.draws: Draws = draws

    def _new_posterior(self, kernel: Kernel, X: Float[np.ndarray, "A d"], lam: float) -> SketchedArmPosterior:
        self.resparsifications = 0
        return SketchedArmPosterior(kernel, X, lam)

    def _update(self, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> None:
        posterior = self.posterior
        posterior.record(arms, counts, sums)
        # Leverage scores as of the start of the batch (BBKB Alg. 1, line 13): the posterior has not moved since.
        pulled = np.flatnonzero(posterior.n)
        candidates = posterior.rows.arms[pulled]
        leverage = posterior.variance_at(candidates) / self.lam
        dictionary = posterior_sampling(candidates, posterior.n[pulled], leverage, self.qbar, self.rng, self.draws)
        posterior.embed(dictionary)
        self.resparsifications += 1

    def diagnostics(self) -> dict[str, float]:
        return {
            **super().diagnostics(),
            "dictionary_size": float(len(self.posterior.dictionary)),
            "resparsifications": float(self.resparsifications),
        }

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"resparsifications": self.resparsifications}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.resparsifications = int(state["resparsifications"])
