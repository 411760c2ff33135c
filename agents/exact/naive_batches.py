"""The naive batch policies of the GP-BUCB paper."""

from __future__ import annotations

import numpy as np

from agents.core.protocol import Capabilities
from agents.exact.planned import PlannedBatchAgent

__all__ = ["NRBUCB", "NTBUCB"]

_CAPABILITIES = Capabilities(frozenset({"finite"}), batch="adaptive", needs=frozenset({"kernel", "noise"}))


class NRBUCB(PlannedBatchAgent):
    """Naive repeated batches: the maximiser of the score, `batch_size` times.

    Reference: Desautels, Krause and Burdick (2012), section 5.
    """

    policy_family = "batched GP-UCB"
    capabilities = _CAPABILITIES

    def _plan(self) -> np.ndarray:
        return np.full(self.batch_size, self._best_score())


class NTBUCB(PlannedBatchAgent):
    """Naive top batches: the `batch_size` arms of highest score, best first; all arms if there are fewer.

    Reference: Desautels, Krause and Burdick (2012), section 5.
    """

    policy_family = "batched GP-UCB"
    capabilities = _CAPABILITIES

    def _plan(self) -> np.ndarray:
        scores = self.posterior.mean + self.width * np.sqrt(self.posterior.variance)
        return np.argsort(-scores, kind="stable")[: self.batch_size]
