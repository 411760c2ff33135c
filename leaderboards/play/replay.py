"""Play a run again, bit for bit, and stop at chosen times to look at both sides.

A trace holds what was done, not what was believed. Since a run is a function of its spec, whatever a trace leaves out
can be had later by playing the run again: confidence bands, posteriors, memory. Looking must leave the agent as it is;
`differs` says whether what was replayed is what was stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pandas as pd
from jaxtyping import Int

from leaderboards.play.build import make_agent, make_env
from leaderboards.play.faults import misfit
from leaderboards.play.feedback import parse_feedback
from leaderboards.play.loop import Loop
from leaderboards.play.runner import card
from leaderboards.play.spec import RunSpec
from leaderboards.play.streams import env_seed, generator
from leaderboards.play.threads import one_blas_thread

__all__ = ["ReplayError", "Replayed"]


class ReplayError(Exception):
    """A run cannot be played again; the text says why."""


class Replayed:
    """A run that is played again.

    Args:
        spec: The run.
        loop: Both sides, before the first turn.

    Attributes:
        spec: The run.
        loop: Both sides, as of now.
    """

    def __init__(self, spec: RunSpec, loop: Loop) -> None:
        self.spec = spec
        self.loop = loop

    @classmethod
    @contextmanager
    def of(cls, spec: RunSpec) -> Iterator[Replayed]:
        """The run `spec` at its beginning; its environment is closed in the end.

        Raises:
            ReplayError: if the spec describes objects, or agent and environment do not fit.
            Exception: whatever building either side raises.
        """
        if not spec.rebuildable:
            raise ReplayError("the run was played with an object that was made by hand; no spec can rebuild it")
        env = make_env((spec.env.id, spec.env.kwargs), spec.horizon)
        try:
            with one_blas_thread():
                env.reset(seed=env_seed(spec))
                problem = card(env, spec.horizon)
                agent = make_agent((spec.agent.id, spec.agent.kwargs))
                reason = misfit(agent, problem, spec.feedback)
                if reason is not None:
                    raise ReplayError(reason)
                agent.reset(problem, generator(spec, "agent"))
                rule = parse_feedback(spec.feedback)
                channel = rule.channel(agent.capabilities, spec.horizon, generator(spec, "delay"))
                yield cls(spec, Loop(env, agent, problem, channel, spec.horizon))
        finally:
            env.close()

    def until(self, times: Int[np.ndarray, " p"]) -> Iterator[int]:
        """Play on, and stop after the first turn that reaches each of `times`; yields the evaluations so far.

        A batch may reach several times at once, and is then looked at once. What remains after the last is played too.
        """
        due = iter(times.tolist())
        end = self.spec.horizon + 1
        upcoming = next(due, end)
        while not self.loop.finished:
            self.loop.turn()
            if self.loop.t < upcoming:
                continue
            yield self.loop.t
            upcoming = next((t for t in due if t > self.loop.t), end)

    def trace(self) -> pd.DataFrame:
        """The rows so far, as a record would hold them."""
        return self.loop.trace.frame(self.loop.t)
