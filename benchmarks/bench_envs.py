"""Speed of the environments: one step against CartPole-v1's.

Run with `python -m benchmarks.bench_envs`. Both sides of a ratio are measured in one run, alternating, and the best
of several rounds counts, so that a busy machine slows both alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium as gym
import numpy as np

import gpbandit_envs  # noqa: F401 - registers the ids
from benchmarks.measure import Row

STEPS = 20_000
ROUNDS = 5


def seconds_per_step(env: gym.Env[Any, Any], actions: list[int]) -> float:
    """Seconds of one env-step under the loop that everyone writes, resets included."""
    env.reset(seed=0)
    start = time.perf_counter()
    for action in actions:
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()
    return (time.perf_counter() - start) / len(actions)


def step_ratio(
    env_id: str = "GPBandit/RKHS-v0", steps: int = STEPS, rounds: int = ROUNDS, **kwargs: Any
) -> tuple[float, float]:
    """Seconds of one step of `env_id` and of CartPole-v1."""
    ours, cartpole = gym.make(env_id, **kwargs), gym.make("CartPole-v1")
    actions = np.random.default_rng(0).integers(0, 2, steps).tolist()
    pairs = [(seconds_per_step(ours, actions), seconds_per_step(cartpole, actions)) for _ in range(rounds)]
    return min(a for a, _ in pairs), min(b for _, b in pairs)


def cases() -> Iterator[tuple[str, Callable[[], Row]]]:
    """What goes into the table of `benchmarks.run`."""
    yield "step", lambda: Row("one step on finite arms", "CartPole-v1", *step_ratio(rounds=3))
    # Any action will do: the next arm that is offered stands in for one that is not.
    yield (
        "context-step",
        lambda: Row(
            "one step with one of ten contexts",
            "CartPole-v1",
            *step_ratio("GPBandit/RKHSContext-v0", rounds=3),
        ),
    )


def main() -> None:
    """Print the ratio."""
    ours, cartpole = step_ratio()
    print(
        f"one step: finite arms {ours * 1e6:.2f} us, CartPole-v1 {cartpole * 1e6:.2f} us, ratio {ours / cartpole:.2f}"
    )


if __name__ == "__main__":
    main()
