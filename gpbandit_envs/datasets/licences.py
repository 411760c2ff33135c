"""What the licences of data sets allow: whether a table may be passed on, and what has to be said with it."""

from __future__ import annotations

from dataclasses import dataclass

from gpbandit_envs.datasets.card import Card

__all__ = ["Licence", "attribution", "licences", "may_redistribute"]


@dataclass(frozen=True)
class Licence:
    """A licence of data.

    Attributes:
        name: As cards begin it.
        url: Address of its text.
        asks: What has to come with a copy.
    """

    name: str
    url: str
    asks: str


_NOTICE = "the copyright notice and the text of the licence"
_KNOWN = (
    Licence(
        "CC BY 4.0",
        "https://creativecommons.org/licenses/by/4.0/",
        "the authors, the source, the licence, and that the table was changed",
    ),
    Licence("public domain", "https://creativecommons.org/publicdomain/mark/1.0/", "nothing"),
    Licence("MIT", "https://spdx.org/licenses/MIT.html", _NOTICE),
    Licence("BSD-2-Clause", "https://spdx.org/licenses/BSD-2-Clause.html", _NOTICE),
    Licence("Apache-2.0", "https://spdx.org/licenses/Apache-2.0.html", f"{_NOTICE}, and that the table was changed"),
)


def licences(card: Card) -> tuple[Licence, ...]:
    """The licences that a card names, each that of the data or of the distribution that carries them; none if unknown.

    All of them have to be kept. A card whose licence is not among those known here counts as one with none.
    """
    parts = [part.strip().rpartition(" is ")[2] for part in card.licence.split(";")]
    found = [next((one for one in _KNOWN if part.startswith(one.name)), None) for part in parts]
    return () if None in found else tuple(one for one in found if one is not None)


def may_redistribute(card: Card) -> bool:
    """Whether the table of a card may be passed on, under the terms of its licences."""
    return bool(licences(card))


def attribution(card: Card) -> str:
    """What goes with a copy of a table: who made the data, where they are from, the licence, and what was changed."""
    of = " and ".join(f"{one.name} ({one.url})" for one in licences(card)) or "none that is known here"
    return (
        f"{card.title}.\n\nData: {card.citation}.\n\nSource: {'; '.join(card.sources)}.\n\n"
        f"Licence: {of}. The card says: {card.licence}.\n\n"
        f"Changed: read into a table of candidates and values by gpbandit-envs. {card.notes}"
    )
