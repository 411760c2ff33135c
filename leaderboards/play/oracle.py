"""The regret of any action on an instance, for scoring alone."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import gymnasium as gym
import numpy as np
from jaxtyping import Float

from gpbandit_envs.envs.bandit import BoxEnv
from gpbandit_envs.functions.base import BoxFamily
from gpbandit_envs.problem import Certificate, Problem
from leaderboards.play.build import is_own_env
from leaderboards.play.protocol_checks import ENVIRONMENT, EnvError, at, check_fact, check_means

MEAN_GAP = "mean_gap"
"""Name of the fact in a record."""

_POINTS = 12  # log2 of how many points of a box; on the textbook functions the error is below 0.03 %
_SLACK = 1e-5  # relative, of a regret: an environment may compute in single precision


class Oracle:
    """Regret of any action on an instance, for scoring only and hidden from agents; NaN where it is unknown.

    Args:
        env: The environment after `reset`.
        problem: Its problem description.

    Attributes:
        known: Whether there are regrets.
        facts: Numbers of the instance as far as known: optimum, its tolerance, gap, norm, and mean gap.
        least_regret: Below which a regret of a step contradicts the optimum; None where none is checked, as with the
            environments of this project, some of which know no more than the best found so far.

    Raises:
        EnvError: if the optimum, a mean or a certified number is no finite number.
    """

    def __init__(self, env: gym.Env[Any, Any], problem: Problem) -> None:
        played: Any = env.unwrapped
        optimum: Any = None
        means: Any = None
        with ENVIRONMENT:
            certificate = getattr(played, "certificate", None)
            with suppress(AttributeError, NotImplementedError):
                optimum = played.optimum
                means = played.mean(np.arange(problem.n_arms)) if problem.is_finite else played.mean
        self.known = optimum is not None and means is not None
        self.least_regret: float | None = None
        self._optimum, self._arms = math.nan, problem.arms
        self._now: Callable[[np.ndarray], np.ndarray] | None = None  # regrets of the coming step, if steps differ
        self._mean: Callable[[np.ndarray], np.ndarray] | None = None
        # One call for all arms: a recommendation a step would cost a call each. A list takes four times the memory.
        self._regrets: Float[np.ndarray, " A"] | None = None
        self._instance, self.facts = _stated(certificate)
        if not self.known:
            return
        if problem.is_finite:
            means = check_means(means, problem.n_arms)
        self._optimum = best = check_fact("optimum", optimum)
        if certificate is None:
            self.facts["optimum"] = best
        if problem.is_finite:
            self._regrets = best - means
        else:
            self._mean = means
        if getattr(played, "regret_changes", False):  # the best action differs from step to step
            self._now = played.regret
        elif (gap := self._mean_gap(played, problem)) is not None:
            self.facts[MEAN_GAP] = check_fact(MEAN_GAP, gap)
        if played.spec is None or not is_own_env(played.spec.id):
            self.least_regret = -max(self.facts.get("optimum_tol", 0.0), 0.0) - _SLACK * max(1.0, abs(best))

    def _mean_gap(self, played: Any, problem: Problem) -> float | None:
        """Best mean less the mean over all arms, or over the box; None where that is not known or costs an experiment.

        Uniform sampling of T evaluations has an expected cumulative regret of T times this. Of arms it is exact; of a
        box it is the mean over 4,096 points of Sobol's sequence.
        """
        if self._regrets is not None:
            return float(self._regrets.mean())
        named = played.spec is not None and is_own_env(played.spec.id)  # a function of one's own may take hours a point
        family = played.recipe.family if named and isinstance(played, BoxEnv) else None
        if self._mean is None or not isinstance(family, BoxFamily) or family.expensive:
            return None
        from scipy.stats import qmc  # here, since `scipy.stats` takes a quarter of the time in which a command starts

        points = qmc.Sobol(problem.dim, scramble=False).random_base2(_POINTS)
        with ENVIRONMENT:
            return float(self._optimum - np.mean(self._mean(points)))

    def check(self, evaluation: int, action: Any, regret: float, offers: bool) -> None:
        """Check the regret that a step tells against the optimum and the means that were stated.

        Raises:
            EnvError: if it is below 0, or of an arm another than at `reset` although means are said not to change.
        """
        assert self.least_regret is not None
        if regret < self.least_regret:
            raise EnvError(
                f"step: expected a regret of at least 0, got {regret:g}{at(evaluation, action)}: its mean is larger "
                f"than the optimum that is stated, {self._optimum:g}"
            )
        if self._regrets is None or self._now is not None or offers:
            return
        stated = self._regrets.item(int(action))
        if abs(regret - stated) > _SLACK * max(1.0, abs(self._optimum), abs(stated)):
            raise EnvError(
                f"step: expected the regret {stated:g}, by optimum and mean after reset, got {regret:g}"
                f"{at(evaluation, action)}; where means change, the environment says so by regret_changes = True and "
                "tells regret(actions)"
            )

    def regret(self, action: int | np.ndarray) -> float:
        """Best mean minus the mean of `action`, those of the coming step."""
        if self._now is not None:
            with ENVIRONMENT:
                return float(check_means(self._now(np.array([action])), 1)[0])
        if self._regrets is not None:
            return self._regrets.item(int(action))
        if self._mean is None:
            return math.nan
        with ENVIRONMENT:
            means = self._mean(np.asarray(action)[None])
        return self._optimum - float(check_means(means, 1)[0])

    def fingerprint(self) -> str | None:
        """Hash of arms and means, equal for equal data; or what the certificate states, if it does."""
        if self._instance is not None or self._regrets is None:
            return self._instance
        # Views, since there may be millions of arms.
        digest = hashlib.blake2b(np.ascontiguousarray(self._arms).data.cast("B"), digest_size=16)
        digest.update(self._regrets.data)
        return digest.hexdigest()


def _stated(certificate: Any) -> tuple[str | None, dict[str, float]]:
    """The instance and the numbers that a certificate states, if it does; its NaN says that a number is unknown."""
    found = {name: getattr(certificate, name, None) for name in ("optimum", "optimum_tol", "gap", "norm")}
    instance = None
    if isinstance(certificate, Certificate):
        found = {name: None if value != value else value for name, value in found.items()}
        instance = certificate.facts.get("instance")
    facts = {name: check_fact(name, value) for name, value in found.items() if value is not None}
    return instance if isinstance(instance, str) else None, facts
