"""GP-UCB."""

from __future__ import annotations

from typing import Any

from agents.core.initial import Initial
from agents.core.protocol import Capabilities
from agents.core.settings import GPSettings, NormBound
from agents.core.starts import UniformStart
from agents.core.ucb import UCBAgent
from agents.core.widths import SEQUENTIAL_WIDTHS

__all__ = ["GPUCB"]


class GPUCB(UCBAgent):
    """Pull `argmax mean_{t-1} + width_t sd_{t-1}`, one arm at a time.

    `width="theory"` is the RKHS width of Chowdhury and Gopalan (2017) with the data's own information gain,
    `"bayes"` that of Srinivas et al. (2010) for a draw from the prior, `"practical"` the one of the BBKB experiments,
    `"growing"` the `sqrt(3 log 2t)` of the BPE experiments.
    Other arguments: see `agents.core.ucb.UCBAgent`.

    Args:
        n_start: Arms drawn uniformly and pulled before the first bound is computed.

    Reference: Srinivas, Krause, Kakade and Seeger (2010), Algorithm 1; Chowdhury and Gopalan (2017), Algorithm 1.
    """

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
        settings = GPSettings(kernel, lam, norm_bound, delta, initial)
        super().__init__(settings, width, SEQUENTIAL_WIDTHS, UniformStart(n_start))
