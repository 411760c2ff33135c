"""What claims are measured on: tables of agents or of other rows by repetition, such as the traces of a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from leaderboards.play.spec import RunSpec
from leaderboards.play.store import Store

__all__ = ["COLUMNS", "NotPlayedError", "Runs"]

COLUMNS = ("t", "regret", "batch", "policy_seconds")


class NotPlayedError(LookupError):
    """A figure asks for runs that are not there."""


class Runs:
    """Tables of one experiment, by agent and repetition.

    Args:
        tables: For each agent its tables by repetition; traces have the columns `COLUMNS`.
    """

    def __init__(self, tables: Mapping[str, Mapping[int, pd.DataFrame]]) -> None:
        self._tables = {agent: dict(sorted(runs.items())) for agent, runs in tables.items() if runs}

    @classmethod
    def read(cls, store: Store, specs: Sequence[RunSpec]) -> Runs:
        """The runs among `specs` that are done."""
        done = store.done_keys()
        tables: dict[str, dict[int, pd.DataFrame]] = {}
        for spec in specs:
            runs = tables.setdefault(spec.agent.label, {})
            if spec.key in done:
                runs[spec.repetition] = store.trace(spec.key, COLUMNS)
        return cls(tables)

    @property
    def agents(self) -> tuple[str, ...]:
        """Agents with at least one run."""
        return tuple(self._tables)

    def count(self, agent: str) -> int:
        """How many repetitions of an agent there are."""
        return len(self._tables.get(agent, {}))

    def together(self, *agents: str) -> list[int]:
        """Repetitions that all of `agents` have played, in order.

        Raises:
            NotPlayedError: if there is none.
        """
        common = set.intersection(*(set(self._tables.get(agent, {})) for agent in agents))
        if not common:
            raise NotPlayedError(f"no repetition was played by all of {', '.join(agents)}")
        return sorted(common)

    def column(self, agent: str, name: str, repetitions: Sequence[int]) -> np.ndarray:
        """One column of an agent's traces, shape `(n, T)`."""
        runs = self._tables[agent]
        return np.stack([runs[r][name].to_numpy() for r in repetitions])
