"""The naive batch policies of the GP-BUCB paper, and the base class of policies that plan a whole batch at once."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from agents.core.protocol import Actions, Capabilities, Feedback, Pending
from agents.core.ucb import UCBAgent
from gpbandit_envs.arguments import as_count
from gpbandit_envs.problem import Problem


@dataclass(kw_only=True, eq=False, repr=False)
class PlannedBatchAgent(UCBAgent):
    """Batches of `batch_size`, each planned on the posterior at its start, when its first arm is selected.

    No batch is planned beyond the horizon. Other arguments: see `UCBAgent`.

    Args:
        batch_size: Batch size `B >= 1`; 10 in the GP-BUCB paper's experiments.
    """

    capabilities = Capabilities(frozenset({"finite"}), batch="adaptive", needs=frozenset({"kernel", "noise"}))

    batch_size: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        self.batch_size = as_count("batch_size", self.batch_size)

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        super().reset(problem, rng)
        self._answered = 0

    @property
    def next_length(self) -> int:
        """Length of the next batch: `batch_size`, or what the horizon leaves."""
        if self.problem.horizon is None:
            return self.batch_size
        return max(min(self.batch_size, self.problem.horizon - self._answered), 1)

    def observe(self, feedback: Feedback) -> None:
        self._answered += len(feedback)
        super().observe(feedback)

    @abstractmethod
    def plan_batch(self) -> Int[np.ndarray, " n"]:
        """The arms of the next batch, at least one."""

    def next_actions(self, n: int, pending: Pending) -> Actions:
        if self.batch_issued == 0:
            self._planned_batch = self.plan_batch()
        picks = self._planned_batch[self.batch_issued : self.batch_issued + n]
        self.batch_closed = self.batch_issued + len(picks) >= len(self._planned_batch)
        return picks


class NRBUCB(PlannedBatchAgent):
    """Naive repeated batches: the maximiser of the score, `batch_size` times.

    Reference: Desautels, Krause and Burdick (2012), section 5.
    """

    policy_family = "batched GP-UCB"

    def plan_batch(self) -> np.ndarray:
        return np.full(self.next_length, self.arms.best_score(self.current_width))


class NTBUCB(PlannedBatchAgent):
    """Naive top batches: the `batch_size` arms of highest score, best first; all arms if there are fewer.

    Reference: Desautels, Krause and Burdick (2012), section 5.
    """

    policy_family = "batched GP-UCB"

    def plan_batch(self) -> np.ndarray:
        posterior = self.arms.posterior
        scores = posterior.mean + self.current_width * np.sqrt(posterior.variance)
        return np.argsort(-scores, kind="stable")[: self.next_length]
