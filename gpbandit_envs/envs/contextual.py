"""Bandit environments whose steps offer only some of the arms, single and vectorised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index
from typing import Any, SupportsIndex

import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from jaxtyping import Float, Int8

from gpbandit_envs.envs.bandit import FiniteArmEnv, as_arms
from gpbandit_envs.envs.episodes import reset_needed
from gpbandit_envs.envs.recipe import EnvRecipe
from gpbandit_envs.envs.vector import FiniteArmVectorEnv
from gpbandit_envs.offers import Offer, Offers, OfferSequence

__all__ = ["ContextualArmEnv", "ContextualArmVectorEnv"]


class ContextualArmEnv(FiniteArmEnv):
    """A bandit whose steps offer a set of arms each; an action is the index of an arm.

    The observation is the context. `info["action_mask"]`, after `reset` and after each step, is 1 where the coming step
    offers an arm, as `action_space.sample(mask)` takes it. The regret of a step is measured from the best mean among
    the arms that it offered; `certificate` and `optimum` are those of all arms.

    The mask is advice: in place of an arm that is not offered the first one behind it, cyclically, that is offered is
    evaluated, and reward, regret and `info["evaluated"]` are of that one. With `unoffered="error"` it is an error, as
    it always is of an agent in a run.

    Args:
        recipe: As for `BanditEnv`, with `offers`.
        **kwargs: As for `BanditEnv`.

    Raises:
        TypeError: if the recipe has no offers.
    """

    regret_changes = True

    def __init__(self, recipe: EnvRecipe, **kwargs: Any) -> None:
        super().__init__(recipe, **kwargs)
        self._offers = _offers_of(recipe)
        self.observation_space = self._offers.observation_space
        self._sequence: OfferSequence | None = None
        self._offer: Offer | None = None

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self._sequence = self._offers.sequence(self._episodes.function.mean, self.stream("context"))
        self._offer = offer = self._sequence.next()
        return offer.observation, {"action_mask": offer.mask.copy()}

    def step(self, action: SupportsIndex) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Evaluate an arm, or the next one that is offered.

        Args:
            action: Index of the arm, an integer in `[0, A)`.

        Raises:
            TypeError: if the action is no integer.
            ValueError: if it is out of range, or the arm is not offered and `unoffered` is `"error"`.
            gymnasium.error.ResetNeeded: before the first `reset`.
        """
        offer, sequence = self._offer, self._sequence
        if offer is None or sequence is None:
            raise reset_needed()
        arm = self._offered_arm(action, offer)
        self.best_mean = offer.optimum
        _, reward, terminated, truncated, info = super().step(arm)
        if self._offers.unoffered == "next":
            info["evaluated"] = arm
        self._offer = coming = sequence.next()
        info["action_mask"] = coming.mask.copy()
        return coming.observation, reward, terminated, truncated, info

    def action_masks(self) -> Int8[np.ndarray, " A"]:
        """The mask of the coming step, under the name by which learners of sb3-contrib ask for it.

        Raises:
            gymnasium.error.ResetNeeded: before the first `reset`.
        """
        if self._offer is None:
            raise reset_needed()
        return self._offer.mask.copy()

    def regret(self, actions: Any) -> Float[np.ndarray, " n"]:
        """Regrets of arms that the coming step offers; for scoring, never for policies.

        Raises:
            TypeError: if one is no integer.
            ValueError: if one is out of range, or not offered.
            gymnasium.error.ResetNeeded: before the first `reset`.
        """
        mask = self.action_masks()
        arms = as_arms(actions, 0, self._n_arms)
        if not mask[arms].all():
            raise ValueError(f"actions: expected arms that are offered, got {arms[mask[arms] == 0][0]}")
        assert self._offer is not None
        return self._offer.optimum - self.mean(arms)

    def _offered_arm(self, action: SupportsIndex, offer: Offer) -> int:
        try:
            arm = index(action)
        except TypeError:
            arm = -1
        if not 0 <= arm < self._n_arms:
            raise self._no_arm(action)
        if offer.mask[arm]:
            return arm
        if self._offers.unoffered == "next":
            return _next_offered(offer.mask, arm)
        raise _not_offered(arm, offer.mask)


class ContextualArmVectorEnv(FiniteArmVectorEnv):
    """`ContextualArmEnv`, `N` at a time; see `BanditVectorEnv`. Masks are `(N, A)`."""

    regret_changes = True

    def __init__(self, num_envs: int, recipe: EnvRecipe, **kwargs: Any) -> None:
        super().__init__(num_envs, recipe, **kwargs)
        self._offers = _offers_of(recipe)
        self.single_observation_space = self._offers.observation_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._sequences: dict[int, OfferSequence] = {}
        self._coming: dict[int, Offer] = {}

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        mask = (options or {}).get("reset_mask")
        which = np.ones(self.num_envs, bool) if mask is None else mask
        return self._observations(), self._masks(which)

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Evaluate an arm, or the next one that is offered, in each environment.

        Raises:
            TypeError, ValueError: if the actions are not in the action space, or an arm is not offered and `unoffered`
                is `"error"`.
            gymnasium.error.ResetNeeded: before the first `reset`, and for an environment that is over when the mode is
                `"Disabled"`.
        """
        arms = self._checked(actions).copy()
        live = np.ones(self.num_envs, bool)
        if self._any_over:
            if self.autoreset_mode is AutoresetMode.DISABLED:
                return super().step(arms)  # raises
            live = ~self._over
        playing = np.flatnonzero(live).tolist()
        for i in playing:  # all are checked before any of them moves on
            offer = self._offer(i)
            if not offer.mask[arms[i]]:
                if self._offers.unoffered == "error":
                    raise _not_offered(int(arms[i]), offer.mask, f" in environment {i}")
                arms[i] = _next_offered(offer.mask, int(arms[i]))
        for i in playing:
            self._best[i] = self._offer(i).optimum
            self._coming[i] = self._sequences[i].next()
        _, rewards, terminated, truncated, info = super().step(arms)
        return (
            self._observations(),
            rewards,
            terminated,
            truncated,
            {**info, **self._masks(np.ones(self.num_envs, bool))},
        )

    def _restart(self, which: np.ndarray, seeds: Sequence[int | None], keep: bool) -> None:
        super()._restart(which, seeds, keep)
        for i in which.tolist():
            episodes = self._episodes[i]
            self._sequences[i] = sequence = self._offers.sequence(episodes.function.mean, episodes.stream("context"))
            self._coming[i] = sequence.next()

    def _info(self, actions: np.ndarray, means: np.ndarray, live: np.ndarray | None) -> dict[str, Any]:
        info = super()._info(actions, means, live)
        if self._offers.unoffered == "error" or not info:
            return info
        mask = np.ones(self.num_envs, bool) if live is None else live.copy()
        return {**info, "evaluated": np.where(mask, actions, 0), "_evaluated": mask}

    def _final(self, actions: np.ndarray, means: np.ndarray, over: np.ndarray) -> dict[str, Any]:
        info = super()._final(actions, means, over)
        observations = self._observations()
        for i in np.flatnonzero(over).tolist():
            info["final_obs"][i] = observations[i] if observations.ndim > 1 else int(observations[i])
        return {**info, "final_info": {**info["final_info"], **self._masks(over)}}

    def _observations(self) -> np.ndarray:
        return np.array([self._offer(i).observation for i in range(self.num_envs)], self.single_observation_space.dtype)

    def _masks(self, which: np.ndarray) -> dict[str, Any]:
        masks = np.zeros((self.num_envs, self._n_arms), np.int8)
        for i in np.flatnonzero(which).tolist():
            masks[i] = self._offer(i).mask
        return {"action_mask": masks, "_action_mask": which.copy()}

    def _offer(self, i: int) -> Offer:
        if i not in self._coming:
            raise reset_needed()
        return self._coming[i]


def _offers_of(recipe: EnvRecipe) -> Offers:
    if recipe.offers is None:
        raise TypeError("recipe: expected one with offers, got one that always offers all arms")
    return recipe.offers


def _next_offered(mask: np.ndarray, arm: int) -> int:
    """The first arm that is offered at `arm` or behind it, cyclically."""
    ahead = int(np.argmax(mask[arm:]))
    return arm + ahead if mask[arm + ahead] else int(np.argmax(mask))


def _not_offered(arm: int, mask: np.ndarray, where: str = "") -> ValueError:
    offered = np.flatnonzero(mask)
    shown = ", ".join(map(str, offered[:5].tolist())) + (", ..." if len(offered) > 5 else "")
    return ValueError(
        f"action: expected one of the {len(offered)} arms that this step offers{where} ({shown}; see "
        f"info['action_mask']), got {arm}"
    )
