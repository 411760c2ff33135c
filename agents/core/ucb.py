"""Upper-confidence-bound policies: a posterior, a width schedule and a batch rule."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from agents.core.acquisition import UpperConfidenceBound
from agents.core.batch import Batch
from agents.core.batch_rules import BatchRule, SequentialRule
from agents.core.beliefs import ArmBeliefs, BoxBeliefs
from agents.core.dual_band import DualArmBeliefs, DualBeliefs, DualBoxBeliefs
from agents.core.gp_agent import GPAgent
from agents.core.gp_settings import GPSettings
from agents.core.guarantees import BandGuarantee
from agents.core.initial_design import InitialDesign, UniformDesign
from agents.core.norm_doubling import NormEstimate
from agents.core.protocol import Actions, Pending
from agents.core.space import Search
from agents.core.widths import (
    AnalyticMixture,
    Constant,
    DualMixture,
    NonAdaptive,
    OfflineTheorem,
    WidthContext,
    WidthSchedule,
    as_width,
    width_setting,
)
from gpbandit_envs.problem import InitialData, Problem

__all__ = ["UCBAgent"]


class UCBAgent(GPAgent):
    """Plays `argmax mean + width * sd`, with the mean as of the last feedback and the variance as of the last pick.

    With a `DualMixture` the upper bound is the least of several, one for each regulariser; see `agents.core.dual_band`.

    Args:
        settings: Kernel, noise, norm bound, confidence level and existing data.
        width: A name among `named_widths`, a number, or a `WidthSchedule`.
        named_widths: The schedules behind the names of `width`.
        design: The initial design, evaluated before the first bound is computed.
        rule: When a batch ends; None for one evaluation at a time.
        batch_ratio: The factor `C` by which a variance may shrink within a batch, for the width.
        search: How the bound is maximised on a box; None for a policy that plays on arms alone.
        box_widths: Names of `width` that mean something else on a box.

    Attributes:
        schedule: The width schedule of the episode.
        norm_estimate: The guess at the norm; None where the norm bound is given.
        refuted: Whether the data of the episode have refuted the stated norm, noise or kernel. Only a `DualMixture`
            tells; from then on the bounds that are refuted are left out, and the rest have no guarantee.

    Raises:
        ValueError: for a `DualMixture` in a policy that is not `takes_dual`, or with a norm to be doubled.
    """

    not_saved = GPAgent.not_saved | {"schedule"}
    takes_dual = False
    """Whether the policy plays on the exact posterior, one evaluation at a time, by the upper bound alone."""

    def __init__(
        self,
        settings: GPSettings,
        width: object,
        named_widths: Mapping[str, WidthSchedule],
        design: InitialDesign,
        rule: BatchRule | None = None,
        batch_ratio: float = 1.0,
        search: Search | None = None,
        box_widths: Mapping[str, WidthSchedule] | None = None,
    ) -> None:
        super().__init__(settings, design, search)
        self.schedule = as_width(width, named_widths)
        if isinstance(self.schedule, DualMixture) and (not self.takes_dual or settings.doubling):
            why = "no norm that is doubled, for a norm that is refuted has no radius" if self.takes_dual else "GP-UCB"
            raise ValueError(f"width: a dual mixture is for {why}; expected another width, got {width!r}")
        self.width_setting = width_setting(width)
        self._box_schedule = as_width(width, {**named_widths, **(box_widths or {})})
        self._arm_schedule = self.schedule
        self.rule = SequentialRule() if rule is None else rule
        self.batch_ratio = float(batch_ratio)
        self.norm_estimate: NormEstimate | None = None
        self.refuted = False

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        self.schedule = self._arm_schedule if problem.is_finite else self._box_schedule
        self.norm_estimate, self.refuted = None, False
        super().reset(problem, rng)

    def _beliefs_on_arms(self, data: InitialData | None) -> ArmBeliefs:
        if isinstance(self.schedule, DualMixture):
            return DualArmBeliefs(self.problem, self.model, data, self.schedule.grid)
        return super()._beliefs_on_arms(data)

    def _beliefs_on_box(self, data: InitialData | None) -> BoxBeliefs:
        if isinstance(self.schedule, DualMixture):
            assert self._search is not None
            return DualBoxBeliefs(self.problem, self.model, self._search, data, self.schedule.grid)
        return super()._beliefs_on_box(data)

    def _begin_batch(self) -> None:
        super()._begin_batch()
        self._batch: Batch | None = None
        if self.model.doubling:
            self.norm_estimate = self.norm_estimate or NormEstimate(self.model)
            pulled = np.flatnonzero(self.arms.counts)
            self.norm_estimate.revise(self.arms.features[pulled], self.arms.counts[pulled], self.arms.sums[pulled])
        # The inputs of a schedule cost a fifteenth of a step on 4,000 arms.
        if isinstance(self.schedule, Constant):
            self.width = self.next_width(None, self.beliefs.n_pulls + 1, self.rng)
            return
        context = self.width_context()
        self.width = self.next_width(context, self.beliefs.n_pulls + 1, self.rng)
        if isinstance(self.schedule, DualMixture):
            assert isinstance(self.beliefs, DualBeliefs)
            self._factors = self.schedule.factors(context, self.beliefs.misfits)
            self.refuted |= bool(np.isinf(self._factors).any())

    def next_width(self, context: WidthContext | None, t: int, rng: np.random.Generator) -> float:
        """The width of the bounds that choose evaluation `t`, or the batch that begins with it.

        Args:
            context: The inputs of the schedule; None for a `Constant`, which needs none.
            t: Number of evaluations whose feedback has arrived, and one.
            rng: The generator of the episode, for a width that is drawn.
        """
        if context is None:
            assert isinstance(self.schedule, Constant)
            return self.schedule.value
        return self.schedule(context)

    def width_context(self) -> WidthContext:
        """The current inputs of the width schedule."""
        norm_bound = self.model.norm_bound if self.norm_estimate is None else self.norm_estimate.value
        return self.beliefs.width_context(norm_bound=norm_bound, batch_ratio=self.batch_ratio)

    def _next(self, n: int, pending: Pending) -> Actions:
        if isinstance(self.rule, SequentialRule):
            self._closed = True
            if len(pending):
                return self._nothing
            if isinstance(self.beliefs, DualBeliefs):
                return self.beliefs.maximise_upper(self._factors, self.rng)
            return self.beliefs.maximise(UpperConfidenceBound(self.width), self.rng)
        if self._batch is None:
            self._batch = self.arms.new_batch(self.width, pending.actions)
            self._closed = self.rule.start(self._batch)
        batch, known = self._batch, len(self._batch.picks)
        while not self._closed and (left := n + known - len(batch.picks)) > 0:
            arm, count = batch.propose(left)
            count, self._closed = self.rule.admit(batch, arm, count)
            batch.take(count)
            if not self._closed:
                self.rule.take_sure(batch, left - count)
        return np.array(batch.picks[known:], np.int64)

    def predict(self, X: Float[np.ndarray, "n d"]) -> tuple[np.ndarray, np.ndarray]:
        """Mean and half-width of the band; of a `DualMixture` its middle and half of it, 0 where it is empty."""
        if not isinstance(self.beliefs, DualBeliefs):
            return super().predict(X)
        lower, upper = self.beliefs.bounds(np.asarray(X, np.float64), self._factors)
        return 0.5 * (lower + upper), np.maximum(0.5 * (upper - lower), 0.0)

    def band_guarantee(self) -> BandGuarantee:
        return self.settings.band_guarantee(
            self.width_setting, self.schedule, self.delta, self._unmet(self.schedule), self.refuted
        )

    @property
    def uniform_start(self) -> int:
        """Evaluations that are drawn uniformly before the first bound is computed."""
        return self.design.n if isinstance(self.design, UniformDesign) else 0

    @property
    def is_mixture(self) -> bool:
        """Whether the width on arms is AMM or DMM."""
        return isinstance(self._arm_schedule, AnalyticMixture | DualMixture)

    def _unmet(self, schedule: WidthSchedule) -> str:
        """Which condition of the theorem behind `schedule` this policy does not meet; "" if none."""
        if isinstance(schedule, OfflineTheorem | NonAdaptive):
            return "its theorem asks for pulls that are chosen without their feedback"
        return ""

    def diagnostics(self) -> Mapping[str, float]:
        facts = {**super().diagnostics(), "d_eff": self.beliefs.effective_dimension}
        if isinstance(self.schedule, DualMixture):
            facts["refuted"] = float(self.refuted)
        if self.norm_estimate is not None:
            facts |= {"norm_bound": self.norm_estimate.value, "norm_shown": self.norm_estimate.lower_bound}
        return facts
