"""What is known of an agent without playing it: description, arguments, needs, references with BibTeX, and code."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, NamedTuple

import agents
from leaderboards.play.build import loaded_agent
from leaderboards.play.spec import Ref

# Names, "et al." and particles between the first author and the year: "Wang and de Freitas (2014)".
_CITATION = re.compile(
    r"(?P<first>[A-Z][\w'-]+)(?:,? (?:and |et al\.|van den |de )*(?:[A-Z][\w'-]+)?)* \((?P<year>\d{4})\)"
)
_ENTRY = re.compile(r"^@\w+\{(?P<key>\w+),\n.*?^\}$", re.MULTILINE | re.DOTALL)


class Argument(NamedTuple):
    """An argument of an agent: its value as Python writes it ("" where it lacks one), and whether it is no default."""

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
    """

    paragraphs: tuple[str, ...]
    references: tuple[str, ...]
    arguments: tuple[Argument, ...]
    capabilities: agents.Capabilities | None
    module: str
    name: str

    @property
    def kernel_is_told(self) -> bool | None:
        """Whether it has to be told the kernel, by the problem or an argument; None if its class does not say."""
        return None if self.capabilities is None else "kernel" in self.capabilities.needs

    @property
    def plays(self) -> str:
        """The kinds of actions in words; "" if they are not stated."""
        domains = () if self.capabilities is None else self.capabilities.domains
        return " and ".join(word for kind, word in (("finite", "arms"), ("box", "boxes")) if kind in domains)

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
    """The card of a class or factory of agents, with those of its arguments that are given."""
    paragraphs, references, _ = _parts(inspect.getdoc(built) or "")
    meanings: dict[str, str] = {}
    for each in reversed(getattr(built, "__mro__", (built,))):  # a class describes again what means more to it
        meanings |= _parts(inspect.cleandoc(each.__doc__ or ""))[2]
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
    named = {p.name: p.default for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
    found = []
    for name, stated in named.items():
        default = "" if stated is inspect.Parameter.empty else repr(stated)
        value = repr(kwargs[name]) if name in kwargs else default
        found.append(Argument(name, value, value != default, meanings.get(name, "")))
    return found + [Argument(name, repr(value), True) for name, value in kwargs.items() if name not in named]


@functools.lru_cache(maxsize=1024)  # the bases of many agents are asked for
def _parts(text: str) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, str]]:
    """Description, references and meanings of the arguments of a docstring in Google's style."""
    description, references, meanings = [], [], {}
    section = ""
    for block in text.split("\n\n"):
        head, _, rest = block.partition("\n")
        if head.rstrip(":") in ("Args", "Attributes", "Returns", "Raises", "Yields", "Example", "Examples"):
            section = head.rstrip(":")
            if section == "Args":
                # An entry `name: text` is indented by four spaces, its further lines by more.
                entries = (part.partition(": ") for part in re.split(r"^    (?=\S)", rest, flags=re.MULTILINE)[1:])
                meanings = {name: " ".join(words.split()) for name, _, words in entries}
        elif head.startswith(("Reference:", "References:")):
            section = ""
            references.append(" ".join(block.partition(":")[2].split()))
        elif not section or not block.startswith(" "):
            section = ""
            description.append(" ".join(block.split()))
    return tuple(filter(None, description)), tuple(filter(None, references)), meanings


def bibtex(references: Iterable[str]) -> str:
    """The BibTeX entries of what some references cite, in order of first mention; "" for none."""
    keys = dict.fromkeys(key for text in references for key in cited(text))
    return "\n\n".join(_entries()[key] for key in keys if key in _entries())


def cited(reference: str) -> list[str]:
    """The keys of the papers that a reference cites, such as "li2022" for Li and Scarlett (2022)."""
    return [f"{found['first'].lower()}{found['year']}" for found in _CITATION.finditer(reference)]


@functools.cache
def _entries() -> dict[str, str]:
    text = (resources.files("agents") / "papers.bib").read_text(encoding="utf-8")
    return {found["key"]: found[0] for found in _ENTRY.finditer(text)}
