"""Tasks and agents of a results folder, each with a unique name."""

from __future__ import annotations

import itertools
import json
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from leaderboards.play.spec import Ref
from leaderboards.play.suite import Suite
from leaderboards.store.run_file import RunEntry

_T = TypeVar("_T")


@dataclass(frozen=True)
class Task:
    """The setting of a comparison: an environment, a horizon and a feedback model.

    Runs that are not in the folder's suite, because it was edited since, are tasks of their own.

    Attributes:
        name: Its name on the page, unique in the folder.
        env: The environment.
        horizon: Number of evaluations `T`.
        feedback: When feedback arrives, see `gpbandit_envs.channels`.
        knowledge: How true the stated kernel and noise are, one of `gpbandit_envs.problem.KNOWLEDGE_LEVELS`; "" if the
            runs do not say.
        misspecification: Factors by which a stated quantity is wrong.
        seed: Root seed of its runs where that is not the suite's; None else, and in a folder without a suite.
        domain: `"arms"` or `"boxes"`: what its actions are; "" if no run is done.
        members: By seed and repetition the settings of the member of a family that its runs have played; empty for
            any other task.
        in_suite: Whether the suite lists it; True for folders without a suite. The overall ranking is over such tasks.
    """

    name: str
    env: Ref
    horizon: int
    feedback: str
    knowledge: str = ""
    misspecification: Mapping[str, float] = field(default_factory=dict)
    seed: int | None = None
    domain: str = ""
    members: Mapping[tuple[int, int], Mapping[str, Any]] = field(default_factory=dict)
    in_suite: bool = True


def name_all(
    runs: Iterable[RunEntry], suite: Suite | None
) -> tuple[dict[str, Task], dict[str, Ref], dict[str, tuple[str, str]]]:
    """Tasks and agents by a unique name, those of the suite first and in its order, and the two names of each run.

    Entries of the suite keep its labels, played or not; a colliding label of another run gets the differing settings
    appended.
    """
    asked = () if suite is None else suite.tasks
    listed_tasks = {task.env.label: Task(task.env.label, task.env, task.horizon, task.feedback) for task in asked}
    listed_agents = {} if suite is None else {entry.ref.label: entry.ref for entry in suite.agents}
    labels = {task.key: task.env.label for task in asked}
    task_names = dict(labels)
    agent_names = {agent.key: name for name, agent in listed_agents.items()}
    tasks: dict[str, Task] = {}
    agents: dict[str, Ref] = {}
    names: dict[str, tuple[str, str]] = {}
    members: dict[str, dict[tuple[int, int], Mapping[str, Any]]] = {}
    for run in runs:
        spec, data = run.spec, run.data
        seed = None if suite is None or spec.seed == suite.seed else spec.seed
        task_id = spec.task if seed is None else f"{spec.task} seed {seed}"
        if task_id not in task_names or task_names[task_id] not in tasks:
            env = replace(spec.env, label=labels.get(spec.task, spec.env.label))
            task = Task("", env, spec.horizon, spec.feedback, seed=seed, in_suite=suite is None or task_id in labels)
            if task_id not in task_names:
                rivals = listed_tasks | tasks
                details = _task_details(task, rivals[env.label]) if env.label in rivals else ""
                task_names[task_id] = _unique(env.label, details, rivals)
            tasks[task_names[task_id]] = replace(task, name=task_names[task_id])
        name = task_names[task_id]
        if not tasks[name].knowledge:  # failed runs hold no problem data
            about = tasks[name]
            tasks[name] = replace(about, knowledge=data.knowledge, misspecification=dict(data.misspecification))
        if spec.member:
            members.setdefault(name, {})[spec.seed, spec.repetition] = spec.member
        if run.status == "done" and not tasks[name].domain:
            tasks[name] = replace(tasks[name], domain="arms" if "action" in run.columns else "boxes")
        if spec.agent.key not in agent_names:
            known = listed_agents | agents
            label = spec.agent.label
            details = _ref_details(spec.agent, known[label]) if label in known else ""
            agent_names[spec.agent.key] = _unique(label, details, known)
        agent = agent_names[spec.agent.key]
        agents.setdefault(agent, listed_agents.get(agent, spec.agent))
        names[run.key] = name, agent
    tasks |= {name: replace(tasks[name], members=found) for name, found in members.items()}
    return _in_order(tasks, listed_tasks), _in_order(agents, listed_agents), names


def _in_order(named: Mapping[str, _T], listed: Iterable[str]) -> dict[str, _T]:
    """The entries that a suite lists, in its order, then the others."""
    positions = {name: i for i, name in enumerate(listed)}
    return {name: named[name] for name in sorted(named, key=lambda name: positions.get(name, len(positions)))}


def _unique(label: str, details: str, taken: Container[str]) -> str:
    """`label`; if that is taken, with `details` appended, and a number if needed."""
    if label not in taken:
        return label
    numbered = (f"{details}, {n}" if details else str(n) for n in itertools.count(2))
    return next(
        name for text in itertools.chain([details], numbered) if text and (name := f"{label} ({text})") not in taken
    )


def _task_details(task: Task, other: Task) -> str:
    """The settings in which a task differs from another of the same label."""
    parts = [_ref_details(task.env, other.env)]
    parts.append(f"T = {task.horizon}" if task.horizon != other.horizon else "")
    parts.append(task.feedback if task.feedback != other.feedback else "")
    parts.append(f"seed {task.seed}" if task.seed is not None and task.seed != other.seed else "")
    return ", ".join(filter(None, parts))


def _ref_details(ref: Ref, other: Ref) -> str:
    """The settings in which an environment or agent differs from another of the same label."""
    if ref.id != other.id:
        return ref.id
    if ref.identity == other.identity:
        return ""
    return ", ".join(f"{name}={json.dumps(value)}" for name, value in ref.kwargs.items()) or "default settings"
