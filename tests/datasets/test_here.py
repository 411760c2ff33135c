"""A table that comes with this package."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from docs import draw_plate
from gpbandit_envs.datasets import IntegrityError, cards, load
from gpbandit_envs.datasets.download import fetch_file


def test_the_drawn_plate_is_what_its_script_draws() -> None:
    assert draw_plate.FILE.read_text(encoding="utf-8") == draw_plate.text()


def test_it_needs_neither_network_nor_cache(fresh_cache: Path) -> None:
    table = load("DrawnPlate")
    assert table.n_replicates.tolist() == [2] * 48
    np.testing.assert_array_equal(table.features[:, :3].sum(axis=1), 1)
    assert cards()["DrawnPlate"].sources == ("this package",)
    assert not fresh_cache.exists()


def test_an_edited_table_is_refused() -> None:
    card = cards()["DrawnPlate"]
    edited = replace(card.files[0], sha256="0" * 64)
    with pytest.raises(IntegrityError, match=r"DrawnPlate\.csv: expected sha256 0+, got .*edited: state the hash"):
        fetch_file(card, edited)
