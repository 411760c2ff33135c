"""The pages of claims: each finding is said once, and nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leaderboards.claims.claim import LESS, Range, at_most, within
from leaderboards.claims.pages import interval_text, looked, notes, rows, tally, whose
from leaderboards.cli import main

RESULTS = sorted((Path(__file__).parents[3] / "leaderboards" / "results").glob("*/claims.json"))


def test_a_sentence_of_several_notes_is_there_once() -> None:
    said = {"a": "Read as 10 %. Tried: no.", "b": "Read as 10 %. Tried: yes.", "c": "Read as 10 %. Tried: no.", "d": ""}
    claims = [{"name": name, "note": note, "verdict": "disagrees"} for name, note in said.items()]
    agreeing = {"name": "e", "note": "Read as 20 %.", "verdict": "agrees"}
    found = notes([*claims, agreeing])
    assert found == [("Read as 10 %.", ["a", "b", "c"]), ("Tried: no.", ["a", "c"]), ("Tried: yes.", ["b"])]


def test_only_experiments_of_the_paper_in_its_first_reading_count() -> None:
    claims = [
        {"scope": scope, "reading": reading, "verdict": "agrees"}
        for scope, reading in (("experiment", ""), ("experiment", "a prior"), ("theorem", ""), ("ours", ""))
    ]
    assert [counts[0] for counts in tally(claims).values()] == [1, 1, 1, 1]
    assert list(tally(claims[2:]).values()) == [[0] * 5, [1, 0, 0, 0, 0], [1, 0, 0, 0, 0]], "none replicates"


def test_a_line_says_what_in_it_is_ours() -> None:
    """The number, where the paper has a word; task or comparison; and that a theorem is judged by a mean."""
    assert [str(one) for one in (at_most(0.5), within(0.1), LESS, Range(high=0.5))] == [
        "at most 0.5 (ours)",
        "-0.1 to 0.1 (ours)",
        "at most 0",
        "at most 0.5",
    ]
    ours = {"scope": "ours", "estimate": 0.5}
    assert whose(ours, "bpe-f1") == " on a task of ours"
    assert whose(ours, "gpbucb-se") == " in a comparison of ours"
    assert whose(ours | {"estimate": None}, "bpe-f1") == ""
    theorem = {"scope": "theorem", "estimate": 0.5}
    assert whose(theorem | {"name": "few-batches"}, "bpe-f1") == ", by the mean over runs"
    assert whose(theorem | {"name": "sublinear-sum"}, "contexts") == "", "a rate is of the mean"
    assert whose(theorem | {"name": "amm-below-theory"}, "widths") == "", "the largest over runs is judged itself"


def test_a_folder_says_at_how_many_repetitions_its_claims_were_judged(tmp_path: Path) -> None:
    path = tmp_path / "claims.json"
    assert looked(path, "bpe-f1", False) == {}
    claims = [{"name": "a", "looked": [10, 40]}, {"name": "b"}]
    path.write_text(json.dumps({"experiment": "bpe-f1", "quick": True, "claims": claims}))
    assert looked(path, "bpe-f1", True) == {"a": [10, 40], "b": []}
    for name, quick in (("bpe-f1", False), ("bpe-f2", True)):
        with pytest.raises(ValueError, match="holds the claims of bpe-f1 --quick; give another --out"):
            looked(path, name, quick)


def test_a_level_other_than_95_stands_beside_its_interval() -> None:
    claim = {"estimate": 0.5, "low": 0.25, "high": 0.75, "level": 0.95}
    assert interval_text(claim) == "0.500 (0.250 to 0.750)"
    assert interval_text(claim | {"level": 0.9833}) == "0.500 (0.250 to 0.750 at 98.3 %)"


def test_a_study_keeps_no_runs_to_judge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options in (["--only-check"], []):
        (tmp_path / "claims.json").write_text('{"experiment": "bpe-f1", "quick": false, "claims": []}')
        with pytest.raises(SystemExit) as end:
            main(["reproduce", "gpbucb-lazy", "--out", str(tmp_path), *options])
        assert end.value.code == 2
    said = capsys.readouterr().err
    assert "--only-check: gpbucb-lazy is a study, which keeps no runs" in said
    assert "holds the claims of bpe-f1; give another --out" in said


def test_a_row_says_what_the_row_above_does_not() -> None:
    said = [
        "BKB is better than GP-UCB.",
        "BKB is better than TS.",
        "BKB is better than TS.",
        "Robust (at B = 4).",
        "Robust (at B = 5).",
    ]
    same: dict[str, Any] = {"source": "Fig. 1", "figure": "regret", "range": "above 0"}
    claims = [same | {"statement": text, "estimate": None if text == said[3] else 0.5} for text in said]
    found = rows(claims)
    assert [row["range"] for row in found] == ["above 0", "", "", "–", "above 0"]
    assert [row["statement"] for row in found] == [said[0], "… TS.", "", said[3], said[4]]
    assert [(row["source"], row["figure"]) for row in found[:2]] == [("Fig. 1", "regret"), ("", "")]


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.parent.name)
def test_every_kept_claim_is_in_one_row_and_counted_once(path: Path) -> None:
    claims = json.loads(path.read_text(encoding="utf-8"))["claims"]
    whole = {claim["name"]: claim for claim in claims}
    for row in rows(claims):
        assert all(row[key].strip("… ") in whole[row["name"]][key] for key in ("source", "figure", "statement"))
    assert sorted(row["name"] for row in rows(claims)) == sorted(claim["name"] for claim in claims)
    assert sum(map(sum, tally(claims).values())) == len(claims)
