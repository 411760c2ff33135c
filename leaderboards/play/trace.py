"""The columns of a running trace, allocated once; see `leaderboards.play.record.TRACE_COLUMNS`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from gpbandit_envs.problem import Problem
from leaderboards.play.faults import AgentError
from leaderboards.play.record import TRACE_COLUMNS

__all__ = ["Trace"]


class Trace:
    """One row per evaluation of a run of `horizon` evaluations.

    The arrays are written by the loop. `view` holds read-only views of those that the agent gets slices of: what has
    been handed out is never written again, so slices need no copies, and an agent that writes into them gets an error.
    """

    def __init__(self, horizon: int, problem: Problem) -> None:
        self.tickets = np.arange(horizon)
        self.actions = np.zeros(horizon, np.int64) if problem.is_finite else np.zeros((horizon, problem.dim))
        self.rewards = np.zeros(horizon)
        self.costs = np.zeros(horizon)
        self.failed = np.zeros(horizon, bool)
        self.means = np.full(horizon, np.nan)
        self.regrets = np.full(horizon, np.nan)
        self.batches = np.zeros(horizon, np.int64)
        self.policy_seconds = np.zeros(horizon)
        self.states: dict[str, np.ndarray] = {"inference_regret": np.full(horizon, np.nan)}
        self.stated = np.zeros(horizon, bool)

    def readonly(self) -> tuple[np.ndarray, ...]:
        """Views of tickets, actions, rewards, costs and failed."""
        views = [array.view() for array in (self.tickets, self.actions, self.rewards, self.costs, self.failed)]
        for view in views:
            view.flags.writeable = False
        return tuple(views)

    def state(self, row: int, inference_regret: float, diagnostics: Mapping[str, float]) -> None:
        """The agent's state after the evaluation `row`.

        Raises:
            AgentError: if the diagnostics are no mapping from free names to numbers.
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
        self.states[name] = np.full(len(self.rewards), np.nan)
        return self.states[name]

    def frame(self, n: int) -> pd.DataFrame:
        """The first `n` rows, with the agent's state carried forward from the last feedback."""
        columns: dict[str, np.ndarray] = {"t": self.tickets[:n] + 1}
        if self.actions.ndim == 1:
            columns["action"] = self.actions[:n]
        else:
            columns |= {f"action_{j}": column for j, column in enumerate(self.actions[:n].T)}
        columns |= {
            "reward": np.where(self.failed[:n], np.nan, self.rewards[:n]),
            "mean": self.means[:n],
            "regret": self.regrets[:n],
            "batch": self.batches[:n],
            "policy_seconds": self.policy_seconds[:n],
            "inference_regret": self.states["inference_regret"],
            "cost": self.costs[:n],
        }
        columns |= self.states
        last = np.maximum.accumulate(np.where(self.stated[:n], np.arange(n), 0))
        for name in self.states:
            columns[name] = columns[name][:n][last]
        return pd.DataFrame(columns)
