"""What is known of an agent without playing it: description, arguments, needs, reference and code."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import agents
from leaderboards.play.build import loaded_agent
from leaderboards.play.spec import Ref

__all__ = ["AgentCard", "Argument", "agent_card", "describe_built"]


@dataclass(frozen=True)
class Argument:
    """An argument of an agent.

    Attributes:
        name: Its name.
        value: Its value as Python writes it; "" where it has to be given and is not.
        given: Whether the value is not the default.
        meaning: What the documentation says of it; "" without.
    """

    name: str
    value: str
    given: bool
    meaning: str = ""


@dataclass(frozen=True)
class AgentCard:
    """An agent in words.

    Attributes:
        paragraphs: Description, the first sentence or two first; arguments, errors and references are left out.
        references: Papers, one entry a paragraph of references.
        arguments: Its arguments.
        capabilities: What it plays; None if its class does not say.
        module: Module of its class or factory.
        name: Name of the class or factory in the module.
        kernel_is_told: Whether it has to be told the kernel, by the problem or an argument; None if its class does not
            say what it needs.
    """

    paragraphs: tuple[str, ...]
    references: tuple[str, ...]
    arguments: tuple[Argument, ...]
    capabilities: agents.Capabilities | None
    module: str
    name: str

    @property
    def kernel_is_told(self) -> bool | None:
        return None if self.capabilities is None else "kernel" in self.capabilities.needs

    @property
    def plays(self) -> str:
        """The kinds of actions in words; "" if they are not stated."""
        if self.capabilities is None:
            return ""
        return " and ".join(
            {"finite": "arms", "box": "boxes"}[word] for word in sorted(self.capabilities.domains)[::-1]
        )

    @property
    def batches(self) -> str:
        """How it batches, in words; "" if that is not stated."""
        if self.capabilities is None:
            return ""
        return f"{self.capabilities.batch}{', also with delayed feedback' if self.capabilities.delayed else ''}"


def agent_card(ref: Ref) -> AgentCard | None:
    """The card of the agent of a run; None if its class is not loaded, as may be that of a third party."""
    built = loaded_agent(ref.id)
    if built is None:
        return None
    defaults: Mapping[str, Any] = {} if ":" in ref.id else agents.spec(ref.id).kwargs
    return describe_built(built, {**defaults, **ref.kwargs})


def describe_built(built: Any, kwargs: Mapping[str, Any]) -> AgentCard:
    """The card of a class or factory of agents.

    Args:
        built: The class or factory.
        kwargs: Its arguments that are given.
    """
    paragraphs, references, _ = _parts(inspect.getdoc(built) or "")
    meanings: dict[str, str] = {}
    for each in reversed(getattr(built, "__mro__", (built,))):  # a class describes again what means more to it
        meanings |= _meanings(each.__doc__ or "")
    found = getattr(built, "capabilities", None)
    return AgentCard(
        paragraphs,
        references,
        tuple(_arguments(built, kwargs, meanings)),
        found if isinstance(found, agents.Capabilities) else None,
        str(getattr(built, "__module__", "")),
        str(getattr(built, "__qualname__", "")),
    )


def _arguments(built: Any, kwargs: Mapping[str, Any], meanings: Mapping[str, str]) -> list[Argument]:
    try:
        parameters = inspect.signature(built).parameters.values()
    except (TypeError, ValueError):  # as of a class written in C
        parameters = {}.values()
    named = [p for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    found = []
    for p in named:
        default = "" if p.default is p.empty else repr(p.default)
        value = repr(kwargs[p.name]) if p.name in kwargs else default
        found.append(Argument(p.name, value, value != default, meanings.get(p.name, "")))
    known = {p.name for p in named}
    return found + [Argument(name, repr(value), True) for name, value in kwargs.items() if name not in known]


@functools.lru_cache(maxsize=1024)
def _meanings(doc: str) -> dict[str, str]:
    """Meanings of the arguments in the docstring of a class, which the bases of many agents are asked for."""
    return _parts(inspect.cleandoc(doc))[2]


def _parts(text: str) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, str]]:
    """Description, references and meanings of the arguments of a docstring in Google's style."""
    description, references, meanings = [], [], {}
    section = ""
    for block in text.split("\n\n"):
        head, _, rest = block.partition("\n")
        if head.rstrip(":") in ("Args", "Attributes", "Returns", "Raises", "Yields", "Example", "Examples"):
            section = head.rstrip(":")
            if section == "Args":
                meanings = _entries(rest)
        elif head.startswith(("Reference:", "References:")):
            section = ""
            references.append(" ".join(block.partition(":")[2].split()))
        elif not section or not block.startswith(" "):
            section = ""
            description.append(" ".join(block.split()))
    return tuple(filter(None, description)), tuple(filter(None, references)), meanings


def _entries(text: str) -> dict[str, str]:
    """The entries `name: text` of a section, whose further lines are indented by more."""
    found: dict[str, str] = {}
    name = ""
    for line in text.split("\n"):
        if line.startswith("    ") and not line.startswith("     "):
            name, _, first = line.strip().partition(": ")
            found[name] = first
        elif name:
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found
