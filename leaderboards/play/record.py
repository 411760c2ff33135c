"""The record of a run: its trace, its status, and facts about its problem instance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Protocol, runtime_checkable

import gymnasium as gym
import numpy as np
import pandas as pd
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from agents import Agent
from agents.core.turns import AgentError, Turns
from gpbandit_envs.arguments import shown
from gpbandit_envs.datasets.errors import DataError, FetchError
from leaderboards.play.spec import LONGEST_NAME, RunSpec
from leaderboards.text import visible

Text = Annotated[str, AfterValidator(visible)]
"""Text that is shown; what cannot be seen in it is written as escapes."""

Status = Literal["done", "crashed", "timeout", "skipped"]

TRACE_COLUMNS: dict[str, str] = {
    "t": "number of the evaluation, from 1",
    "action": "index of the arm; on a box there are columns action_0, action_1, ... instead",
    "reward": "noisy reward; NaN where the evaluation failed",
    "mean": "noise-free mean of the action; NaN where the environment does not know it",
    "regret": "best mean minus mean; NaN likewise",
    "batch": "1 + number of deliveries of feedback before the action was chosen",
    "policy_seconds": "processor time in select and observe, shared equally by the evaluations of a call",
    "inference_regret": "regret of what the agent recommends after the last feedback; NaN before the first",
    "cost": "cost of the evaluation in the environment's unit",
}
"""Columns of every trace; the agent's diagnostics follow, each as of the last feedback.

So row t has the state from which choice t + 1 is made: its `width` is that of choice t + 1. Within a batch they stay
what they were at its start, up to its last row, at which its feedback arrives. They are NaN before the first feedback
of a run: in all rows of its first batch but the last.
"""


_WITHOUT_DATA = "without its data: "


def data_reason(error: DataError) -> str:
    """The reason, in one line, for a run that is skipped because the data of its environment cannot be had."""
    text = error.reason if isinstance(error, FetchError) else str(error).partition("\n")[0]
    return f"{_WITHOUT_DATA}{text} (`gpbandit data fetch` says more and takes a file by hand)"


def lacks_data(status: Status, reason: str | None) -> bool:
    """Whether a run was skipped because its data could not be had, which may be different the next time."""
    return status == "skipped" and (reason or "").startswith(_WITHOUT_DATA)


def _visible_texts(value: Any) -> Any:
    """JSON values with all their texts made visible."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {_visible_texts(name): _visible_texts(entry) for name, entry in value.items()}
    return [_visible_texts(entry) for entry in value] if isinstance(value, list) else value


class InstanceData(BaseModel):
    """Source of the problem instance of a run, and how true its stated model is.

    Attributes:
        instance: Hash of the arms and their means; where not all means are known, what the environment's certificate
            states as its fact `instance`, or None.
        sources: What the problem's notes say of its data.
        knowledge: How true the stated kernel and noise are, see `gpbandit_envs.problem.Problem`; "" if the run failed
            before it was known.
        misspecification: Factors by which a stated quantity is wrong.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="allow")

    @model_validator(mode="before")
    @classmethod
    def _readable(cls, values: Any) -> Any:
        return _visible_texts(values)

    instance: str | None = None
    sources: Any = None
    knowledge: str = ""
    misspecification: dict[str, float] = Field(default_factory=dict)


@dataclass
class RunRecord:
    """The record of a run.

    Attributes:
        spec: What was run.
        status: `"done"`, `"crashed"`, `"timeout"` or `"skipped"` (agent and environment do not fit).
        trace: One row per evaluation, see `TRACE_COLUMNS`; of a crashed run the rows up to the crash, of a skipped
            one none.
        agent: The agent as it ended; None if the record was read from a file or the agent was never built.
        reason: Why the run is not done, in one line.
        error: Traceback of a crash.
        seconds: Wall-clock time of the run, with building both sides.
        tries: How often it was tried.
        resumed: How often it went on from a checkpoint.
        final: Whether another try would only end the same way.
        out_of_memory: Whether it crashed for want of memory, which may be the machine's.
        facts: Plain facts about the environment's instance, such as the optimum.
        data: Where the instance comes from.
    """

    spec: RunSpec
    status: Status
    trace: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(dict.fromkeys(TRACE_COLUMNS, np.zeros(0))))
    agent: Agent | None = None
    reason: str | None = None
    error: str | None = None
    seconds: float = 0.0
    tries: int = 1
    resumed: int = 0
    final: bool = True
    out_of_memory: bool = False
    facts: dict[str, float] = field(default_factory=dict)
    data: InstanceData = field(default_factory=InstanceData)

    def __repr__(self) -> str:
        s = self.spec
        why = f", reason={self.reason!r}" if self.reason else ""
        return (
            f"RunRecord({s.agent.label} on {s.env.label}, repetition {s.repetition}: {self.status}, "
            f"{len(self.trace)} of {s.horizon} evaluations{why})"
        )


_MOST_STATES = 1000  # each is a column as long as the run
_TRACED = ("means", "regrets", "batches", "policy_seconds", "stated")


class Trace:
    """One row an evaluation of a run: what its turns hold, and what the agent is not told.

    Args:
        turns: The turns of the run.
    """

    def __init__(self, turns: Turns) -> None:
        T = turns.horizon
        self._turns = turns
        self.means, self.regrets = np.full(T, np.nan), np.full(T, np.nan)
        self.batches, self.policy_seconds = np.zeros(T, np.int64), np.zeros(T)
        self.stated = np.zeros(T, bool)
        self.states: dict[str, np.ndarray] = {"inference_regret": np.full(T, np.nan)}

    def state_dict(self) -> dict[str, Any]:
        """The rows so far, of what is here and not in the turns."""
        t = self._turns.t
        columns = {name: getattr(self, name)[:t].copy() for name in _TRACED}
        return {"columns": columns, "states": {name: column[:t].copy() for name, column in self.states.items()}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from rows of `state_dict`."""
        for name, rows in state["columns"].items():
            getattr(self, name)[: len(rows)] = rows
        for name, rows in state["states"].items():
            self.states.setdefault(name, np.full(self._turns.horizon, np.nan))[: len(rows)] = rows

    def state(self, row: int, inference_regret: float, diagnostics: Mapping[str, float]) -> None:
        """The agent's state after the evaluation `row`.

        Raises:
            AgentError: if the diagnostics are no mapping from names that are free and can be written to numbers.
        """
        self.stated[row] = True
        states = self.states
        states["inference_regret"][row] = inference_regret
        if not diagnostics:
            return
        if not isinstance(diagnostics, Mapping):
            raise AgentError(f"diagnostics: expected a mapping from names to numbers, got {diagnostics!r}")
        for name, value in diagnostics.items():
            column = states.get(name)
            if column is None or name == "inference_regret":
                column = self._new_column(name)
            try:
                column[row] = value
            except (TypeError, ValueError):
                raise AgentError(f"diagnostics: expected a number for {name!r}, got {value!r}") from None

    def _new_column(self, name: str) -> np.ndarray:
        if not isinstance(name, str) or name in TRACE_COLUMNS or name.startswith("action_"):
            raise AgentError(f"diagnostics: expected a name that is no column of every trace, got {name!r}")
        if len(self.states) > _MOST_STATES:
            raise AgentError(f"diagnostics: expected at most {_MOST_STATES} names in a run, got {shown(name)} as well")
        if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
            raise AgentError(
                f"diagnostics: expected a name of 1 to {LONGEST_NAME} characters that can be seen, got {shown(name)}"
            )
        self.states[name] = np.full(self._turns.horizon, np.nan)
        return self.states[name]

    def frame(self, n: int) -> pd.DataFrame:
        """The first `n` rows, with the agent's state carried forward from the last feedback."""
        turns = self._turns
        columns: dict[str, np.ndarray] = {"t": turns.tickets[:n] + 1}
        if turns.actions.ndim == 1:
            columns["action"] = turns.actions[:n]
        else:
            columns |= {f"action_{j}": column for j, column in enumerate(turns.actions[:n].T)}
        columns |= {
            "reward": turns.rewards[:n],
            "mean": self.means[:n],
            "regret": self.regrets[:n],
            "batch": self.batches[:n],
            "policy_seconds": self.policy_seconds[:n],
            "inference_regret": self.states["inference_regret"],
            "cost": turns.costs[:n],
        }
        columns |= self.states
        last = np.maximum.accumulate(np.where(self.stated[:n], np.arange(n), 0))
        for name in self.states:
            columns[name] = columns[name][:n][last]
        return pd.DataFrame(columns)


# ---- while a run is played its state is saved, and somebody looks on, who leaves both sides as they are ----


Saved = tuple[gym.Env[Any, Any], Any, Any]
"""The state of a run between two turns: its environment, the agent's `state_dict()`, and what `Loop.state_dict` is."""


@runtime_checkable
class Saving(Protocol):
    """Where a run finds the state that it resumes from, and leaves its own every so often.

    Attributes:
        resumed: How often the run resumed from a saved state.
        before: Seconds that the run had taken when it was saved.
    """

    resumed: int
    before: float

    def load(self) -> Saved | None:
        """The saved state; None without a usable one. A run asks once, before it plays."""

    def due(self) -> bool:
        """Whether it is time to save."""

    def save(self, env: gym.Env[Any, Any], agent: Agent, loop: object) -> None:
        """Keep the state of a run between two turns, with that of its loop."""


@runtime_checkable
class Watch(Protocol):
    """One run that is watched; `loop` is a `leaderboards.play.run.Loop`."""

    def begins(self, loop: Any) -> None:
        """Called before the first turn."""

    def turned(self, loop: Any) -> None:
        """Called after each turn."""

    def ends(self, loop: Any) -> None:
        """Called after the last turn, if the run has not failed."""
