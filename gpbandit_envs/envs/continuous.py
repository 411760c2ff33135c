"""The bandit on a box."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from jaxtyping import Float

from gpbandit_envs.envs.base import BanditEnv, reset_needed
from gpbandit_envs.envs.setting import Setting
from gpbandit_envs.functions.base import BoxFamily, BoxFunction
from gpbandit_envs.problem import Certificate

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
        self._family = setting.family
        self.low, self.high = setting.family.low, setting.family.high
        self.action_space = gym.spaces.Box(0.0, 1.0, (setting.family.dim,), np.float64)
        self._function: BoxFunction | None = None

    def step(self, action: Float[np.ndarray, " d"]) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Evaluate one point.

        Args:
            action: Point of the unit cube, shape `(d,)`.

        Raises:
            TypeError: if the action is no array of numbers.
            ValueError: if its shape is wrong, or a coordinate is NaN or outside [0, 1].
            gymnasium.error.ResetNeeded: before the first `reset`.
        """
        x = as_points(action, (self._family.dim,))
        variate = self._next_variate()
        mean = float(self._instance.evaluate(x[None])[0])
        reward = self.setting.noise.feedback(mean, x, variate)
        info: dict[str, Any] = {"cost": 1.0}
        if self._reveal_oracle:
            info["oracle"] = {"mean": mean, "regret": self.optimum - mean}
        return 0, reward, False, False, info

    def mean(self, actions: Any) -> Float[np.ndarray, " n"]:
        return self._instance.evaluate(np.asarray(actions, dtype=np.float64))

    @property
    def certificate(self) -> Certificate:
        return self._instance.certificate

    @property
    def _instance(self) -> BoxFunction:
        if self._function is None:
            raise reset_needed()
        return self._function

    def _draw(self, rng: np.random.Generator) -> None:
        self._function = self._family.draw(rng)


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
