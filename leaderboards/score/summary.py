"""Summary of a results folder: scores by task and agent, and tidy frames with intervals."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from gpbandit_envs.channels import Channel, as_channel
from leaderboards.play.measures import COLUMNS, RANKED_BY
from leaderboards.play.oracle import MEAN_GAP
from leaderboards.play.record import TRACE_COLUMNS
from leaderboards.play.spec import Ref, task_key
from leaderboards.play.suite import Suite
from leaderboards.score.metrics import other_columns
from leaderboards.score.scores import (
    N_POINTS,
    AgentScores,
    RunScores,
    kept_scores,
    reduce_run,
    subsample_times,
    unknown_scores,
)
from leaderboards.score.statistics import median_intervals, score_band
from leaderboards.score.tasks import Task, name_all
from leaderboards.store.kept import kept_times
from leaderboards.store.origin import Origin
from leaderboards.store.run_file import RunEntry
from leaderboards.store.store import Store

REFERENCES = ("Uniform", "Random")
"""Ids of the policies that the regret ratio is measured against: the first one that has played the task. `Uniform`
plays arms only; `Random` evaluates uniform points of boxes too."""

_log = logging.getLogger("gpbandit")


@dataclass
class Summary:
    """Scores of a results folder.

    Attributes:
        suite: The suite that was run; None for a folder of single runs.
        tasks: By name, in order; without those in `unplayed`.
        agents: By name, in order; names are unique in the folder.
        runs: One row per run, the index is its key; the store's columns, with `task` and `agent` as unique names.
        scores: Scores of the finished runs by (task, agent), where there is at least one.
        origins: Distinct versions, commits and machines of the runs.
        facts: By task, facts about its instances over the finished runs, as means.
        best_found: By task whose optimum is unknown, the mean from which regret is measured on each of its instances:
            the best that any finished run has found.
        rivals: Agents whose runs are a board's alone.
        against: The board that the runs are seen among, as `--against` takes it; None for none.
        unplayed: By task that no agent could play, the main reason: without data, or without what agents need. They
            count nowhere, unless they are all that there is.
    """

    suite: Suite | None
    tasks: dict[str, Task]
    agents: dict[str, Ref]
    runs: pd.DataFrame
    scores: dict[tuple[str, str], AgentScores]
    origins: list[Origin]
    facts: dict[str, dict[str, float]]
    best_found: dict[str, tuple[float, ...]] = field(default_factory=dict)
    rivals: frozenset[str] = frozenset()
    against: str | None = None
    unplayed: Mapping[str, str] = field(default_factory=dict)

    @property
    def own(self) -> tuple[str, ...]:
        """The agents that play in this folder, where it is seen among the runs of a board; else none."""
        return () if self.against is None else tuple(name for name in self.agents if name not in self.rivals)

    @property
    def headline(self) -> str:
        """The criterion that the suite ranks by; cumulative regret without a word of it."""
        return (self.suite.headline if self.suite else "") or RANKED_BY[0]

    @property
    def halves(self) -> dict[str, str]:
        """Of each task of the suite whether defaults were chosen on it, see `EnvironmentEntry.half`."""
        return {} if self.suite is None else {one.ref.label: one.half for one in self.suite.environments}

    @property
    def levels(self) -> dict[str, dict[str, Any]]:
        """See `Suite.levels`."""
        return {} if self.suite is None else self.suite.levels

    def on(self, task: str) -> dict[str, AgentScores]:
        """Scores on one task, by agent."""
        return {agent: self.scores[task, agent] for agent in self.agents if (task, agent) in self.scores}

    def reference(self, task: str) -> str | None:
        """Name of the agent that the regret ratio on the task is measured against; None if none has finished a run.

        It is the first of `REFERENCES`, with its default settings, that has.
        """
        for id in REFERENCES:
            for agent, ref in self.agents.items():
                if ref.id == id and not ref.kwargs and (task, agent) in self.scores:
                    return agent
        return None


def summarise(store: Store, n_points: int = N_POINTS, reduced: dict[str, RunScores] | None = None) -> Summary:
    """Reduce a results folder, one run in memory at a time.

    Args:
        store: The folder.
        n_points: Largest number of points of each curve; on the tasks of a board those at which its runs are kept.
        reduced: Runs that were reduced before, by key, with the same `n_points`; they are not read again, and new ones
            are added.
    """
    reduced = {} if reduced is None else reduced
    runs, suite, known = store.runs(), store.suite(), store.entries()
    entries = [known[str(key)] for key in runs.index]
    tasks, agents, names = name_all(entries, suite)
    frame = pd.DataFrame(list(names.values()), columns=["task", "agent"], index=runs.index)
    runs = frame.join(runs.drop(columns=["env", "agent"]))
    unplayed = _unplayed(runs, tasks, agents)
    runs = runs[~runs["task"].isin(unplayed.keys())]
    tasks = {name: task for name, task in tasks.items() if name not in unplayed}
    done: dict[tuple[str, str], list[RunEntry]] = {}
    for run in entries:
        if run.status == "done":
            done.setdefault(names[run.key], []).append(run)
    published = {run.spec.task for runs in done.values() for run in runs if not run.traced}
    times = {
        name: kept_times(task.horizon, as_channel(task.feedback))
        if task_key(task.env, task.horizon, task.feedback) in published
        else subsample_times(task.horizon, n_points)
        for name, task in tasks.items()
    }
    on_task: dict[str, list[RunEntry]] = {}
    for (task, _), finished in done.items():
        _reduce(store, finished, tasks[task], times[task], reduced)
        on_task.setdefault(task, []).extend(finished)
    best_found = {
        task: found
        for task, finished in on_task.items()
        if (found := _measure_from_best(store, finished, tasks[task], times[task], reduced))
    }
    if any(run.key not in reduced for finished in on_task.values() for run in finished):
        # The store has set a damaged file aside: its runs are not done, here or in any count.
        return summarise(store, n_points, reduced)
    scores = {
        (task, agent): _gather(times[task], as_channel(tasks[task].feedback), sorted(finished, key=_block), reduced)
        for (task, agent), finished in done.items()
    }
    facts = {task: _facts(finished) for task, finished in on_task.items()}
    origins = list({run.origin.model_dump_json(): run.origin for run in entries}.values())
    keys = store.rivals()
    listed = {} if suite is None else {entry.ref.label: entry.ref for entry in suite.agents}  # some without a run
    rivals = frozenset(name for name, ref in [*listed.items(), *agents.items()] if ref.key in keys)
    summary = Summary(suite, tasks, agents, runs, scores, origins, facts, best_found, rivals, store.against(), unplayed)
    for task, agent in scores:
        reference = summary.reference(task)
        scores[task, agent].add_regret_ratio(scores[task, reference] if reference else None)
    return summary


def score_table(summary: Summary) -> pd.DataFrame:
    """Final scores, one row per task, agent and metric.

    Columns: `task`, the arguments of grids, `agent, metric, n, mean, low, high` (interval of the mean over repetitions,
    see `score_interval`), `median, median_low, median_high` (order statistics) and `q95`, the 95 % quantile. A metric
    that is undefined on the environment is NaN.
    """
    rows = []
    for (task, agent), scores in summary.scores.items():
        X = np.stack(list(scores.finals.values()))
        known = np.isfinite(X).all(axis=1)
        q95 = np.full(len(X), np.nan)
        q95[known] = np.quantile(X[known], 0.95, axis=1)
        medians = median_intervals(X)
        for (metric, mean), median, q in zip(scores.intervals.items(), medians, q95.tolist()):
            ends = (mean.low, mean.high, median.estimate, median.low, median.high)
            rows.append((task, agent, metric, len(scores), mean.estimate, *ends, q))
    columns = ["task", "agent", "metric", "n", "mean", "low", "high", "median", "median_low", "median_high", "q95"]
    return with_levels(pd.DataFrame(rows, columns=columns), "task", summary.levels)


def with_levels(frame: pd.DataFrame, column: str, levels: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """The frame with a column for each argument that a grid goes through, behind the column that names tasks."""
    names = dict.fromkeys(name for level in levels.values() for name in level)
    first = list(frame).index(column) + 1
    for place, name in enumerate((name for name in names if name not in frame), first):
        frame.insert(place, name, [levels.get(task, {}).get(name, np.nan) for task in frame[column]])
    return frame


def curve_table(summary: Summary) -> pd.DataFrame:
    """Curves along t, one row per task, agent, metric and kept time: `n, mean, low, high, median`."""
    frames = [pd.DataFrame(columns=["task", "agent", "metric", "t", "n", "mean", "low", "high", "median"])]
    for (task, agent), scores in summary.scores.items():
        for metric, Y in scores.curves.items():
            mean, low, high = score_band(Y)
            named = {"task": task, "agent": agent, "metric": metric, "t": scores.t, "n": len(scores)}
            frames.append(
                pd.DataFrame({**named, "mean": mean, "low": low, "high": high, "median": np.median(Y, axis=0)})
            )
    table = pd.concat(frames[1:] or frames, ignore_index=True)
    return table.astype(dict.fromkeys(("task", "agent", "metric"), "category"))


def _reduce(store: Store, runs: Sequence[RunEntry], task: Task, t: np.ndarray, reduced: dict[str, RunScores]) -> None:
    """Add the scores of those runs of a task that are not in `reduced` yet."""
    for run in runs:
        if run.key not in reduced and not run.traced:
            kept = store.kept(run.key)
            reduced[run.key] = unknown_scores(t, as_channel(task.feedback)) if kept is None else kept_scores(kept)
    reduced |= _of_traces(store, [run for run in runs if run.key not in reduced], runs, task, t)


def _measure_from_best(
    store: Store, runs: Sequence[RunEntry], task: Task, t: np.ndarray, reduced: dict[str, RunScores]
) -> tuple[float, ...]:
    """Measure regret from the best mean that any run on the same instance has found, where the optimum is unknown.

    Runs that were measured from a worse one before are read again.

    Returns:
        The best mean of each instance; empty where optima are known.
    """
    instances: dict[object, list[RunEntry]] = {}
    for run in runs:
        if run.key in reduced and np.isfinite(reduced[run.key].best_mean):
            instances.setdefault(run.data.instance or _block(run), []).append(run)
    found = []
    for same in instances.values():
        best = max(reduced[run.key].best_mean for run in same)
        found.append(best)
        outdated = [run for run in same if reduced[run.key].measured_from != best]
        reduced |= {run.key: reduced[run.key].measured(best, t) for run in outdated if not run.traced}
        again = [run for run in outdated if run.traced]
        for run in again:
            del reduced[run.key]
        reduced |= _of_traces(store, again, runs, task, t, best)
    return tuple(sorted(found))


def _of_traces(
    store: Store,
    runs: Sequence[RunEntry],
    on_pair: Sequence[RunEntry],
    task: Task,
    t: np.ndarray,
    best: float | None = None,
) -> Iterator[tuple[str, RunScores]]:
    """Key and scores of runs, with the diagnostics that those of `on_pair` state; unknown where columns make no sense.

    Regret is measured from `best`, if that is given.
    """
    if not runs:
        return
    stated = dict.fromkeys(name for run in on_pair for name in run.columns)
    diagnostics = [name for name in stated if name not in TRACE_COLUMNS and not name.startswith("action_")]
    columns = dict.fromkeys([*COLUMNS, "mean", *diagnostics, *other_columns()])
    for run, trace in store.traces(list(columns), [run.key for run in runs]):
        is_unknown = np.isnan(trace["regret"]).all() and np.isfinite(trace["mean"]).all()
        measured = trace if best is None else {**trace, "regret": best - trace["mean"]}
        try:
            scores = reduce_run(measured, t, as_channel(task.feedback), diagnostics)
        except (ValueError, ArithmeticError) as error:
            # As of a submitted run whose batch numbers decrease; the file itself is sound.
            _log.warning("run %s in %s has no scores that make sense: %s", run.key[:8], store.path(run), error)
            scores = unknown_scores(t, as_channel(task.feedback))
        best_mean = float(trace["mean"].max()) if is_unknown else np.nan
        yield run.key, replace(scores, best_mean=best_mean, measured_from=best)


def _gather(t: np.ndarray, rule: Channel, runs: Sequence[RunEntry], reduced: Mapping[str, RunScores]) -> AgentScores:
    scores = [reduced[run.key] for run in runs]
    first = scores[0] if scores else RunScores({}, {}, {})
    stated = dict.fromkeys(name for each in scores for name in each.diagnostics)
    silent = np.full(len(t), np.nan)
    found = AgentScores(
        t,
        tuple(_block(run) for run in runs),
        {name: np.array([each.curves[name] for each in scores]) for name in first.curves},
        {name: np.array([each.finals[name] for each in scores]) for name in first.finals},
        {name: np.array([each.diagnostics.get(name, silent) for each in scores]) for name in stated},
    )
    tolerances = np.array([run.facts.get("optimum_tol", np.nan) for run in runs])
    best = np.array([each.best for each in scores])
    gaps = np.array([run.facts.get(MEAN_GAP, np.nan) for run in runs])
    known = np.where(np.isfinite(gaps) & (gaps > 0), gaps, np.nan)
    found.add_scale(known, tolerances, best, kept_times(int(t[-1]), rule))
    return found


def _block(run: RunEntry) -> tuple[int, int]:
    return run.spec.seed, run.spec.repetition


def _facts(runs: Iterable[RunEntry]) -> dict[str, float]:
    """Means of the facts of the distinct instances of a task; all agents face the same instances."""
    instances: dict[tuple[int, int], dict[str, float]] = {}
    for run in runs:
        instances.setdefault(_block(run), run.facts)
    frame = pd.DataFrame(list(instances.values()))
    return {str(name): float(value) for name, value in frame.mean(numeric_only=True).items()}


_NOT_YET = "not played yet: the command that ran the suite goes on with what is missing"
NOT_ON_BOARD = "the board does not have these runs yet"
"""The reason of a missing run of a board, which whoever plays against it does not play."""

_UNFINISHED_COLUMNS = ["task", "agent", "status", "n", "reason", "error", "repetitions"]


def unfinished_runs(summary: Summary) -> pd.DataFrame:
    """One row per task, agent, status and reason of runs that are not done, worst first.

    Columns: `task, agent, status` (`"crashed"`, `"timeout"`, `"skipped"` or `"missing"`), `n` (how many runs),
    `reason`, `error` (a traceback, or None) and `repetitions` as text. Missing are runs of the folder's suite that
    were not played; without a suite, the repetitions that another agent has played on the task.
    """
    rows = []
    runs = summary.runs
    for (task, agent, status, reason), group in (
        runs[runs["status"] != "done"].fillna({"reason": ""}).groupby(["task", "agent", "status", "reason"], sort=False)
    ):
        repetitions = sorted(group["repetition"])
        rows.append((task, agent, status, len(group), reason, group["error"].iloc[0], _text(repetitions)))
    for (task, agent), repetitions in _missing(summary).items():
        reason = NOT_ON_BOARD if agent in summary.rivals else _NOT_YET
        rows.append((task, agent, "missing", len(repetitions), reason, None, _text(repetitions)))
    table = pd.DataFrame(rows, columns=_UNFINISHED_COLUMNS)
    order = table["status"].map({"crashed": 0, "timeout": 1, "missing": 2, "skipped": 3})
    return table.iloc[order.argsort(kind="stable")].reset_index(drop=True)


def _unplayed(runs: pd.DataFrame, tasks: Collection[str], agents: Collection[str]) -> dict[str, str]:
    """The tasks on which each agent was skipped, with the main reason; none where nothing else is left."""
    found = {}
    for task, mine in runs.groupby("task", sort=False):
        if (mine["status"] == "skipped").all() and set(mine["agent"]) >= set(agents):
            found[str(task)] = str(mine["reason"].mode().iloc[0])
    return found if len(found) < len(tasks) else {}


def _missing(summary: Summary) -> dict[tuple[str, str], list[int]]:
    missing: dict[tuple[str, str], list[int]] = {}
    if summary.suite is not None:
        there = set(summary.runs.index)
        for spec in summary.suite.specs():
            if spec.key not in there and spec.env.label not in summary.unplayed:
                missing.setdefault((spec.env.label, spec.agent.label), []).append(spec.repetition)
        return missing
    for task, on_task in summary.runs.groupby("task", sort=False):
        played: dict[str, set[tuple[int, int]]] = {agent: set() for agent in summary.agents}
        for agent, seed, repetition in zip(on_task["agent"], on_task["seed"], on_task["repetition"]):
            played[agent].add((seed, repetition))
        blocks = set().union(*played.values())
        for agent, mine in played.items():
            if absent := blocks - mine:
                missing[str(task), agent] = sorted(repetition for _, repetition in absent)
    return missing


def _text(repetitions: list[int]) -> str:
    """Runs of whole numbers as "0-4, 7"."""
    numbers = sorted(set(repetitions))
    starts = [r for r in numbers if r - 1 not in repetitions]
    ends = [r for r in numbers if r + 1 not in repetitions]
    return ", ".join(f"{a}" if a == b else f"{a}–{b}" for a, b in zip(starts, ends))
