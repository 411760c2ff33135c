"""The paper cites what its list of references has, and nothing in the list is uncited."""

from __future__ import annotations

import re
from pathlib import Path

PAPER = Path(__file__).resolve().parents[2] / "paper"


def test_citations_and_references_are_the_same() -> None:
    cited = set(re.findall(r"@([a-z]+\d{4})", (PAPER / "paper.md").read_text(encoding="utf-8")))
    listed = re.findall(r"^@\w+\{(\w+),", (PAPER / "paper.bib").read_text(encoding="utf-8"), re.MULTILINE)
    assert cited == set(listed)
    assert listed == sorted(set(listed))


def test_its_figures_are_here() -> None:
    figures = re.findall(r"!\[.*?\]\(([^)]+)\)", (PAPER / "paper.md").read_text(encoding="utf-8"), re.DOTALL)
    assert figures
    for figure in figures:
        assert (PAPER / figure).is_file()


def test_it_is_as_long_as_the_journal_allows() -> None:
    text = (PAPER / "paper.md").read_text(encoding="utf-8").split("---", 2)[2]
    assert 750 <= len(text.split()) <= 1750


def test_it_has_the_sections_that_the_journal_names() -> None:
    text = (PAPER / "paper.md").read_text(encoding="utf-8")
    sections = re.findall(r"^# (.*)$", text, re.MULTILINE)
    named = ["Summary", "Statement of need", "State of the field", "Software design", "Research impact statement"]
    assert [each for each in sections if each in named] == named
    assert sections[-2:] == ["AI usage disclosure", "References"]
