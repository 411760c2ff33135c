"""A board as a data set: what is written agrees with the board, and with itself."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from leaderboards.archive.read import Board, board
from leaderboards.publish import sign_offs as module
from leaderboards.publish.describe import DESCRIPTION_FILES, citation, curve_table, describe_board, run_table
from leaderboards.publish.sign_offs import SignOff, sign_offs
from leaderboards.store.kept import KEPT


def test_the_files_are_those_that_the_description_names(own: Board, tmp_path: Path) -> None:
    written = describe_board(own, tmp_path / "out", url="https://example.org/boards/small/")
    assert {path.name for path in written} == {"small.zip", *DESCRIPTION_FILES}
    described = json.loads((tmp_path / "out" / "croissant.json").read_text())
    for file in described["distribution"]:
        content = (tmp_path / "out" / file["name"]).read_bytes()
        assert file["contentUrl"] == f"https://example.org/boards/small/{file['name']}"
        assert file["sha256"] == hashlib.sha256(content).hexdigest()
        assert file["contentSize"] == f"{len(content)} B"
    assert described["identifier"] == f"sha256:{own.sha256}"
    assert described["citeAs"] == citation(own)


def test_the_tables_hold_every_run(own: Board) -> None:
    runs = run_table(own).set_index(["file", "run"])
    curves = curve_table(own).to_pandas()
    assert len(runs) == len(own.entries())
    done = runs[runs.status == "done"]
    assert len(done) == len(own.done_keys())
    last = curves.groupby(["file", "run"], observed=True).last()
    for name in KEPT:
        pd.testing.assert_series_equal(
            last[name].astype(float), done[name].reindex(last.index).astype(float), rtol=1e-6, check_index_type=False
        )
    assert (last["t"] == done["horizon"].reindex(last.index)).all()
    for key, run in own.entries().items():
        kept = own.kept(key)
        assert kept is not None
        of_run = runs[(runs.agent == run.spec.agent.label) & (runs.task == run.spec.env.label)]
        row = of_run[of_run.repetition == run.spec.repetition]
        assert row.cumulative_regret.tolist() == [kept.finals["cumulative_regret"]]


def test_a_run_of_which_nothing_is_kept_has_no_number(own: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, some = run_table(own), sorted(own.entries())[0]
    kept = own.kept
    monkeypatch.setattr(own, "kept", lambda key: None if key == some else kept(key))
    runs = run_table(own)
    (row,) = np.flatnonzero(runs["run"].isna())
    run = own.entries()[some]
    assert (runs["agent"][row], runs["task"][row], runs["repetition"][row]) == (
        run.spec.agent.label, run.spec.env.label, run.spec.repetition
    )  # fmt: skip
    assert runs["run"].drop(row).tolist() == whole["run"].drop(row).tolist()


def test_the_datasheet_says_what_is_declared(own: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signed = {"small": {"Uniform": SignOff("an author of nothing", "https://example.org/1")}}
    monkeypatch.setattr(module, "sign_offs", lambda: signed)
    describe_board(own, tmp_path)
    text = (tmp_path / "datasheet.md").read_text()
    assert "- Runs were played while others ran" in text
    row = next(line for line in text.splitlines() if line.startswith("| Uniform |"))
    assert row.endswith("| not declared | an author of nothing: https://example.org/1 |")
    assert own.sha256 in text


def test_sign_offs_name_boards_and_rows_that_there_are() -> None:
    for name, rows in sign_offs().items():
        agents = {file.agent for file in board(name).index.files.values()}
        assert set(rows) <= agents


@pytest.mark.filterwarnings("ignore")
def test_mlcroissant_reads_it(own: Board, tmp_path: Path) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")

    describe_board(own, tmp_path)
    found = mlcroissant.Dataset(jsonld=str(tmp_path / "croissant.json"))
    assert not found.metadata.ctx.issues.errors
    assert not found.metadata.ctx.issues.warnings
    assert sum(1 for _ in found.records("runs")) == len(own.entries())
    assert next(iter(found.records("curves")))["curves/t"] == 1
