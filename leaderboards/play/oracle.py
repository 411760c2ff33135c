"""The scorer's side of an environment: noise-free values that no agent sees."""

from __future__ import annotations

import hashlib
from typing import Any

import gymnasium as gym
import numpy as np

from gpbandit_envs.problem import Problem

__all__ = ["NO_REGRET", "Oracle"]

NO_REGRET = (
    "no regret can be computed, only rewards are known: the environment tells neither its `optimum` and "
    '`mean(actions)` nor info["oracle"] with "mean" and "regret"'
)


class Oracle:
    """Regret of any action of the environment's current instance, NaN where the environment cannot tell.

    Args:
        env: An environment after `reset`.
        problem: Its card.
    """

    def __init__(self, env: gym.Env[Any, Any], problem: Problem) -> None:
        unwrapped: Any = env.unwrapped
        self._env = unwrapped
        self.known = True
        self._arms = problem.arms
        self._table: list[float] | None = None
        try:
            self._optimum = float(self._env.optimum)
            if problem.is_finite:
                # One call for all arms: a recommendation a step would cost a call each.
                self._table = (self._optimum - np.asarray(self._env.mean(np.arange(problem.n_arms)))).tolist()
        except (AttributeError, NotImplementedError):
            self.known = False

    def regret(self, action: int | np.ndarray) -> float:
        """Best mean minus the mean of `action`."""
        if not self.known:
            return float("nan")
        if self._table is not None:
            return self._table[int(action)]
        return self._optimum - float(self._env.mean(np.asarray(action)[None])[0])

    def fingerprint(self) -> str | None:
        """Hash of what is played, arms and means: equal for equal data; None where not all means are known."""
        if self._table is None:
            return None
        digest = hashlib.blake2b(np.ascontiguousarray(self._arms).tobytes(), digest_size=16)
        digest.update(np.array(self._table).tobytes())
        return digest.hexdigest()

    def facts(self) -> dict[str, float]:
        """Certified numbers of the instance: optimum, its tolerance, gap and norm, as far as known."""
        certificate = getattr(self._env, "certificate", None)
        if certificate is None:
            return {"optimum": self._optimum} if self.known else {}
        names = ("optimum", "optimum_tol", "gap", "norm")
        return {name: float(value) for name in names if (value := getattr(certificate, name, None)) is not None}
