"""Agents by id, in Gymnasium's grammar: `register(id, entry_point, kwargs)` and `make(id, **kwargs)`."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from agents.core.protocol import Agent
from gpbandit_envs.arguments import did_you_mean

_ID = re.compile(r"[A-Za-z][A-Za-z0-9+._#-]*\Z")
_registry: dict[str, AgentSpec] = {}


@dataclass(frozen=True)
class AgentSpec:
    """How to build the agent `id`: the class or factory named by `entry_point` with `kwargs` as defaults.

    Attributes:
        id: Name on the leaderboard, such as `"GP-UCB"`.
        entry_point: `"package.module:Attribute"`, imported at first use, or the class or factory itself.
        kwargs: Defaults that the caller of `make` may override.
    """

    id: str
    entry_point: str | Callable[..., Agent]
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> Callable[..., Agent]:
        """The class or factory."""
        if isinstance(self.entry_point, str):
            return load_entry_point(self.entry_point)
        return self.entry_point


def load_entry_point(entry_point: str) -> Callable[..., Agent]:
    """Import `"package.module:Attribute"`.

    Raises:
        ValueError: if the text is not of that form, or the module has no such attribute.
        ImportError: if the module cannot be imported.
    """
    module, colon, attribute = entry_point.partition(":")
    if not (module and colon and attribute):
        raise ValueError(f"entry_point: expected 'package.module:Attribute', got {entry_point!r}")
    try:
        found: Callable[..., Agent] = getattr(importlib.import_module(module), attribute)
    except AttributeError:
        raise ValueError(f"entry_point: module {module!r} has no attribute {attribute!r}") from None
    return found


def register(id: str, entry_point: str | Callable[..., Agent], kwargs: Mapping[str, Any] | None = None) -> None:
    """Make `agents.make(id)` build `entry_point(**kwargs)`.

    A class that a notebook or script defines anew takes the place of the one before.

    Raises:
        ValueError: if the id is malformed or taken by another entry point.
    """
    if not _ID.match(id):
        raise ValueError(f"id: expected letters, digits and +._#- after a leading letter, got {id!r}")
    new = AgentSpec(id, entry_point, MappingProxyType(dict(kwargs or {})))
    if id in _registry and _registry[id] != new and not _is_again(_registry[id].entry_point, entry_point):
        raise ValueError(f"id: agent {id!r} is already registered as {_registry[id].entry_point!r}")
    _registry[id] = new


def _is_again(old: object, new: object) -> bool:
    """Whether `new` is the class or function `old` of the same notebook or function body, defined once more."""
    names = [(getattr(each, "__module__", None), getattr(each, "__qualname__", None)) for each in (old, new)]
    module, name = names[1]
    return names[0] == names[1] and name is not None and (module == "__main__" or "<locals>" in name)


def registered() -> Iterator[str]:
    """All ids, in order of registration."""
    return iter(tuple(_registry))


def spec(id: str) -> AgentSpec:
    """The registration of `id`.

    Raises:
        ValueError: if there is none; the message names the closest ids.
    """
    try:
        return _registry[id]
    except KeyError:
        if ":" in id:
            raise ValueError(f"id: expected one that is registered, got {id!r}: import the class and call it") from None
        hint = did_you_mean(id, _registry, n=3, cutoff=0.4)
        raise ValueError(f"id: no agent {id!r}; {hint} (a class of your own is 'module:Class')") from None


def make(id: str, **kwargs: Any) -> Agent:
    """Build the agent `id`, with `kwargs` over the registered defaults.

    Raises:
        ValueError: for an unknown id or a bad value.
        TypeError: for an unknown keyword; the message lists those that exist.
    """
    found = spec(id)
    build = found.load()
    merged = {**found.kwargs, **kwargs}
    parameters = inspect.signature(build).parameters
    if not any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        unknown = [name for name in merged if name not in parameters]
        if unknown:
            raise TypeError(f"{id}: unknown argument {unknown[0]!r}; it takes {', '.join(parameters) or 'none'}")
    return build(**merged)
