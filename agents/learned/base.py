"""What the policies that learn the kernel share: initial data, estimates, the posterior, the next point."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypedDict

import numpy as np
from jaxtyping import Float

from agents.core.acquisition import UpperConfidenceBound
from agents.core.guarantees import BandGuarantee
from agents.core.protocol import Action, Actions, Agent, Capabilities, Feedback, Pending
from agents.core.settings import as_count
from agents.learned.mixture import Mixture
from agents.learned.space import space_of
from gpbandit_envs.gp.hyperparameters import Hyperparameters, HyperPrior, as_hyper_prior, map_estimate
from gpbandit_envs.gp.hyperparameters.map import standard_start
from gpbandit_envs.gp.observations import Observations
from gpbandit_envs.gp.regression import GPRegression
from gpbandit_envs.problem import Problem

__all__ = ["LearnedAgent", "Settings"]


class Settings(TypedDict, total=False):
    """The arguments that all these policies take; see `LearnedAgent`."""

    family: str
    width: float
    n_initial: int | None
    prior: HyperPrior | Mapping[str, Any] | None
    fits: int
    candidates: int
    starts: int
    iterations: int


class LearnedAgent(Agent):
    """Evaluates `argmax mean + width sd` of a Gaussian process whose hyperparameters are estimated as it goes.

    The first evaluations, `D_0`, are existing data on the card and uniform ones. The features of arms are mapped to the
    unit cube; feedback is standardised for the estimate, so that the prior mean is the average of the feedback.
    Estimates are made where feedback arrives, and only if the next point is not a random one.

    Args:
        family: `"matern52"`, `"matern32"` or `"se"`, with one lengthscale per feature.
        width: Factor of the standard deviation, > 0.
        n_initial: Size of `D_0`, >= 1, or more if more data exist; None for 3 per feature: the UHE-BO paper is silent.
        prior: Priors and bounds of the hyperparameters, or their JSON form; None for those of the UHE-BO paper.
        fits: Climbs of each MAP estimate, the first from the last estimate.
        candidates: On a box, points at which the acquisition function is evaluated first.
        starts: On a box, points from which it is climbed.
        iterations: On a box, most steps of a climb.

    Attributes:
        actions: What was evaluated without failure, shape (n,) or (n, d).
        y: Its feedback, shape (n,).
        hyperparameters: The current estimate, or samples; lengthscales in coordinates of the unit cube.
        posterior: The model that follows from it and all data.

    Raises:
        ValueError: if a number is out of range.
    """

    capabilities = Capabilities(frozenset({"finite", "box"}), batch="sequential")
    __signature__: ClassVar[inspect.Signature]

    def __init_subclass__(cls) -> None:
        """State the arguments that a subclass passes on, for who reads signatures: the registry, the leaderboard."""
        super().__init_subclass__()
        own = list(inspect.signature(cls.__init__).parameters.values())[1:]
        if own and own[-1].kind is inspect.Parameter.VAR_KEYWORD:
            own[-1:] = list(inspect.signature(LearnedAgent.__init__).parameters.values())[1:]
        cls.__signature__ = inspect.Signature(own)

    def __init__(
        self,
        family: str = "matern52",
        width: float = 1.96,
        n_initial: int | None = None,
        prior: HyperPrior | Mapping[str, Any] | None = None,
        fits: int = 2,
        candidates: int = 1_024,
        starts: int = 8,
        iterations: int = 60,
    ) -> None:
        if not (np.isfinite(width) and width > 0):
            raise ValueError(f"width: expected a finite number > 0, got {width!r}")
        search = {"candidates": candidates, "starts": starts, "iterations": iterations}
        Hyperparameters(1.0, 1.0, (1.0,)).kernel(family)  # refuses an unknown family now, not at the first estimate
        self.family, self.width, self.fits = family, float(width), as_count("fits", fits)
        self.prior = as_hyper_prior(prior)
        self._n_initial = None if n_initial is None else as_count("n_initial", n_initial)
        self._search = {name: as_count(name, number) for name, number in search.items()}

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        self.problem, self.rng = problem, rng
        self.space = space_of(problem, self._search)
        self.actions, self.y = Pending.empty(problem).actions, np.zeros(0)
        if problem.initial is not None:
            self.actions, self.y = problem.initial.arms, problem.initial.rewards
        n_initial = 3 * problem.dim if self._n_initial is None else self._n_initial
        self.n_initial = max(n_initial, len(self.y))
        self._explores = True
        self._start()
        self._guess()
        self._go_on()

    def _start(self) -> None:
        """Prepare an episode; nothing to prepare by default."""

    def _arrived(self, reward: float) -> None:
        """An evaluation after `D_0` is over; its feedback is among the data, or NaN if it failed."""

    def _explores_next(self) -> bool:
        """Whether the next point is a random one; asked once per point, after `D_0`."""
        return False

    def _estimate(self) -> None:
        """Set the hyperparameters, and the mean, from the data: by default the MAP estimate of plain likelihood."""
        self._set_map(self.X, self.y)

    def _plan(self) -> None:
        """Decide how the next point is found, and bring hyperparameters and posterior up to date."""
        self._explores = self._explores_next()
        if not self._explores:
            self._estimate()
        self._condition()

    def _condition(self) -> None:
        """Bring the posterior up to date with hyperparameters and data."""
        parts = [
            GPRegression(known.kernel(self.family), self.X, self.y, known.noise, self._prior_mean)
            for known in self.hyperparameters
        ]
        self.posterior: GPRegression | Mixture = parts[0] if len(parts) == 1 else Mixture(parts)

    @property
    def X(self) -> Float[np.ndarray, "n d"]:  # noqa: N802 - the field's name of the inputs
        """Coordinates of what was evaluated."""
        return self.space.coordinates(self.actions)

    @property
    def in_initial_design(self) -> bool:
        """Whether `D_0` is still being collected."""
        return len(self.y) < self.n_initial

    def _set_map(
        self, X: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"], units: tuple[float, float] | None = None
    ) -> None:
        estimate = map_estimate(
            X,
            y,
            self.rng,
            family=self.family,
            prior=self.prior,
            starts=self.fits,
            warm=self.hyperparameters[:1],
            units=units,
        )
        self.hyperparameters: Sequence[Hyperparameters] = [estimate.hyperparameters]
        self._prior_mean = estimate.prior_mean

    def _guess(self) -> None:
        """Hyperparameters before there is enough data to estimate any: a standard start in the data's units."""
        offset, scale = (0.0, 1.0) if len(self.y) == 0 else Observations.of(self.X, self.y).standardised()[1:]
        self.hyperparameters = [Hyperparameters.from_vector(standard_start(self.problem.dim)).rescaled(scale)]
        self._prior_mean = offset

    def select(self, n: int, pending: Pending) -> Actions:
        if len(pending):
            return Pending.empty(self.problem).actions
        if self._explores:
            return self.space.random(1, self.rng)
        return self._acquire()

    def _acquire(self) -> Actions:
        score = UpperConfidenceBound(self.width)
        return self.space.maximise(score, self.posterior, self.rng, self._best_points())

    def _best_points(self) -> Float[np.ndarray, "k d"]:
        """The evaluated points of largest posterior mean."""
        means = self.posterior.at(self.X)[0]
        return self.X[np.argsort(-means, kind="stable")[:4]]

    def observe(self, feedback: Feedback) -> None:
        # In the order of the tickets, so that nothing depends on the order within a delivery.
        for i in np.argsort(feedback.tickets).tolist():
            initial = self.in_initial_design
            if not feedback.failed[i]:
                self.actions = np.concatenate([self.actions, feedback.actions[i : i + 1]])
                self.y = np.append(self.y, feedback.rewards[i])
            if not initial:
                self._arrived(float(feedback.rewards[i]))
        if self.in_initial_design:
            self._guess()
        self._go_on()

    def _go_on(self) -> None:
        if self.in_initial_design:
            self._condition()
        else:
            self._plan()

    def _reward(self, y: float) -> float:
        """Feedback scaled to [0, 1] by the extremes of `D_0`; 0 if the evaluation failed."""
        low, high = float(self.y[: self.n_initial].min()), float(self.y[: self.n_initial].max())
        if np.isnan(y):
            return 0.0
        return float(np.clip((y - low) / (high - low), 0.0, 1.0)) if high > low else float(y > high)

    def recommend(self) -> Action:
        """The arm, or the evaluated point of a box, of largest posterior mean."""
        return self.space.best(self.posterior, self.actions)

    def predict(self, X: Float[np.ndarray, "n d"]) -> tuple[np.ndarray, np.ndarray]:
        mean, variance = self.posterior.at(self.space.scaled(np.asarray(X, np.float64)))
        return mean, self.width * np.sqrt(variance)

    def band_guarantee(self) -> BandGuarantee:
        return BandGuarantee(width=f"{self.width:g}")

    def diagnostics(self) -> Mapping[str, float]:
        lengthscales = np.mean([known.lengthscales for known in self.hyperparameters], axis=0)
        return {
            "width": self.width,
            "variance": float(np.mean([known.variance for known in self.hyperparameters])),
            "noise": float(np.mean([known.noise for known in self.hyperparameters])),
            "lengthscale_min": float(lengthscales.min()),
            "lengthscale_max": float(lengthscales.max()),
        }

    def state_dict(self) -> dict[str, Any]:
        return {
            "rng": self.rng.bit_generator.state,
            "actions": self.actions.copy(),
            "y": self.y.copy(),
            "explores": self._explores,
            "hyperparameters": [(known.variance, known.noise, known.lengthscales) for known in self.hyperparameters],
            "prior_mean": self._prior_mean,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.rng.bit_generator.state = state["rng"]
        self.actions = np.array(state["actions"], self.actions.dtype)
        self.y = np.array(state["y"], np.float64)
        self._explores = bool(state["explores"])
        self.hyperparameters = [Hyperparameters(*known) for known in state["hyperparameters"]]
        self._prior_mean = float(state["prior_mean"])
        self._condition()
