"""Kept results and the pages made from them are those of the claims as they are now."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from leaderboards.claims.experiments import EXPERIMENTS
from leaderboards.score.statistics import Interval
from tests.modules import module_at

ROOT = Path(__file__).parents[3]
KEPT = sorted(path.parent.name for path in (ROOT / "leaderboards" / "results").glob("*/claims.json"))


def generator() -> Any:
    return module_at(ROOT / "docs" / "generate_papers.py")


def test_pages_are_up_to_date() -> None:
    made, folder = generator(), ROOT / "docs" / "papers"
    new = made.files()
    old = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir() if path.is_file()}
    assert sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name)) == [], "run make docs"
    figures = {str(path.relative_to(folder)) for path in (folder / "figures").iterdir()}
    assert figures == {file for name in KEPT for file in made.pictures(name)}, "run make docs"


@pytest.mark.parametrize("name", KEPT)
def test_kept_results_are_of_the_claims_of_today(name: str) -> None:
    """A claim that is reworded, or whose range moves, has to be judged again: reproduce NAME --only-check."""
    values = json.loads((ROOT / "leaderboards" / "results" / name / "claims.json").read_text(encoding="utf-8"))
    now = {claim.name: claim for claim in EXPERIMENTS[name].claims}
    assert [claim["name"] for claim in values["claims"]] == list(now)
    for claim in values["claims"]:
        said = now[claim["name"]]
        assert (claim["statement"], claim["note"], claim["figure"]) == (said.statement, said.note, said.figure.text)
        assert (claim["scope"], claim["reading"], claim["range"]) == (said.scope, said.reading, str(said.expected))
        estimate, low, high = (math.nan if claim[end] is None else claim[end] for end in ("estimate", "low", "high"))
        if said.figure.measure is None:
            assert claim["verdict"] == "not testable here"
        else:
            judged = said.expected.judge(Interval(estimate, low, high, claim["n"]))
            assert claim["verdict"] == judged, claim["name"]
    assert values["quick"] is False
    most = max((row["repetitions"] for row in values["table"]), default=values["repetitions"])
    more = f" --repetitions {most}" if most > values["repetitions_asked"] else ""
    assert values["command"] == f"gpbandit reproduce {name}{more}"
