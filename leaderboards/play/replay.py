"""Play a run again, bit for bit, and stop at chosen times to look at both sides.

A trace holds the actions and rewards of a run, not the agent's beliefs. Since a run is a function of its spec, whatever
a trace leaves out can be had later by playing the run again: confidence bands, posteriors, memory. Looking must leave
the agent as it is; `leaderboards.play.verify.compare` says whether what was replayed is what was stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pandas as pd
from jaxtyping import Int

from leaderboards.play.protocol_checks import IncompatibleError
from leaderboards.play.run import Loop, begin, one_blas_thread
from leaderboards.play.spec import RunSpec

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
        with one_blas_thread():
            try:
                loop = begin(spec)
            except IncompatibleError as error:
                raise ReplayError(str(error)) from None
            try:
                yield cls(spec, loop)
            finally:
                loop.env.close()

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
