"""An outside learner trains on the environments as they are, without an adapter."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import gpbandit_envs  # noqa: F401 - registers the ids
from gpbandit_envs.wrappers import BatchFeedback, DelayedFeedback

sb3 = pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed; pip install '.[rl]'")

STEPS = 5_000


def bandit(**kwargs: Any) -> Any:
    # Pinned, so that there is something to learn: from episode to episode the best arm stays where it is.
    return gym.make("GPBandit/RKHS-v0", n_arms=12, lengthscale=0.1, instance_seed=3, max_episode_steps=50, **kwargs)


@pytest.mark.slow
# Its logger closes no file, and torch's first use of a GPU-less machine warns; both are theirs.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize(
    ("env", "policy", "q"),
    [
        (bandit(), "MlpPolicy", 1),
        (BatchFeedback(bandit(), batch_size=5), "MultiInputPolicy", 5),
        (DelayedFeedback(bandit(), delay=2, capacity=4), "MultiInputPolicy", 1),
    ],
    ids=["finite arms", "batch", "delayed"],
)
def test_ppo_trains_and_learns(env: Any, policy: str, q: int) -> None:
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the networks are tiny: more threads only wait for each other
    model = sb3.PPO(policy, env, n_steps=250, batch_size=125, n_epochs=5, learning_rate=1e-2, seed=0, device="cpu")
    model.learn(total_timesteps=STEPS)
    torch.set_num_threads(threads)
    env.reset(seed=0)
    means = env.unwrapped.mean(np.arange(12))
    observation, _ = env.reset(seed=1)
    got = []
    for _ in range(40 // q):
        action, _ = model.predict(observation, deterministic=True)
        observation, _, _, _, info = env.step(action if q > 1 else int(action))
        got += np.atleast_1d(info["oracle"]["mean"]).tolist()
    # Well above the uniform policy, and near the best arm: it has learned from the rewards it was given.
    assert np.mean(got) > 0.5 * (means.mean() + means.max())
