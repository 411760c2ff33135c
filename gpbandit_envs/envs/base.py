"""What finite and continuous bandit environments have in common: seeding, noise by evaluation number, the card."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding

from gpbandit_envs.envs.setting import Setting, dial, make_card
from gpbandit_envs.envs.streams import Stream, stream
from gpbandit_envs.problem import Certificate, Problem

__all__ = ["METADATA", "BanditEnv", "check_options", "reset_needed"]

METADATA: dict[str, Any] = {"render_modes": [], "render_fps": 4}

_FIRST_BLOCK = 64
_LAST_BLOCK = 4_096


class BanditEnv(gym.Env[Any, Any]):
    """A bandit with one state: observation 0, reward the noisy feedback, never terminated.

    The information of a step is `{"cost": float, "oracle": {"mean": float, "regret": float}}`. The oracle part is for
    scoring alone. The end of an episode is the time limit that `gymnasium.make` puts around the environment.

    Args:
        setting: Mean functions, noise, costs and what the card says about them.
        misspecification: Factors by which the card is wrong, such as `{"lengthscale": 2.0}`; keys lengthscale,
            norm, noise.
        instance_seed: Pins the mean function, whatever `reset` is seeded with; None for a new one each episode.
        reveal_oracle: Whether steps carry `info["oracle"]`.
        horizon: Number of evaluations that the card states; None for the id's registered time limit. It does not
            end the episode.
        render_mode: One of `metadata["render_modes"]`.
    """

    metadata: dict[str, Any] = METADATA

    def __init__(
        self,
        setting: Setting,
        *,
        misspecification: Mapping[str, float] | None = None,
        instance_seed: int | None = None,
        reveal_oracle: bool = True,
        horizon: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        if instance_seed is not None and (not isinstance(instance_seed, (int, np.integer)) or instance_seed < 0):
            raise ValueError(f"instance_seed: expected an integer >= 0 or None, got {instance_seed!r}")
        self.setting = setting
        self.render_mode = render_mode
        self.observation_space = gym.spaces.Discrete(1)
        self._misspecification = dial(misspecification)
        self._instance_seed = instance_seed
        self._reveal_oracle = bool(reveal_oracle)
        self._horizon = horizon
        self._problem: Problem | None = None
        self._seed: int | None = None
        self._episode = -1
        self._drawn = False
        self._evaluations = 0
        self._variates: list[float] = []
        self._noise_rng: np.random.Generator | None = None
        # A wrong dial or horizon fails here, where the caller is, and not at the first look at the card.
        make_card(setting, None, horizon, self._misspecification)

    @property
    def problem(self) -> Problem:
        """The card: everything that a policy may know."""
        if self._problem is None or (self.spec is not None and self._problem.name != self.spec.id):
            self._problem = make_card(self.setting, self.spec, self._horizon, self._misspecification)
        return self._problem

    @property
    @abstractmethod
    def certificate(self) -> Certificate:
        """What is certain about the current instance; for scoring, never for policies.

        Raises:
            gymnasium.error.ResetNeeded: before the first `reset`.
        """

    @property
    def optimum(self) -> float:
        """Largest mean of the current instance, unit of the reward."""
        return self.certificate.optimum

    @abstractmethod
    def mean(self, actions: Any) -> np.ndarray:
        """Noise-free means of an array of actions; for scoring, never for policies."""

    @abstractmethod
    def _draw(self, rng: np.random.Generator) -> None:
        """Draw a mean function and keep it."""

    def stream(self, name: Stream) -> np.random.Generator:
        """A fresh generator at the start of the current episode's stream `name`.

        Raises:
            gymnasium.error.ResetNeeded: before the first `reset`.
        """
        if self._seed is None:
            raise reset_needed()
        return stream(self._seed, self._episode, name)

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Start an episode: a new mean function, unless it is pinned or kept, and new noise.

        Args:
            seed: Root of all streams; None goes on to the next episode of the last seed.
            options: `{"keep_function": True}` keeps the mean function of the last episode.

        Raises:
            ValueError: if an option is unknown.
        """
        keep = check_options(options)
        if seed is not None or self._seed is None:
            self._np_random, self._np_random_seed = seeding.np_random(seed)
            self._seed, self._episode = self._np_random_seed, -1
        self._episode += 1
        pinned = self.setting.family.fixed or self._instance_seed is not None
        if not (self._drawn and (keep or pinned)):
            root, episode = (self._seed, self._episode) if self._instance_seed is None else (self._instance_seed, 0)
            self._draw(stream(root, episode, "function"))
            self._drawn = True
        self._evaluations = 0
        self._variates = []
        self._noise_rng = self.stream("noise")
        return 0, {}

    def _next_variate(self) -> float:
        """The noise variate of the coming evaluation."""
        t = self._evaluations
        if t == len(self._variates):
            if self._noise_rng is None:
                raise reset_needed()
            block = min(max(t, _FIRST_BLOCK), _LAST_BLOCK)
            self._variates += self.setting.noise.variates(self._noise_rng, block).tolist()
        self._evaluations = t + 1
        return self._variates[t]


def check_options(options: Mapping[str, Any] | None) -> bool:
    """Whether the function is to be kept.

    Raises:
        ValueError: if an option is unknown.
    """
    for name in options or {}:
        if name != "keep_function":
            raise ValueError(f"options: expected only 'keep_function', got {name!r}")
    return bool((options or {}).get("keep_function", False))


def reset_needed() -> gym.error.ResetNeeded:
    """What to raise before the first `reset`."""
    return gym.error.ResetNeeded("the environment has no instance yet: call reset() first")
