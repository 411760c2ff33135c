"""GP-UCB on a box."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from agents.continuous.base import BoxAgent
from agents.core.acquisition import UpperConfidenceBound, of_gradients, of_values
from agents.core.maximise import Acquisition, Values
from agents.core.settings import NormBound
from agents.core.widths import (
    CompactBayes,
    EffectiveDimension,
    FiniteBayes,
    InformationGain,
    Logarithmic,
    WidthContext,
    WidthSchedule,
    as_width,
    width_setting,
)

__all__ = ["BoxGPUCB"]

_WIDTHS: Mapping[str, WidthSchedule] = MappingProxyType(
    {
        "theory": InformationGain(),
        "practical": EffectiveDimension(),
        "bayes": CompactBayes(),
        "growing": Logarithmic(),
    }
)


class BoxGPUCB(BoxAgent):
    """Evaluate `argmax mean_{t-1} + width_t sd_{t-1}` over the unit cube.

    Named widths as for finite arms; `"bayes"` is the one for a compact set. Other arguments: see `BoxAgent`.

    Args:
        width: `"theory"`, `"practical"`, `"bayes"`, `"growing"`, a number, or a `WidthSchedule`.

    Reference: Srinivas, Krause, Kakade and Seeger (2010), Algorithm 1; Chowdhury and Gopalan (2017), Algorithm 1.
    """

    schedule: WidthSchedule

    def __init__(
        self,
        kernel: Any = None,
        width: object = "theory",
        lam: float | None = None,
        norm_bound: NormBound = None,
        delta: float | None = None,
        n_start: int = 0,
        candidates: int = 1_024,
        starts: int = 8,
        iterations: int = 60,
    ) -> None:
        super().__init__(
            kernel=kernel,
            lam=lam,
            norm_bound=norm_bound,
            delta=delta,
            n_start=n_start,
            candidates=candidates,
            starts=starts,
            iterations=iterations,
        )
        self.schedule: WidthSchedule = as_width(width, _WIDTHS)
        self.width_setting = width_setting(width)
        if isinstance(self.schedule, FiniteBayes):
            raise ValueError("width: this schedule counts arms, and a box has none; give CompactBayes or a name")

    def _fit(self) -> None:
        super()._fit()
        model = self.model
        self.effective_dimension = float(self.posterior.at(self.X)[1].sum()) / self.lam if len(self.X) else 0.0
        self.band = self.schedule(
            WidthContext(
                t=len(self.y) + 1,
                n_arms=0,
                lam=model.lam,
                noise_std=model.noise_std,
                norm_bound=model.norm_bound,
                delta=model.delta,
                prior_variance=model.prior_variance,
                information_gain=self.information_gain,
                effective_dimension=self.effective_dimension,
                sum_log_leverage=2 * self.information_gain,
                sum_log_3_leverage=self.sum_log_3_leverage,
                dim=self.problem.dim,
            )
        )

    def _acquisition(self) -> tuple[Acquisition, Values]:
        score = UpperConfidenceBound(self.band)
        return of_gradients(score, self.posterior), of_values(score, self.posterior)

    def diagnostics(self) -> Mapping[str, float]:
        return {**super().diagnostics(), "d_eff": self.effective_dimension}
