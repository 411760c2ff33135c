"""Base class of the policies on a sketched posterior."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from agents.core.ucb import UCBAgent
from agents.sketched.dictionary import CoupledDraws, Draws, Resampling, posterior_sampling
from agents.sketched.leverage import bless, sequential_leverage
from gpbandit_envs.gp import Kernel
from gpbandit_envs.gp.kernel_rows import as_bytes
from gpbandit_envs.gp.sketch import SketchedArmPosterior

__all__ = ["SketchedUCBAgent"]


class SketchedUCBAgent(UCBAgent):
    """A UCB policy whose posterior is rebuilt on a freshly drawn dictionary after every batch.

    Args:
        qbar: Oversampling of the dictionary, `q >= 1` in theory, > 0 here.
        draws: Whether every pull or every arm is drawn; see `agents.sketched.dictionary.posterior_sampling`.
        resampling: Whether dictionaries are drawn afresh or coupled; see `agents.sketched.dictionary.Resampling`.
        max_memory: Memory for kernel rows, such as `"1GB"` or a number of bytes; rows beyond it are computed anew at
            every use. None for no limit: somewhat more rows than the dictionary has.
        **arguments: As for `UCBAgent`.

    Attributes:
        resparsifications: Dictionaries drawn so far.
    """

    posterior: SketchedArmPosterior

    def __init__(
        self,
        *,
        qbar: float,
        draws: Draws,
        resampling: Resampling = "fresh",
        max_memory: int | str | None = None,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self.max_memory = None if max_memory is None else as_bytes(max_memory)
        if not 0 < qbar < float("inf"):
            raise ValueError(f"qbar: expected a finite number > 0, got {qbar!r}")
        if draws not in ("pull", "arm"):
            raise ValueError(f"draws: expected 'pull' or 'arm', got {draws!r}")
        self.qbar = float(qbar)
        self.draws: Draws = draws
        if resampling not in ("fresh", "coupled"):
            raise ValueError(f"resampling: expected 'fresh' or 'coupled', got {resampling!r}")
        self.resampling: Resampling = resampling

    def _new_posterior(self, kernel: Kernel, X: Float[np.ndarray, "A d"], lam: float) -> SketchedArmPosterior:
        self.resparsifications = 0
        self._coupled = CoupledDraws(len(X), self.draws) if self.resampling == "coupled" else None
        return SketchedArmPosterior(kernel, X, lam, self.max_memory)

    def _update(self, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> None:
        posterior = self.posterior
        posterior.record(arms, counts, sums)
        # Leverage scores as of the start of the batch (BBKB Alg. 1, line 13): the posterior has not moved since.
        pulled = np.flatnonzero(posterior.n)
        candidates = posterior.rows.arms[pulled]
        leverage = posterior.variance_at(candidates) / self.lam
        posterior.embed(self._draw(candidates, posterior.n[pulled], leverage))
        self.resparsifications += 1

    def _draw(self, arms: np.ndarray, pulls: np.ndarray, leverage: np.ndarray) -> np.ndarray:
        if self._coupled is not None:
            return self._coupled.draw(arms, pulls, leverage, self.qbar, self.rng)
        return posterior_sampling(arms, pulls, leverage, self.qbar, self.rng, self.draws)

    def _condition(self, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        kernel, X = self.posterior.rows.kernel, self.posterior.rows.X
        dictionary = self._draw(arms, counts, bless(kernel, X[arms], counts, self.lam, self.rng))
        self.posterior.record(arms, counts, sums)
        self.posterior.embed(dictionary)
        self.resparsifications += 1
        return sequential_leverage(kernel, X[dictionary], X[arms], counts, self.lam)

    def diagnostics(self) -> dict[str, float]:
        return {
            **super().diagnostics(),
            "dictionary_size": float(len(self.posterior.dictionary)),
            "resparsifications": float(self.resparsifications),
        }

    def state_dict(self) -> dict[str, Any]:
        coupled = None if self._coupled is None else self._coupled.state_dict()
        return super().state_dict() | {"resparsifications": self.resparsifications, "coupled": coupled}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.resparsifications = int(state["resparsifications"])
        if self._coupled is not None:
            self._coupled.load_state_dict(state["coupled"])
