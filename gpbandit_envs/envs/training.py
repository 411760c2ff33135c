"""The bandit whose every evaluation is a training run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from gpbandit_envs.envs.continuous import BoxEnv
from gpbandit_envs.envs.render import History, Picture
from gpbandit_envs.envs.setting import Setting
from gpbandit_envs.functions.training import Training, TrainingBox
from gpbandit_envs.gp import as_kernel
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.noise import as_noise

__all__ = ["KernelLike", "NoiseLike", "TrainingEnv", "training_setting"]

KernelLike = Kernel | Mapping[str, Any] | None
NoiseLike = Mapping[str, Any] | str | None


class TrainingEnv(BoxEnv):
    """`BoxEnv` with the cost of each training in `info["cost"]`, and `info["failed"]` where one came to nothing.

    A failed training has the task's floor for its mean, so that its regret is finite; its feedback is to be ignored.

    Attributes:
        training: What is trained.
    """

    def __init__(self, setting: Setting, **kwargs: Any) -> None:
        if not isinstance(setting.family, TrainingBox):
            raise TypeError(f"setting: expected a training, got {type(setting.family).__name__}")
        super().__init__(setting, **kwargs)
        self.training: Training = setting.family.training

    def step(self, action: Float[np.ndarray, " d"]) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Train with one point's hyperparameters; arguments and errors as in `BoxEnv.step`."""
        observation, reward, terminated, truncated, info = super().step(action)
        outcome = self.training.outcome(action)
        info["cost"] = outcome.cost
        if outcome.failure is not None:
            info["failed"] = True
        return observation, reward, terminated, truncated, info

    def _picture(self, history: History) -> Picture:
        # The mean is shown where it has been worked out already: a grid of trainings would take minutes.
        pulled = np.array(history.actions).reshape(-1, *self._shape)
        points = np.concatenate([np.array([self.certificate.optimal_action]), pulled])
        return Picture(
            title=self.problem.name,
            points=points,
            mean=self._evaluate(points),
            optimum=self.optimum,
            pulled=pulled,
            indices=None,
            rewards=np.array(history.rewards),
            regrets=self.optimum - np.array(history.means),
        )


def training_setting(
    training: Training, noise_std: float, kernel: KernelLike, noise: NoiseLike, notes: Mapping[str, object]
) -> Setting:
    """The setting of a task that no kernel describes; its card tells the ranges of the hyperparameters."""
    return Setting(
        family=TrainingBox(training),
        noise=as_noise(noise, noise_std),
        kernel=None if kernel is None else as_kernel(kernel),
        norm_bound=None,
        knowledge="learned",
        notes={"domain": training.domain.to_spec(), **notes},
    )
