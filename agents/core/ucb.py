"""Upper-confidence-bound policies: a posterior, a width schedule and a batch rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from agents.core.acquisition import UpperConfidenceBound
from agents.core.batch import Batch
from agents.core.batch_rules import BatchRule, SequentialRule
from agents.core.beliefs import ArmBeliefs, BoxBeliefs
from agents.core.dual_band import DualArmBeliefs, DualBeliefs, DualBoxBeliefs
from agents.core.fields import BandFields
from agents.core.gp_agent import GPAgent
from agents.core.guarantees import BandGuarantee
from agents.core.norm_doubling import NormEstimate
from agents.core.prior_mean import uncentred
from agents.core.protocol import Actions, Pending
from agents.core.widths import (
    SEQUENTIAL_WIDTHS,
    AnalyticMixture,
    CompactBayes,
    Constant,
    DualMixture,
    NonAdaptive,
    OfflineTheorem,
    SlackMixture,
    WidthContext,
    WidthSchedule,
    as_width,
    width_setting,
)
from gpbandit_envs.arguments import shown
from gpbandit_envs.problem import InitialData, Problem

__all__ = ["UCBAgent"]


@dataclass(kw_only=True, eq=False, repr=False)
class UCBAgent(BandFields, GPAgent):
    """Plays `argmax mean + width * sd`, with the mean as of the last feedback and the variance as of the last pick.

    With a `DualMixture` the upper bound is the least of several, one for each regulariser; see `agents.core.dual_band`.

    A policy states its `named_widths`, and in `__post_init__` its `batch_rule` with the `batch_ratio` that follows from
    it. It overrides `next_width` or `width_context` where its width is more than a schedule, and `unmet_condition`
    where it does not meet what the theorem behind a schedule asks for. Other arguments: see `GPAgent` and `BandFields`.

    Args:
        width: Factor of the standard deviation: a name of `named_widths`, by default those of
            `agents.exact.gp_ucb.GPUCB` but `"dmm"`; a number; or a `WidthSchedule`.

    Attributes:
        current_width: The width of the bounds that choose, a factor of the posterior standard deviation.
        batch_rule: When a batch ends; by default one evaluation at a time.
        batch_ratio: The factor `C` by which a variance may shrink within a batch, for the width.
        schedule: The width schedule of the episode.
        norm_estimate: The guess at the norm; None where the norm bound is given.
        refuted: Whether the data of the episode have refuted the stated norm, noise or kernel. Only a `DualMixture`
            tells; from then on the bounds that are refuted are left out, and the rest have no guarantee.

    Raises:
        ValueError: for a `DualMixture` in a policy that is not `takes_dual`, or with a norm to be doubled.
    """

    width: object = "theory"

    not_saved = GPAgent.not_saved | {"schedule", "width", "norm_bound"}
    doubles_norm = True
    takes_dual: ClassVar[bool] = False
    """Whether the policy plays on the exact posterior, one evaluation at a time, by the upper bound alone."""
    named_widths: ClassVar[Mapping[str, WidthSchedule]] = SEQUENTIAL_WIDTHS
    """The schedules behind the names of `width`."""
    box_widths: ClassVar[Mapping[str, WidthSchedule]] = {"bayes": CompactBayes()}
    """Names of `width` that mean something else on a box."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.schedule = as_width(self.width, self.named_widths)
        if isinstance(self.schedule, DualMixture) and (not self.takes_dual or self.settings.doubling):
            why = "no norm that is doubled, for a norm that is refuted has no radius" if self.takes_dual else "GP-UCB"
            raise ValueError(f"width: a dual mixture is for {why}; expected another width, got {self.width!r}")
        self._box_schedule = as_width(self.width, {**self.named_widths, **self.box_widths})
        self._arm_schedule = self.schedule
        self.batch_rule: BatchRule = SequentialRule()
        self.batch_ratio = 1.0
        self.norm_estimate: NormEstimate | None = None
        self.refuted = False

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        self.schedule = self._arm_schedule if problem.is_finite else self._box_schedule
        if self.schedule.counts_arms and not problem.is_finite:
            raise ValueError(
                f"width: expected CompactBayes(), a name or a number, as {problem.name} is a box, got "
                f"{shown(self.width)}, which counts arms"
            )
        self.norm_estimate, self.refuted = None, False
        self._pairs = self.settings.pairs_on(problem)
        super().reset(problem, rng)

    def arm_beliefs(self, data: InitialData | None) -> ArmBeliefs[Any]:
        if isinstance(self.schedule, DualMixture):
            return DualArmBeliefs(self.problem, self.model, data, self.schedule.grid)
        return super().arm_beliefs(data)

    def box_beliefs(self, data: InitialData | None) -> BoxBeliefs:
        if isinstance(self.schedule, DualMixture):
            assert self._search is not None
            return DualBoxBeliefs(self.problem, self.model, self._search, data, self.schedule.grid)
        return super().box_beliefs(data)

    def begin_batch(self) -> None:
        super().begin_batch()
        self._batch: Batch | None = None
        if self.model.doubling:
            self.norm_estimate = self.norm_estimate or NormEstimate(self.model)
            pulled = np.flatnonzero(self.arms.counts)
            self.norm_estimate.revise(self.arms.features[pulled], self.arms.counts[pulled], self.arms.sums[pulled])
        # The inputs of a schedule cost a fifteenth of a step on 4,000 arms.
        if isinstance(self.schedule, Constant):
            self.current_width = self.next_width(None, self.beliefs.n_pulls + 1, self.rng)
            return
        context = self.width_context()
        self.current_width = self.next_width(context, self.beliefs.n_pulls + 1, self.rng)
        if isinstance(self.schedule, DualMixture):
            assert isinstance(self.beliefs, DualBeliefs)
            self._band = self.schedule.band(context, self.beliefs.evidence, self._pairs)
            self.current_width = self.schedule.plain_width(context, self._band)
            self.refuted |= self._band.refuted

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

    def next_actions(self, n: int, pending: Pending) -> Actions:
        if isinstance(self.batch_rule, SequentialRule):
            self.batch_closed = True
            if len(pending):
                return self.no_actions
            if isinstance(self.beliefs, DualBeliefs):
                return self.beliefs.maximise_upper(self._band, self.rng)
            return self.beliefs.maximise(UpperConfidenceBound(self.current_width), self.rng)
        if self._batch is None:
            self._batch = self.arms.new_batch(self.current_width, pending.actions)
            self.batch_closed = self.batch_rule.start(self._batch)
        batch, known = self._batch, len(self._batch.picks)
        while not self.batch_closed and (left := n + known - len(batch.picks)) > 0:
            arm, count = batch.propose(left)
            count, self.batch_closed = self.batch_rule.admit(batch, arm, count)
            batch.take(count)
            if not self.batch_closed:
                self.batch_rule.take_sure(batch, left - count)
        return np.array(batch.picks[known:], np.int64)

    def predict(self, X: Float[np.ndarray, "n d"]) -> tuple[np.ndarray, np.ndarray]:
        """Mean and half-width of the band; of a `DualMixture` its middle and half of it, 0 where it is empty."""
        if not isinstance(self.beliefs, DualBeliefs):
            return super().predict(X)
        lower, upper = self.beliefs.bounds(np.asarray(X, np.float64), self._band)
        return uncentred(0.5 * (lower + upper), self.problem), np.maximum(0.5 * (upper - lower), 0.0)

    def band_guarantee(self) -> BandGuarantee:
        stated = self.settings.band_guarantee(
            width_setting(self.width),
            self.schedule,
            self.model.delta,
            self.unmet_condition(self.schedule),
            self.refuted,
        )
        if not isinstance(self.schedule, SlackMixture):
            return stated
        return replace(stated, tolerates=frozenset({"sup"}), approximations=self._pairs)

    @property
    def is_mixture(self) -> bool:
        """Whether the width on arms is AMM or DMM."""
        return type(self._arm_schedule) in (AnalyticMixture, DualMixture)

    def unmet_condition(self, schedule: WidthSchedule) -> str:
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
