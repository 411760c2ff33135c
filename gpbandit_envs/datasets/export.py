"""A table as a data set of its own: what its licence allows, a CSV file, its Croissant description, and a notice."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gpbandit_envs.atomic import written_whole
from gpbandit_envs.datasets.card import Card
from gpbandit_envs.datasets.croissant import CREATOR, column, document, file_object, record_set
from gpbandit_envs.datasets.loading import cards, find, load
from gpbandit_envs.datasets.table import Table

__all__ = ["Licence", "attribution", "export", "exportable", "licences", "may_redistribute"]

DESCRIPTION, NOTICE = "croissant.json", "README.md"
_CSV = "text/csv"
_ON_CARD = ("target", "preprocessing")
_FIRST_CITED = re.compile(r"(.+?) \((\d{4})\)")


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


def export(name: str, folder: Path, url: str = "") -> list[Path]:
    """Write the table of a data set with the default options, its description and the notice that goes with it.

    Args:
        name: Name of the data set, in any case.
        folder: Where to write `NAME.csv`, `croissant.json` and `README.md`; made if it does not exist.
        url: Public address of the folder; "" for none yet, and then files are named relative to the description.

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
    frame, facts = _frame(table), _facts(table, card.choose({}))
    content = frame.to_csv(index=False, lineterminator="\n").encode()
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        f"{card.name}.csv": content,
        DESCRIPTION: (json.dumps(_described(card, table, facts, frame, content, url), indent=1) + "\n").encode(),
        NOTICE: _notice(card, facts).encode(),
    }
    for file, text in texts.items():
        with written_whole(folder / file) as temporary:
            temporary.write_bytes(text)
    return [folder / file for file in texts]


def _frame(table: Table) -> pd.DataFrame:
    """One row a candidate: its name, features, values, cost."""
    columns: dict[str, Any] = {} if table.labels is None else {"label": table.labels}
    columns |= dict(zip(table.feature_names, table.features.T))
    columns |= {f"value_{r + 1}": values for r, values in enumerate(table.values.T)}
    return pd.DataFrame(columns | ({} if table.costs is None else {"cost_seconds": table.costs}))


def _facts(table: Table, options: Mapping[str, object]) -> dict[str, object]:
    """The options of a table, and its notes beyond the card's."""
    return {**options, **{name: note for name, note in table.notes.items() if name not in _ON_CARD}}


def _notice(card: Card, facts: Mapping[str, object]) -> str:
    text = f"# {card.name}\n\n{attribution(card)}\n"
    if not facts:
        return text
    # As code: to Markdown a SMILES may be a link.
    return f"{text}\nOptions and notes of this table:\n\n```json\n{json.dumps(facts, indent=1)}\n```\n"


def _described(
    card: Card, table: Table, facts: Mapping[str, object], frame: pd.DataFrame, content: bytes, url: str
) -> dict[str, Any]:
    file, replicates = f"{card.name}.csv", table.values.shape[1]
    meaning = {"label": "name of the candidate", "cost_seconds": "cost of one evaluation in seconds"}
    if table.notes.get("task") == "classification":
        meaning["value_1"] = f"{card.target}, numbered from 0"
        what = f"rows, {meaning['value_1']}, to be predicted"
        use = "Training classifiers, whose accuracy is then the reward of a configuration."
        limits = "The values are classes, not rewards: the table has no best row."
    else:
        meaning |= {f"value_{r}": f"{card.target}, replicate {r}; empty if missing" for r in range(1, replicates + 1)}
        what = f"candidates, target: {card.target}, to be maximised"
        use = "Comparing policies for bandits and Bayesian optimisation: find the best candidate."
        limits = "The optimum is that of the table's candidates, over the mean of their replicates."
    fields = [
        column(
            name,
            meaning.get(name, f"feature: {name}"),
            "Text" if name == "label" else "Float",
            {"fileObject": {"@id": file}},
        )
        for name in frame.columns
    ]
    authors, year = _FIRST_CITED.findall(card.citation)[0]
    kept = int(np.isfinite(table.values).sum())
    return document(
        name=f"gpbandit-{card.name}",
        description=f"{card.title}. {len(frame):,} {what}."
        + (f" Options and notes of this table: {json.dumps(facts)}" if facts else ""),
        licence=[one.url for one in licences(card)],
        creator={"@type": "Organization", "name": authors},
        published=f"{year}-01-01",
        cite=card.citation,
        url=url or None,
        keywords=["bandits", "Bayesian optimisation", "benchmark"],
        extra={"publisher": CREATOR, "isBasedOn": list(card.sources)},
        responsible={
            "dataCollection": f"By others: {card.citation}",
            "dataPreprocessingProtocol": [card.notes],
            "dataCollectionMissingData": f"{kept:,} of {table.values.size:,} values are there; a candidate with fewer "
            "replicates than others has empty ones at its end.",
            "dataUseCases": [use],
            "dataLimitations": [limits],
            "dataBiases": ["Those of the study that measured it; candidates are the ones that it chose."],
            "personalSensitiveInformation": ["None."],
            "dataReleaseMaintenancePlan": "Made by `gpbandit data export`; corrections come with new versions of it.",
        },
        distribution=[file_object(file, card.title, _CSV, hashlib.sha256(content).hexdigest(), len(content), url)],
        records=[record_set("candidates", "One row a candidate.", fields)],
    )
