"""BKB: a fresh dictionary after every pull."""

from __future__ import annotations

from typing import Any

from agents.core.protocol import Capabilities
from agents.core.rules import SequentialRule
from agents.core.starts import UniformStart
from agents.core.widths import BKBTheorem2, EffectiveDimension
from agents.sketched.base import SketchedUCBAgent

__all__ = ["BKB"]


class BKB(SketchedUCBAgent):
    """Budgeted kernelised bandits: GP-UCB on a Nystrom posterior whose dictionary is drawn anew at every step.

    `width="theory"` is the paper's Theorem 2, `"practical"` the one of the BBKB experiments.
    Other arguments: see `agents.core.ucb.UCBAgent`.

    Args:
        qbar: Oversampling of the dictionary.
        n_start: Arms drawn uniformly and pulled before the first bound is computed; 1 in the paper.

    Reference: Calandriello, Carratino, Lazaric, Valko and Rosasco (2019), Algorithm 1.
    """

    capabilities = Capabilities(frozenset({"finite"}), batch="sequential")

    def __init__(
        self,
        kernel: Any = None,
        width: object = "theory",
        qbar: float = 2.0,
        lam: float | None = None,
        norm_bound: float | None = None,
        delta: float | None = None,
        n_start: int = 1,
    ) -> None:
        super().__init__(
            qbar=qbar,
            kernel=kernel,
            width=width,
            lam=lam,
            norm_bound=norm_bound,
            delta=delta,
            start=UniformStart(n_start),
            rule=SequentialRule(),
            batch_ratio=1.0,
            named_widths={"theory": BKBTheorem2(), "practical": EffectiveDimension()},
        )
