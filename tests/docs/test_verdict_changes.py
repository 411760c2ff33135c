"""The page of verdicts before and after: no change without its reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from docs.verdict_changes import compared, page

RESULTS = Path(__file__).parents[2] / "leaderboards" / "results"


def kept(name: str) -> dict[str, Any]:
    values: dict[str, Any] = json.loads((RESULTS / name / "claims.json").read_text(encoding="utf-8"))
    return values


def test_a_change_has_its_reason_and_one_without_is_an_error() -> None:
    values = kept("heteroscedastic")
    changed = {change.name: change for change in compared([values]) if change.differs}
    assert changed["va-pe-less-regret-nasbench201"].before == "disagrees"
    assert changed["va-pe-less-regret-nasbench201"].after == "no difference"
    assert "a tenth of a tie" in changed["va-pe-less-regret-nasbench201"].reason
    values["claims"][0]["verdict"] = "not testable here"
    name = values["claims"][0]["name"]
    with pytest.raises(ValueError, match=rf"no reason for heteroscedastic {name}, 'agrees' to 'not testable here'"):
        compared([values])


def test_every_change_is_on_the_page() -> None:
    values = [kept("bpe-f1"), kept("bpe-authors")]
    lines = page(values).splitlines()
    differing = [change for change in compared(values) if change.differs]
    assert any(line.startswith("- bpe-f1, disagrees → –: `growing-beta`") for line in lines), "gone"
    assert sum(line.count("`") for line in lines if line.startswith("- ")) == 2 * len(differing)
    assert sum(int(line.split("|")[3]) for line in lines[7:] if line.startswith("| ") and line[2] != "v") == sum(
        len(one["claims"]) for one in values
    )
