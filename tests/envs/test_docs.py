"""The pages about the environments say what the code says."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image

import gpbandit_envs
from docs import pictures
from gpbandit_envs.datasets import cards
from gpbandit_envs.registry import ENVIRONMENTS, TABLE, registered
from tests.modules import module_at

DOCS = Path(__file__).parents[2] / "docs"


def generator() -> object:
    return module_at(DOCS / "generate_environments.py")


def test_pages_are_up_to_date() -> None:
    new = generator().pages()  # type: ignore[attr-defined]
    old = {path.name: path.read_text(encoding="utf-8") for path in (DOCS / "environments").glob("*.md")}
    stale = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    assert not stale, "run python docs/generate_environments.py"


def test_every_id_has_a_page_with_everything() -> None:
    assert gpbandit_envs.__version__
    assert len(registered()) == len(set(registered())) == len(ENVIRONMENTS)
    for row in (*ENVIRONMENTS, TABLE):
        text = (DOCS / "environments" / f"{row.name}.md").read_text(encoding="utf-8")
        assert "\n## Arguments\n" in text, row.id
        assert ("\n## Version history\n" in text) == (row.version > 0)
        assert ("\n## Data\n" in text) == (row.data is not None)
        assert ("\n## References\n" in text) == bool(row.references)


def test_every_page_has_a_picture_or_says_why_not() -> None:
    drawn = {path.stem for path in (DOCS / "figures" / "environments").glob("*.png")}
    assert drawn <= {row.name for row in (*ENVIRONMENTS, TABLE)}
    assert {row.name for row in ENVIRONMENTS if row.data is None} <= drawn
    assert sum(path.stat().st_size for path in (DOCS / "figures" / "environments").glob("*.png")) < 600_000
    for row in (*ENVIRONMENTS, TABLE):
        text = (DOCS / "environments" / f"{row.name}.md").read_text(encoding="utf-8")
        assert (f"](../figures/environments/{row.name}.png)" in text) == (row.name in drawn)
        assert ("No picture: " in text) == (row.name not in drawn)


def test_pictures_show_what_is_drawn_now() -> None:
    """One of each kind that needs no data; fonts and colours may differ a little between versions of matplotlib."""
    for row in (*ENVIRONMENTS, TABLE):
        if row.name in ("GPSample", "BPEF1", "Branin", "Hartmann3", "Table"):
            new, kept = (
                np.asarray(Image.open(file).convert("RGBA"), dtype=float)
                for file in (io.BytesIO(pictures.draw(row)), pictures.FOLDER / f"{row.name}.png")
            )
            assert new.shape == kept.shape
            assert np.abs(new - kept).mean() < 3, f"run python docs/pictures.py {row.name}"
            assert kept.std() > 10, "there is something to see"


def test_a_page_says_how_its_data_come_and_are_checked() -> None:
    for row in ENVIRONMENTS:
        text = (DOCS / "environments" / f"{row.name}.md").read_text(encoding="utf-8")
        by_hand = row.name == "NASBench101"
        here = row.data is not None and cards()[row.data].here
        assert ("Supplied by hand once; checked by its content." in text) == by_hand
        assert ("It comes with this package." in text) == here
        fetched = row.data is not None and not (by_hand or here)
        assert ("Fetched at first use, checked against a pinned hash" in text) == fetched
