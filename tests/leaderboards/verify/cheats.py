"""Agents that look the environment up through the interpreter, and one whose code ends its process."""

from __future__ import annotations

import gc
import os
import sys
from typing import Any

import numpy as np

from agents import Actions, Capabilities, Pending
from agents.core.finite import FiniteArmAgent


class _Cheat(FiniteArmAgent):
    """Pulls the best arm where it finds an environment, the first arms in turn elsewhere."""

    capabilities = Capabilities(frozenset({"finite"}), batch="fixed")

    def found(self) -> Any:
        raise NotImplementedError

    def select(self, n: int, pending: Pending) -> Actions:
        env = self.found()
        if env is None:
            return np.full(n, int(self.counts.sum()) % self.problem.n_arms)
        return np.full(n, int(np.argmax(env.unwrapped.mean(np.arange(self.problem.n_arms)))))


class Frames(_Cheat):
    """Climbs the frames of its callers."""

    def found(self) -> Any:
        frame: Any = sys._getframe()
        while frame is not None:
            env = getattr(frame.f_locals.get("self"), "env", None)
            if hasattr(env, "unwrapped"):
                return env
            frame = frame.f_back
        return None


class Objects(_Cheat):
    """Looks through all objects of its process for the environment with its arms: there may be others."""

    def found(self) -> Any:
        there = (one for one in gc.get_objects() if type(one).__name__ == "TimeLimit")
        return next((one for one in there if one.unwrapped.problem.arms is self.problem.arms), None)


class Ends(_Cheat):
    """Ends its process at its third call."""

    def found(self) -> None:
        if self.counts.sum() == 2:
            os._exit(7)
