"""What finite and continuous bandit environments have in common: seeding, noise by evaluation number, the card."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding

from gpbandit_envs.envs.episodes import Episodes, Stream, keeps_function, reset_needed
from gpbandit_envs.envs.render import History, Picture, draw_rgb, draw_text
from gpbandit_envs.envs.setting import Setting, dial, make_card
from gpbandit_envs.functions.base import ArmFamily
from gpbandit_envs.problem import Certificate, InitialData, Problem

__all__ = ["METADATA", "BanditEnv"]

METADATA: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}

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
        initial: Evaluations of arms drawn uniformly, with replacement, that `reset` makes before the first step. The
            card holds their arms and noisy rewards; they are no steps and cost no regret. Finite arms only, and not in
            the native vector form, whose environments share one card.
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
        initial: int = 0,
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, *METADATA["render_modes"]):
            raise ValueError(f"render_mode: expected one of {METADATA['render_modes']} or None, got {render_mode!r}")
        if isinstance(initial, bool) or not isinstance(initial, (int, np.integer)) or initial < 0:
            raise ValueError(f"initial: expected an integer >= 0, got {initial!r}")
        if initial and not isinstance(setting.family, ArmFamily):
            raise ValueError(f"initial: expected 0 on a box, got {initial!r}")
        self.setting = setting
        self.render_mode = render_mode
        self.observation_space = gym.spaces.Discrete(1)
        self._misspecification = dial(misspecification)
        self._reveal_oracle = bool(reveal_oracle)
        self._horizon = horizon
        self._n_initial = int(initial)
        self._problem: Problem | None = None
        self._episodes: Episodes[Any] = Episodes(setting.family, instance_seed)
        self._cursor = 0
        self._variates: list[float] = []
        self._noise_rng: np.random.Generator | None = None
        # Kept only for rendering: an episode may be long.
        self._history: History | None = None if render_mode is None else History()
        # A wrong dial or horizon fails here, where the caller is, and not at the first look at the card.
        make_card(setting, None, horizon, self._misspecification)

    @property
    def problem(self) -> Problem:
        """The card: everything that a policy may know."""
        if self._problem is None or (self.spec is not None and self._problem.name != self.spec.id):
            card = make_card(self.setting, self.spec, self._horizon, self._misspecification)
            begun = self._n_initial and self._episodes.seeded
            self._problem = replace(card, initial=self._evaluated_before()) if begun else card
        return self._problem

    @property
    def certificate(self) -> Certificate:
        """What is certain about the current instance; for scoring, never for policies.

        Raises:
            gymnasium.error.ResetNeeded: before the first `reset`.
        """
        certificate: Certificate = self._episodes.function.certificate
        return certificate

    @property
    def optimum(self) -> float:
        """Largest mean of the current instance, unit of the reward."""
        return self.certificate.optimum

    @abstractmethod
    def mean(self, actions: Any) -> np.ndarray:
        """Noise-free means of an array of actions; for scoring, never for policies."""

    def stream(self, name: Stream) -> np.random.Generator:
        """A fresh generator at the start of the current episode's stream `name`.

        Raises:
            gymnasium.error.ResetNeeded: before the first `reset`.
        """
        return self._episodes.stream(name)

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Start an episode: a new mean function, unless it is pinned or kept, and new noise.

        Args:
            seed: Root of all streams; None goes on to the next episode of the last seed.
            options: `{"keep_function": True}` keeps the mean function of the last episode.

        Raises:
            ValueError: if an option is unknown.
        """
        keep = keeps_function(options)
        if seed is not None or not self._episodes.seeded:
            self._np_random, seed = seeding.np_random(seed)
            self._np_random_seed = seed
        if self._episodes.advance(seed, keep):
            self._use(self._episodes.function)
        self._cursor = 0
        self._variates = []
        if self._history is not None:
            self._history = History()
        self._noise_rng = self.stream("noise")
        if self._n_initial:
            self._problem = None  # this episode's data are on its card
        return 0, {}

    def _evaluated_before(self) -> InitialData:
        rng = self.stream("initial")
        assert isinstance(self.setting.family, ArmFamily)
        arms = rng.integers(len(self.setting.family.arms), size=self._n_initial)
        noise = self.setting.noise
        rewards = noise.feedback(self.mean(arms), arms, noise.variates(rng, self._n_initial))
        return InitialData(arms=arms, rewards=rewards)

    def render(self) -> Any:
        """A picture of the episode so far: text for `"ansi"`, uint8 `(400, 960, 3)` for `"rgb_array"`.

        Raises:
            gymnasium.error.ResetNeeded: before the first `reset`.
        """
        if self.render_mode is None or self._history is None:
            gym.logger.warn("render() draws nothing without a render_mode; give one to gymnasium.make")
            return None
        picture = self._picture(self._history)
        return draw_text(picture) if self.render_mode == "ansi" else draw_rgb(picture)

    @abstractmethod
    def _picture(self, history: History) -> Picture:
        """What there is to draw."""

    @abstractmethod
    def _use(self, function: Any) -> None:
        """Make ready for steps on a new mean function."""

    def _next_variate(self) -> float:
        """The noise variate of the coming evaluation."""
        if self._cursor == len(self._variates):
            if self._noise_rng is None:
                raise reset_needed()
            block = min(max(2 * len(self._variates), _FIRST_BLOCK), _LAST_BLOCK)
            self._variates = self.setting.noise.variates(self._noise_rng, block).tolist()
            self._cursor = 0
        variate = self._variates[self._cursor]
        self._cursor += 1
        return variate
