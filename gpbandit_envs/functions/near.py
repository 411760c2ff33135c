"""Mean functions that are only close to those that the stated prior describes."""

from __future__ import annotations

import numpy as np

from gpbandit_envs.functions.base import ArmFamily, ArmFunction, certify_arms

__all__ = ["NearArms"]


class NearArms(ArmFamily):
    """Draws of another family, moved up or down by the same distance at every arm, each direction as likely.

    So each mean is exactly `sup` away from a function of that family. A kernel smooths such signs away: what it takes
    for noise does not go away with more pulls.

    Args:
        family: The family near by.
        sup: Distance, >= 0, unit of the reward.
    """

    def __init__(self, family: ArmFamily, sup: float) -> None:
        self.arms, self.kernel, self.norm_bound = family.arms, family.kernel, family.norm_bound
        self.fixed = family.fixed and sup == 0
        self._family, self._sup = family, sup

    def draw(self, rng: np.random.Generator) -> ArmFunction:
        function = self._family.draw(rng)
        if self._sup == 0:
            return function
        signs = rng.choice([-1.0, 1.0], len(self.arms))
        near = function.certificate
        facts = {**near.facts, "sup": self._sup, "norm_of_near_function": near.norm}
        return certify_arms(function.mean + self._sup * signs, facts=facts)
