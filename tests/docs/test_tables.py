"""Tables of the documentation that are parts of another one agree with it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.docs

DOCS = Path(__file__).resolve().parents[2] / "docs"


def rows(page: str, width: int) -> list[list[str]]:
    """The rows of numbers in the tables of so many columns."""
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [cells for cells in found if len(cells) == width and cells[1].isdigit()]


def test_rates_of_false_differences_are_the_same_in_the_guide() -> None:
    """`python -m tests.leaderboards.score.null_boards` makes the rows of `robustness.md`."""
    whole = [cells[:5] for cells in rows("robustness.md", 11)]
    part = rows("guides/leaderboard.md", 5)
    assert len(part) == 12
    assert [cells for cells in part if cells not in whole] == []
