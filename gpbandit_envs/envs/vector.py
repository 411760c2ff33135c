"""Native vector environments: many bandits in one step, over finite arms and over a box."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from gpbandit_envs.arguments import as_truth, positive_int
from gpbandit_envs.envs.bandit import as_points
from gpbandit_envs.envs.episodes import Episodes, keeps_function, reset_needed
from gpbandit_envs.envs.recipe import EnvRecipe
from gpbandit_envs.functions.base import ArmFamily, ArmFunction, BoxFamily, BoxFunction
from gpbandit_envs.functions.time_varying import TimeVaryingArms
from gpbandit_envs.problem import Problem

_BLOCK = 512  # noise variates drawn ahead for each environment: 2 MB at 512 environments

_FOREVER = 2**62


class BanditVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """`num_envs` copies of one bandit, each with its own generator, mean function and time limit.

    Observations, rewards and information equal those of `SyncVectorEnv` over the same seeds bit for bit. It takes the
    keywords of the id, `max_episode_steps` and `autoreset_mode` (`"NextStep"`, `"SameStep"` or `"Disabled"`). Its
    environments share one problem description, which cannot hold initial data or rows of each: for `initial=` and
    `rows=`, take `vectorization_mode="sync"`. Ids with contexts, or with functions that change, have no native form:
    `gymnasium.make_vec` takes the other for them.

    Args:
        num_envs: Number of environments `N`.
        recipe: Mean functions, noise, costs and the stated prior of the problem description.
        single_action_space: Action space of one environment.
        max_episode_steps: Time limit of each; None for none, and so is -1, as in `gymnasium.make`.
        autoreset_mode: When an environment that has ended restarts: `"NextStep"`, `"SameStep"` or `"Disabled"`.
        instance_seed: As in `BanditEnv`.
        reveal_oracle: As in `BanditEnv`.
        horizon: As in `BanditEnv`.
        render_mode: Must be None: render a single environment.

    Raises:
        TypeError: if `max_episode_steps` is no integer.
        ValueError: if an argument is wrong.
    """

    def __init__(
        self,
        num_envs: int,
        recipe: EnvRecipe,
        single_action_space: gym.Space[Any],
        *,
        max_episode_steps: int | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        instance_seed: int | None = None,
        reveal_oracle: bool = True,
        horizon: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        if render_mode is not None:
            raise ValueError(f"render_mode: a native vector environment draws nothing, got {render_mode!r}")
        refused = (("initial", 0, recipe.initial), ("rows", None, recipe.rows), ("offers", None, recipe.offers))
        for name, none, given in refused:
            if given:
                raise ValueError(
                    f"{name}: expected {none} in the native vector form, whose environments share one problem, got "
                    f'{given!r}; with vectorization_mode="sync" each has its own'
                )
        if max_episode_steps == -1:
            max_episode_steps = None
        elif max_episode_steps is not None:
            max_episode_steps = positive_int("max_episode_steps", max_episode_steps)
        self.num_envs = num_envs
        self.recipe = recipe
        self._corruption = recipe.corruption
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"autoreset_mode": self.autoreset_mode, "render_modes": []}
        self.render_mode = None
        self.single_action_space = single_action_space
        self.single_observation_space = gym.spaces.Discrete(1)
        self.action_space = batch_space(single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._horizon = horizon
        self._limit = _FOREVER if max_episode_steps is None else max_episode_steps
        self._reveal_oracle = as_truth("reveal_oracle", reveal_oracle)
        self._episodes: list[Episodes] = [Episodes(recipe.family, instance_seed) for _ in range(num_envs)]
        self._noise: list[np.random.Generator | None] = [None] * num_envs
        self._variates = np.empty((_BLOCK, num_envs))
        self._row = _BLOCK
        self._clock = 0  # steps of the vector environment; an episode's own count is the clock minus its start
        self._started = np.zeros(num_envs, np.int64)
        self._next_limit = self._limit
        self._over = np.zeros(num_envs, bool)
        self._any_over = False
        self._best = np.zeros(num_envs)
        self._budgets, self._added = np.zeros(num_envs), np.zeros(num_envs)
        recipe.problem(self.spec, horizon)  # a wrong horizon raises here

    @property
    def problem(self) -> Problem:
        """The problem description that policies of every environment may know."""
        return self.recipe.problem(self.spec, self._horizon)

    @property
    def optimum(self) -> np.ndarray:
        """Largest mean of each environment, shape `(N,)`, unit of the reward."""
        return np.array([episodes.function.certificate.optimum for episodes in self._episodes])

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode in every environment, or in those selected by `options["reset_mask"]`.

        Args:
            seed: One a environment; or an integer, which stands for `seed, seed + 1, ...` as everywhere in Gymnasium
                (so that neighbouring integers overlap); or None to go on with the next episode.
            options: `{"reset_mask": bool array (N,)}`, and the options of `BanditEnv.reset`.

        Raises:
            TypeError: if the mask is no boolean array, or `keep_function` no truth value.
            ValueError: if the number of seeds, the mask or an option is wrong.
        """
        n = self.num_envs
        seeds = [None] * n if seed is None else [seed + i for i in range(n)] if isinstance(seed, int) else list(seed)
        if len(seeds) != n:
            raise ValueError(f"seed: expected {n} seeds, one an environment, got {len(seeds)}")
        own = dict(options or {})
        mask = _checked_mask(own.pop("reset_mask", None), n)
        self._restart(np.flatnonzero(mask), seeds, keeps_function(own))
        self._over[mask] = False
        self._any_over = bool(self._over.any())
        return np.zeros(n, np.int64), {}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Evaluate one action in each environment; environments that have ended restart by the autoreset mode.

        Raises:
            TypeError, ValueError: if the actions are not in the action space.
            gymnasium.error.ResetNeeded: before the first `reset`, and for an environment that is over when the
                mode is `"Disabled"`.
        """
        n = self.num_envs
        actions = self._checked(actions)
        live: np.ndarray | None = None
        if self._any_over:
            if self.autoreset_mode is AutoresetMode.DISABLED:
                raise gym.error.ResetNeeded(f"environments {np.flatnonzero(self._over).tolist()} are over")
            live = ~self._over
        variates = self._next_variates()
        means = self._means(actions)
        rewards: np.ndarray = self.recipe.noise.reward(means, actions, variates)
        if self._corruption is not None:
            shifts = self._shifts(actions) if live is None else np.where(live, self._shifts(actions), 0.0)
            self._added = np.maximum(-self._budgets, np.minimum(self._budgets, shifts))
            self._budgets -= np.abs(self._added)
            rewards = rewards + self._added
        self._clock += 1
        if live is not None:
            self._restart(np.flatnonzero(~live), [None] * n, keep=False)
            rewards[~live] = 0.0
        over = self._clock >= self._next_limit
        truncated = self._clock - self._started >= self._limit if over else np.zeros(n, bool)
        info = self._info(actions, means, live)
        if over and self.autoreset_mode is AutoresetMode.SAME_STEP:
            info = self._final(actions, means, truncated)
            self._restart(np.flatnonzero(truncated), [None] * n, keep=False)
        else:
            self._over, self._any_over = truncated.copy(), over
        return np.zeros(n, np.int64), rewards, np.zeros(n, bool), truncated, info

    def mean(self, actions: Any) -> np.ndarray:
        """Noise-free mean of one action in each environment, shape `(N,)`; for scoring, never for policies.

        Raises:
            TypeError, ValueError: if the actions are not in the action space.
            gymnasium.error.ResetNeeded: before the first `reset` of any of them.
        """
        if not all(episodes.seeded for episodes in self._episodes):
            raise reset_needed()
        return self._means(self._checked(actions))

    @abstractmethod
    def _checked(self, actions: Any) -> np.ndarray:
        """The actions as an array of the right shape and type, or an error."""

    @abstractmethod
    def _means(self, actions: np.ndarray) -> np.ndarray:
        """Mean of each environment's action."""

    @abstractmethod
    def _costs(self, actions: np.ndarray) -> np.ndarray:
        """Cost of each environment's action, a new array."""

    def _shifts(self, actions: np.ndarray) -> np.ndarray:
        """What an adversary with an endless budget would add to the feedback of each environment's action."""
        raise NotImplementedError

    @abstractmethod
    def _use(self, i: int, function: Any) -> None:
        """Make environment `i` ready for steps on a new mean function."""

    def _restart(self, which: np.ndarray, seeds: Sequence[int | None], keep: bool) -> None:
        """Start an episode in the environments `which`; their noise begins with the next row."""
        for i in which.tolist():
            episodes = self._episodes[i]
            if episodes.advance(seeds[i], keep):
                function = episodes.function
                self._use(i, function)
                if self._reveal_oracle:
                    self._best[i] = function.certificate.optimum
            self._noise[i] = episodes.stream("noise")
        self._budgets[which] = 0.0 if self._corruption is None else self._corruption.budget
        self._started[which] = self._clock
        self._next_limit = int(self._started.min()) + self._limit
        if len(which) == self.num_envs:
            self._row = _BLOCK
        elif self._row < _BLOCK:
            rest = _BLOCK - self._row
            for i in which.tolist():
                self._variates[self._row :, i] = self.recipe.noise.draw(self._noise[i], rest)

    def _next_variates(self) -> np.ndarray:
        """The variate of the coming evaluation of each environment."""
        if self._row == _BLOCK:
            block = np.empty((self.num_envs, _BLOCK))
            for i, rng in enumerate(self._noise):
                if rng is None:
                    raise reset_needed()
                block[i] = self.recipe.noise.draw(rng, _BLOCK)
            self._variates = np.ascontiguousarray(block.T)
            self._row = 0
        self._row += 1
        return self._variates[self._row - 1]

    @abstractmethod
    def _failed(self, actions: np.ndarray) -> np.ndarray | None:
        """Which evaluations gave no result; None if all give one."""

    def _info(self, actions: np.ndarray, means: np.ndarray, live: np.ndarray | None) -> dict[str, Any]:
        """Information in the form of `SyncVectorEnv`: every key has a mask of the environments it is from."""

        def masked(values: np.ndarray) -> np.ndarray:
            return values if live is None else np.where(live, values, 0.0)

        def mask() -> np.ndarray:
            return np.ones(self.num_envs, bool) if live is None else live.copy()

        if live is not None and not live.any():
            return {}
        info: dict[str, Any] = {"cost": masked(self._costs(actions)), "_cost": mask()}
        if self._reveal_oracle:
            info["oracle"] = {"mean": masked(means), "_mean": mask()}
            if not np.isnan(self._best).any():
                info["oracle"] |= {"regret": masked(self._best - means), "_regret": mask()}
            if self._corruption is not None:
                info["oracle"] |= {"corruption": masked(self._added), "_corruption": mask()}
            info["_oracle"] = mask()
        failed = self._failed(actions)
        if failed is not None:
            failed = failed if live is None else failed & live
            # As in SyncVectorEnv, a key that no environment gave is not there.
            info |= {"failed": failed, "_failed": failed.copy()} if failed.any() else {}
        return info

    def _final(self, actions: np.ndarray, means: np.ndarray, over: np.ndarray) -> dict[str, Any]:
        """The information of a step in which some environments ended and, having started anew, have none yet."""
        final_obs = np.full(self.num_envs, None, dtype=object)
        final_obs[over] = 0
        final = {
            "final_obs": final_obs,
            "_final_obs": over.copy(),
            "final_info": self._info(actions, means, over),
            "_final_info": over.copy(),
        }
        return {**final, **self._info(actions, means, ~over)}


class FiniteArmVectorEnv(BanditVectorEnv):
    """`FiniteArmEnv`, `N` at a time; see `BanditVectorEnv`."""

    def __init__(self, num_envs: int, recipe: EnvRecipe, **kwargs: Any) -> None:
        if not isinstance(recipe.family, ArmFamily) or isinstance(recipe.family, TimeVaryingArms):
            raise TypeError(f"recipe: expected functions over arms that stay, got {type(recipe.family).__name__}")
        self._n_arms = len(recipe.family.arms)
        super().__init__(num_envs, recipe, gym.spaces.Discrete(self._n_arms), **kwargs)
        # A fixed function is stored once; drawn ones side by side, in one block for one gather.
        self._shared = self.recipe.family.fixed or kwargs.get("instance_seed") is not None
        self._table = np.zeros(self._n_arms if self._shared else self._n_arms * num_envs)
        self._offsets = np.arange(num_envs, dtype=np.int64) * self._n_arms
        self._shift_table = np.zeros_like(self._table if self._corruption is not None else ())

    @property
    def functions(self) -> tuple[ArmFunction, ...]:
        """The mean function of each environment; for scoring, never for policies."""
        return tuple(episodes.function for episodes in self._episodes)

    def _checked(self, actions: Any) -> np.ndarray:
        arms = np.asarray(actions)
        if arms.dtype.kind not in "iu":
            raise TypeError(f"action: expected {self.num_envs} integers, got dtype {arms.dtype}")
        if arms.shape != (self.num_envs,):
            raise ValueError(f"action: expected shape ({self.num_envs},), got {arms.shape}")
        arms = arms.astype(np.int64, copy=False)
        # Seen without its sign a negative index is huge: one comparison checks both ends.
        if arms.view(np.uint64).max() >= self._n_arms:
            raise ValueError(f"action: expected integers in [0, {self._n_arms}), got {arms.min()} to {arms.max()}")
        return arms

    def _means(self, actions: np.ndarray) -> np.ndarray:
        means: np.ndarray = self._table.take(self._places(actions))
        return means

    def _shifts(self, actions: np.ndarray) -> np.ndarray:
        shifts: np.ndarray = self._shift_table.take(self._places(actions))
        return shifts

    def _places(self, actions: np.ndarray) -> np.ndarray:
        return actions if self._shared else actions + self._offsets

    def _costs(self, actions: np.ndarray) -> np.ndarray:
        if self.recipe.costs is None:
            return np.ones(self.num_envs)
        costs: np.ndarray = self.recipe.costs.take(actions)
        return costs

    def _failed(self, actions: np.ndarray) -> np.ndarray | None:
        assert isinstance(self.recipe.family, ArmFamily)
        failed = self.recipe.family.failed
        return None if failed is None else failed.take(actions)

    def _use(self, i: int, function: ArmFunction) -> None:
        self._table = self._with(self._table, i, function.mean)
        if self._corruption is not None:
            assert isinstance(self.recipe.family, ArmFamily)
            shifts = self._corruption.attack.shifts(function.mean, self.recipe.family.arms)
            self._shift_table = self._with(self._shift_table, i, shifts)

    def _with(self, table: np.ndarray, i: int, values: np.ndarray) -> np.ndarray:
        """A table of all environments' arms, with these values for environment `i`."""
        if self._shared:
            return values
        table[i * self._n_arms : (i + 1) * self._n_arms] = values
        return table


class BoxVectorEnv(BanditVectorEnv):
    """`BoxEnv`, `N` at a time; see `BanditVectorEnv`."""

    def __init__(self, num_envs: int, recipe: EnvRecipe, **kwargs: Any) -> None:
        if not isinstance(recipe.family, BoxFamily):
            raise TypeError(f"recipe: expected a family on a box, got {type(recipe.family).__name__}")
        self._shape = (num_envs, recipe.family.dim)
        super().__init__(num_envs, recipe, gym.spaces.Box(0.0, 1.0, self._shape[1:], np.float64), **kwargs)
        self._family = recipe.family
        self._functions: list[BoxFunction | None] = [None] * num_envs

    def _checked(self, actions: Any) -> np.ndarray:
        return as_points(actions, self._shape)

    def _means(self, actions: np.ndarray) -> np.ndarray:
        first = self._functions[0]
        if self._family.elementwise and first is not None:
            return first.evaluate(actions)
        means = np.empty(self.num_envs)
        for i, function in enumerate(self._functions):
            if function is not None:
                means[i] = function.evaluate(actions[i : i + 1])[0]
        return means

    def _costs(self, actions: np.ndarray) -> np.ndarray:
        if not self._family.expensive:
            return np.ones(len(actions))
        return np.array([self._family.cost(x) for x in actions])

    def _failed(self, actions: np.ndarray) -> np.ndarray | None:
        return np.array([self._family.failed(x) for x in actions]) if self._family.fails else None

    def _use(self, i: int, function: BoxFunction) -> None:
        self._functions[i] = function


def _checked_mask(mask: Any, n: int) -> np.ndarray:
    if mask is None:
        return np.ones(n, bool)
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
        raise TypeError(f"options['reset_mask']: expected a boolean array of shape ({n},), got {mask!r}")
    if mask.shape != (n,) or not mask.any():
        raise ValueError(f"options['reset_mask']: expected shape ({n},) with at least one True, got {mask!r}")
    return mask
