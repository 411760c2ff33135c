"""The bandit on a box."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from jaxtyping import Float

from gpbandit_envs.envs.base import BanditEnv
from gpbandit_envs.envs.render import History, Picture, box_points
from gpbandit_envs.envs.setting import Setting
from gpbandit_envs.functions.base import BoxFamily, BoxFunction

__all__ = ["BoxEnv", "as_points"]


class BoxEnv(BanditEnv):
    """A bandit whose action is a point of the unit cube; see `BanditEnv` for arguments and information.

    Attributes:
        low: True lower bound of each coordinate, shape `(d,)`.
        high: True upper bound of each coordinate, shape `(d,)`.
    """

    def __init__(self, setting: Setting, **kwargs: Any) -> None:
        if not isinstance(setting.family, BoxFamily):
            raise TypeError(f"setting: expected a family on a box, got {type(setting.family).__name__}")
        super().__init__(setting, **kwargs)
        self.low, self.high = setting.family.low, setting.family.high
        self._shape = (setting.family.dim,)
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
        reward = self.setting.noise.feedback(mean, x, variate)
        info: dict[str, Any] = {"cost": 1.0}
        if self._reveal_oracle:
            info["oracle"] = {"mean": mean, "regret": self.optimum - mean}
        if self._history is not None:
            self._history.add(x.copy(), reward, mean)  # `x` may be the caller's own array, which it may fill anew
        return 0, reward, False, False, info

    def mean(self, actions: Any) -> Float[np.ndarray, " n"]:
        means: np.ndarray = self._episodes.function.evaluate(np.asarray(actions, dtype=np.float64))
        return means

    def _use(self, function: BoxFunction) -> None:
        self._evaluate = function.evaluate

    def _picture(self, history: History) -> Picture:
        points = box_points(self._shape[0])
        return Picture(
            title=self.problem.name,
            points=points,
            mean=self.mean(points),
            optimum=self.optimum,
            pulled=np.array(history.actions).reshape(-1, *self._shape),
            indices=None,
            rewards=np.array(history.rewards),
            regrets=self.optimum - np.array(history.means),
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
