"""What the policies on finite arms share whose Gaussian process has a given kernel and noise."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from agents.core.finite import FiniteArmAgent
from agents.core.protocol import Action, Actions, Feedback, Pending
from agents.core.settings import GPSettings
from agents.core.starts import Start
from gpbandit_envs.gp.arms import ArmPosterior
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.problem import InitialData

__all__ = ["NO_ARMS", "GPArmAgent"]

NO_ARMS = np.zeros(0, np.int64)


class GPArmAgent(FiniteArmAgent):
    """A posterior over all arms, conditioned on what has arrived; its initial design is the first batch.

    A policy says in `_next` which arms it pulls once the initial design is under way.

    Args:
        settings: Kernel, noise and existing data.
        design: What is pulled, as one batch, before the first choice; existing data take its place.

    Attributes:
        model: The settings of the episode, from `reset` on.
        posterior: The posterior over all arms.
        width: Half-width of the band that `predict` states, in standard deviations.
        batch_length: Pulls of the last batch.
        effective_dimension: `sum_s var(x_s) / lam` over all pulls whose feedback has arrived.

    Raises:
        ValueError: at `reset`, if neither problem nor settings state what is needed.
    """

    posterior: ArmPosterior
    width: float = 1.96

    def __init__(self, settings: GPSettings, design: Start) -> None:
        self.settings, self.design = settings, design

    @property
    def delta(self) -> float:
        """The probability of failure that the band of `predict` is meant for."""
        return self.model.delta

    @property
    def lam(self) -> float:
        """Noise variance in the posterior."""
        return self.model.lam

    @property
    def information_gain(self) -> float:
        """`0.5 logdet(I + K_t / lam)` of the pulls whose feedback has arrived, in nats."""
        assert isinstance(self.posterior, ExactPosterior)
        return self.posterior.information_gain

    def _start(self) -> None:
        problem = self.problem
        assert problem.arms is not None
        self.model = self.settings.on(problem)
        self.posterior = self._new_posterior()
        self.batch_length = 0
        self._planned, self._started = NO_ARMS, 0
        data = problem.initial if self.settings.initial is None else self.settings.initial
        if data is None:
            self._planned = self.design.arms(self.model, problem.arms, problem.horizon, self.rng)
        else:
            if data.arms.max() >= problem.n_arms:
                raise ValueError(f"initial: expected arms below {problem.n_arms}, got {data.arms.max()}")
            self._condition(data)
        self._begin_batch()

    def _new_posterior(self) -> ArmPosterior:
        """The prior, as a posterior of nothing; an exact one by default."""
        assert self.problem.arms is not None
        return ExactPosterior(self.model.kernel, self.problem.arms, self.model.lam)

    def _condition(self, data: InitialData) -> None:
        """Take in evaluations from before the first step."""
        self._update(*self._take_over(data))

    def _update(self, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> None:
        """Condition the posterior on new pulls of distinct arms."""
        assert isinstance(self.posterior, ExactPosterior)
        self.posterior.update(arms, counts, sums)

    def _begin_batch(self) -> None:
        """Feedback has arrived, or the last batch was given up: the next choice begins a batch."""
        self._issued, self._closed = 0, False
        self.effective_dimension = self.posterior.effective_dimension()

    def select(self, n: int, pending: Pending) -> Actions:
        if self._closed:
            if len(pending):
                return NO_ARMS
            self._begin_batch()  # the last batch was given up without feedback
        if self._started < len(self._planned):
            # Feedback may come before all of them are under way: the rest are still pulled.
            picks = self._planned[self._started : self._started + n]
            self._started += len(picks)
            self._closed = self._started == len(self._planned)
        else:
            picks = self._next(n, pending)
        self._issued += len(picks)
        return picks

    @abstractmethod
    def _next(self, n: int, pending: Pending) -> Actions:
        """Up to `n` arms of a batch that is open; sets `_closed` if it ends with them."""

    def observe(self, feedback: Feedback) -> None:
        super().observe(feedback)
        if len(feedback) and feedback.failed.all():
            self._begin_batch()  # nothing was learnt, but a batch must not count on what failed

    def _learn(self, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> None:
        self.batch_length = self._issued
        self._update(arms, counts, sums)
        self._begin_batch()

    def recommend(self) -> Action:
        """The arm of largest posterior mean."""
        return int(np.argmax(self.posterior.mean))

    def predict(self, X: Float[np.ndarray, "n d"]) -> tuple[np.ndarray, np.ndarray]:
        mean, variance = self.posterior.at(np.asarray(X, dtype=np.float64))
        return mean, self.width * np.sqrt(variance)

    def diagnostics(self) -> Mapping[str, float]:
        return {
            "width": self.width,
            "information_gain": self.information_gain,
            "d_eff": self.effective_dimension,
            "unique_arms": float(np.count_nonzero(self.counts)),
            "batch_length": float(self.batch_length),
        }
