"""A table to be passed on: what its licence allows, a CSV file, and the notice that goes with it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from gpbandit_envs.atomic import written_whole
from gpbandit_envs.datasets.card import Card
from gpbandit_envs.datasets.loading import cards, find, load
from gpbandit_envs.datasets.table import Table

__all__ = ["Licence", "attribution", "export", "exportable", "licences", "may_redistribute"]

NOTICE = "README.md"
_ON_CARD = ("target", "preprocessing")


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


def exportable() -> list[str]:
    """Names of the data sets whose tables their licences allow to pass on."""
    return [name for name, card in cards().items() if may_redistribute(card)]


def export(name: str, folder: Path) -> list[Path]:
    """Write the table of a data set with the default options, and the notice that goes with it.

    Args:
        name: Name of the data set, in any case.
        folder: Where to write `NAME.csv` and `README.md`; made if it does not exist.

    Returns:
        The files.

    Raises:
        ValueError: if there is no such data set, or no licence is known that allows it.
        DataError: if it cannot be fetched.
        OSError: if the folder cannot be written.
    """
    card = find(name)
    if not may_redistribute(card):
        raise ValueError(f"name: expected a data set that may be passed on, got {card.name} under {card.licence!r}")
    table = load(name)
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        f"{card.name}.csv": _frame(table).to_csv(index=False, lineterminator="\n"),
        NOTICE: _notice(card, table),
    }
    for file, text in texts.items():
        with written_whole(folder / file) as temporary:
            temporary.write_bytes(text.encode())
    return [folder / file for file in texts]


def _frame(table: Table) -> pd.DataFrame:
    """One row a candidate: its name, features, values, cost."""
    columns: dict[str, Any] = {} if table.labels is None else {"label": table.labels}
    columns |= dict(zip(table.feature_names, table.features.T))
    columns |= {f"value_{r + 1}": values for r, values in enumerate(table.values.T)}
    return pd.DataFrame(columns | ({} if table.costs is None else {"cost_seconds": table.costs}))


def _notice(card: Card, table: Table) -> str:
    """The attribution, what the values are, and the options and notes of the table beyond the card's."""
    classes = ", numbered from 0" if table.notes.get("task") == "classification" else ""
    text = (
        f"# {card.name}\n\n{attribution(card)}\n\nOne row a candidate; `value_r` is replicate r, empty if missing: "
        f"{card.target}{classes}. `cost_seconds` is the cost of one evaluation.\n"
    )
    facts = {**card.choose({}), **{name: note for name, note in table.notes.items() if name not in _ON_CARD}}
    if not facts:
        return text
    # As code: to Markdown a SMILES may be a link.
    return f"{text}\nOptions and notes of this table:\n\n```json\n{json.dumps(facts, indent=1)}\n```\n"
