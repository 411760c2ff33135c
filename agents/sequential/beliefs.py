"""The posterior of one episode with a given kernel, on finite arms or on a box, and the actions that maximise under it.

On arms the posterior over all of them is updated in place. On a box it is evaluated wherever the search for the
maximiser needs it.

| symbol | meaning |
|---|---|
| `lam` | noise variance in the posterior |
| `lev` | ridge leverage score, posterior variance / `lam` |
| `gamma` | information gain `0.5 logdet(I + K_t / lam)`, in nats |
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from agents.core.acquisition import Objective, PosteriorScore, Score, UpperConfidenceBound
from agents.core.draws import JointDraws
from agents.core.finite import group_pulls
from agents.core.initial import each_pull, leverage_in_turn
from agents.core.leaders import Leaders
from agents.core.protocol import Action, Actions, Feedback
from agents.core.settings import Model
from agents.core.space import BoxSpace, Search
from agents.core.widths import WidthContext
from gpbandit_envs.gp.exact_arms import ExactArmPosterior
from gpbandit_envs.gp.paths import draw_path
from gpbandit_envs.gp.regression import GPRegression
from gpbandit_envs.problem import InitialData, Problem

__all__ = ["ArmBeliefs", "Beliefs", "BoxBeliefs"]

_AROUND = 4  # best points of a box around which the maximiser is searched as well


class Beliefs(ABC):
    """What a sequential policy knows in one episode.

    Attributes:
        problem: The problem.
        model: Kernel, noise and confidence level of the episode.
        n_pulls: Evaluations that did not fail, existing data among them.
        effective_dimension: `sum_s lev_t(x_s)` over all of them.
        sum_log_leverage: `sum_s log(1 + lev(x_s))`, with the leverage score before the feedback on `x_s`.
        sum_log_3_leverage: `sum_s log(1 + 3 lev(x_s))`, likewise.
    """

    def __init__(self, problem: Problem, model: Model) -> None:
        self.problem, self.model = problem, model
        self.n_pulls = 0
        self.effective_dimension = self.sum_log_leverage = self.sum_log_3_leverage = 0.0

    @property
    @abstractmethod
    def information_gain(self) -> float:
        """`gamma`."""

    @abstractmethod
    def initial_design(self, n: int, n_pending: int, rng: np.random.Generator) -> Actions:
        """The next actions of the initial design, at most `n`; none once it is complete or must wait for feedback."""

    @abstractmethod
    def observe(self, feedback: Feedback) -> bool:
        """Condition the posterior on new feedback; returns whether any evaluation succeeded."""

    @abstractmethod
    def maximise(self, score: Score, rng: np.random.Generator) -> Actions:
        """The action of largest score, as an array of one; ties between arms go to the lowest index."""

    @abstractmethod
    def maximise_draw(self, n_features: int, rng: np.random.Generator) -> Actions:
        """The maximiser of a joint draw from the posterior, as an array of one.

        Args:
            n_features: On a box, random Fourier features of the draw.
            rng: Draws it.
        """

    @property
    @abstractmethod
    def incumbent(self) -> float:
        """The largest posterior mean of an evaluated action, unit of the reward; 0 before any feedback."""

    @abstractmethod
    def recommend(self) -> Action:
        """The action of largest posterior mean: among all arms, or among the evaluated points of a box."""

    @abstractmethod
    def at(self, X: Float[np.ndarray, "n d"]) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Posterior mean and Bayesian variance at points."""

    @abstractmethod
    def diagnostics(self) -> Mapping[str, float]:
        """Plain numbers about the posterior."""

    def width_context(self, norm_bound: float) -> WidthContext:
        """What a confidence width may depend on, with `norm_bound` as the bound on the RKHS norm."""
        model = self.model
        return WidthContext(
            t=self.n_pulls + 1,
            n_arms=self.problem.n_arms if self.problem.is_finite else 0,
            lam=model.lam,
            noise_std=model.noise_std,
            norm_bound=norm_bound,
            delta=model.delta,
            prior_variance=model.prior_variance,
            information_gain=self.information_gain,
            effective_dimension=self.effective_dimension,
            sum_log_leverage=self.sum_log_leverage,
            sum_log_3_leverage=self.sum_log_3_leverage,
            dim=self.problem.dim,
        )


class ArmBeliefs(Beliefs):
    """The exact posterior over all arms.

    The initial design is one batch of `n_start` arms, drawn uniformly with replacement when the episode begins.
    Existing data replace it.

    Args:
        problem: The problem, on finite arms.
        model: Kernel, noise and confidence level of the episode.
        n_start: Size of the initial design.
        initial: Existing data; None for the problem's, if it has some.
        rng: Draws the initial design.

    Attributes:
        posterior: The posterior.
        counts: Pulls per arm, shape (A,).
        sums: Sum of the rewards per arm, shape (A,), unit of the reward.
        batch_length: Evaluations in the last delivery of feedback.

    Raises:
        ValueError: if the existing data have an arm that the problem lacks.
    """

    def __init__(
        self, problem: Problem, model: Model, n_start: int, initial: InitialData | None, rng: np.random.Generator
    ) -> None:
        super().__init__(problem, model)
        self.posterior = self._prior()
        self._leaders = Leaders(self.posterior)
        self.counts, self.sums = np.zeros(problem.n_arms), np.zeros(problem.n_arms)
        self.batch_length = 0
        self._design, self._designed = np.zeros(0, np.int64), 0
        data = problem.initial if initial is None else initial
        if data is None:
            self._design = rng.integers(problem.n_arms, size=n_start)[: problem.horizon]
        else:
            self._begin_with(data)
        self.effective_dimension = self.posterior.effective_dimension()

    def _prior(self) -> ExactArmPosterior:
        assert self.problem.arms is not None
        return ExactArmPosterior(self.model.kernel, self.problem.arms, self.model.lam)

    def _begin_with(self, data: InitialData) -> None:
        if data.arms.max() >= self.problem.n_arms:
            raise ValueError(f"initial: expected arms below {self.problem.n_arms}, got {data.arms.max()}")
        arms, counts, sums = group_pulls(data.arms, data.rewards)
        X = self.posterior.rows.X[arms]
        in_turn = leverage_in_turn(self.model.kernel(X, X), counts, self.model.lam)
        # They were not chosen in one batch: each pull has the leverage score that those before it have left.
        leverage = each_pull(in_turn, np.zeros(len(arms)), counts)
        self.sum_log_leverage = float(np.log1p(leverage).sum())
        self.sum_log_3_leverage = float(np.log1p(3 * leverage).sum())
        self._condition(arms, counts, sums)

    def _condition(self, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> None:
        self.counts[arms] += counts
        self.sums[arms] += sums
        self.n_pulls += int(counts.sum())
        self.posterior.update(arms, counts, sums)
        self._leaders.pulled(arms, counts, sums)

    @property
    def information_gain(self) -> float:
        return self.posterior.information_gain

    def initial_design(self, n: int, n_pending: int, rng: np.random.Generator) -> Actions:
        arms = self._design[self._designed : self._designed + n]
        self._designed += len(arms)
        return arms

    def observe(self, feedback: Feedback) -> bool:
        succeeded = ~feedback.failed
        if not succeeded.any():
            return False
        arms, counts, sums = group_pulls(feedback.actions[succeeded], feedback.rewards[succeeded])
        leverage = self.posterior.variance_at(arms) / self.model.lam
        self.sum_log_leverage += float(counts @ np.log1p(leverage))
        self.sum_log_3_leverage += float(counts @ np.log1p(3 * leverage))
        self.batch_length = len(feedback)
        self._condition(arms, counts, sums)
        self.effective_dimension = self.posterior.effective_dimension()
        return True

    def maximise(self, score: Score, rng: np.random.Generator) -> Actions:
        if isinstance(score, UpperConfidenceBound):
            return np.array([self._leaders.best_score(score.width)])
        return np.array([np.argmax(score(self.posterior.mean, np.sqrt(self.posterior.variance)))])

    @cached_property
    def _draws(self) -> JointDraws:
        return JointDraws(self.model.kernel, self.posterior.rows.X)

    def maximise_draw(self, n_features: int, rng: np.random.Generator) -> Actions:
        return np.argmax(self._draws.draw(self.posterior, 1, rng), axis=1)

    @property
    def incumbent(self) -> float:
        return float(self.posterior.mean[self.counts > 0].max()) if self.n_pulls else 0.0

    def recommend(self) -> Action:
        return self._leaders.best_mean()

    def at(self, X: Float[np.ndarray, "n d"]) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        return self.posterior.at(X)

    def diagnostics(self) -> Mapping[str, float]:
        return {
            "information_gain": self.information_gain,
            "d_eff": self.effective_dimension,
            "unique_arms": float(np.count_nonzero(self.posterior.n)),
            "batch_length": float(self.batch_length),
        }

    def __getstate__(self) -> dict[str, Any]:
        """Without what the kernel and the arms determine: rows of the kernel matrix and the factor of the prior."""
        state = {name: value for name, value in vars(self).items() if name != "_draws"}
        return state | {"posterior": self.posterior.state_dict(), "_leaders": self._leaders.state_dict()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.posterior = self._prior()
        self.posterior.load_state_dict(state["posterior"])
        self._leaders = Leaders(self.posterior)
        self._leaders.load_state_dict(state["_leaders"])


class BoxBeliefs(Beliefs):
    """The exact posterior given evaluated points of the unit cube.

    The initial design consists of `n_start` uniform points, one at a time; a failed evaluation is replaced.

    Args:
        problem: The problem, a box.
        model: Kernel, noise and confidence level of the episode.
        n_start: Size of the initial design.
        search: How acquisition functions are maximised.

    Attributes:
        space: The box.
        X: Points whose evaluation did not fail, shape (n, d).
        y: Their rewards, shape (n,).
        posterior: The posterior given them.
    """

    def __init__(self, problem: Problem, model: Model, n_start: int, search: Search) -> None:
        super().__init__(problem, model)
        self.space = BoxSpace(problem, search)
        self._n_start = n_start
        self.X, self.y = np.zeros((0, problem.dim)), np.zeros(0)
        self._information_gain = 0.0
        self._fit()

    def _fit(self) -> None:
        self.posterior = GPRegression(self.model.kernel, self.X, self.y, self.model.lam)
        self._means, variances = self.posterior.at(self.X)
        self.effective_dimension = float(variances.sum()) / self.model.lam

    @property
    def information_gain(self) -> float:
        return self._information_gain

    def initial_design(self, n: int, n_pending: int, rng: np.random.Generator) -> Actions:
        wanted = 0 if n_pending or len(self.y) >= self._n_start else 1
        return self.space.random(wanted, rng)

    def observe(self, feedback: Feedback) -> bool:
        # In the order of the tickets, so that the order within a delivery does not matter.
        for i in np.argsort(feedback.tickets):
            if feedback.failed[i]:
                continue
            x = feedback.actions[i : i + 1]
            variance = float(self.posterior.at(x)[1][0])
            self._information_gain += 0.5 * float(np.log1p(variance / self.model.lam))
            self.sum_log_leverage = 2 * self._information_gain
            self.sum_log_3_leverage += float(np.log1p(3 * variance / self.model.lam))
            self.X, self.y = np.concatenate([self.X, x]), np.append(self.y, feedback.rewards[i])
            self._fit()
        self.n_pulls = len(self.y)
        return not feedback.failed.all()

    def maximise(self, score: Score, rng: np.random.Generator) -> Actions:
        return self._maximise(PosteriorScore(score, self.posterior), rng)

    def maximise_draw(self, n_features: int, rng: np.random.Generator) -> Actions:
        return self._maximise(draw_path(self.model.kernel, self.X, self.y, self.model.lam, rng, n_features), rng)

    def _maximise(self, objective: Objective, rng: np.random.Generator) -> Actions:
        # An acquisition function that has narrowed down is large near the best points.
        best = self.X[np.argsort(-self._means, kind="stable")[:_AROUND]]
        return self.space.maximise(objective, rng, best)

    @property
    def incumbent(self) -> float:
        return float(self._means.max()) if len(self.y) else 0.0

    def recommend(self) -> Action:
        if len(self.y) == 0:
            return self.space.middle
        best: np.ndarray = self.X[int(np.argmax(self._means))]
        return best

    def at(self, X: Float[np.ndarray, "n d"]) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        return self.posterior.at(X)

    def diagnostics(self) -> Mapping[str, float]:
        return {"information_gain": self.information_gain}
