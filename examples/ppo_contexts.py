"""MaskablePPO of sb3-contrib learns which arm is best in each context of one drawn function.

It needs `pip install sb3-contrib`, which brings PyTorch, and a minute of one core. What a policy of this package does
with a few hundred evaluations takes PPO tens of thousands: it knows no kernel.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv

import gpbandit_envs  # noqa: F401 - registers the ids

STEPS, PARTS = 24_000, 6


class Regret(BaseCallback):
    """Keeps the regret of every step, which the learner itself never sees."""

    def __init__(self) -> None:
        super().__init__()
        self.regrets: list[float] = []

    def _on_step(self) -> bool:
        self.regrets += [info["oracle"]["regret"] for info in self.locals["infos"]]
        return True


def make() -> gymnasium.Env[Any, Any]:
    """One function of 15 actions in 4 contexts, the same in every episode; the observation is the context."""
    return gymnasium.make("GPBandit/RKHSContext-v0", n_actions=15, n_contexts=4, instance_seed=0)


def main() -> None:
    """Train, and print the average regret of each part of the training."""
    envs = DummyVecEnv([make] * 4)
    # A bandit has no future: rewards are not carried back (gamma = 0).
    model = MaskablePPO("MlpPolicy", envs, n_steps=250, batch_size=250, gamma=0.0, learning_rate=3e-3, seed=0)
    regret = Regret()
    model.learn(STEPS, callback=regret)
    for part in np.array_split(np.array(regret.regrets), PARTS):
        print(f"average regret of {len(part):,} steps: {part.mean():.3f}")


if __name__ == "__main__":
    main()
