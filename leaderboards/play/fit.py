"""Which runs will be skipped, known before anything is played."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import gymnasium as gym

from agents import Agent
from gpbandit_envs import problem_of
from gpbandit_envs.channels import as_channel
from gpbandit_envs.problem import Problem
from leaderboards.play.build import build_agent
from leaderboards.play.protocol_checks import incompatibility, unfit_for
from leaderboards.play.spec import RunSpec

_NAMED = 6  # agents or environments in a line; the others are counted


class Fit:
    """Why agents cannot play on environments, known before anything is played.

    `look` takes each environment that is built, see `build_environments_once`.
    """

    def __init__(self) -> None:
        self._problems: dict[str, Problem] = {}
        self._agents: dict[str, Agent] = {}

    def look(self, spec: RunSpec, env: gym.Env[Any, Any]) -> None:
        """Note the problem of an environment; one that states none before it is reset is left out."""
        with contextlib.suppress(Exception):  # the runs say what is wrong with it
            self._problems[spec.built.key] = problem_of(env)

    def reason(self, spec: RunSpec) -> str | None:
        """Why a run would be skipped; None if it would not, or this is not known before."""
        problem = self._problems.get(spec.built.key)
        try:
            if spec.agent.key not in self._agents:
                self._agents[spec.agent.key] = build_agent(spec.agent)
            agent = self._agents[spec.agent.key]
            if problem is None:
                return unfit_for(as_channel(spec.feedback), agent.capabilities)
            if problem.horizon is not None:
                problem = replace(problem, horizon=spec.horizon)
            return incompatibility(agent, problem, spec.feedback)
        except Exception:  # likewise
            return None

    def warning(self, specs: Iterable[RunSpec]) -> str | None:
        """One line about the runs that will be skipped; None if none will."""
        specs = list(specs)
        pairs = {spec.pair: spec for spec in specs}
        why = {pair: self.reason(spec) for pair, spec in pairs.items()}
        skipped = [spec for spec in specs if why[spec.pair] is not None]
        if not skipped:
            return None
        reasons = Counter(str(why[spec.pair]) for spec in skipped)
        first, n = reasons.most_common(1)[0]
        mine = [spec for spec in skipped if why[spec.pair] == first]
        named = [_some(dict.fromkeys(getattr(spec, side).label for spec in mine)) for side in ("agent", "env")]
        others = f"; {len(skipped) - n} more for other reasons" if len(skipped) > n else ""
        return f"{len(skipped)} of {len(specs)} runs will be skipped: {named[0]} on {named[1]}, {first}{others}"


def _some(labels: Iterable[str]) -> str:
    known = list(labels)
    return ", ".join(known[:_NAMED]) + (f" and {len(known) - _NAMED} more" if len(known) > _NAMED else "")
