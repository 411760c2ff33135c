"""How often statements were true along the campaigns of a suite: models of other libraries, and rules to stop by.

A suite of the package may have them counted in a file beside it, which `python -m benchmarks.honesty` writes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from leaderboards.play.suite import Suite, source_of, suite_folder, suite_names
from leaderboards.score.statistics import proportion
from leaderboards.show.format import NONE
from leaderboards.show.table import TableCell, number_cell, share_cell

STATEMENTS = "{}-statements.json"
"""Name of the file of a suite, beside that of the suite itself."""

Counts = Mapping[str, tuple[int, int, int]]
"""By family of tasks: campaigns, and in how many the interval and the gap held."""


class Honesty(NamedTuple):
    """Two tables: rows of names with their cells, and how many campaigns each has."""

    models: list[tuple[str, list[TableCell]]]
    rules: list[tuple[str, list[TableCell]]]
    campaigns: tuple[int, int]
    families: int


def honesty(suite: Suite | None) -> Honesty | None:
    """What is counted for a suite; None if nothing is."""
    source = "" if suite is None else source_of(suite)
    if source not in suite_names():
        return None
    path = suite_folder(source) / STATEMENTS.format(source)
    if not path.is_file():
        return None
    found = json.loads(path.read_text(encoding="utf-8"))
    models, rules = found["models"], found["rules"]
    counts: Counts = models[0]["families"]
    campaigns = sum(n for n, _, _ in counts.values()), int(rules[0]["campaigns"])
    return Honesty(
        [
            (
                each["model"],
                [
                    TableCell(str(each["n"]), each["n"]),
                    *_held(each["families"], 1),
                    *_held(each["families"], 2),
                    *(number_cell(each[name]) for name in ("width", "gap", "true")),
                ],
            )
            for each in models
        ],
        [
            (
                each["rule"],
                [
                    TableCell(f"{each['wish']:.0%}", each["wish"]),
                    share_cell(proportion(each["stopped"], each["campaigns"])),
                    TableCell(f"{each['n']:.0f}", each["n"]) if each["stopped"] else TableCell(NONE),
                    share_cell(proportion(each["false"], each["stopped"])) if each["stopped"] else TableCell(NONE),
                    number_cell(each["regret"]),
                ],
            )
            for each in rules
        ],
        campaigns,
        len(counts),
    )


def _held(counts: Counts, which: int) -> tuple[TableCell, TableCell]:
    """In what share of all campaigns a statement was true, and in that of the family with the smallest."""
    shares = {family: each[which] / each[0] for family, each in counts.items()}
    worst = min(shares, key=shares.__getitem__)
    whole = proportion(sum(each[which] for each in counts.values()), sum(each[0] for each in counts.values()))
    by_family = ", ".join(f"{family} {share:.0%}" for family, share in shares.items())
    return replace(share_cell(whole), why=by_family), TableCell(f"{shares[worst]:.0%}", shares[worst], worst)
