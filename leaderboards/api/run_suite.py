"""Suites from a notebook or a script: environments and agents may be objects, results come back as an object."""

from __future__ import annotations

import hashlib
import io
import logging
import os
import pickle
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium as gym
from rich.console import Console

import agents as policies
from agents import Agent
from gpbandit_envs.arguments import as_count
from gpbandit_envs.code_digest import code_digest, is_importable
from leaderboards.api.results import Results
from leaderboards.archive.read import board_of, note_board
from leaderboards.play.build import AgentLike, describe_env, given_agent
from leaderboards.play.plugins import load_plugins
from leaderboards.play.spec import RunSpec, canonical_json, describe
from leaderboards.play.suite import (
    AgentEntry,
    EnvironmentEntry,
    Suite,
    SuiteError,
    further,
    load_suite,
    parse_suite,
)
from leaderboards.store.store import Store
from leaderboards.verify.edited import edited_agents
from leaderboards.work.jobs import DEFAULT_TIMEOUT, Limits
from leaderboards.work.play import Listener, Workforce, play_suite

__all__ = ["SuiteAgent", "SuiteLike", "as_suite", "run_suite"]

SuiteLike = str | os.PathLike[str] | Mapping[str, Any] | Suite
"""A suite: its name, the path of its TOML file, its keys, or itself."""

SuiteAgent = AgentLike | Mapping[str, Any]
"""An agent of a suite: an agent as `leaderboards.run` takes it, or the keys of an entry."""

_LABEL = "label"
_log = logging.getLogger("gpbandit")


def run_suite(
    suite: SuiteLike,
    agents: Iterable[SuiteAgent] | Mapping[str, SuiteAgent] = (),
    *,
    out: str | os.PathLike[str] | None = None,
    workers: int = 1,
    retry_failed: bool = False,
    together: bool = False,
    timeout: float | None = DEFAULT_TIMEOUT,
    progress: bool = True,
    against: str | os.PathLike[str] | None = None,
) -> Results:
    """Play what is missing of a suite, as `gpbandit run` does, and return its results.

    Runs that are in the folder are not played again. A class or object that was edited in a notebook is another agent
    than before, and a table or function another environment: their runs are new ones.

    Args:
        suite: The name of a suite or the path of a TOML file; a mapping with the keys of such a file; or a `Suite`. In
            a mapping, `environments` may hold ids, `(id, kwargs)` pairs and environments, `agents` what `agents` takes.
        agents: Further agents: ids, classes and objects, and pairs of id or class with its arguments; or such agents by
            label, as `{"narrow": ("GP-UCB", {"width": 1.0})}`. Each run has a copy of an object.
        out: Results folder; by default `results/<name of the suite>`.
        workers: Runs at a time. With 1 they are played in this process, one after the other; with more in as many
            processes, to which classes and functions of a notebook are sent.
        retry_failed: Whether to play again what crashed, timed out or was skipped.
        together: Changes nothing: each run is played alone, as `docs/harness.md` says.
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
    workers, limits = as_count("workers", workers), Limits(timeout)
    del together
    load_plugins()
    found = as_suite(suite, agents).pinned()
    played = found
    if against is not None:
        listed = as_suite(suite)
        board_of(against, listed)
        played = further(found, listed)
    played.check()
    store = Store(Path("results") / found.name if out is None else out)
    specs = list(played.specs())
    listener = _Log(against=None if against is None else (store.directory, os.fspath(against)), progress=progress)
    done = play_suite(found, store, specs, Workforce(workers, limits=limits), listener, retry_failed=retry_failed)
    for env, reason in {spec.env.label: done.without_data.get(spec.env.key) for spec in specs}.items():
        if reason is not None:
            _log.warning("skipped: %s, %s; the same call tries again", env, reason)
    for text in edited_agents(store, specs):
        _log.warning("%s", text)
    for line in done.report.failed():
        _log.warning("%s", line)
    return Results(store.directory, done.report)


class _Log(Listener):
    """Warnings go to the log; the folder notes the board that it is compared with."""

    def __init__(self, against: tuple[Path, str] | None, progress: bool) -> None:
        self.console = Console(stderr=True) if progress else None
        self._against = against

    def warn(self, text: str) -> None:
        _log.warning("%s", text)

    def begins(self, todo: Sequence[RunSpec]) -> None:
        if self._against is not None:
            note_board(*self._against)


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
        keys["environments"] = [_env_entry(env) for env in _several("environments", keys["environments"])]
    own = _agent_entries(keys.pop("agents", ()))
    if own:
        return parse_suite({**keys, "agents": own}).with_agents(further)
    return parse_suite({**keys, "agents": further} if further else keys)


def _several(name: str, things: Any) -> list[Any]:
    """`things` as a list; a text or a mapping is one of them."""
    if isinstance(things, str | Mapping | gym.Env | Agent | type) or not isinstance(things, Iterable):
        raise TypeError(f"{name}: expected a list, got {things!r}; for one, write [...] around it")
    return list(things)


def _env_entry(env: Any) -> EnvironmentEntry | dict[str, Any]:
    if isinstance(env, Mapping | EnvironmentEntry):
        return env if isinstance(env, EnvironmentEntry) else dict(env)
    ref = describe_env(env)
    if ref.id.startswith("object:"):
        raise TypeError(
            f"environments: expected one that gymnasium.make has made, got {env}: register it with gymnasium.register, "
            "or take gpbandit_envs.from_table or from_function"
        )
    return EnvironmentEntry(id=ref.id, kwargs=dict(ref.kwargs))


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
    copies = _Copies(_object_digest(given), given)
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
    stated = f"{id}#{code_digest(spec.entry_point)}"
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


def _object_digest(agent: Agent) -> str:
    """Hash of the code and the settings of an agent that has not played."""
    try:
        state = _pickled(vars(agent))
    except Exception:  # a closure among the settings
        state = canonical_json(describe(vars(agent))).encode()
    name = f"{type(agent).__module__}:{type(agent).__qualname__} {code_digest(agent)}"
    return hashlib.sha256(name.encode() + state).hexdigest()[:12]


class _Pickler(pickle.Pickler):
    """Pickles a set as its members in an order of their own: that of a set of texts is another one in each session."""

    def persistent_id(self, obj: Any) -> Any:
        if type(obj) not in (set, frozenset):
            return None
        return type(obj).__name__, sorted(map(_pickled, obj))


def _pickled(value: Any) -> bytes:
    """`value` as bytes that are the same in every session, to be hashed and not to be read."""
    content = io.BytesIO()
    _Pickler(content).dump(value)
    return content.getvalue()
