"""What a run leaves behind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import pandas as pd

from agents import Agent
from leaderboards.play.spec import RunSpec

__all__ = ["STATUSES", "TRACE_COLUMNS", "RunRecord", "Status"]

Status = Literal["done", "crashed", "timeout", "skipped"]
STATUSES: tuple[Status, ...] = ("done", "crashed", "timeout", "skipped")

TRACE_COLUMNS: dict[str, str] = {
    "t": "number of the evaluation, from 1",
    "action": "index of the arm; on a box there are columns action_0, action_1, ... instead",
    "reward": "noisy reward; NaN where the evaluation failed",
    "mean": "noise-free mean of the action; NaN where the environment does not know it",
    "regret": "best mean minus mean; NaN likewise",
    "batch": "1 + number of deliveries of feedback before the action was chosen",
    "policy_seconds": "time in select and observe, shared equally by the evaluations of a call",
    "inference_regret": "regret of what the agent recommends after the last feedback; NaN before the first",
    "cost": "cost of the evaluation in the environment's unit",
}
"""Columns of every trace; the agent's diagnostics follow, each as of the last feedback."""


@dataclass
class RunRecord:
    """A run as it ended.

    Attributes:
        spec: What was run.
        status: `"done"`, `"crashed"`, `"timeout"` or `"skipped"` (agent and environment do not fit).
        trace: One row per evaluation, see `TRACE_COLUMNS`; of a crashed run the rows up to the crash.
        agent: The agent as it ended; None if the record was read from a file or the agent was never built.
        reason: Why the run is not done, in one line.
        error: Traceback of a crash.
        seconds: Wall-clock time of the run, with building both sides.
        tries: How often it was tried.
        resumed: How often it went on from a checkpoint.
        final: Whether another try would only end the same way.
        facts: Plain facts about the environment's instance, such as the optimum.
        data: `instance`, a hash of arms and means; `sources`, what the card's notes say of its data; `knowledge` and
            `misspecification`, how true the card's kernel and noise are (see `gpbandit_envs.problem.Problem`);
            `rounded`, where there are any: columns that equal those of a single run up to rounding.
    """

    spec: RunSpec
    status: Status
    trace: pd.DataFrame
    agent: Agent | None = None
    reason: str | None = None
    error: str | None = None
    seconds: float = 0.0
    tries: int = 1
    resumed: int = 0
    final: bool = True
    facts: dict[str, float] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        s = self.spec
        why = f", reason={self.reason!r}" if self.reason else ""
        return (
            f"RunRecord({s.agent.label} on {s.env.label}, repetition {s.repetition}: {self.status}, "
            f"{len(self.trace)} of {s.horizon} evaluations{why})"
        )
