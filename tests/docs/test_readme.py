"""The texts: README, architecture, paper, and the examples of docstrings."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import agents
import gpbandit_envs
import leaderboards
from gpbandit_envs.registry import ENVIRONMENTS

pytestmark = pytest.mark.docs

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_table_of_policies_is_current() -> None:
    # In a process of its own: other tests register agents of theirs.
    subprocess.run([sys.executable, ROOT / "docs" / "policies.py", "--check"], check=True)


def test_every_environment_and_policy_is_named() -> None:
    ids = re.findall(r"^\| `?([A-Za-z0-9+-]+)`", (ROOT / "docs/policies.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(ids) > 40
    environments = [row.name for row in ENVIRONMENTS if row.group != "tables in this package"]  # a contributor's own
    missing = [name for name in [*environments, *ids] if f"`{name}`" not in README]
    assert missing == []


def test_it_is_short() -> None:
    assert len(README.split()) <= 1500


def test_links_and_the_figure_exist() -> None:
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", README) if not target.startswith("http")]
    assert targets
    for target in targets:
        assert (ROOT / target).exists(), target


# ---- the map names modules that exist ----


ROOMS = {
    path.name: path
    for top in ("gpbandit_envs", "agents", "leaderboards")
    for path in (ROOT / top).iterdir()
    if path.is_dir()
}


def test_the_modules_of_the_walks_exist() -> None:
    walks = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("## Two walks")[2]
    names = re.findall(
        rf"\b({'|'.join(ROOMS)})\.([a-z_]+)", "\n".join(re.findall(r"```text\n(.*?)```", walks, re.DOTALL))
    )
    assert len(names) > 20
    for room, module in names:
        where = ROOMS[room] / module
        assert where.is_dir() or where.with_suffix(".py").is_file(), f"{room}.{module}"


# ---- the paper cites what its list of references has, and nothing in the list is uncited ----


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


# ---- examples in docstrings are executed ----


def modules() -> Iterator[str]:
    for package in (gpbandit_envs, agents, leaderboards):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                yield found.name


def test_examples_give_what_they_show() -> None:
    for name in modules():
        try:
            module = importlib.import_module(name)
        except ImportError as error:
            if error.name is not None and not error.name.startswith(("gpbandit_envs", "agents", "leaderboards")):
                continue  # the module of an extra that is not installed
            raise
        failed, _ = doctest.testmod(module)
        assert not failed, name


def test_a_wrong_example_would_be_seen(capsys: pytest.CaptureFixture[str]) -> None:
    example = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    assert doctest.DocTestRunner(verbose=False).run(example).failed == 1
    assert "Expected" in capsys.readouterr().out
