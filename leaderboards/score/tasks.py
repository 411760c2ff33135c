"""What was compared: tasks and agents, and a name for each that is unique in its folder."""

from __future__ import annotations

import itertools
import json
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import pandas as pd

from leaderboards.play.spec import Ref, canonical_json, task_key

__all__ = ["Task", "name_all"]

_T = TypeVar("_T")


@dataclass(frozen=True)
class Task:
    """What agents are compared on: an environment, a horizon and a regime of feedback.

    Runs that the folder's suite does not ask for, because it was edited since, are tasks of their own.

    Attributes:
        name: Its name on the page, unique in the folder.
        env: The environment.
        horizon: Number of evaluations `T`.
        feedback: Regime of feedback.
        knowledge: How true the card's kernel and noise are: `"oracle"`, `"misspecified"` or `"learned"`; "" where the
            runs do not say.
        misspecification: Factors by which a stated quantity is wrong.
        seed: Root seed of its runs where that is not the suite's; None else, and in a folder without a suite.
        asked: Whether the folder's suite asks for it, as all tasks count that are in no suite's folder; only such tasks
            enter the overall ranking.
    """

    name: str
    env: Ref
    horizon: int
    feedback: str
    knowledge: str = ""
    misspecification: Mapping[str, float] = field(default_factory=dict)
    seed: int | None = None
    asked: bool = True


def name_all(
    runs: pd.DataFrame, entries: dict[str, dict[str, Any]], suite: Mapping[str, Any] | None
) -> tuple[dict[str, Task], dict[str, Ref], pd.DataFrame]:
    """Unique names for what was run, those of the suite first and in its order.

    What the suite asks for has its labels, whether it has been played or not; where another label collides, what
    differs stands behind it.
    """
    tasks: dict[str, Task] = {}
    agents: dict[str, Ref] = {}
    columns: dict[str, list[str]] = {"task": [], "agent": []}
    task_of, reserved_tasks = _tasks_of(suite or {})
    agent_of, reserved_agents = _agents_of(suite or {})
    asked = set(task_of)
    for key, run in runs.iterrows():
        spec = entries[str(key)]["spec"]
        env, agent = (replace(Ref(**spec[side]), label=run[side]) for side in ("env", "agent"))
        seed = None if suite is None or spec["seed"] == suite.get("seed", 0) else int(spec["seed"])
        what = task_key(env, spec["horizon"], spec["feedback"]) + ("" if seed is None else f" seed {seed}")
        data = entries[str(key)]["data"]
        if what not in task_of:
            task = Task("", env, spec["horizon"], spec["feedback"], seed=seed)
            namesakes = reserved_tasks | tasks
            details = _task_details(task, namesakes[env.label]) if env.label in namesakes else ""
            task_of[what] = _unique(env.label, details, namesakes)
        name = task_of[what]
        if name not in tasks:
            task = Task(name, env, spec["horizon"], spec["feedback"], seed=seed)
            tasks[name] = _with_knowledge(replace(task, asked=suite is None or what in asked), data)
        elif not tasks[name].knowledge:
            # Runs that failed say nothing of the card.
            tasks[name] = _with_knowledge(tasks[name], data)
        who = canonical_json(agent.identity)
        if who not in agent_of:
            rivals = reserved_agents | agents
            details = _ref_details(agent, rivals[agent.label]) if agent.label in rivals else ""
            agent_of[who] = _unique(agent.label, details, rivals)
        agents.setdefault(agent_of[who], agent)
        columns["task"].append(name)
        columns["agent"].append(agent_of[who])
    frame = pd.DataFrame(columns, index=runs.index)
    return _in_order(tasks, reserved_tasks), _in_order(agents, reserved_agents), frame


def _tasks_of(suite: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Task]]:
    """Name by key, and task by name, of what a frozen suite asks for."""
    named = {
        entry["label"]: Task(entry["label"], _ref(entry), entry["horizon"], entry["feedback"])
        for entry in suite.get("environments", ())
    }
    return {task_key(task.env, task.horizon, task.feedback): name for name, task in named.items()}, named


def _agents_of(suite: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Ref]]:
    """Name by canonical identity, and agent by name, of those that a frozen suite asks for."""
    named = {entry["label"]: _ref(entry) for entry in suite.get("agents", ())}
    return {canonical_json(agent.identity): name for name, agent in named.items()}, named


def _with_knowledge(task: Task, data: Mapping[str, Any]) -> Task:
    return replace(
        task, knowledge=data.get("knowledge") or "", misspecification=dict(data.get("misspecification") or {})
    )


def _in_order(named: Mapping[str, _T], asked: Iterable[str]) -> dict[str, _T]:
    """What a suite asks for in its order, then the others."""
    places = {name: i for i, name in enumerate(asked)}
    return {name: named[name] for name in sorted(named, key=lambda name: places.get(name, len(places)))}


def _ref(entry: Mapping[str, Any]) -> Ref:
    return Ref(**{name: entry[name] for name in ("id", "kwargs", "label") if name in entry})


def _unique(label: str, details: str, taken: Container[str]) -> str:
    """`label`; where that is taken with `details` behind it, and with a number where these do not suffice."""
    if label not in taken:
        return label
    numbered = (f"{details}, {n}" if details else str(n) for n in itertools.count(2))
    return next(
        name for text in itertools.chain([details], numbered) if text and (name := f"{label} ({text})") not in taken
    )


def _task_details(task: Task, other: Task) -> str:
    """What tells a task from another of the same label."""
    parts = [_ref_details(task.env, other.env)]
    parts.append(f"T = {task.horizon}" if task.horizon != other.horizon else "")
    parts.append(task.feedback if task.feedback != other.feedback else "")
    parts.append(f"seed {task.seed}" if task.seed is not None and task.seed != other.seed else "")
    return ", ".join(filter(None, parts))


def _ref_details(ref: Ref, other: Ref) -> str:
    """What tells an environment or an agent from another of the same label."""
    if ref.id != other.id:
        return ref.id
    if ref.identity == other.identity:
        return ""
    return ", ".join(f"{name}={json.dumps(value)}" for name, value in ref.kwargs.items()) or "default settings"
