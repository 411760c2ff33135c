"""Bandit environments whose steps offer only some of the arms."""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import Any, SupportsIndex

import numpy as np
from jaxtyping import Float, Int8

from gpbandit_envs.envs.bandit import FiniteArmEnv, as_arms
from gpbandit_envs.envs.episodes import reset_needed
from gpbandit_envs.envs.recipe import EnvRecipe
from gpbandit_envs.offers import Offer, Offers, OfferSequence


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


def _offers_of(recipe: EnvRecipe) -> Offers:
    if recipe.offers is None:
        raise TypeError("recipe: expected one with offers, got one that always offers all arms")
    return recipe.offers


def _next_offered(mask: np.ndarray, arm: int) -> int:
    """The first arm that is offered at `arm` or behind it, cyclically."""
    ahead = int(np.argmax(mask[arm:]))
    return arm + ahead if mask[arm + ahead] else int(np.argmax(mask))


def _not_offered(arm: int, mask: np.ndarray) -> ValueError:
    offered = np.flatnonzero(mask)
    shown = ", ".join(map(str, offered[:5].tolist())) + (", ..." if len(offered) > 5 else "")
    return ValueError(
        f"action: expected one of the {len(offered)} arms that this step offers ({shown}; see "
        f"info['action_mask']), got {arm}"
    )
