"""Bandit environments over finite arms and over a box."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from operator import index
from typing import Any, SupportsIndex

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding
from jaxtyping import Float, Int

from gpbandit_envs.arguments import as_truth
from gpbandit_envs.envs.episodes import Episodes, Stream, features_of, keeps_function
from gpbandit_envs.envs.recipe import EnvRecipe
from gpbandit_envs.envs.render import Rendering
from gpbandit_envs.functions.base import ArmFamily, ArmFunction, BoxFamily, BoxFunction, DrawnRows
from gpbandit_envs.problem import Certificate, Problem

METADATA: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}

_FIRST_BLOCK = 64
_LAST_BLOCK = 4_096


class BanditEnv(gym.Env[Any, Any]):
    """A bandit with one state: observation 0, reward the noisy feedback, never terminated.

    The information of a step is `{"cost": float, "oracle": {"mean": float, "regret": float}}`, without the regret where
    the optimum is unknown. The oracle part is for scoring alone. The end of an episode is the time limit that
    `gymnasium.make` puts around the environment.

    Args:
        recipe: Mean functions, noise, costs, the stated prior, and the options of `gpbandit_envs.envs.recipe`.
        instance_seed: Pins the mean function, whatever `reset` is seeded with; None for a new one each episode.
        reveal_oracle: Whether steps carry `info["oracle"]`.
        horizon: Number of evaluations stated to policies; None for the id's registered time limit. It does not
            end the episode.
        render_mode: One of `metadata["render_modes"]`.
    """

    metadata: dict[str, Any] = METADATA
    regret_changes = False
    """Whether the regret of an action differs from step to step; `regret(actions)` then is that of the coming step."""
    best_mean: float
    """Largest mean of the coming step; NaN where it is unknown, or known by a search alone."""

    def __init__(
        self,
        recipe: EnvRecipe,
        *,
        instance_seed: int | None = None,
        reveal_oracle: bool = True,
        horizon: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, *METADATA["render_modes"]):
            raise ValueError(f"render_mode: expected one of {METADATA['render_modes']} or None, got {render_mode!r}")
        self.recipe = recipe
        self.render_mode = render_mode
        self.best_mean = math.nan
        self.observation_space = gym.spaces.Discrete(1)
        self._reveal_oracle = as_truth("reveal_oracle", reveal_oracle)
        self._horizon = horizon
        self._problem: Problem | None = None
        self._episodes: Episodes = Episodes(self._drawn(), instance_seed)
        self._cursor = 0
        self._variates: list[float] = []
        self._noise_rng: np.random.Generator | None = None
        self._rendering = None if render_mode is None else Rendering(render_mode)
        self._features = features_of(recipe)
        if self._rendering is not None:
            self._features = (*self._features, self._rendering)
        recipe.problem(self.spec, horizon)  # a wrong horizon raises here, and not when the problem is first read

    def _drawn(self) -> ArmFamily | BoxFamily:
        """The mean functions of episodes."""
        return self.recipe.family

    @property
    def problem(self) -> Problem:
        """The problem description: everything that a policy may know.

        Raises:
            gymnasium.error.ResetNeeded: before the first `reset`, if that draws the arms.
        """
        if self._problem is None or (self.spec is not None and self._problem.name != self.spec.id):
            problem = self.recipe.problem(self.spec, self._horizon)
            for feature in self._features:
                problem = feature.state(self, problem)
            self._problem = problem
        return self._problem

    def state_anew(self) -> None:
        """Make the problem description when it is next read: it has changed with the episode."""
        self._problem = None

    @property
    def seeded(self) -> bool:
        """Whether there was a `reset`."""
        return self._episodes.seeded

    @property
    def function(self) -> Any:
        """The mean function of the episode, `ArmFunction` or `BoxFunction`; for scoring, never for policies.

        Raises:
            gymnasium.error.ResetNeeded: before the first `reset`.
        """
        return self._episodes.function

    @property
    def certificate(self) -> Certificate:
        """The certificate of the current instance; for scoring, never for policies.

        Raises:
            gymnasium.error.ResetNeeded: before the first `reset`.
        """
        certificate: Certificate = self.function.certificate
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

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode: a new mean function, unless it is pinned or kept, and new noise.

        Args:
            seed: Root of all streams; None goes on to the next episode of the last seed.
            options: `{"keep_function": True}` keeps the mean function of the last episode.

        Raises:
            TypeError: if `keep_function` is no truth value.
            ValueError: if an option is unknown.
        """
        keep = keeps_function(options)
        if seed is not None or not self.seeded:
            self._np_random, seed = seeding.np_random(seed)
            self._np_random_seed = seed
        if self._episodes.advance(seed, keep):
            for feature in self._features:
                feature.use(self, self.function)
            self._use(self.function)
        self._cursor = 0
        self._variates = []
        self._noise_rng = None  # made with the first step: who draws all noise at once makes its own
        for feature in self._features:
            feature.begin(self)
        return 0, {}

    def render(self) -> Any:
        """A picture of the episode so far: text for `"ansi"`, uint8 `(400, 960, 3)` for `"rgb_array"`.

        Raises:
            gymnasium.error.ResetNeeded: before the first `reset`.
        """
        if self._rendering is None:
            gym.logger.warn("render() draws nothing without a render_mode; give one to gymnasium.make")
            return None
        return self._rendering.draw(self)

    @abstractmethod
    def _use(self, function: Any) -> None:
        """Prepare for steps on a new mean function."""

    def _next_variate(self) -> float:
        """The noise variate of the coming evaluation."""
        if self._cursor == len(self._variates):
            if self._noise_rng is None:
                self._noise_rng = self.stream("noise")
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
        n_arms = len(recipe.family.arms)
        self._n_arms = n_arms if recipe.rows is None else recipe.rows.number(n_arms)
        self.action_space = gym.spaces.Discrete(self._n_arms)
        self._mean_of: Any = None

    def _drawn(self) -> ArmFamily | BoxFamily:
        assert isinstance(self.recipe.family, ArmFamily)
        return self.recipe.family if self.recipe.rows is None else DrawnRows(self.recipe.family, self.recipe.rows)

    def step(self, action: SupportsIndex) -> tuple[Any, float, bool, bool, dict[str, Any]]:
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
            arm = -1
        if not 0 <= arm < self._n_arms:
            raise self._no_arm(action)
        # The noise first: it raises where there was no reset.
        variate = self._next_variate()
        mean = self._mean_of(arm)
        reward = self._reward_of(mean, arm, variate)
        info: dict[str, Any] = {"cost": 1.0 if self._costs is None else float(self._costs[arm])}
        if self._reveal_oracle:
            info["oracle"] = {"mean": mean, "regret": self.best_mean - mean}
        if self._features:  # to begin a loop over none costs more than to ask
            for feature in self._features:
                reward = feature.feed(self, arm, mean, reward, info)
        return 0, reward, False, False, info

    def mean(self, actions: Any) -> Float[np.ndarray, " n"]:
        means: np.ndarray = self.function.mean[as_arms(actions, 0, self._n_arms)]
        return means

    def _no_arm(self, action: Any) -> Exception:
        """The error of an action that is no index of an arm."""
        kind = ValueError if hasattr(action, "__index__") and np.ndim(action) == 0 else TypeError
        return kind(f"action: expected an integer in [0, {self._n_arms}), got {action!r}")

    def _use(self, function: ArmFunction) -> None:
        self._costs, self._reward_of = self.recipe.costs, self.recipe.noise.reward
        self._mean_of = function.mean.item  # a Python float, in half the time of indexing
        self.best_mean = function.certificate.optimum


class BoxEnv(BanditEnv):
    """A bandit whose action is a point of the unit cube; see `BanditEnv` for arguments and information.

    Where an evaluation is a training run, `info["cost"]` is that of the run. `info["failed"]` is True where it gave no
    result. Its mean is then the task's floor, so that its regret is finite; its feedback is to be ignored.

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
        if self._family.fails and self._family.failed(x):
            info["failed"] = True
        for feature in self._features:
            reward = feature.feed(self, x, mean, reward, info)
        return 0, reward, False, False, info

    def mean(self, actions: Any) -> Float[np.ndarray, " n"]:
        X = np.asarray(actions, dtype=np.float64)
        means: np.ndarray = self.function.evaluate(as_points(X, (len(X), *self._shape)))
        return means

    def _use(self, function: BoxFunction) -> None:
        self._evaluate = function.evaluate


def as_arms(actions: Any, low: int, high: int) -> Int[np.ndarray, "*shape"]:
    """`actions` as an array of indices of arms in `[low, high)`.

    Raises:
        TypeError, ValueError: if they are none.
    """
    arms = np.asarray(actions)
    if arms.dtype.kind not in "iu" and arms.size:
        raise TypeError(f"action: expected integers in [{low}, {high}), got {actions!r}")
    arms = arms.astype(np.int64, copy=False)
    if arms.size and not (arms.min() >= low and arms.max() < high):
        raise ValueError(f"action: expected integers in [{low}, {high}), got {actions!r}")
    return arms


def as_points(action: Any, shape: tuple[int, ...], low: Any = 0, high: Any = 1) -> np.ndarray:
    """`action` as points of the unit cube, or between other bounds.

    Raises:
        TypeError: if it is no array of numbers.
        ValueError: if its shape is wrong, or a coordinate is NaN or outside.
    """
    try:
        x = np.asarray(action, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"action: expected numbers of shape {shape}, got {action!r}") from None
    if x.shape != shape:
        if action is None:
            raise TypeError(f"action: expected numbers of shape {shape}, got None")
        raise ValueError(f"action: expected shape {shape}, got {x.shape}")
    if not ((x >= low) & (x <= high)).all():
        raise ValueError(f"action: expected coordinates in [{low}, {high}], got {action!r}")
    return x
