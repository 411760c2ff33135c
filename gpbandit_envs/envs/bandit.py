"""Bandit environments over finite arms and over a box."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from operator import index
from typing import Any, SupportsIndex

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding
from jaxtyping import Float, Int

from gpbandit_envs.arguments import as_truth
from gpbandit_envs.envs.episodes import Episodes, Stream, keeps_function, reset_needed
from gpbandit_envs.envs.recipe import (
    EnvRecipe,
    adversary,
    certified_recipe,
    make_problem,
    misspecification_factors,
    misspecified,
    on_rows,
)
from gpbandit_envs.envs.render import History, Picture, box_points, draw_rgb, draw_text
from gpbandit_envs.functions.base import ArmFamily, ArmFunction, BoxFamily, BoxFunction
from gpbandit_envs.functions.rows import RowsFunction, RowsLike, as_rows
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.problem import Certificate, InitialData, Problem

__all__ = ["METADATA", "BanditEnv", "BoxEnv", "FiniteArmEnv", "as_points", "spectrum"]

METADATA: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}

_FIRST_BLOCK = 64
_LAST_BLOCK = 4_096
_EXACT_SPECTRUM = 2_000


class BanditEnv(gym.Env[Any, Any]):
    """A bandit with one state: observation 0, reward the noisy feedback, never terminated.

    The information of a step is `{"cost": float, "oracle": {"mean": float, "regret": float}}`, without the regret where
    the optimum is unknown. The oracle part is for scoring alone. The end of an episode is the time limit that
    `gymnasium.make` puts around the environment.

    Args:
        recipe: Mean functions, noise, costs and the stated prior of the problem description.
        misspecification: Factors by which the stated quantities are wrong, such as `{"lengthscale": 2.0}`; keys
            lengthscale, variance, norm, noise. `{"sup": 0.1}` moves the mean of every arm by 0.1, up or down, away from
            a function that the stated prior describes. Policies are told what is wrong, and use it or not.
        corruption: An adversary that adds to the feedback until its budget is spent, such as
            `{"name": "clipping", "budget": 50.0}`; see `gpbandit_envs.corruption`. Policies are told the budget. Regret
            is that of the clean means; `info["oracle"]["corruption"]` is what was added. Finite arms only.
        instance_seed: Pins the mean function, whatever `reset` is seeded with; None for a new one each episode.
        reveal_oracle: Whether steps carry `info["oracle"]`.
        horizon: Number of evaluations stated to policies; None for the id's registered time limit. It does not
            end the episode.
        initial: Evaluations of arms drawn uniformly, with replacement, that `reset` makes before the first step. The
            problem holds their arms and noisy rewards; they are no steps and cost no regret. Finite arms only, and not
            in the native vector form, whose environments share one problem.
        certified: Whether a table states how near its means are to functions of bounded norm under its kernel, as the
            kept certificate proves, and plays about their average; see `gpbandit certify`. Its knowledge is then
            `"certified"`.
        rows: How many of the arms an episode has, drawn anew with its mean function and pinned or kept as that is: a
            number, or `{"most": 2000, "apart": 0.2}`, where `apart` is the share of the arms that no episode has. At
            most four fifths of those that can be drawn. The problem is then known from the first `reset` on. Finite
            arms only, and not in the native vector form.
        render_mode: One of `metadata["render_modes"]`.
    """

    metadata: dict[str, Any] = METADATA
    regret_changes = False
    """Whether the regret of an action differs from step to step; `regret(actions)` then is that of the coming step."""

    def __init__(
        self,
        recipe: EnvRecipe,
        *,
        misspecification: Mapping[str, float] | None = None,
        corruption: Mapping[str, Any] | None = None,
        instance_seed: int | None = None,
        reveal_oracle: bool = True,
        horizon: int | None = None,
        initial: int = 0,
        certified: bool = False,
        rows: RowsLike = None,
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, *METADATA["render_modes"]):
            raise ValueError(f"render_mode: expected one of {METADATA['render_modes']} or None, got {render_mode!r}")
        if isinstance(initial, bool) or not isinstance(initial, (int, np.integer)) or initial < 0:
            raise ValueError(f"initial: expected an integer >= 0, got {initial!r}")
        if initial and not isinstance(recipe.family, ArmFamily):
            raise ValueError(f"initial: expected 0 on a box, got {initial!r}")
        self._corruption = adversary(recipe, corruption)
        self._misspecification = misspecification_factors(misspecification)
        recipe = certified_recipe(recipe, certified, self._misspecification)
        self.recipe = recipe = misspecified(recipe, self._misspecification)
        self.render_mode = render_mode
        self.observation_space = gym.spaces.Discrete(1)
        self._reveal_oracle = as_truth("reveal_oracle", reveal_oracle)
        self._horizon = horizon
        self._n_initial = int(initial)
        self._problem: Problem | None = None
        self._rows = as_rows(rows)
        self._whole = recipe
        self._episodes: Episodes[Any] = Episodes(on_rows(recipe, self._rows), instance_seed)
        self._cursor = 0
        self._variates: list[float] = []
        self._noise_rng: np.random.Generator | None = None
        # Kept only for rendering: an episode may be long.
        self._history: History | None = None if render_mode is None else History()
        # A wrong factor or horizon raises here, where the caller is, and not when the problem is first read.
        self._state_problem()

    def _state_problem(self) -> Problem:
        budget = 0.0 if self._corruption is None else self._corruption.budget
        return make_problem(self.recipe, self.spec, self._horizon, self._misspecification, budget)

    @property
    def problem(self) -> Problem:
        """The problem description: everything that a policy may know.

        Raises:
            gymnasium.error.ResetNeeded: before the first `reset`, if that draws the arms.
        """
        if self._rows is not None and not self._episodes.seeded:
            raise reset_needed()
        if self._problem is None or (self.spec is not None and self._problem.name != self.spec.id):
            problem = self._state_problem()
            if self._n_initial and self._episodes.seeded:
                problem = replace(problem, initial=self._initial_data())
            self._problem = problem
        return self._problem

    @property
    def certificate(self) -> Certificate:
        """The certificate of the current instance; for scoring, never for policies.

        Raises:
            gymnasium.error.ResetNeeded: before the first `reset`.
        """
        certificate: Certificate = self._episodes.function.certificate
        return certificate

    @property
    def optimum(self) -> float | None:
        """Largest mean of the current instance, unit of the reward; None where it is unknown."""
        optimum = self.certificate.optimum
        return None if math.isnan(optimum) else optimum

    @abstractmethod
    def mean(self, actions: Any) -> np.ndarray:
        """Noise-free means of an array of actions; for scoring, never for policies.

        Raises:
            TypeError, ValueError: if they are no actions of the environment.
        """

    def regret(self, actions: Any) -> np.ndarray:
        """Regrets of an array of actions in the coming step, NaN where the optimum is unknown; for scoring."""
        return self.certificate.optimum - self.mean(actions)

    def stream(self, name: Stream) -> np.random.Generator:
        """A fresh generator at the start of the current episode's stream `name`.

        Raises:
            gymnasium.error.ResetNeeded: before the first `reset`.
        """
        return self._episodes.stream(name)

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Start an episode: a new mean function, unless it is pinned or kept, and new noise.

        Args:
            seed: Root of all streams; None goes on to the next episode of the last seed.
            options: `{"keep_function": True}` keeps the mean function of the last episode.

        Raises:
            TypeError: if `keep_function` is no truth value.
            ValueError: if an option is unknown.
        """
        keep = keeps_function(options)
        if seed is not None or not self._episodes.seeded:
            self._np_random, seed = seeding.np_random(seed)
            self._np_random_seed = seed
        if self._episodes.advance(seed, keep):
            self._use(self._episodes.function)
        self._cursor = 0
        self._variates = []
        if self._history is not None:
            self._history = History()
        self._noise_rng = self.stream("noise")
        if self._n_initial:
            self._problem = None  # the initial data are those of the episode
        return 0, {}

    def _initial_data(self) -> InitialData:
        rng = self.stream("initial")
        assert isinstance(self.recipe.family, ArmFamily)
        arms = rng.integers(len(self.recipe.family.arms), size=self._n_initial)
        noise = self.recipe.noise
        # The means of `reset`, also where those of a later step differ: the data are made when they are first read.
        rewards = noise.reward(self._episodes.function.mean[arms], arms, noise.draw(rng, self._n_initial))
        return InitialData(arms=arms, rewards=rewards)

    def render(self) -> Any:
        """A picture of the episode so far: text for `"ansi"`, uint8 `(400, 960, 3)` for `"rgb_array"`.

        Raises:
            gymnasium.error.ResetNeeded: before the first `reset`.
        """
        if self.render_mode is None or self._history is None:
            gym.logger.warn("render() draws nothing without a render_mode; give one to gymnasium.make")
            return None
        picture = self._picture(self._history)
        return draw_text(picture) if self.render_mode == "ansi" else draw_rgb(picture)

    @abstractmethod
    def _picture(self, history: History) -> Picture:
        """The picture that `render` draws."""

    @abstractmethod
    def _use(self, function: Any) -> None:
        """Prepare for steps on a new mean function."""

    def _next_variate(self) -> float:
        """The noise variate of the coming evaluation."""
        if self._cursor == len(self._variates):
            if self._noise_rng is None:
                raise reset_needed()
            block = min(max(2 * len(self._variates), _FIRST_BLOCK), _LAST_BLOCK)
            self._variates = self.recipe.noise.draw(self._noise_rng, block).tolist()
            self._cursor = 0
        variate = self._variates[self._cursor]
        self._cursor += 1
        return variate


class FiniteArmEnv(BanditEnv):
    """A bandit whose action is the index of an arm; see `BanditEnv` for arguments and information."""

    def __init__(self, recipe: EnvRecipe, **kwargs: Any) -> None:
        if not isinstance(recipe.family, ArmFamily):
            raise TypeError(f"recipe: expected a family over finite arms, got {type(recipe.family).__name__}")
        super().__init__(recipe, **kwargs)
        self._on_arms(self.recipe)
        n_arms = len(self._arms)
        self._n_arms = n_arms if self._rows is None else self._rows.number(n_arms)
        self.action_space = gym.spaces.Discrete(self._n_arms)
        self._mean_of: Any = None
        self._best = 0.0
        self._shift_of: Any = None
        self._budget = 0.0

    def step(self, action: SupportsIndex) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Evaluate one arm.

        Args:
            action: Index of the arm, an integer in `[0, A)`.

        Raises:
            TypeError: if the action is no integer.
            ValueError: if it is out of range.
            gymnasium.error.ResetNeeded: before the first `reset`.
        """
        try:
            arm = index(action)
        except TypeError:
            raise TypeError(f"action: expected an integer in [0, {self._n_arms}), got {action!r}") from None
        if not 0 <= arm < self._n_arms:
            raise ValueError(f"action: expected an integer in [0, {self._n_arms}), got {action!r}")
        # The noise first: it raises where there was no reset.
        variate = self._next_variate()
        mean = self._mean_of(arm)
        reward = self._reward_of(mean, arm, variate)
        added = None if self._corruption is None else self._corrupt(arm)
        if added is not None:
            reward += added
        info: dict[str, Any] = {"cost": 1.0 if self._costs is None else float(self._costs[arm])}
        if self._reveal_oracle:
            info["oracle"] = {"mean": mean, "regret": self._best - mean}
            if added is not None:
                info["oracle"]["corruption"] = added
        if self._history is not None:
            self._history.add(arm, reward, mean)
        return 0, reward, False, False, info

    def mean(self, actions: Any) -> Float[np.ndarray, " n"]:
        means: np.ndarray = self._episodes.function.mean[self._indices(actions)]
        return means

    def _indices(self, actions: Any) -> Int[np.ndarray, "*shape"]:
        """The actions as an array of indices of arms.

        Raises:
            TypeError, ValueError: if they are none.
        """
        arms = np.asarray(actions)
        if arms.dtype.kind not in "iu" and arms.size:
            raise TypeError(f"action: expected integers in [0, {self._n_arms}), got {actions!r}")
        arms = arms.astype(np.int64, copy=False)
        if arms.size and not (arms.min() >= 0 and arms.max() < self._n_arms):
            raise ValueError(f"action: expected integers in [0, {self._n_arms}), got {actions!r}")
        return arms

    def spectrum(self, n: int = 64) -> Float[np.ndarray, " n"]:
        """Largest eigenvalues of the stated kernel's matrix over the arms, divided by `A`; see `spectrum`.

        Raises:
            ValueError: if the problem states no kernel.
        """
        kernel = self.problem.kernel
        if kernel is None:
            raise ValueError("kernel: the problem states none, so that there is no spectrum")
        return spectrum(kernel, self._arms, n)

    def _on_arms(self, recipe: EnvRecipe) -> None:
        assert isinstance(recipe.family, ArmFamily)
        self._arms, self._costs, self._reward_of = recipe.family.arms, recipe.costs, recipe.noise.reward

    def _use(self, function: ArmFunction) -> None:
        if isinstance(function, RowsFunction):
            self.recipe = self._whole.among(function)
            self._problem = None
            self._on_arms(self.recipe)
        self._mean_of = function.mean.item  # a Python float, in half the time of indexing
        self._best = function.certificate.optimum
        if self._corruption is not None:
            self._shift_of = self._corruption.attack.shifts(function.mean, self._arms).item

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        answer = super().reset(seed=seed, options=options)
        self._budget = 0.0 if self._corruption is None else self._corruption.budget
        return answer

    def _corrupt(self, arm: int) -> float:
        """What the adversary adds to the feedback of a pull of `arm`, taken from its budget."""
        added = max(-self._budget, min(self._budget, self._shift_of(arm)))
        self._budget -= abs(added)
        return float(added)

    def _picture(self, history: History) -> Picture:
        arms, function = self._arms, self._episodes.function
        indices = np.array(history.actions, np.int64)
        return Picture(
            title=self.problem.name,
            points=arms,
            mean=function.mean,
            optimum=self._best,
            pulled=arms[indices],
            indices=indices,
            rewards=np.array(history.rewards),
            regrets=self._best - np.array(history.means),
        )


class BoxEnv(BanditEnv):
    """A bandit whose action is a point of the unit cube; see `BanditEnv` for arguments and information.

    Where an evaluation is a training run, `info["cost"]` is that of the run and `info["failed"]` is True if it gave no
    model. The mean of a failed run is the task's floor, so that its regret is finite; its feedback is to be ignored.

    Attributes:
        low: True lower bound of each coordinate, shape `(d,)`.
        high: True upper bound of each coordinate, shape `(d,)`.
    """

    def __init__(self, recipe: EnvRecipe, **kwargs: Any) -> None:
        if not isinstance(recipe.family, BoxFamily):
            raise TypeError(f"recipe: expected a family on a box, got {type(recipe.family).__name__}")
        super().__init__(recipe, **kwargs)
        self._family = recipe.family
        self.low, self.high = recipe.family.low, recipe.family.high
        self._shape = (recipe.family.dim,)
        self.action_space = gym.spaces.Box(0.0, 1.0, self._shape, np.float64)

    def step(self, action: Float[np.ndarray, " d"]) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Evaluate one point.

        Args:
            action: Point of the unit cube, shape `(d,)`.

        Raises:
            TypeError: if the action is no array of numbers.
            ValueError: if its shape is wrong, or a coordinate is NaN or outside [0, 1].
            gymnasium.error.ResetNeeded: before the first `reset`.
        """
        x = as_points(action, self._shape)
        variate = self._next_variate()
        mean = float(self._evaluate(x[None])[0])
        reward = self.recipe.noise.reward(mean, x, variate)
        info: dict[str, Any] = {"cost": self._family.cost(x) if self._family.expensive else 1.0}
        if self._reveal_oracle:
            regret = self.certificate.optimum - mean
            info["oracle"] = {"mean": mean} if math.isnan(regret) else {"mean": mean, "regret": regret}
        if self._family.expensive and self._family.failed(x):
            info["failed"] = True
        if self._history is not None:
            self._history.add(x.copy(), reward, mean)  # `x` may be the caller's own array, which it may fill anew
        return 0, reward, False, False, info

    def mean(self, actions: Any) -> Float[np.ndarray, " n"]:
        X = np.asarray(actions, dtype=np.float64)
        means: np.ndarray = self._episodes.function.evaluate(as_points(X, (len(X), *self._shape)))
        return means

    def _use(self, function: BoxFunction) -> None:
        self._evaluate = function.evaluate

    def _picture(self, history: History) -> Picture:
        pulled = np.array(history.actions).reshape(-1, *self._shape)
        if self._family.expensive:  # a grid would take minutes: the mean is drawn where it is known already
            points = np.concatenate([np.array([self.certificate.optimal_action]), pulled])
        else:
            points = box_points(self._shape[0])
        mean = self.mean(points)
        best = self.certificate.optimum
        if math.isnan(best):  # the picture shows the best of what it knows
            best = max([float(mean.max()), *history.means])
        return Picture(
            title=self.problem.name,
            points=points,
            mean=mean,
            optimum=best,
            pulled=pulled,
            indices=None,
            rewards=np.array(history.rewards),
            regrets=best - np.array(history.means),
        )


def as_points(action: Any, shape: tuple[int, ...]) -> np.ndarray:
    """`action` as points of the unit cube.

    Raises:
        TypeError: if it is no array of numbers.
        ValueError: if its shape is wrong, or a coordinate is NaN or outside [0, 1].
    """
    try:
        x = np.asarray(action, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"action: expected numbers of shape {shape}, got {action!r}") from None
    if x.shape != shape:
        if action is None:
            raise TypeError(f"action: expected numbers of shape {shape}, got None")
        raise ValueError(f"action: expected shape {shape}, got {x.shape}")
    if not ((x >= 0) & (x <= 1)).all():
        raise ValueError(f"action: expected coordinates in [0, 1], got {action!r}")
    return x


def spectrum(kernel: Kernel, arms: Float[np.ndarray, "A d"], n: int = 64) -> Float[np.ndarray, " k"]:
    """The `n` largest eigenvalues of `K / A`, in decreasing order; they add up to the mean prior variance.

    Above 2,000 arms they are those of 2,000 arms evenly spaced in the arm set's order, an estimate.
    """
    if len(arms) > _EXACT_SPECTRUM:
        arms = arms[np.linspace(0, len(arms) - 1, _EXACT_SPECTRUM).astype(np.int64)]
    eigenvalues = np.linalg.eigvalsh(kernel(arms, arms) / len(arms))[::-1]
    return np.maximum(eigenvalues[:n], 0.0)
