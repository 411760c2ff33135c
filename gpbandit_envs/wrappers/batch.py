"""Feedback in batches of fixed size."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector.utils import batch_space

from gpbandit_envs.arguments import positive_int, shown
from gpbandit_envs.channels import Channel
from gpbandit_envs.envs.bandit import BanditEnv, as_arms, as_points
from gpbandit_envs.problem import Problem


class BatchFeedback(gym.Wrapper[dict[str, Any], np.ndarray, Any, Any], RecordConstructorArgs):
    """One step evaluates `q` actions, in order, and returns their feedback together.

    ## Action space
    `batch_space(action_space, q)`: `MultiDiscrete` of `q` arm indices, or `Box` of `q` points.

    ## Observation space
    `Dict(rewards=Box(q,), mask=MultiBinary(q))`: the feedback of each action, and which of them were evaluated. When
    the time limit falls inside a batch, the rest of it is masked and its rewards are 0.

    ## Reward
    The sum of the feedback, so that an episode's return is the sum of all feedback whatever `q` is.

    ## Information
    `{"n_evals": int, "cost": (q,), "oracle": {"mean": (q,), "regret": (q,)}}`, 0 where masked; what the oracle of a
    single step has, as without a regret where the optimum is unknown. Where an evaluation failed there is
    `"failed": (q,)` besides.

    Args:
        env: A bandit environment; a time limit inside counts evaluations, one outside counts batches.
        batch_size: Number of actions `q` in a batch; also an attribute.

    Attributes:
        channel: When feedback arrives.

    Raises:
        TypeError: if the environment is no bandit, its action is not one arm or one point, or its steps offer only
            some of the arms.
        ValueError: if `batch_size` is below 1.
    """

    def __init__(self, env: gym.Env[Any, Any], batch_size: int) -> None:
        q = positive_int("batch_size", batch_size)
        RecordConstructorArgs.__init__(self, batch_size=q)
        super().__init__(env)
        bandit: Any = env.unwrapped
        if isinstance(bandit, BanditEnv):  # whose problem may be that of the instance, which a reset draws
            offers = bandit.recipe.offers is not None
        elif isinstance(problem := getattr(bandit, "problem", None), Problem):
            offers = problem.contexts
        else:
            raise TypeError(f"env: expected a bandit environment, with a Problem as its `problem`, got {bandit}")
        if offers:
            raise TypeError("env: each step offers other arms, and the actions of a batch are chosen before")
        space = env.action_space
        if not isinstance(space, (gym.spaces.Discrete, gym.spaces.Box)):
            raise TypeError(f"env: expected one arm or one point as action, got {space}; wrap in BatchFeedback first")
        if not isinstance(env.observation_space, gym.spaces.Discrete):
            raise TypeError(
                f"env: expected a bandit's own observation, Discrete(1), got {shown(env.observation_space)}; put "
                "BatchFeedback around the bandit, once, and wrappers of observations around BatchFeedback"
            )
        self.batch_size = q
        self.channel = Channel("batch", (q,))
        self._each: gym.spaces.Discrete | gym.spaces.Box = space
        self.action_space = batch_space(space, q)
        self.observation_space = gym.spaces.Dict(
            rewards=gym.spaces.Box(-np.inf, np.inf, (q,), np.float64), mask=gym.spaces.MultiBinary(q)
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        _, info = self.env.reset(seed=seed, options=options)
        return {"rewards": np.zeros(self.batch_size), "mask": np.zeros(self.batch_size, np.int8)}, info

    def step(self, action: np.ndarray) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Evaluate a batch of `q` actions.

        All are checked before the first is evaluated: an error in between would lose the feedback before it.

        Raises:
            TypeError: if one is no arm or no point.
            ValueError: if there are not exactly `q` of them, or one is out of range.
        """
        if np.shape(action)[:1] != (self.batch_size,):
            raise ValueError(f"action: expected {self.batch_size} actions, got shape {np.shape(action)}")
        self._check(action)
        rewards, mask, costs = np.zeros(self.batch_size), np.zeros(self.batch_size, np.int8), np.zeros(self.batch_size)
        oracle: dict[str, np.ndarray] = {}
        failed = np.zeros(self.batch_size, bool)
        terminated = truncated = False
        n_evals = 0
        while n_evals < self.batch_size and not (terminated or truncated):
            _, reward, terminated, truncated, info = self.env.step(action[n_evals])
            rewards[n_evals], mask[n_evals], costs[n_evals] = reward, 1, info["cost"]
            failed[n_evals] = info.get("failed", False)
            for name, value in info.get("oracle", {}).items():
                oracle.setdefault(name, np.zeros(self.batch_size))[n_evals] = value
            n_evals += 1
        info = {"n_evals": n_evals, "cost": costs}
        if oracle:
            info["oracle"] = oracle
        if failed.any():
            info["failed"] = failed
        # Added one by one, as a sequential run would: NumPy's pairwise sum rounds differently.
        total = sum(rewards.tolist())
        return {"rewards": rewards, "mask": mask}, float(total), terminated, truncated, info

    def _check(self, actions: Any) -> None:
        """Raise what the environment would raise at the first action that is wrong."""
        space = self._each
        if isinstance(space, gym.spaces.Discrete):
            as_arms(actions, int(space.start), int(space.start + space.n))
        else:
            as_points(actions, (self.batch_size, *space.shape), space.low, space.high)
