"""Speed of the environments: one step against CartPole-v1's, the native vector environment against SyncVectorEnv.

Run with `python -m benchmarks.bench_envs`. Both sides of a ratio are measured in one run, alternating, and the best
of several rounds counts, so that a busy machine slows both alike.
"""

from __future__ import annotations

import argparse
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


def seconds_per_vector_step(envs: Any, actions: list[np.ndarray], steps: int) -> float:
    """Seconds of one vector step, without resets."""
    envs.reset(seed=list(range(envs.num_envs)))
    envs.step(actions[0])
    start = time.perf_counter()
    for t in range(steps):
        envs.step(actions[t % len(actions)])
    return (time.perf_counter() - start) / steps


def vector_ratio(env_id: str, num_envs: int = 512, rounds: int = ROUNDS, **kwargs: Any) -> tuple[float, float]:
    """Seconds of one env-step of the native vector environment and of SyncVectorEnv."""
    native = gym.make_vec(env_id, num_envs=num_envs, vectorization_mode="vector_entry_point", **kwargs)
    sync = gym.make_vec(env_id, num_envs=num_envs, vectorization_mode="sync", **kwargs)
    native.action_space.seed(0)
    actions = [native.action_space.sample() for _ in range(16)]
    pairs = [
        (seconds_per_vector_step(native, actions, 800), seconds_per_vector_step(sync, actions, 20))
        for _ in range(rounds)
    ]
    return min(a for a, _ in pairs) / num_envs, min(b for _, b in pairs) / num_envs


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
    for env_id in ("GPBandit/RKHS-v0", "GPBandit/BPEF1-v0", "GPBandit/Branin-v0"):
        name = env_id.removeprefix("GPBandit/").rpartition("-v")[0]
        what = f"one env-step of {name}, 512 at once"
        yield name.lower(), lambda id=env_id, what=what: Row(what, "SyncVectorEnv", *vector_ratio(id, rounds=3))  # type: ignore[misc]


def main() -> None:
    """Print all ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num-envs", type=int, default=512)
    num_envs = parser.parse_args().num_envs
    ours, cartpole = step_ratio()
    print(
        f"one step: finite arms {ours * 1e6:.2f} us, CartPole-v1 {cartpole * 1e6:.2f} us, ratio {ours / cartpole:.2f}"
    )
    for env_id in ("GPBandit/RKHS-v0", "GPBandit/BPEF1-v0", "GPBandit/Branin-v0"):
        native, sync = vector_ratio(env_id, num_envs)
        print(
            f"{env_id} x {num_envs}: native {native * 1e6:.3f} us, SyncVectorEnv {sync * 1e6:.2f} us an env-step, "
            f"{sync / native:.0f} times as fast"
        )


if __name__ == "__main__":
    main()
