"""BibTeX of the papers that an agent's docstring cites."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from importlib import resources

__all__ = ["bibtex", "cited"]

# Names, "et al." and particles between the first author and the year: "Wang and de Freitas (2014)".
_CITATION = re.compile(
    r"(?P<first>[A-Z][\w'-]+)(?:,? (?:and |et al\.|van den |de )*(?:[A-Z][\w'-]+)?)* \((?P<year>\d{4})\)"
)
_ENTRY = re.compile(r"^@\w+\{(?P<key>\w+),\n.*?^\}$", re.MULTILINE | re.DOTALL)


def bibtex(references: Iterable[str]) -> str:
    """The BibTeX entries of what some references cite, in order of first mention; "" for none.

    Args:
        references: Texts such as `AgentCard.references`. What has no entry is left out.
    """
    keys = dict.fromkeys(key for text in references for key in cited(text))
    return "\n\n".join(_entries()[key] for key in keys if key in _entries())


def cited(reference: str) -> list[str]:
    """The keys of the papers that a reference cites, such as "li2022" for Li and Scarlett (2022)."""
    return [f"{found['first'].lower()}{found['year']}" for found in _CITATION.finditer(reference)]


@functools.cache
def _entries() -> dict[str, str]:
    text = (resources.files("agents") / "papers.bib").read_text(encoding="utf-8")
    return {found["key"]: found[0] for found in _ENTRY.finditer(text)}
