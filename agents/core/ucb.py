"""Upper-confidence-bound policies: a posterior, a width schedule and a batch rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from agents.core.batch_rules import BatchRule, SequentialRule
from agents.core.gp_agent import GPAgent
from agents.core.gp_settings import BandFields, Number, WidthContext
from agents.core.guarantees import BandGuarantee
from agents.core.many_beliefs import ManyBeliefs, Room
from agents.core.norm_doubling import NormEstimate
from agents.core.protocol import Actions, Pending
from agents.core.widths import SEQUENTIAL_WIDTHS, CompactBayes, WidthSchedule, as_width, width_setting
from gpbandit_envs.arguments import shown
from gpbandit_envs.problem import Problem


@dataclass(kw_only=True, eq=False, repr=False)
class UCBAgent(BandFields, GPAgent):
    """Plays `argmax mean + width * sd`, with the mean as of the last feedback and the variance as of the last pick.

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
        self.schedule.check_policy(self.takes_dual, self.settings.doubling)
        self._box_schedule = as_width(self.width, {**self.named_widths, **self.box_widths})
        self._arm_schedule = self.schedule
        self.batch_rule: BatchRule = SequentialRule()
        self.batch_ratio = 1.0
        self.norm_estimate: NormEstimate | None = None

    @property
    def refuted(self) -> bool:
        """Whether the data have refuted what the policy was given; see `Beliefs`."""
        return self.beliefs.refuted

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        self.schedule = self._arm_schedule if problem.is_finite else self._box_schedule
        if self.schedule.counts_arms and not problem.is_finite:
            raise ValueError(
                f"width: expected CompactBayes(), a name or a number, as {problem.name} is a box, got "
                f"{shown(self.width)}, which counts arms"
            )
        self.norm_estimate = None
        super().reset(problem, rng)

    def begin_batch(self) -> None:
        super().begin_batch()
        self.batch_rule.begin()
        if self.model.doubling:
            self.norm_estimate = self.norm_estimate or NormEstimate(self.model)
            pulled = np.flatnonzero(self.arms.counts)
            self.norm_estimate.revise(self.arms.features[pulled], self.arms.counts[pulled], self.arms.sums[pulled])
        self.current_width = self.next_width(self.beliefs.n_pulls + 1)

    def many_beliefs(self, room: Room) -> ManyBeliefs:
        return self.schedule.many_beliefs(self.problem, self.model, room)

    def next_width(self, t: int) -> Number:
        """The width of the bounds that choose evaluation `t`, or the batch that begins with it."""
        return self.beliefs.next_width(self.schedule, self.width_context)

    def width_context(self) -> WidthContext:
        """The current inputs of the width schedule."""
        norm_bound = self.model.norm_bound if self.norm_estimate is None else self.norm_estimate.value
        return self.beliefs.width_context(norm_bound=norm_bound, batch_ratio=self.batch_ratio)

    def next_actions(self, n: int, pending: Pending) -> Actions:
        picks, self.batch_closed = self.batch_rule.picks(self.beliefs, self.current_width, n, pending, self.rng)
        return picks

    def band_guarantee(self) -> BandGuarantee:
        stated = self.settings.band_guarantee(
            width_setting(self.width),
            self.schedule,
            self.model.delta,
            self.unmet_condition(self.schedule),
            self.refuted,
        )
        return replace(stated, approximations=self.model.pairs if stated.tolerates else ())

    @property
    def regret_width(self) -> str:
        """The width on arms whose bound on the regret holds; see `WidthSchedule.regret_as`."""
        return self._arm_schedule.regret_as

    def unmet_condition(self, schedule: WidthSchedule) -> str:
        """Which condition of the theorem behind `schedule` this policy does not meet; "" if none."""
        return schedule.chosen_blindly and "its theorem asks for pulls that are chosen without their feedback"

    def diagnostics(self) -> Mapping[str, float]:
        facts = {**super().diagnostics(), "d_eff": self.beliefs.effective_dimension}
        if self.norm_estimate is not None:
            facts |= {"norm_bound": self.norm_estimate.value, "norm_shown": self.norm_estimate.lower_bound}
        return facts
