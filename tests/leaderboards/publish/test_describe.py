"""A board as a data set: what is written agrees with the board, and with itself."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from leaderboards.publish.boards import Board
from leaderboards.publish.describe import citation, describe_board, run_table
from leaderboards.store.kept import KEPT


def test_the_files_are_those_that_the_description_names(own: Board, tmp_path: Path) -> None:
    written = describe_board(own, tmp_path / "out", url="https://example.org/boards/small/")
    assert {path.name for path in written} == {
        "small.zip",
        "runs.csv",
        "croissant.json",
        "datasheet.md",
        "citation.bib",
    }
    described = json.loads((tmp_path / "out" / "croissant.json").read_text())
    for file in described["distribution"]:
        content = (tmp_path / "out" / file["name"]).read_bytes()
        assert file["contentUrl"] == f"https://example.org/boards/small/{file['name']}"
        assert file["sha256"] == hashlib.sha256(content).hexdigest()
        assert file["contentSize"] == f"{len(content)} B"
    assert described["identifier"] == f"sha256:{own.sha256}"
    assert described["citeAs"] == citation(own)


def test_the_table_holds_every_run(own: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    some, kept = sorted(own.entries())[0], own.kept
    monkeypatch.setattr(own, "kept", lambda key: None if key == some else kept(key))
    runs = run_table(own)
    assert set(runs.index) == set(own.entries())
    assert runs.loc[some, list(KEPT)].isna().all(), "nothing is kept of it"
    for key, run in own.entries().items():
        row = runs.loc[key]
        assert (row["agent"], row["env"], row["repetition"]) == (
            run.spec.agent.label, run.spec.env.label, run.spec.repetition
        )  # fmt: skip
        if key != some:
            assert row["cumulative_regret"] == kept(key).finals["cumulative_regret"]  # type: ignore[union-attr]


def test_the_datasheet_says_what_is_declared(own: Board, tmp_path: Path) -> None:
    describe_board(own, tmp_path)
    text = (tmp_path / "datasheet.md").read_text()
    assert "- Runs were played while others ran" in text
    row = next(line for line in text.splitlines() if line.startswith("| Uniform |"))
    assert row.endswith("| not declared |")
    assert own.sha256 in text


@pytest.mark.filterwarnings("ignore")
def test_mlcroissant_reads_it(own: Board, tmp_path: Path) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")

    describe_board(own, tmp_path)
    found = mlcroissant.Dataset(jsonld=str(tmp_path / "croissant.json"))
    assert not found.metadata.ctx.issues.errors
    assert not found.metadata.ctx.issues.warnings
    assert sum(1 for _ in found.records("runs")) == len(own.entries())
