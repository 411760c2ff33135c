"""Uncertainty sampling: pure exploration by the posterior variance."""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.core.gp_settings import GPSettings
from agents.core.initial_design import UniformDesign
from agents.core.protocol import Actions, Capabilities, Pending
from agents.core.ucb import UCBAgent
from agents.core.widths import InformationGain

__all__ = ["UncertaintySampling"]


class UncertaintySampling(UCBAgent):
    """Pull the arm of largest variance, independent of the rewards; recommend the arm of largest posterior mean.

    Gains at least `1 - 1/e` of the information that any choice of as many arms gains.

    Args:
        kernel: Prior covariance; None for the problem's.
        lam: Noise variance in the posterior; None for the problem's.

    Reference: Srinivas, Krause, Kakade and Seeger (2010), section 3.
    """

    capabilities = Capabilities(
        frozenset({"finite"}), batch="fixed", delayed=True, needs=frozenset({"kernel", "noise"})
    )
    policy_family = "pure exploration"

    def __init__(self, kernel: Any = None, lam: float | None = None) -> None:
        super().__init__(GPSettings(kernel, lam), InformationGain(), {}, UniformDesign(0))

    def _next(self, n: int, pending: Pending) -> Actions:
        engine = self.arms.engine
        engine.keep_open(0, pending.actions.tolist())
        picks = []
        for _ in range(n):
            picks.append(int(np.argmax(engine.ahead())))
            engine.pull(0, picks[-1])
        return np.array(picks, np.int64)
