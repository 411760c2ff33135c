"""Tables to be passed on: licences, notices and CSV files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gpbandit_envs import datasets
from gpbandit_envs.datasets import DataError, Table
from gpbandit_envs.datasets import export as module
from gpbandit_envs.datasets.card import Card
from gpbandit_envs.datasets.export import attribution, export, exportable, licences, may_redistribute


@pytest.mark.parametrize("card", datasets.cards().values(), ids=lambda card: card.name)
def test_the_licence_of_every_card_is_known(card: Card) -> None:
    found = licences(card)
    assert found
    for one in found:
        assert one.url in attribution(card)
    assert card.citation in attribution(card)


def test_both_licences_of_data_and_their_carrier_count() -> None:
    card = datasets.cards()["NASBench201"]
    assert [one.name for one in licences(card)] == ["Apache-2.0", "MIT"]


def test_an_unknown_licence_allows_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    card = replace(datasets.cards()["Abalone"], licence="CC BY-NC 4.0")
    assert not may_redistribute(card)
    assert not may_redistribute(replace(card, licence="MIT; all rights reserved"))
    monkeypatch.setattr(module, "may_redistribute", lambda _: False)
    with pytest.raises(
        ValueError, match=r"name: expected a data set that may be passed on, got Abalone under 'CC BY 4\.0'"
    ):
        export("Abalone", tmp_path)
    assert exportable() == []


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Table:
    table = Table(
        name="Abalone",
        features=np.array([[0.1, 1 / 3], [2.0, 3.0]]),
        feature_names=("a", "b"),
        values=np.array([[1.0, 2.0], [1e-7, np.nan]]),
        costs=np.array([1.5, 2.5]),
        labels=("one", "two"),
    )
    monkeypatch.setattr(module, "load", lambda _: table)
    return table


def test_the_csv_holds_the_table_bit_for_bit(small: Table, tmp_path: Path) -> None:
    export("abalone", tmp_path)
    frame = pd.read_csv(tmp_path / "Abalone.csv", dtype=str)  # the parser of pandas does not round correctly everywhere
    assert list(frame) == ["label", "a", "b", "value_1", "value_2", "cost_seconds"]
    np.testing.assert_array_equal(frame[["a", "b"]].astype(float), small.features)
    np.testing.assert_array_equal(frame[["value_1", "value_2"]].astype(float), small.values)
    assert "`value_r` is replicate r" in (tmp_path / "README.md").read_text()
    assert "CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/)" in (tmp_path / "README.md").read_text()


def noticed(table: Table, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The notice that is exported with a table."""
    monkeypatch.setattr(module, "load", lambda _: table)
    export(table.name, folder)
    return (folder / "README.md").read_text()


def test_options_and_notes_are_exported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    zero_one = np.array([[0.0], [1.0]])
    numbers: dict[str, Any] = {"features": zero_one, "feature_names": ("base_0",), "values": zero_one}
    smiles = {"base": ["O=C([O-])C.[K+]"]}
    reactions = Table(name="DirectArylation", notes={"target": "yield (%)", "smiles": smiles}, **numbers)
    notice = noticed(reactions, tmp_path / "reactions", monkeypatch)
    assert json.loads(notice.split("```json")[1].split("```")[0]) == {"smiles": smiles}
    assert '"repeats": "merged"' in noticed(Table(name="HPLC", **numbers), tmp_path / "runs", monkeypatch)
    classes = Table(name="SoftwareDefect", notes={"task": "classification"}, **numbers)
    assert "class: no defect, defect, numbered from 0" in noticed(classes, tmp_path / "classes", monkeypatch)


def test_what_cannot_be_fetched_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fails(name: str) -> Table:
        raise DataError("no network")

    monkeypatch.setattr(module, "load", fails)
    with pytest.raises(DataError, match="no network"):
        export("Abalone", tmp_path / "none")
    assert not (tmp_path / "none").exists()
