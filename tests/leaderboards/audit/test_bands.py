"""What follows from the study of bands."""

from __future__ import annotations

from typing import Any

import pytest

from leaderboards.audit.bands import Study, read_study, study
from leaderboards.show.bands_page import bands_page


def cell(band: str, violated: int = 0, **others: Any) -> dict[str, Any]:
    given = {"task": "t", "player": "Uniform", "runs": 1000, "factor": 0.8, "informative": 0.5, "half_width": 0.2}
    return {**given, "band": band, "violated": violated, "why_not": "", **others}


def of(*cells: dict[str, Any], controls: tuple[str, ...] = ()) -> Study:
    names = dict.fromkeys(one["band"] for one in cells)
    bands = [{"label": name, "reach": "any", "control": "false" if name in controls else ""} for name in names]
    regrets = [
        {"task": "t", "rule": rule, "mean": mean, "error": 0.01}
        for rule, mean in (("Uniform", 1.0), ("GP-EI", 0.2), ("GP-UCB, A", 0.5))
    ]
    plan = {"delta": 0.1, "horizon": 100, "tasks": {"known": ["t"]}}
    return read_study({**plan, "bands": bands, "cells": list(cells), "regrets": regrets})


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        ({}, "keeps its word"),
        ({"violated": 80}, "keeps its word"),
        ({"violated": 95}, "not confirmed"),
        ({"violated": 200}, "fails"),
        ({"factor": 0.4}, "not tested"),
        ({"informative": 0.01}, "says nothing"),
        ({"why_not": "no theorem"}, "holds, no theorem"),
    ],
)
def test_verdicts(given: dict[str, Any], verdict: str) -> None:
    (row,) = of(cell("A", **given)).bands
    assert row.verdict == verdict
    # One bad cell among good ones decides; what one cell tests, or one player leaves to be said, is tested, and counts.
    (row,) = of(cell("A"), cell("A", **{**given, "player": "GP-EI"})).bands
    assert row.verdict == ("keeps its word" if verdict == "not tested" else verdict)


def test_the_price_is_of_choosing_and_not_of_stating() -> None:
    cells = [cell("A", player="GP-EI", half_width=0.3), cell("A", player="GP-UCB, A", half_width=0.25), cell("B", 200)]
    found = of(*cells, controls=("B",))
    assert found.controls == (1, 1)
    assert found.sentence == (
        "A proven band costs no regret: along the pulls of GP-EI, A's keeps its word. Choosing by that band costs "
        "2.5 times the regret, and narrows it from 0.30 to 0.25 of the range"
    )
    first = found.choices["known"][0]
    assert (first.rule, first.band, first.half_width) == ("GP-EI", "A", 0.3)
    worse = of(cell("A", 200, player="GP-EI"), cell("A", player="GP-UCB, A"))
    assert worse.sentence.startswith("No band that keeps its word")


def test_what_is_kept_is_whole_and_controls_fail() -> None:
    found = study()
    assert found.controls[0] == found.controls[1] >= 4
    assert {row.band for row in found.bands if row.verdict == "keeps its word"} >= {"AMM", "DMM"}
    assert all(row.runs >= 1000 * (1 + (row.reach == "any")) for row in found.bands)
    page = bands_page(found)
    assert len(page["bands"]) == len(found.bands)
    assert all(figure.startswith("<figure") for *_, figure in page["groups"])
