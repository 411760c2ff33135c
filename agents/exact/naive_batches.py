"""The naive batch policies of the GP-BUCB paper."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from agents.core.protocol import Actions, Capabilities, Pending
from agents.core.rules import FixedRule
from agents.core.starts import UniformStart
from agents.core.widths import EffectiveDimension, FiniteBayes, InformationGain
from agents.exact.base import ExactUCBAgent

__all__ = ["NRBUCB", "NTBUCB"]

_NO_ACTIONS = np.zeros(0, np.int64)


class _NaiveBatches(ExactUCBAgent):
    """Batches of `batch_size` chosen at once on the scores of GP-UCB, without hallucination.

    Args:
        batch_size: Batch size `B >= 1`; 10 in the paper's experiments.
        **settings: As for `agents.exact.gp_ucb.GPUCB`.
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
        super().__init__(
            kernel=kernel,
            width=width,
            lam=lam,
            norm_bound=norm_bound,
            delta=delta,
            start=UniformStart(n_start),
            rule=FixedRule(batch_size),
            batch_ratio=1.0,
            named_widths={
                "theory": InformationGain(),
                "practical": EffectiveDimension(),
                "bayes": FiniteBayes(),
            },
        )
        self.batch_size = batch_size

    @abstractmethod
    def _choose(self, scores: np.ndarray) -> np.ndarray:
        """The arms of the batch, shape (batch_size,)."""

    def select(self, n: int, pending: Pending) -> Actions:
        in_start = self.n_pulls == 0 and self._issued < len(self._first)
        if in_start or (self._closed and len(pending) == 0):
            return super().select(n, pending)
        if self._closed:
            return _NO_ACTIONS
        batch = self._choose(self.posterior.mean + self.width * np.sqrt(self.posterior.variance))
        picks = batch[self._issued : self._issued + n]
        self._issued += len(picks)
        self._closed = self._issued >= len(batch)
        return picks


class NRBUCB(_NaiveBatches):
    """Naive repeated batches: the maximiser of the score, `batch_size` times.

    Reference: Desautels, Krause and Burdick (2012), section 5.
    """

    def _choose(self, scores: np.ndarray) -> np.ndarray:
        return np.full(self.batch_size, np.argmax(scores))


class NTBUCB(_NaiveBatches):
    """Naive top batches: the `batch_size` arms of highest score, best first; all arms if there are fewer.

    Reference: Desautels, Krause and Burdick (2012), section 5.
    """

    def _choose(self, scores: np.ndarray) -> np.ndarray:
        return np.argsort(-scores, kind="stable")[: self.batch_size]
