"""Suites and their agents given in Python: names, files, tables, pairs, classes and objects become entries."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym

import agents as policies
from agents import Agent
from gpbandit_envs.code_digest import code_digest, is_importable
from leaderboards.play.build import AgentLike, check_as_made, describe_env, given_agent
from leaderboards.play.protocol_checks import inside_feedback
from leaderboards.play.spec import canonical_json, describe
from leaderboards.play.suite import AgentEntry, EnvironmentEntry, Suite, SuiteError, load_suite, parse_suite

__all__ = ["SuiteAgent", "SuiteLike", "as_suite"]

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
        feedback = keys.get("feedback")
        keys["environments"] = [_env_entry(env, feedback) for env in _several("environments", keys["environments"])]
    own = _agent_entries(keys.pop("agents", ()))
    if own:
        return parse_suite({**keys, "agents": own}).with_agents(further)
    return parse_suite({**keys, "agents": further} if further else keys)


def _several(name: str, things: Any) -> list[Any]:
    """`things` as a list; a text or a mapping is one of them."""
    if isinstance(things, str | Mapping | gym.Env | Agent | type) or not isinstance(things, Iterable):
        raise TypeError(f"{name}: expected a list, got {things!r}; for one, write [...] around it")
    return list(things)


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
