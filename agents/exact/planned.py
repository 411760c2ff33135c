"""Policies that plan a whole batch at once, on the posterior of its start."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from jaxtyping import Int

from agents.core.protocol import Actions, Pending
from agents.core.rules import FixedRule
from agents.core.starts import UniformStart
from agents.core.widths import SEQUENTIAL_WIDTHS
from agents.exact.base import ExactUCBAgent

__all__ = ["PlannedBatchAgent"]


class PlannedBatchAgent(ExactUCBAgent):
    """Batches of `batch_size`, each planned when its first arm is asked for.

    Args:
        batch_size: Batch size `B >= 1`; 10 in the GP-BUCB paper's experiments.
        **settings: As for `agents.exact.gp_ucb.GPUCB`.
    """

    def __init__(
        self,
        kernel: Any = None,
        width: object = "theory",
        batch_size: int = 10,
        lam: float | None = None,
        norm_bound: float | None = None,
        delta: float | None = None,
        n_start: int = 0,
    ) -> None:
        rule = FixedRule(batch_size)
        super().__init__(
            kernel=kernel,
            width=width,
            lam=lam,
            norm_bound=norm_bound,
            delta=delta,
            start=UniformStart(n_start),
            rule=rule,
            batch_ratio=1.0,
            named_widths=SEQUENTIAL_WIDTHS,
        )
        self.batch_size = rule.size
        self._batch = np.zeros(0, np.int64)

    @abstractmethod
    def _plan(self) -> Int[np.ndarray, " n"]:
        """The arms of the next batch, at least one."""

    def _pick(self, n: int, pending: Pending) -> Actions:
        if self._issued == 0:
            self._batch = self._plan()
        picks = self._batch[self._issued : self._issued + n]
        self._issued += len(picks)
        self._closed = self._issued >= len(self._batch)
        return picks

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"batch": self._batch.copy()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._batch = np.array(state["batch"], np.int64)
