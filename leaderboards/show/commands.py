"""The one command that gives a row again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from leaderboards.play.spec import Ref
from leaderboards.play.suite import Suite, suite_names
from leaderboards.score.cell import Unit
from leaderboards.score.tasks import Task

__all__ = ["row_command", "suite_command"]


def suite_command(suite: Suite | None) -> str | None:
    """What plays the whole folder again; None for a folder of single runs."""
    if suite is None:
        return None
    name = suite.name
    file = name if name in suite_names() else f"{name}.toml"
    return f"gpbandit run {shlex.quote(file)} --out {shlex.quote('results/' + name)}"


def row_command(task: Task, agent: Ref, units: tuple[Unit, ...]) -> str | None:
    """What plays the runs of one row and prints their cumulative regret.

    Returns:
        A shell command; None if the environment or the agent was given as an object, which no text can rebuild.
    """
    if not (task.env.rebuildable and agent.rebuildable and units):
        return None
    repetitions = sorted({repetition for _, repetition in units})
    seeds = sorted({seed for seed, _ in units})
    r = f"range({len(repetitions)})" if repetitions == list(range(len(repetitions))) else str(repetitions)
    settings = [f"horizon={task.horizon}"]
    loops = f"for r in {r}"
    if seeds != [0]:
        settings.append(f"seed={seeds[0]}" if len(seeds) == 1 else "seed=s")
        loops += "" if len(seeds) == 1 else f" for s in {seeds}"
    if task.feedback != "on_request":
        settings.append(f"feedback={_literal(task.feedback)}")
    call = f"run({_pair(task.env)}, {_pair(agent)}, r, {', '.join(settings)})"
    code = f"from leaderboards import run; [print(r, {call}.trace.regret.sum()) {loops}]"
    return f"python -c {shlex.quote(code)}"


def _pair(ref: Ref) -> str:
    return f"({_literal(ref.id)}, {_literal(dict(ref.kwargs))})" if ref.kwargs else _literal(ref.id)


def _literal(value: Any) -> str:
    """A Python literal with double quotes, so that single quotes can go around the code."""
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_literal(name)}: {_literal(entry)}" for name, entry in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return repr(value)
