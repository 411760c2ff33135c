"""Suites from a notebook, a script or the command line: what is asked for, playing it, and its results."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
from rich.console import Console

import agents as policies
from agents import Agent
from gpbandit_envs.code_digest import code_digest, is_importable
from leaderboards.api.results import Results
from leaderboards.play.build import AgentLike, check_as_made, describe_env, given_agent, load_plugins
from leaderboards.play.protocol_checks import inside_feedback
from leaderboards.play.run import why_no_regret
from leaderboards.play.spec import RunSpec
from leaderboards.play.suite import AgentEntry, EnvironmentEntry, Suite, SuiteError, further, load_suite, parse_suite
from leaderboards.publish.boards import board_names, note_board, rivals_of
from leaderboards.store.store import Store
from leaderboards.verify.changed_code import changed_agents
from leaderboards.work.executors import Workforce
from leaderboards.work.jobs import DEFAULT_TIMEOUT, Limits
from leaderboards.work.schedule import RunReport, play_suite, shard

_log = logging.getLogger("gpbandit")


def run_suite(
    suite: SuiteLike,
    agents: Iterable[SuiteAgent] | Mapping[str, SuiteAgent] = (),
    *,
    out: str | os.PathLike[str] | None = None,
    workers: int = 1,
    retry_failed: bool = False,
    timeout: float | None = DEFAULT_TIMEOUT,
    progress: bool = True,
    against: str | os.PathLike[str] | None = None,
) -> Results:
    """Play what is missing of a suite, as `gpbandit run` does, and return its results.

    Runs that are in the folder are not played again. A class or object that was edited in a notebook is another agent
    than before, and a table or function another environment: their runs are new ones.

    Args:
        suite: The name of a suite or the path of a TOML file; a mapping with the keys of such a file; or a `Suite`. In
            a mapping, `environments` may hold ids, `(id, kwargs)` pairs and environments, or have these by label;
            `agents` what `agents` takes.
        agents: Further agents: ids, classes and objects, and pairs of id or class with its arguments; or such agents by
            label, as `{"narrow": ("GP-UCB", {"width": 1.0})}`. Each run has a copy of an object.
        out: Results folder; by default `results/<name of the suite>`.
        workers: Runs at a time. With 1 they are played in this process, one after the other; with more in as many
            processes, to which classes and functions of a notebook are sent. So they are with 1 and a `timeout` where
            this process cannot stop a run: in another thread than the main one, and on Windows.
        retry_failed: Whether to play again what crashed, timed out or was skipped.
        timeout: Seconds that a run may take, by default a day; None for no limit.
        progress: Whether to report progress on the standard error stream.
        against: A board, as `leaderboards.board` takes it, or `"board"` for the package's board of the suite: only
            `agents` are played, and the results rank them among its runs.

    Raises:
        TypeError: if a suite, an environment, an agent or a time is of no such kind.
        ValueError: if `workers` is below 1, `timeout` is not above 0, `against` is no board or comes without `agents`,
            or the suite cannot be run as it is written (`SuiteError`): it names the entry.
        OSError: if the folder cannot be written.
    """
    workforce = Workforce(workers, limits=Limits(timeout))
    found, specs = asked_for(suite, agents, against)
    store = Store(Path("results") / found.name if out is None else out)
    console = Console(stderr=True) if progress else None
    report = play_asked(
        found, specs, store, workforce, _log.warning, against=against, console=console, retry_failed=retry_failed
    )
    for env, reason in report.without_data.items():
        _log.warning("skipped: %s, %s; the same call tries again", env, reason)
    for line in [*report.changed, *report.failure_lines()]:
        _log.warning("%s", line)
    return Results(store.directory, report)


def asked_for(
    suite: SuiteLike,
    agents: Iterable[SuiteAgent] | Mapping[str, SuiteAgent] = (),
    against: str | os.PathLike[str] | None = None,
    part: str | None = None,
) -> tuple[Suite, list[RunSpec]]:
    """The suite that a results folder is to hold and the runs that are asked for, once all settings have been checked.

    Args:
        suite: The suite.
        agents: Further agents.
        against: A board: only `agents` are to be played, and ranked among its runs.
        part: Only this shard of the runs, as `i/N`.

    Raises:
        TypeError: if a suite, an environment or an agent is of no such kind.
        ValueError: naming the argument: there is no such board, or no agents are to be ranked on it, or no such shard.
        SuiteError: if the suite cannot be run as it is written.
    """
    load_plugins()
    found = played = as_suite(suite, agents).pinned()
    if against is not None:
        listed = as_suite(suite)
        rivals_of(against, listed)
        played = further(found, listed)
    try:
        played.check()
    except SuiteError as error:
        if against is None and agents and found.name in board_names():
            hint = "with --against board (in Python against='board') your agents play alone, among the runs that it has"
            raise SuiteError(f"{error}; {hint}") from None
        raise
    return found, list(played.specs() if part is None else shard(played.specs(), part))


def play_asked(
    suite: Suite,
    specs: Sequence[RunSpec],
    store: Store,
    workforce: Workforce,
    warn: Callable[[str], None],
    *,
    against: str | os.PathLike[str] | None = None,
    begins: Callable[[Sequence[RunSpec]], None] = lambda _: None,
    console: Console | None = None,
    retry_failed: bool = False,
) -> RunReport:
    """Play what a results folder lacks of what is asked for, see `leaderboards.work.schedule.play_suite`.

    The folder notes the board before the first run.

    Raises:
        SuiteError: if an environment cannot be built, or the folder holds another suite.
        OSError: if the folder cannot be written.
    """

    def begin(todo: Sequence[RunSpec]) -> None:
        if against is not None:
            note_board(store.directory, os.fspath(against))
        begins(todo)

    report = play_suite(suite, store, specs, workforce, warn, begins=begin, console=console, retry_failed=retry_failed)
    done = store.done_keys()
    one_each = {spec.env.label: spec.key for spec in specs if spec.key in done}
    reasons = {env: why_no_regret(store.trace(key, ["regret", "mean"])) for env, key in one_each.items()}
    report.without_regret = {env: reason for env, reason in reasons.items() if reason is not None}
    report.changed = changed_agents(store, specs)
    report.failed = len(store.keys("crashed", "timeout").intersection(spec.key for spec in specs))
    return report


SuiteLike = str | os.PathLike[str] | Mapping[str, Any] | Suite
"""A suite: its name, the path of its TOML file, its keys, or itself."""

SuiteAgent = AgentLike | Mapping[str, Any]
"""An agent of a suite: an agent as `leaderboards.run` takes it, or the keys of an entry."""

_LABEL = "label"


def as_suite(suite: SuiteLike, agents: Iterable[SuiteAgent] | Mapping[str, SuiteAgent] = ()) -> Suite:
    """The suite that `run_suite` plays.

    Raises:
        TypeError: if the suite, an environment or an agent is of no such kind.
        SuiteError: if there is no such suite, or a key is unknown, missing or out of range.
    """
    further = _agent_entries(agents)
    if isinstance(suite, Suite):
        return suite.model_copy(update={"source": ""}).with_agents(further)
    if isinstance(suite, str | os.PathLike):
        return load_suite(os.fspath(suite)).with_agents(further)
    if not isinstance(suite, Mapping):
        raise TypeError(f"suite: expected a name, a path, a mapping or a Suite, got {suite!r}")
    keys = dict(suite)
    if "environments" in keys:
        keys["environments"] = _env_entries(keys["environments"], keys.get("feedback"))
    own = _agent_entries(keys.pop("agents", ()))
    if own:
        return parse_suite({**keys, "agents": own}).with_agents(further)
    return parse_suite({**keys, "agents": further} if further else keys)


def _several(name: str, things: Any) -> list[Any]:
    """`things` as a list; a text or a mapping is one of them."""
    if isinstance(things, str | Mapping | gym.Env | Agent | type) or not isinstance(things, Iterable):
        raise TypeError(f"{name}: expected a list, got {things!r}; for one, write [...] around it")
    return list(things)


def _env_entries(envs: Any, feedback: str | None) -> list[EnvironmentEntry | dict[str, Any]]:
    """The entries of a list, or of a mapping by label; one with the key `id` is a single entry, no mapping."""
    if not isinstance(envs, Mapping) or "id" in envs:
        return [_env_entry(env, feedback) for env in _several("environments", envs)]
    entries: list[EnvironmentEntry | dict[str, Any]] = []
    for label, env in envs.items():
        entry = _env_entry(env, feedback)
        named = entry.model_dump() if isinstance(entry, EnvironmentEntry) else entry
        entries.append({**named, _LABEL: str(label)})
    return entries


def _env_entry(given: Any, feedback: str | None) -> EnvironmentEntry | dict[str, Any]:
    if isinstance(given, Mapping | EnvironmentEntry):
        return given if isinstance(given, EnvironmentEntry) else dict(given)
    env, feedback = inside_feedback(given, feedback)
    ref = describe_env(env)
    if ref.id.startswith("object:"):
        raise TypeError(
            f"environments: expected one that gymnasium.make has made, got {env}: register it with gymnasium.register, "
            "or take gpbandit_envs.from_table or from_function"
        )
    check_as_made("environments", env)
    return EnvironmentEntry(id=ref.id, kwargs=dict(ref.kwargs), feedback=None if env is given else feedback)


def _agent_entries(agents: Any) -> list[AgentEntry]:
    if isinstance(agents, Mapping):
        return [_agent_entry(agent, str(label)) for label, agent in agents.items()]
    return [_agent_entry(agent) for agent in _several("agents", agents)]


def _agent_entry(agent: Any, label: str = "") -> AgentEntry:
    """The entry of an agent; classes and objects that no other process can find are registered in this one."""
    if isinstance(agent, AgentEntry):
        return agent
    if isinstance(agent, Mapping):
        try:
            return AgentEntry(**{**agent, **({_LABEL: label} if label else {})})
        except ValueError as error:
            raise SuiteError(f"agents: {' '.join(str(error).split())}") from None
    given, kwargs = given_agent(agent)
    if isinstance(given, str):
        return _registered(given, kwargs, label)
    if isinstance(given, type):
        id = _id(given, code_digest(given))
        policies.register(id, given)
        return AgentEntry(id=id, kwargs=dict(kwargs), label=label or given.__name__)
    copies = _Copies(code_digest(given), given)
    id = _id(type(given), copies.digest)
    policies.register(id, copies)
    return AgentEntry(id=id, label=label or type(given).__name__)


def _id(kind: type[Agent], digest: str) -> str:
    """An id of this process; ids begin with a letter, names of classes may not."""
    return f"{kind.__name__.lstrip('_')}#{digest}"


def _registered(id: str, kwargs: Mapping[str, Any], label: str) -> AgentEntry:
    """The entry of an id; one that stands for a class of the notebook is stated with its code."""
    spec = policies.spec(id) if ":" not in id and id in policies.registered() else None
    if spec is None or isinstance(spec.entry_point, str) or is_importable(spec.entry_point) or "#" in id:
        return AgentEntry(id=id, kwargs=dict(kwargs), label=label)
    stated = f"{id}#{code_digest(partial(spec.entry_point, **spec.kwargs))}"
    policies.register(stated, spec.entry_point, spec.kwargs)
    return AgentEntry(id=stated, kwargs=dict(kwargs), label=label or id)


@dataclass(frozen=True)
class _Copies:
    """Makes copies of an agent."""

    digest: str
    agent: Agent = field(compare=False)

    def __call__(self) -> Agent:
        return deepcopy(self.agent)

    @property
    def policy_family(self) -> str:
        """That of the agent, by which charts choose its hue."""
        return str(getattr(self.agent, "policy_family", ""))
