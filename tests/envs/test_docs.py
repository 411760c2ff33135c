"""The pages about the environments say what the code says."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import gpbandit_envs
from gpbandit_envs.registry import ENVIRONMENTS, registered

DOCS = Path(__file__).parents[2] / "docs"


def generator() -> object:
    spec = importlib.util.spec_from_file_location("generate_environments", DOCS / "generate_environments.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_are_up_to_date() -> None:
    new = generator().pages()  # type: ignore[attr-defined]
    old = {path.name: path.read_text(encoding="utf-8") for path in (DOCS / "environments").glob("*.md")}
    stale = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    assert not stale, "run python docs/generate_environments.py"


def test_every_id_has_a_page_with_everything() -> None:
    assert gpbandit_envs.__version__
    assert len(registered()) == len(set(registered())) == len(ENVIRONMENTS)
    for row in ENVIRONMENTS:
        text = (DOCS / "environments" / f"{row.name}.md").read_text(encoding="utf-8")
        for heading in ("Reward", "Episode end", "Arguments", "References", "Version history"):
            assert f"\n## {heading}\n" in text, row.id
        assert ("\n## Data\n" in text) == (row.data is not None)
        assert row.references


def test_a_page_says_how_its_data_come_and_are_checked() -> None:
    for row in ENVIRONMENTS:
        text = (DOCS / "environments" / f"{row.name}.md").read_text(encoding="utf-8")
        by_hand = row.name == "NASBench101"
        assert ("Supplied by hand once; checked by its content." in text) == by_hand
        assert ("Fetched at first use, checked against a pinned hash" in text) == (row.data is not None and not by_hand)
