"""From a results folder to scores: what was run, cell by cell, and tidy frames with intervals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from leaderboards.play.feedback import parse_feedback
from leaderboards.play.record import TRACE_COLUMNS
from leaderboards.play.spec import Ref, canonical_json
from leaderboards.play.store import Store
from leaderboards.score.cell import COLUMNS, N_POINTS, Cell, reduce_run, thin
from leaderboards.score.statistics import mean_band, mean_interval, quantile_interval
from leaderboards.score.tasks import Task, name_all

__all__ = ["UNIFORM", "Summary", "curve_table", "score_table", "summarise"]

UNIFORM = "Uniform"
"""Id of the policy that the regret ratio is measured against."""


@dataclass
class Summary:
    """A results folder, reduced.

    Attributes:
        suite: The suite that was run; None for a folder of single runs.
        tasks: By name, in order.
        agents: By name, in order; names are unique in the folder.
        runs: One row per run, the index is its key; the store's columns, with `task` and `agent` as unique names.
        cells: Finished runs by (task, agent); only cells with at least one finished run.
        origins: Distinct versions, commits and machines of the runs.
        facts: By task, facts about its instances over the finished runs, as means.
    """

    suite: dict[str, Any] | None
    tasks: dict[str, Task]
    agents: dict[str, Ref]
    runs: pd.DataFrame
    cells: dict[tuple[str, str], Cell]
    origins: list[dict[str, Any]]
    facts: dict[str, dict[str, float]]

    def on(self, task: str) -> dict[str, Cell]:
        """Cells of one task, by agent."""
        return {agent: self.cells[task, agent] for agent in self.agents if (task, agent) in self.cells}

    def uniform(self, task: str) -> str | None:
        """Name of the plain uniform policy, if it has finished a run on the task."""
        for agent, ref in self.agents.items():
            if ref.id == UNIFORM and not ref.kwargs and (task, agent) in self.cells:
                return agent
        return None


def summarise(store: Store, n_points: int = N_POINTS) -> Summary:
    """Reduce a results folder, one cell in memory at a time.

    Args:
        store: The folder.
        n_points: At most how many points of each curve are kept.
    """
    runs = store.runs()
    suite = store.suite()
    every = store.entries()
    entries = {str(key): every[str(key)] for key in runs.index}
    tasks, agents, columns = name_all(runs, entries, suite)
    runs = runs.drop(columns=["env", "agent"])
    runs = columns.join(runs)
    cells: dict[tuple[str, str], Cell] = {}
    done = runs[runs["status"] == "done"]
    for names, group in done.groupby(["task", "agent"], sort=False, observed=True):
        task, agent = map(str, names)
        spoken = dict.fromkeys(name for key in group.index for name in entries[key]["columns"])
        diagnostics = [name for name in spoken if name not in TRACE_COLUMNS and not name.startswith("action_")]
        cells[task, agent] = _cell(store, group, diagnostics, tasks[task], n_points)
    summary = Summary(
        suite, tasks, agents, runs, cells, _distinct(e["origin"] for e in entries.values()), _facts(done, entries)
    )
    for task, agent in cells:
        uniform = summary.uniform(task)
        cells[task, agent].compare(cells[task, uniform] if uniform else None)
    return summary


def score_table(summary: Summary, level: float = 0.95) -> pd.DataFrame:
    """Final scores, one row per task, agent and metric.

    Columns: `task, agent, metric, n, mean, low, high` (Student's interval of the mean over repetitions), `median,
    median_low, median_high` (order statistics) and `q95`, the 95 % quantile. A metric that the environment cannot
    give is NaN.
    """
    rows = []
    for (task, agent), cell in summary.cells.items():
        for metric in cell.finals:
            x = cell.finals[metric]
            mean, median = mean_interval(x, level), quantile_interval(x, 0.5, level)
            q95 = float(np.quantile(x, 0.95)) if np.isfinite(x).all() else np.nan
            ends = (mean.low, mean.high, median.estimate, median.low, median.high)
            rows.append((task, agent, metric, len(cell), mean.estimate, *ends, q95))
    columns = ["task", "agent", "metric", "n", "mean", "low", "high", "median", "median_low", "median_high", "q95"]
    return pd.DataFrame(rows, columns=columns)


def curve_table(summary: Summary, level: float = 0.95) -> pd.DataFrame:
    """Curves along t, one row per task, agent, metric and kept time: `n, mean, low, high, median`."""
    frames = []
    for (task, agent), cell in summary.cells.items():
        for metric in cell.curves:
            mean, low, high = mean_band(cell.curves[metric], level)
            median = np.median(cell.curves[metric], axis=0)
            frame = pd.DataFrame(
                {"t": cell.t, "n": len(cell), "mean": mean, "low": low, "high": high, "median": median}
            )
            for column, name in enumerate((task, agent, metric)):
                frame.insert(column, ("task", "agent", "metric")[column], name)
            frames.append(frame)
    if not frames:
        return pd.DataFrame(columns=["task", "agent", "metric", "t", "n", "mean", "low", "high", "median"])
    return pd.concat(frames, ignore_index=True).astype(dict.fromkeys(("task", "agent", "metric"), "category"))


def _cell(store: Store, group: pd.DataFrame, diagnostics: list[str], task: Task, n_points: int) -> Cell:
    t, rule = thin(task.horizon, n_points), parse_feedback(task.feedback)
    traces = store.traces([*COLUMNS, *diagnostics], list(group.index))
    # Files that turn out to be damaged are set aside by the store, and their runs are missing here.
    code = traces["key"].cat.codes.to_numpy()
    starts = np.flatnonzero(np.diff(code, prepend=-1))
    stops = np.append(starts[1:], len(code))
    columns = {name: traces[name].to_numpy() for name in COLUMNS}
    spoken = {name: traces[name].to_numpy() for name in diagnostics}
    by_key = {}
    said_by_key = {}
    for start, stop in zip(starts, stops):
        key = traces["key"].cat.categories[code[start]]
        by_key[key] = reduce_run({name: x[start:stop] for name, x in columns.items()}, t, rule)
        said_by_key[key] = {name: x[start:stop][t - 1] for name, x in spoken.items()}
    kept = group.loc[[key for key in group.index if key in by_key]].sort_values(["seed", "repetition"])
    reduced = [by_key[key] for key in kept.index]
    return Cell(
        t,
        tuple(zip(kept["seed"].astype(int), kept["repetition"].astype(int))),
        {name: np.array([curves[name] for curves, _ in reduced]) for name in reduced[0][0]} if reduced else {},
        {name: np.array([finals[name] for _, finals in reduced]) for name in reduced[0][1]} if reduced else {},
        {name: np.array([said_by_key[key][name] for key in kept.index]) for name in diagnostics},
    )


def _distinct(origins: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({canonical_json(origin): origin for origin in origins}.values())


def _facts(done: pd.DataFrame, entries: dict[str, dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Means of the facts of the distinct instances of each task; all agents met the same instances."""
    facts: dict[str, dict[str, float]] = {}
    for task, group in done.groupby("task", sort=False):
        instances = group.drop_duplicates(["seed", "repetition"]).index
        frame = pd.DataFrame([entries[key]["facts"] for key in instances])
        facts[str(task)] = {str(name): float(value) for name, value in frame.mean(numeric_only=True).items()}
    return facts
