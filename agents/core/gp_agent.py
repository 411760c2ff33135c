"""Base class of policies whose Gaussian process has a given kernel and noise, on finite arms and on boxes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Int

from agents.core.beliefs import ArmBeliefs, Beliefs, BoxBeliefs, ExactBeliefs
from agents.core.finite import Offer
from agents.core.gp_settings import GPSettings, Initial, Model, ModelFields, Number, centred, uncentred
from agents.core.guarantees import BandGuarantee, Sketch
from agents.core.many_beliefs import ManyBeliefs, Room
from agents.core.protocol import Action, Actions, Agent, Feedback, Pending
from agents.core.space import Search
from agents.core.widths import Constant
from gpbandit_envs.arguments import as_count
from gpbandit_envs.arrays import Array
from gpbandit_envs.gp.arm_posterior import ArmPosterior
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.problem import InitialData, Problem


@dataclass(kw_only=True, eq=False, repr=False)
class GPAgent(ModelFields, Agent):
    """Evaluates an initial design, then the actions that its policy chooses on the posterior.

    On arms the initial design is the first batch, chosen when the episode begins; existing data take its place. On a
    box its points come one at a time, existing data count among them, and a failed evaluation is replaced.

    A policy is a dataclass whose fields are its settings, which no episode changes; those of the episode are in
    `model`. It implements `next_actions`, which chooses the later actions, and overrides `begin_batch`, `arm_beliefs`
    and `box_beliefs` where it has more to do when feedback arrives, or another posterior. It plays on boxes if its
    `capabilities` say so; its `SearchFields` say how a box is searched. See `docs/guides/agent.md`. Other
    arguments: see `ModelFields`.

    Args:
        initial: Existing data, on arms `{"arms": [...], "rewards": [...]}`, on a box `points` in place of `arms`; None
            for the problem's, if it has some.
        n_start: Arms or points drawn uniformly and evaluated before the policy chooses its first.

    Attributes:
        settings: The settings that the problem need not state, checked.
        model: Kernel, noise, norm bound and confidence level of the episode, from `reset` on.
        beliefs: The posterior of the episode, from `reset` on.
        current_width: Half-width of the confidence band that `predict` states, in posterior standard deviations.
        batch_closed: Whether the batch is complete: nothing more is selected before feedback. `next_actions` sets it.
        batch_issued: Actions of the current batch that have been selected.
        batch_length: Evaluations in the last batch.

    Raises:
        ValueError: if a number is out of range, or at `reset` if neither problem nor arguments state kernel and noise,
            or the policy cannot play on the domain.
    """

    initial: Initial = None
    n_start: int = 0

    doubles_norm: ClassVar[bool] = False
    """Whether a guess at the norm is revised."""

    def __post_init__(self) -> None:
        self.settings = GPSettings.of(self)
        self.kernel = self.settings.kernel  # built once, and picklable
        self.n_start = as_count("n_start", self.n_start, 0)
        self._search = self.search()
        self.beliefs: Beliefs
        self.current_width: Number = 1.96

    @property
    def planned(self) -> Actions:
        """The initial design, on arms."""
        return self._planned

    @property
    def arms(self) -> ArmBeliefs[Any]:
        """The beliefs of an episode on finite arms."""
        return self.beliefs.arms

    @property
    def posterior(self) -> ArmPosterior:
        """The posterior of an episode on finite arms."""
        posterior: ArmPosterior = self.arms.posterior
        return posterior

    @property
    def exact(self) -> ExactPosterior:
        """The same, of a policy whose posterior is exact."""
        posterior: ExactPosterior = self.arms.posterior
        return posterior

    def search(self) -> Search:
        """How an acquisition function is maximised on a box: by default, unless the `SearchFields` state it."""
        return Search()

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        if not problem.is_finite and "box" not in self.capabilities.domains:
            raise ValueError(f"problem: {type(self).__name__} needs a finite set of arms, {problem.name} is a box")
        data = self.data_before(problem)
        if data is not None:
            data.check_fit(problem)
            data = centred(data, problem)
        self.problem, self.rng = problem, rng
        self.model = self.model_on(problem)
        self._planned, self._started, self.batch_length = Pending.empty(problem).actions, 0, 0
        self._points_to_draw = 0
        if problem.arms is None:
            self.beliefs, self._points_to_draw = self.box_beliefs(data), self.n_start
        else:
            self.beliefs = self.arm_beliefs(data)
            if data is None:
                self._planned = self.initial_arms(problem.arms, problem.horizon)
        self.begin_batch()

    def data_before(self, problem: Problem) -> InitialData | None:
        """Existing data, which take the place of the initial design; None for none."""
        return problem.initial if self.settings.initial is None else self.settings.initial

    def model_on(self, problem: Problem) -> Model:
        """The settings of an episode on a problem."""
        return self.settings.resolve(problem, allow_doubling=self.doubles_norm and problem.is_finite)

    def box_beliefs(self, data: InitialData | None) -> BoxBeliefs:
        """The posterior of an episode on a box, given existing data."""
        return BoxBeliefs(self.problem, self.model, self._search, data)

    def arm_beliefs(self, data: InitialData | None) -> ArmBeliefs[Any]:
        """The posterior of an episode on arms, given existing data."""
        return ExactBeliefs(self.problem, self.model, data)

    def many_beliefs(self, room: Room) -> ManyBeliefs:
        """The posteriors of many repetitions on arms, in the place of those of one episode."""
        return ManyBeliefs(self.problem, self.model, room)

    def initial_arms(self, X: Float[np.ndarray, "A d"], most: int | None) -> Int[np.ndarray, "n *runs"]:
        """The initial design on the arms `X`, at most so many: by default `n_start` uniform ones, with replacement."""
        return self.rng.integers(len(X), size=self.n_start if most is None else min(self.n_start, most))

    def begin_batch(self) -> None:
        """The next choice begins a batch: at `reset`, and after feedback, or where the last batch was given up."""
        self.batch_issued, self.batch_closed = 0, False

    def select(self, n: int, pending: Pending) -> Actions:
        if self.batch_closed:
            if len(pending):
                return self.no_actions
            self.begin_batch()  # the last batch was given up without feedback
        picks = self._initial_design(n, pending)
        if len(picks) == 0 and not self.batch_closed:
            picks = self.next_actions(n, pending)
        self.batch_issued += len(picks)
        return picks

    @property
    def no_actions(self) -> Actions:
        """An empty selection, which waits for feedback."""
        return Pending.empty(self.problem).actions

    def offer(self, arms: Int[np.ndarray, " k"]) -> None:
        if not self.capabilities.contexts:
            super().offer(arms)
        self.beliefs.offered = Offer.among(arms, self.problem)

    def _initial_design(self, n: int, pending: Pending) -> Actions:
        if self.beliefs.n_pulls < self._points_to_draw:
            self.batch_closed = True
            return self.no_actions if len(pending) else self.beliefs.random(self.rng)
        # Feedback may arrive before all of them are under evaluation: the rest are still evaluated.
        picks = self._planned[self._started : self._started + n]
        self._started += len(picks)
        self.batch_closed = len(picks) > 0 and self._started == len(self._planned)
        offered = self.beliefs.offered
        if offered.some is not None and len(picks):
            # Uniform on all arms, and if that is none of them once more on those offered: uniform on those offered.
            picks = np.where(np.isin(picks, offered.some), picks, offered.draw(len(picks), self.rng))
        return picks

    @abstractmethod
    def next_actions(self, n: int, pending: Pending) -> Actions:
        """Up to `n` actions of a batch that is open; sets `batch_closed` if the batch ends with them.

        Called after the initial design. `pending` are the open evaluations, those of this batch among them.
        """

    def observe(self, feedback: Feedback) -> None:
        if len(feedback) == 0:
            return
        if self.beliefs.observe(centred(feedback, self.problem)):
            self.batch_length = self.batch_issued
        self.begin_batch()  # even if nothing was learnt: a batch must not count on what failed

    def band_guarantee(self) -> BandGuarantee:
        return self.settings.band_guarantee("", Constant(self.current_width), self.model.delta)

    def recommend(self) -> Action:
        """The action of largest posterior mean: among the arms offered, or among the evaluated points of a box."""
        return self.beliefs.recommend()

    def predict(self, X: Float[np.ndarray, "n d"]) -> tuple[Array, Array]:
        mean, half = self.beliefs.band(np.asarray(X, np.float64), self.current_width)
        return uncentred(mean, self.problem), half

    def sketch(self) -> Sketch | None:
        return self.beliefs.sketch()

    def diagnostics(self) -> Mapping[str, float]:
        facts = {"width": self.current_width, **self.beliefs.diagnostics()}
        return {**facts, "batch_length": float(self.batch_length)} if self.problem.is_finite else facts
