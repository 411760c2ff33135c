"""Which arms each step offers: a context that fixes them, or arms that sleep.

A step offers a set `S_t` of the arms, and regret is measured from the best mean in it. What is offered does not depend
on what is played: it is drawn from a stream of its own, so that all policies meet the same sets.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import gymnasium as gym
import numpy as np
from jaxtyping import Float, Int, Int8

from gpbandit_envs.arguments import as_number, as_word

Unoffered = Literal["error", "next"]
"""What an arm does that the step does not offer: the next arm that is offered takes its place, or it is an error."""

_BLOCK = 256
_BLOCK_BYTES = 2**22


class Offer(NamedTuple):
    """What one step offers.

    Attributes:
        observation: The context as agents of reinforcement learning see it.
        mask: 1 where an arm is offered, shape `(A,)`, read-only.
        optimum: Largest mean among the arms offered, unit of the reward.
    """

    observation: Any
    mask: Int8[np.ndarray, " A"]
    optimum: float


class OfferSequence(ABC):
    """The offers of one episode, one after the other."""

    @abstractmethod
    def next(self) -> Offer:
        """The offer of the coming step."""


class Offers(ABC):
    """A distribution over sequences of offers.

    Attributes:
        n_arms: Number of arms `A`.
        observation_space: Space of the observations.
        unoffered: What happens to an arm that is not offered.
    """

    n_arms: int
    observation_space: gym.Space[Any]
    unoffered: Unoffered

    @abstractmethod
    def sequence(self, mean: Float[np.ndarray, " A"], rng: np.random.Generator) -> OfferSequence:
        """The offers of an episode with these means."""


class ContextOffers(Offers):
    """A context, drawn uniformly for each step, offers the arms that belong to it.

    Args:
        context_of: The context of each arm, shape `(A,)`, from 0 without gaps.
        features: Features of each context, shape `(Z, d)`: observed in place of its number; None for the number.
        unoffered: What happens to an arm that is not offered.

    Raises:
        ValueError: if a context has no arm.
    """

    def __init__(
        self,
        context_of: Int[np.ndarray, " A"],
        features: Float[np.ndarray, "Z d"] | None = None,
        unoffered: Unoffered = "next",
    ) -> None:
        as_word("unoffered", unoffered, ("error", "next"))
        self.unoffered, self.n_arms = unoffered, len(context_of)
        sizes = np.bincount(context_of)
        if (sizes == 0).any():
            raise ValueError(f"context_of: expected an arm of each context, got none of {int(np.argmin(sizes))}")
        self.context_of = context_of
        self.n_contexts = len(sizes)
        # One mask a context for all steps; A Z bytes, an eighth of one kernel row for each context.
        self._masks = (context_of == np.arange(self.n_contexts)[:, None]).astype(np.int8)
        self._masks.flags.writeable = False
        self._features = features
        self.observation_space: gym.Space[Any] = gym.spaces.Discrete(self.n_contexts)
        if features is not None:
            self.observation_space = gym.spaces.Box(features.min(axis=0), features.max(axis=0), dtype=np.float64)

    def sequence(self, mean: Float[np.ndarray, " A"], rng: np.random.Generator) -> OfferSequence:
        best = np.full(self.n_contexts, -np.inf)
        np.maximum.at(best, self.context_of, mean)
        return _Contexts(self._masks, self._features, best.tolist(), rng)


class _Contexts(OfferSequence):
    def __init__(
        self, masks: np.ndarray, features: np.ndarray | None, best: list[float], rng: np.random.Generator
    ) -> None:
        self._masks, self._features, self._best, self._rng = list(masks), features, best, rng
        self._coming: list[int] = []

    def next(self) -> Offer:
        if not self._coming:
            self._coming = self._rng.integers(len(self._best), size=_BLOCK).tolist()[::-1]
        z = self._coming.pop()
        observation = z if self._features is None else self._features[z].copy()
        return Offer(observation, self._masks[z], self._best[z])


class SleepingOffers(Offers):
    """Each arm is offered with the same probability, independently of all others and of other steps.

    Where that leaves none, the one whose random number was smallest is offered. The observation is the mask.

    Args:
        n_arms: Number of arms `A`.
        share: The probability, in (0, 1].
        unoffered: What happens to an arm that is not offered.

    Raises:
        ValueError: if the probability is out of range.

    Reference: Kleinberg, Niculescu-Mizil and Sharma (2010), Regret bounds for sleeping experts and bandits.
    """

    def __init__(self, n_arms: int, share: float, unoffered: Unoffered = "next") -> None:
        as_word("unoffered", unoffered, ("error", "next"))
        self.unoffered, self.n_arms = unoffered, n_arms
        self.share = as_number("share", share, "a probability in (0, 1]", lambda p: 0 < p <= 1)
        self.observation_space = gym.spaces.MultiBinary(n_arms)

    def sequence(self, mean: Float[np.ndarray, " A"], rng: np.random.Generator) -> OfferSequence:
        return _Sleeping(mean, self.share, rng)


class _Sleeping(OfferSequence):
    def __init__(self, mean: np.ndarray, share: float, rng: np.random.Generator) -> None:
        self._mean, self._share, self._rng = mean, share, rng
        self._masks: Sequence[np.ndarray] = ()
        self._best: list[float] = []

    def next(self) -> Offer:
        if not self._best:
            self._draw()
        mask = self._masks[len(self._best) - 1]
        return Offer(mask.copy(), mask, self._best.pop())

    def _draw(self) -> None:
        A = len(self._mean)
        # Single precision: a step of 1,000 arms costs half the time, and the share is exact to 6e-8.
        u = self._rng.random((max(1, min(_BLOCK, _BLOCK_BYTES // (4 * A))), A), dtype=np.float32)
        awake = u < self._share if self._share < 1 else np.ones(u.shape, bool)
        none = np.flatnonzero(~awake.any(axis=1))
        awake[none, u[none].argmin(axis=1)] = True
        masks = awake.astype(np.int8)
        masks.flags.writeable = False
        # The last of them comes first.
        self._masks, self._best = list(masks), np.where(awake, self._mean, -np.inf).max(axis=1).tolist()
