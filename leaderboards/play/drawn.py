"""What many repetitions of one environment meet, drawn before any of them is played."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from leaderboards.play.spec import RunSpec, env_seed, generator


def draw(
    env: Any, spec: RunSpec, first: int, n: int, look: Callable[[RunSpec], object] | None = None
) -> tuple[Float[np.ndarray, "R A"], Float[np.ndarray, " R"], Float[np.ndarray, "R T"], list[np.random.Generator]]:
    """Functions, noise and random numbers of the repetitions `first` to `first + n - 1`, those of `leaderboards.run`.

    Args:
        env: The environment, unwrapped; it is left at the last of them.
        spec: Any repetition.
        first: The number of the first one.
        n: How many, at least 1.
        look: What is called with the spec of each while the environment is at it.

    Returns:
        Noise-free means of the arms, the largest of each, what the noise model makes noise of, and the generator of
        each repetition's agent.
    """
    found = []
    for repetition in range(first, first + n):
        one = replace(spec, repetition=repetition)
        env.reset(seed=env_seed(one))
        variates = env.recipe.noise.draw(env.stream("noise"), spec.horizon)
        found.append((env.function.mean, env.best_mean, variates, generator(one, "agent")))
        if look is not None:
            look(one)
    means, best, variates, rngs = zip(*found, strict=True)
    return np.array(means), np.array(best), np.array(variates), list(rngs)
