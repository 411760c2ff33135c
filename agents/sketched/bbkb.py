"""BBKB: batches and resparsifications at the same time."""

from __future__ import annotations

from typing import Any

from agents.core.protocol import Capabilities
from agents.core.rules import SumRule
from agents.core.widths import BBKBTheorem2, LogDeterminant
from agents.sketched.base import SketchedUCBAgent

__all__ = ["BBKB"]


class BBKB(SketchedUCBAgent):
    """Batch budgeted kernel bandits with the global rule.

    Within a batch the mean and the dictionary are frozen and the variance shrinks with every pick; the batch ends when
    `1 + sum lev_fb(x_s)` exceeds `c`. Then the dictionary is drawn anew from all pulled arms.
    `width="theory"` is the paper's Theorem 2, `"practical"` the one of its experiments.
    Other arguments: see `agents.core.ucb.UCBAgent`.

    Args:
        c: Threshold `C~ >= 1`; 1 gives BKB with this policy's width.
        qbar: Oversampling of the dictionary; 2 in the paper's experiments.

    Reference: Calandriello, Carratino, Lazaric, Valko and Rosasco (2020), Algorithm 1.
    """

    capabilities = Capabilities(frozenset({"finite"}), batch="adaptive")

    def __init__(
        self,
        kernel: Any = None,
        width: object = "theory",
        c: float = 2.0,
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
            n_start=n_start,
            rule=SumRule(c),
            batch_ratio=c,
            named_widths={"theory": BBKBTheorem2(), "practical": LogDeterminant()},
        )
