"""GP-UCB."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from agents.core.acquisition import UpperConfidenceBound
from agents.core.initial import Initial, as_initial
from agents.core.norm import NormGuess
from agents.core.protocol import Actions, Feedback
from agents.core.settings import GivenModel, NormBound
from agents.core.space import Search
from agents.core.widths import SEQUENTIAL_WIDTHS, CompactBayes, FiniteBayes, WidthContext, as_width
from agents.sequential.base import SequentialAgent
from agents.sequential.beliefs import ArmBeliefs
from gpbandit_envs.problem import Problem

__all__ = ["GPUCB"]


class GPUCB(SequentialAgent):
    """Evaluate `argmax mean_{t-1} + width_t sd_{t-1}`, one arm or point at a time.

    `width="theory"` is the RKHS width of Chowdhury and Gopalan (2017) with the data's own information gain,
    `"practical"` the one of the BBKB experiments, `"bayes"` that of Srinivas et al. (2010) for a draw from the prior,
    Theorem 1 on arms and Theorem 2 on a box, `"growing"` the `sqrt(3 log 2t)` of the BPE experiments.

    Args:
        kernel: Prior covariance: spec, kernel or scikit-learn kernel; None for the problem's.
        width: `"theory"`, `"practical"`, `"bayes"`, `"growing"`, a number, or a `WidthSchedule`.
        lam: Noise variance in the posterior; None for the problem's `noise_std ** 2`.
        norm_bound: Bound `F` on the RKHS norm; None for the problem's, or 1 if it states none; on arms also `"double"`,
            see `agents.core.norm.NormGuess`.
        delta: Allowed probability of failure, in (0, 1); None for `1 / horizon`, or 0.05 without a horizon.
        n_start: Arms or points drawn uniformly and evaluated before the first bound is computed.
        candidates: On a box, Sobol points at which the bound is evaluated first.
        starts: On a box, points from which L-BFGS-B climbs.
        iterations: On a box, largest number of steps of a climb.
        initial: On arms, existing data `{"arms": [...], "rewards": [...]}`; None for the problem's, if it has some.

    Attributes:
        width: The current width, a factor of the posterior standard deviation.
        schedule: The width schedule of the episode.
        norm_guess: The guess at the norm; None where the bound is taken as given.

    Raises:
        ValueError: if a number is out of range, or at `reset` if neither problem nor argument states what is needed.

    Reference: Srinivas, Krause, Kakade and Seeger (2010), Algorithm 1; Chowdhury and Gopalan (2017), Algorithm 1.
    """

    not_saved = SequentialAgent.not_saved | {"schedule"}

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
        initial: Initial = None,
    ) -> None:
        given, search = GivenModel(kernel, lam, norm_bound, delta), Search(candidates, starts, iterations)
        super().__init__(given, n_start, search, as_initial(initial))
        if isinstance(width, FiniteBayes):
            raise ValueError("width: this schedule counts arms, and a box has none; give CompactBayes or a name")
        self._width = width
        self.schedule = as_width(width, SEQUENTIAL_WIDTHS)
        self.norm_guess: NormGuess | None = None

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        super().reset(problem, rng)
        names = SEQUENTIAL_WIDTHS if problem.is_finite else {**SEQUENTIAL_WIDTHS, "bayes": CompactBayes()}
        self.schedule = as_width(self._width, names)
        self.norm_guess = NormGuess(self.model) if self.model.doubling else None
        self._update_width()

    def width_context(self) -> WidthContext:
        """What the width schedule depends on now."""
        return self.beliefs.width_context(self.model.norm_bound if self.norm_guess is None else self.norm_guess.value)

    def _update_width(self) -> None:
        if self.norm_guess is not None and self.beliefs.n_pulls:
            assert isinstance(self.beliefs, ArmBeliefs)
            pulled, X = np.flatnonzero(self.beliefs.counts), self.beliefs.posterior.rows.X
            self.norm_guess.revise(X[pulled], self.beliefs.counts[pulled], self.beliefs.sums[pulled])
        self.width = self.schedule(self.width_context())

    def _choose(self) -> Actions:
        return self.beliefs.maximise(UpperConfidenceBound(self.width), self.rng)

    def observe(self, feedback: Feedback) -> None:
        if self.beliefs.observe(feedback):
            self._update_width()

    def diagnostics(self) -> Mapping[str, float]:
        facts = {**super().diagnostics(), "d_eff": self.beliefs.effective_dimension}
        if self.norm_guess is not None:
            facts |= {"norm_bound": self.norm_guess.value, "norm_shown": self.norm_guess.shown}
        return facts
