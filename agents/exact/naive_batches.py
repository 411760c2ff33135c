"""The naive batch policies of the GP-BUCB paper, and the base class of policies that plan a whole batch at once."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from jaxtyping import Int

from agents.core.gp_settings import GPSettings
from agents.core.initial_design import UniformDesign
from agents.core.protocol import Actions, Capabilities, Pending
from agents.core.ucb import UCBAgent
from agents.core.widths import SEQUENTIAL_WIDTHS
from gpbandit_envs.arguments import as_count
from gpbandit_envs.problem import Problem

__all__ = ["NRBUCB", "NTBUCB", "PlannedBatchAgent"]


class PlannedBatchAgent(UCBAgent):
    """Batches of `batch_size`, each planned on the posterior at its start, when its first arm is selected.

    No batch is planned beyond the horizon.

    Args:
        batch_size: Batch size `B >= 1`; 10 in the GP-BUCB paper's experiments.
        kernel, width, lam, norm_bound, delta, n_start: As for `agents.exact.gp_ucb.GPUCB`.
    """

    capabilities = Capabilities(frozenset({"finite"}), batch="adaptive", needs=frozenset({"kernel", "noise"}))

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
        super().__init__(GPSettings(kernel, lam, norm_bound, delta), width, SEQUENTIAL_WIDTHS, UniformDesign(n_start))
        self.batch_size = as_count("batch_size", batch_size)

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        super().reset(problem, rng)
        self._existing = self.beliefs.n_pulls

    @property
    def _length(self) -> int:
        """Length of the next batch: `batch_size`, or what the horizon leaves."""
        if self.problem.horizon is None:
            return self.batch_size
        left = self.problem.horizon - (self.beliefs.n_pulls - self._existing)
        return max(min(self.batch_size, left), 1)

    @abstractmethod
    def _plan(self) -> Int[np.ndarray, " n"]:
        """The arms of the next batch, at least one."""

    def _next(self, n: int, pending: Pending) -> Actions:
        if self._issued == 0:
            self._plan_now = self._plan()
        picks = self._plan_now[self._issued : self._issued + n]
        self._closed = self._issued + len(picks) >= len(self._plan_now)
        return picks


class NRBUCB(PlannedBatchAgent):
    """Naive repeated batches: the maximiser of the score, `batch_size` times.

    Reference: Desautels, Krause and Burdick (2012), section 5.
    """

    policy_family = "batched GP-UCB"

    def _plan(self) -> np.ndarray:
        return np.full(self._length, self.arms.best_score(self.width))


class NTBUCB(PlannedBatchAgent):
    """Naive top batches: the `batch_size` arms of highest score, best first; all arms if there are fewer.

    Reference: Desautels, Krause and Burdick (2012), section 5.
    """

    policy_family = "batched GP-UCB"

    def _plan(self) -> np.ndarray:
        posterior = self.arms.posterior
        scores = posterior.mean + self.width * np.sqrt(posterior.variance)
        return np.argsort(-scores, kind="stable")[: self._length]
