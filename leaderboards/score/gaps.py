"""What is not there: runs that failed, were skipped, or were asked for and never finished."""

from __future__ import annotations

import pandas as pd

from leaderboards.play.suite import parse_suite
from leaderboards.score.summary import Summary

__all__ = ["gap_table"]

_COLUMNS = ["task", "agent", "status", "n", "reason", "error", "repetitions"]


def gap_table(summary: Summary) -> pd.DataFrame:
    """One row per task, agent, status and reason of runs that are not done, worst first.

    Columns: `task, agent, status` (`"crashed"`, `"timeout"`, `"skipped"` or `"missing"`), `n` (how many runs),
    `reason`, `error` (a traceback, or None) and `repetitions` as text. Missing are the runs that the folder's suite
    asks for; without a suite, the repetitions that another agent has played on the task.
    """
    rows = []
    runs = summary.runs
    for (task, agent, status, reason), group in (
        runs[runs["status"] != "done"].fillna({"reason": ""}).groupby(["task", "agent", "status", "reason"], sort=False)
    ):
        repetitions = sorted(group["repetition"])
        rows.append((task, agent, status, len(group), reason, group["error"].iloc[0], _text(repetitions)))
    for (task, agent), repetitions in _missing(summary).items():
        reason = "not played yet: the command that ran the suite goes on with what is missing"
        rows.append((task, agent, "missing", len(repetitions), reason, None, _text(repetitions)))
    table = pd.DataFrame(rows, columns=_COLUMNS)
    order = table["status"].map({"crashed": 0, "timeout": 1, "missing": 2, "skipped": 3})
    return table.iloc[order.argsort(kind="stable")].reset_index(drop=True)


def _missing(summary: Summary) -> dict[tuple[str, str], list[int]]:
    if summary.suite is not None:
        asked = parse_suite(summary.suite)
        missing: dict[tuple[str, str], list[int]] = {}
        for spec in asked.specs():
            if spec.key not in summary.runs.index:
                missing.setdefault((spec.env.label, spec.agent.label), []).append(spec.repetition)
        return missing
    missing = {}
    for task, on_task in summary.runs.groupby("task", sort=False):
        units = set(zip(on_task["seed"], on_task["repetition"]))
        for agent in summary.agents:
            played = on_task[on_task["agent"] == agent]
            absent = units - set(zip(played["seed"], played["repetition"]))
            if absent:
                missing[str(task), agent] = sorted(repetition for _, repetition in absent)
    return missing


def _text(repetitions: list[int]) -> str:
    """Runs of whole numbers as "0-4, 7"."""
    parts: list[list[int]] = []
    for r in sorted(set(repetitions)):
        if parts and r == parts[-1][-1] + 1:
            parts[-1].append(r)
        else:
            parts.append([r])
    return ", ".join(str(p[0]) if len(p) == 1 else f"{p[0]}–{p[-1]}" for p in parts)
