"""GP-UCB."""

from __future__ import annotations

from typing import Any

from agents.core.guarantees import BoundInputs, RegretGuarantee
from agents.core.initial import Initial
from agents.core.protocol import Capabilities
from agents.core.regret_bounds import ucb_guarantee
from agents.core.rules import SequentialRule
from agents.core.settings import NormBound
from agents.core.starts import UniformStart
from agents.exact.base import SEQUENTIAL_WIDTHS, ExactUCBAgent

__all__ = ["GPUCB"]


class GPUCB(ExactUCBAgent):
    """Pull `argmax mean_{t-1} + width_t sd_{t-1}`, one arm at a time.

    `width="theory"` is the RKHS width of Chowdhury and Gopalan (2017) with the data's own information gain,
    `"bayes"` that of Srinivas et al. (2010) for a draw from the prior, `"practical"` the one of the BBKB experiments,
    `"growing"` the `sqrt(3 log 2t)` of the BPE experiments.
    Other arguments: see `agents.core.ucb.UCBAgent`.

    Args:
        n_start: Arms drawn uniformly and pulled before the first bound is computed.

    Reference: Srinivas, Krause, Kakade and Seeger (2010), Algorithm 1; Chowdhury and Gopalan (2017), Algorithm 1.
    """

    policy_family = "GP-UCB"
    capabilities = Capabilities(frozenset({"finite"}), batch="sequential", needs=frozenset({"kernel", "noise"}))

    def __init__(
        self,
        kernel: Any = None,
        width: object = "theory",
        lam: float | None = None,
        norm_bound: NormBound = None,
        delta: float | None = None,
        n_start: int = 0,
        initial: Initial = None,
    ) -> None:
        super().__init__(
            kernel=kernel,
            width=width,
            lam=lam,
            norm_bound=norm_bound,
            initial=initial,
            delta=delta,
            start=UniformStart(n_start),
            rule=SequentialRule(),
            batch_ratio=1.0,
            named_widths=SEQUENTIAL_WIDTHS,
        )

    def regret_guarantee(self, inputs: BoundInputs) -> RegretGuarantee:
        return ucb_guarantee(inputs, self._given.delta_on(inputs.problem))
