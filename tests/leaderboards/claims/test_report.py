"""The pages of claims: each finding is said once, and nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leaderboards.claims.families import Family, families, joint_sentences
from leaderboards.claims.report import by_note, findings, interval_text, looked, rows_of
from leaderboards.cli import main

RESULTS = sorted((Path(__file__).parents[3] / "leaderboards" / "results").glob("*/claims.json"))


def test_what_differs_in_one_name_is_one_family() -> None:
    said = ["A beats GP-UCB on H1.", "A is fast.", "A beats BKB on H1.", "A beats BKB on f2.", "A beats GP-EI on H1."]
    found = families(said)
    assert found[0] == Family("A beats ", " on H1.", ("GP-UCB", "BKB", "GP-EI"), (0, 2, 4))
    assert [one.members for one in found] == [(0, 2, 4), (1,), (3,)]
    assert found[0].frame == "A beats … on H1"
    assert found[0].sentence == "A beats GP-UCB, BKB and GP-EI on H1."
    assert found[1].frame == found[1].sentence == "A is fast."
    assert found[0].without_names(["BKB less GP-UCB", "BKB less BKB", "BKB less GP-EI"]) is None
    assert found[0].without_names(["GP-UCB over A, with GP-UCB", "BKB over A", "GP-EI over A"]) is None
    assert found[0].without_names(["GP-UCB over A", "BKB over A", "GP-EI over A"]) == "… over A"
    assert families([]) == []


def test_brackets_at_the_end_go_before_names_within_them() -> None:
    (found,) = families(["It holds (SE, d = 1).", "It holds (SE, d = 2).", "It holds (Matern, d = 1)."])
    assert found.names == ("SE, d = 1", "SE, d = 2", "Matern, d = 1")
    assert found.frame == "It holds."
    assert found.sentence == "It holds (SE, d = 1; SE, d = 2; Matern, d = 1)."


def test_grammar_stays_right() -> None:
    # Two subjects would need "are".
    assert len(families(["MAP is trapped.", "MCMC is trapped."])) == 2
    ((sentence, _),) = joint_sentences(["A and SM-UCB do alike.", "A and SM-MEI do alike."])
    assert sentence == "A and each of SM-UCB and SM-MEI do alike."


def test_families_with_the_same_names_are_put_together() -> None:
    said = [f"A beats {rival} on {env}." for env in ("F1", "F2") for rival in ("BKB", "GP-UCB")]
    assert joint_sentences(said) == [("A beats BKB and GP-UCB on F1 and F2.", (0, 1, 2, 3))]
    assert joint_sentences([said[0], said[0]]) == [(said[0], (0,)), (said[0], (1,))]


def test_a_sentence_of_several_notes_is_there_once() -> None:
    notes = {
        "a": "Read as 10 %. Tried: no.",
        "b": "Read as 10 %. Tried: yes.",
        "c": "Read as 10 %. Tried: no.",
        "d": "",
    }
    found = by_note([{"name": name, "note": note} for name, note in notes.items()])
    assert found == [("Read as 10 %.", ["a", "b", "c"]), ("Tried: no.", ["a", "c"]), ("Tried: yes.", ["b"])]


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


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.parent.name)
def test_every_kept_claim_is_in_one_row_and_in_the_summary(path: Path) -> None:
    made = json.loads(path.read_text(encoding="utf-8"))
    rows = rows_of(made["claims"])
    assert sorted(claim["name"] for _, members in rows for claim in members) == sorted(
        claim["name"] for claim in made["claims"]
    )
    for family, members in rows:
        assert len({(claim["reading"], claim["range"]) for claim in members}) == 1
        for claim, name in zip(members, family.names):
            assert claim["statement"] == f"{family.left}{name}{family.right}"
            figure = family.without_names([one["figure"] for one in members])
            assert figure is not None
            assert claim["figure"] in (figure, figure.replace("…", name, 1))
    for verdict in {claim["verdict"] for claim in made["claims"]}:
        said = [claim for _, places in findings([made], verdict) for claims in places.values() for claim in claims]
        with_it = {claim["name"] for claim in made["claims"] if claim["verdict"] == verdict}
        assert sorted(claim["name"] for claim in said) == sorted(with_it)
