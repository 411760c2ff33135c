"""Base class of policies whose Gaussian process has a given kernel and noise, on finite arms and on boxes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from agents.core.beliefs import ArmBeliefs, Beliefs, BoxBeliefs, ExactBeliefs
from agents.core.finite import Offer
from agents.core.gp_settings import GPSettings
from agents.core.guarantees import BandGuarantee
from agents.core.initial_design import InitialDesign, UniformDesign
from agents.core.protocol import Action, Actions, Agent, Feedback, Pending
from agents.core.space import Search
from gpbandit_envs.gp.arm_posterior import ArmPosterior
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.problem import InitialData, Problem

__all__ = ["GPAgent"]


class GPAgent(Agent):
    """Evaluates an initial design, then the actions that its policy chooses on the posterior.

    On arms the initial design is the first batch, chosen when the episode begins; existing data take its place. On a
    box its points come one at a time, existing data count among them, and a failed evaluation is replaced. A subclass
    implements `_next`, which chooses the later actions.

    Args:
        settings: Kernel, noise, norm bound, confidence level and existing data, where they differ from the problem's.
        design: The initial design.
        search: How acquisition functions are maximised on a box; None for a policy that plays on arms alone.

    Attributes:
        kernel, lam: Kernel and noise variance of the settings; from `reset` on, `lam` is that of the episode.
        model: The settings of the episode, from `reset` on.
        beliefs: The posterior of the episode, from `reset` on.
        width: Half-width of the confidence band that `predict` states, in posterior standard deviations.
        batch_length: Evaluations in the last batch.

    Raises:
        ValueError: at `reset`, if neither problem nor arguments state kernel and noise, or the policy cannot play on
            the domain.
    """

    beliefs: Beliefs
    width: float = 1.96

    def __init__(self, settings: GPSettings, design: InitialDesign, search: Search | None = None) -> None:
        self.settings, self.design, self._search = settings, design, search
        self.kernel, self.lam = settings.kernel, settings.lam or 0.0

    @property
    def arms(self) -> ArmBeliefs[Any]:
        """The beliefs of an episode on finite arms."""
        assert isinstance(self.beliefs, ArmBeliefs)
        return self.beliefs

    @property
    def posterior(self) -> ArmPosterior:
        """The posterior of an episode on finite arms."""
        posterior: ArmPosterior = self.arms.posterior
        return posterior

    @property
    def exact(self) -> ExactPosterior:
        """The same, of a policy whose posterior is exact."""
        assert isinstance(self.beliefs, ExactBeliefs)
        return self.beliefs.posterior

    @property
    def delta(self) -> float:
        """Nominal failure probability of the band of `predict`, from `reset` on."""
        return self.model.delta

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        if not problem.is_finite and self._search is None:
            raise ValueError(f"problem: {type(self).__name__} needs a finite set of arms, {problem.name} is a box")
        data = problem.initial if self.settings.initial is None else self.settings.initial
        if data is not None:
            data.check_fit(problem)
        self.problem, self.rng = problem, rng
        self.model = self.settings.resolve(problem, allow_doubling=problem.is_finite)
        self.lam = self.model.lam
        self._planned, self._started, self.batch_length = Pending.empty(problem).actions, 0, 0
        if problem.arms is None:
            self.beliefs = self._beliefs_on_box(data)
        else:
            self.beliefs = self._beliefs_on_arms(data)
            if data is None:
                self._planned = self.design.arms(self.model, problem.arms, problem.horizon, rng)
        self._begin_batch()

    def _beliefs_on_box(self, data: InitialData | None) -> BoxBeliefs:
        assert self._search is not None
        return BoxBeliefs(self.problem, self.model, self._search, data)

    def _beliefs_on_arms(self, data: InitialData | None) -> ArmBeliefs[Any]:
        return ExactBeliefs(self.problem, self.model, data)

    def _begin_batch(self) -> None:
        """Feedback has arrived, or the last batch was given up: the next choice begins a batch."""
        self._issued, self._closed = 0, False

    def select(self, n: int, pending: Pending) -> Actions:
        if self._closed:
            if len(pending):
                return self._nothing
            self._begin_batch()  # the last batch was given up without feedback
        picks = self._initial_design(n, pending)
        if len(picks) == 0 and not self._closed:
            picks = self._next(n, pending)
        self._issued += len(picks)
        return picks

    @property
    def _nothing(self) -> Actions:
        return Pending.empty(self.problem).actions

    def offer(self, arms: Int[np.ndarray, " k"]) -> None:
        if not self.capabilities.contexts:
            super().offer(arms)
        self.beliefs.offered = Offer.among(arms, self.problem)

    def _initial_design(self, n: int, pending: Pending) -> Actions:
        if not self.problem.is_finite:
            assert isinstance(self.beliefs, BoxBeliefs)
            assert isinstance(self.design, UniformDesign)
            if self.beliefs.n_pulls >= self.design.n:
                return self._nothing
            self._closed = True
            return self._nothing if len(pending) else self.beliefs.space.random(1, self.rng)
        # Feedback may arrive before all of them are under evaluation: the rest are still evaluated.
        picks = self._planned[self._started : self._started + n]
        self._started += len(picks)
        self._closed = len(picks) > 0 and self._started == len(self._planned)
        offered = self.beliefs.offered
        if offered.some is not None and len(picks):
            # Uniform on all arms, and if that is none of them once more on those offered: uniform on those offered.
            picks = np.where(np.isin(picks, offered.some), picks, offered.draw(len(picks), self.rng))
        return picks

    @abstractmethod
    def _next(self, n: int, pending: Pending) -> Actions:
        """Up to `n` actions of a batch that is open; sets `_closed` if the batch ends with them."""

    def observe(self, feedback: Feedback) -> None:
        if len(feedback) == 0:
            return
        if self.beliefs.observe(feedback):
            self.batch_length = self._issued
        self._begin_batch()  # even if nothing was learnt: a batch must not count on what failed

    def band_guarantee(self) -> BandGuarantee:
        return self.settings.band_guarantee("", None, self.delta)

    def recommend(self) -> Action:
        """The action of largest posterior mean: among the arms offered, or among the evaluated points of a box."""
        return self.beliefs.recommend()

    def predict(self, X: Float[np.ndarray, "n d"]) -> tuple[np.ndarray, np.ndarray]:
        mean, variance = self.beliefs.at(np.asarray(X, np.float64))
        return mean, self.width * np.sqrt(variance)

    def diagnostics(self) -> Mapping[str, float]:
        facts = {"width": self.width, **self.beliefs.diagnostics()}
        return {**facts, "batch_length": float(self.batch_length)} if self.problem.is_finite else facts
