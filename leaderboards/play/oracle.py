"""The regret of any action on an instance, for scoring alone."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from jaxtyping import Float

from gpbandit_envs.envs.bandit import BoxEnv
from gpbandit_envs.functions.base import BoxFamily
from gpbandit_envs.problem import Certificate, Problem
from leaderboards.play.build import is_own_env
from leaderboards.play.protocol_checks import ENVIRONMENT, EnvError, at, check_fact, check_means

__all__ = ["MEAN_GAP", "Oracle", "mean_gap"]

MEAN_GAP = "mean_gap"
"""Name of the fact in a record."""

_POINTS = 12  # log2 of how many points of a box; on the textbook functions the error is below 0.03 %
_SLACK = 1e-5  # relative, of a regret: an environment may compute in single precision


class Oracle:
    """Regret of any action on an instance, for scoring only and hidden from agents; NaN where it is unknown.

    It is made of the best mean and the noise-free means (of all arms, shape `(A,)`, or on a box a function of points
    `(n, d)`), certified numbers, `now`, the regrets of actions in the coming step where these differ from step to step,
    and what `mean_gap` returned; None for what is unknown.

    Attributes:
        known: Whether there are regrets.
        least_regret: Below which a regret of a step contradicts the optimum; None where none is checked, as with the
            environments of this project, some of which know no more than the best found so far.

    Raises:
        EnvError: if a certified number is not finite.
    """

    def __init__(
        self,
        problem: Problem,
        optimum: float | None,
        means: Float[np.ndarray, " A"] | Callable[[np.ndarray], np.ndarray] | None,
        certificate: Certificate | None = None,
        now: Callable[[np.ndarray], np.ndarray] | None = None,
        gap: float | None = None,
    ) -> None:
        self.known = optimum is not None and means is not None
        self._optimum = math.nan if optimum is None else float(optimum)
        self._arms = problem.arms
        self._facts = self._stated(certificate)
        if gap is not None:
            self._facts[MEAN_GAP] = check_fact(MEAN_GAP, gap)
        instance = certificate.facts.get("instance") if isinstance(certificate, Certificate) else None
        self._instance = instance if isinstance(instance, str) else None
        self._now = now
        # One call for all arms: a recommendation a step would cost a call each. A list takes four times the memory.
        self._regrets = self._optimum - means if self.known and isinstance(means, np.ndarray) else None
        self._mean = means if self.known and callable(means) else None
        self.least_regret: float | None = None

    @classmethod
    def of(cls, env: gym.Env[Any, Any], problem: Problem) -> Oracle:
        """The oracle of an environment after `reset`.

        Raises:
            EnvError: if the optimum or a mean is no finite number.
        """
        played: Any = env.unwrapped
        with ENVIRONMENT:
            certificate = getattr(played, "certificate", None)
            try:
                optimum = played.optimum
                means = played.mean(np.arange(problem.n_arms)) if problem.is_finite else played.mean
            except (AttributeError, NotImplementedError):
                return cls(problem, None, None, certificate)
        if optimum is None:
            return cls(problem, None, None, certificate)
        means = check_means(means, problem.n_arms) if problem.is_finite else means
        now = played.regret if getattr(played, "regret_changes", False) else None
        best = check_fact("optimum", optimum)
        with ENVIRONMENT:
            gap = mean_gap(env, problem, best, means)
        found = cls(problem, best, means, certificate, now, gap)
        if played.spec is None or not is_own_env(played.spec.id):
            found.least_regret = -max(found._facts.get("optimum_tol", 0.0), 0.0) - _SLACK * max(1.0, abs(best))
        return found

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

    def facts(self) -> dict[str, float]:
        """Numbers of the instance as far as known: optimum, its tolerance, gap, norm, and mean gap."""
        return dict(self._facts)

    def _stated(self, certificate: Certificate | None) -> dict[str, float]:
        if certificate is None:
            return {"optimum": self._optimum} if self.known else {}
        found = {name: getattr(certificate, name, None) for name in ("optimum", "optimum_tol", "gap", "norm")}
        if isinstance(certificate, Certificate):  # whose NaN says that a number is unknown
            found = {name: None if value != value else value for name, value in found.items()}
        return {name: check_fact(name, value) for name, value in found.items() if value is not None}


def mean_gap(
    env: gym.Env[Any, Any],
    problem: Problem,
    optimum: float,
    means: Float[np.ndarray, " A"] | Callable[[np.ndarray], np.ndarray],
) -> float | None:
    """Best mean less the mean over all arms, or over the box; None where that is not known or costs an experiment.

    Uniform sampling of T evaluations has an expected cumulative regret of T times this. Of arms it is exact; of a box
    it is the mean over 4,096 points of Sobol's sequence. `means` are as of `Oracle`.
    """
    played: Any = env.unwrapped
    if getattr(played, "regret_changes", False):  # the best action differs from step to step
        return None
    if isinstance(means, np.ndarray):
        return float((optimum - means).mean())
    named = played.spec is not None and is_own_env(played.spec.id)  # a function of one's own may take hours a point
    family = played.recipe.family if named and isinstance(played, BoxEnv) else None
    if not isinstance(family, BoxFamily) or family.expensive:
        return None
    from scipy.stats import qmc  # here, since `scipy.stats` takes a quarter of the time in which a command starts

    points = qmc.Sobol(problem.dim, scramble=False).random_base2(_POINTS)
    return float(optimum - np.mean(means(points)))
