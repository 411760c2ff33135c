"""Base class of the eliminations: few batches, after each of which only the arms that may still be best are left."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Float

from agents.core.finite import FiniteArmAgent
from agents.core.gp_settings import BandFields, GPSettings, ModelFields, centred, uncentred
from agents.core.guarantees import BandGuarantee
from agents.core.protocol import Action, Feedback
from agents.core.widths import WidthSchedule, as_width, width_setting
from gpbandit_envs.arrays import Array, namespace_of
from gpbandit_envs.gp.exact import ExactPosterior


@dataclass(kw_only=True, eq=False, repr=False)
class Elimination(ModelFields, BandFields, FiniteArmAgent):
    """Plans a batch in advance, waits for all of its feedback, and eliminates arms by the band that this gives.

    Attributes:
        model: Kernel, noise, norm bound and confidence level of the episode, from `reset` on.
        alive: The arms that are left.
        batch: Number of complete batches.
    """

    not_saved = FiniteArmAgent.not_saved | {"model", "schedule", "width", "norm_bound"}
    policy_family = "elimination"
    named_widths: ClassVar[Mapping[str, WidthSchedule]]

    width: object = "theory"

    if TYPE_CHECKING:  # what `_begin_batch` and `_end_batch` of a subclass set
        known: ExactPosterior = field(init=False)
        _answered: int = field(init=False)
        _waiting: Any = field(init=False)
        _known_width: float = field(init=False)

    def __post_init__(self) -> None:
        self.settings = GPSettings.of(self)
        self.kernel = self.settings.kernel
        self.schedule = as_width(self.width, self.named_widths)
        if self.schedule.depends_on_pulls:  # a batch has its width before its pulls
            raise ValueError(
                f"width: expected one of {', '.join(map(repr, self.named_widths))}, a number or a schedule of t and "
                f"the problem alone, got {self.schedule!r}, which depends on the pulls"
            )

    def start_episode(self) -> None:
        self.model = self.settings.resolve(self.problem)
        self._context = self.model.width_context(self.problem, 1)
        self.alive = np.arange(self.problem.n_arms)
        self.batch = self.best = 0
        self.inconsistent, self._floor = False, -np.inf

    def _posterior_on(self, arms: np.ndarray | slice) -> ExactPosterior:
        """The posterior of no data over some of the arms."""
        assert self.problem.arms is not None
        return ExactPosterior(self.model.kernel, self.problem.arms[arms], self.model.noise_of(arms))

    @abstractmethod
    def _begin_batch(self) -> None:
        """Plan the batch of number `self.batch`, of which nothing is issued or answered yet."""

    @property
    @abstractmethod
    def _length(self) -> int:
        """Planned length of the current batch."""

    def observe(self, feedback: Feedback) -> None:
        self._answered += len(feedback.failed)
        super().observe(centred(feedback, self.problem))
        if self._answered >= self._length and self._waiting:
            self._end_batch()

    @abstractmethod
    def _end_batch(self) -> None:
        """Set `known` to the posterior of the batch, and `_eliminate`."""

    def _eliminate(self, mean: Float[np.ndarray, " k"], variance: Float[np.ndarray, " k"], width: float) -> None:
        """Keep the arms whose upper bound reaches the largest lower bound; the next batch begins."""
        half = width * np.sqrt(variance)
        upper, lower = mean + half, mean - half
        # An upper bound below an older lower bound: some interval was wrong. This batch's bounds decide all the same.
        self.inconsistent |= bool(upper.max() < self._floor)
        self._floor = max(self._floor, float(lower.max()))
        self.best = int(self.alive[np.argmax(mean)])
        self._known_width = width
        self.alive = self.alive[self.may_be_best(upper, lower)]
        self.batch += 1
        self._begin_batch()

    @staticmethod
    def may_be_best(upper: Array, lower: Array) -> Array:
        """Which arms are left, by their bounds: line 15 of both papers, by which that of largest lower bound stays."""
        return upper >= namespace_of(lower).max(lower, axis=-1, keepdims=True)

    def recommend(self) -> Action:
        """The arm of largest posterior mean among those that were left in the last complete batch."""
        return self.best

    def predict(self, X: Float[np.ndarray, "n d"]) -> tuple[np.ndarray, np.ndarray]:
        """Mean and half-width by the feedback of the last complete batch and the width that eliminated.

        Before the first batch is complete they are those of the prior, with the planned width.
        """
        mean, variance = self.known.at(np.asarray(X, dtype=np.float64))
        return uncentred(mean, self.problem), self._known_width * np.sqrt(variance)

    def band_guarantee(self) -> BandGuarantee:
        return self.settings.band_guarantee(width_setting(self.width), self.schedule, self.model.delta, self._unmet())

    def _unmet(self) -> str:
        """Which condition of the theorem behind the width the settings do not meet; "" if none."""
        return ""

    def diagnostics(self) -> Mapping[str, float]:
        return {
            "width": self._known_width,
            "information_gain": self.known.information_gain,
            "d_eff": self.known.effective_dimension(),
            "alive": float(len(self.alive)),
            "batch_length": float(self._length),
        }
