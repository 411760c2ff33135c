"""The quick forms: every claim that is marked as stable at short horizons agrees, through the command line.

Those that take most of a minute and more are left to `gpbandit reproduce --quick`: a horizon of 50,000, or 40 runs.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.gp.kernels import SE
from leaderboards.claims.claim import LESS, Range, at_most, within
from leaderboards.claims.experiments import EXPERIMENTS, PAPERS, experiment, experiments_of
from leaderboards.claims.pages import interval_text, looked, notes, rows, tally, whose, write
from leaderboards.claims.paper_figures import DRAWN, PaperFigure, curves_of
from leaderboards.claims.reproduce import Reproduction
from leaderboards.claims.runs import Runs
from leaderboards.claims.starvation import bands
from leaderboards.cli import main
from leaderboards.play.suite import load_suite
from leaderboards.score.statistics import Interval
from tests.datasets.conftest import at_hand
from tests.modules import module_at


def reproduce(name: str, out: Path, *more: str) -> dict[str, dict[str, object]]:
    with pytest.raises(SystemExit) as end:
        main(["reproduce", name, "--quick", "--workers", "1", "--out", str(out), *more])
    assert end.value.code == 0
    values = json.loads((out / "claims.json").read_text())
    assert values["quick"] is True
    return {claim["name"]: claim for claim in values["claims"]}


DATA = {
    "bbkb-abalone": "Abalone",
    "bbkb-scalings": "Abalone",
    "bbkb-nas": "NASBench201",
    "gpbucb-neuro": "Neurostimulation",
}
"""What some experiments need."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "bkb-fig1",
        "bbkb-abalone",
        "bbkb-nas",
        "bbkb-scalings",
        "gpbucb-matern",
        "gpbucb-se",
        "gpbucb-rosenbrock",
        "gpbucb-cosines",
        "gpbucb-neuro",
        "gpbucb-lazy",
        "bpe-authors",
        "bpe-f1",
        "bpe-f2",
        "batch-vs-theory",
        "lemmas",
        "widths",
        "reds",
        "noise-free",
        "contexts",
        "drift",
    ],
)
def test_stable_claims_agree(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in DATA:
        at_hand(DATA[name], tmp_path / "cache", monkeypatch)
    claims = reproduce(name, tmp_path)
    assert claims
    assert {claim["verdict"] for claim in claims.values()} == {"agrees"}, claims
    page = (tmp_path / "claims.html").read_text()
    assert "](" not in page, "a link as Markdown has it"
    for claim in claims.values():
        assert f'id="{claim["name"]}"' in page
    assert f"## {name}" in (tmp_path / "claims.md").read_text()
    assert len((tmp_path / "scores.csv").read_text().splitlines()) > 2


def test_what_is_there_is_said_and_not_played_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "my runs"
    first = reproduce("gpbucb-se", out, "--repetitions", "2")
    said = capsys.readouterr().out
    assert "2 of 8 repetitions" in said
    for claim in first.values():
        assert f"{claim['verdict']}  {claim['statement']} [{claim['source']}]\n" in said
        assert f"{claim['figure']}: " in said
        assert str(claim["name"]) not in said
    assert said.splitlines()[-1] == f"next: gpbandit figures '{out}'"
    files = {path: path.stat().st_mtime_ns for path in (out / "runs").iterdir()}
    assert reproduce("gpbucb-se", out, "--repetitions", "2", "--only-check") == first
    assert files == {path: path.stat().st_mtime_ns for path in (out / "runs").iterdir()}


def test_an_unknown_name_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["reproduce", "bpe-f3"])
    assert end.value.code == 2
    assert "no experiment 'bpe-f3'" in capsys.readouterr().err


def test_a_paper_or_a_prefix_lists_its_experiments() -> None:
    for name, listed in {
        "bbkb": "bbkb-abalone, bbkb-cadata, bbkb-scalings, bbkb-nas, bbkb-nas101, batch-vs-theory, lemmas",
        "gpbucb-v": "gpbucb-vaccine",
        "flynn-reeb": "widths",
    }.items():
        with pytest.raises(ValueError, match=rf"\Aname: no experiment '{name}'; expected one of .*{listed}"):
            experiment(name)
    with pytest.raises(ValueError, match="did you mean 'bpe-f1'"):
        experiment("bpe-f11")
    with pytest.raises(ValueError, match="no experiment ''; there are 'bkb-fig1', "):
        experiment("")


def test_a_paper_is_answered_with_its_experiments(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["reproduce", "bkb"])
    assert end.value.code == 0
    title, *listed, after = capsys.readouterr().out.splitlines()
    assert title == PAPERS["bkb"]
    assert [line.split()[0] for line in listed] == ["bkb-fig1", "lemmas"]
    claims = [claim for claim in EXPERIMENTS["lemmas"].claims if (claim.paper or EXPERIMENTS["lemmas"].paper) == "bkb"]
    assert f"{len(claims)} of {len(EXPERIMENTS['lemmas'].claims)} claims: Theorem 1 | " in listed[1]
    assert after == "next: gpbandit reproduce bkb-fig1 --quick"


@pytest.mark.parametrize("paper", PAPERS)
def test_each_paper_has_experiments(paper: str) -> None:
    assert experiments_of(paper)
    assert paper not in EXPERIMENTS or paper in EXPERIMENTS[paper].papers, "a name means one thing"


def test_nothing_to_check_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["reproduce", "bpe-f1", "--only-check", "--out", str(tmp_path / "empty")])
    assert end.value.code == 2
    assert "holds no finished run of bpe-f1" in capsys.readouterr().err


def test_bands_of_a_full_dictionary_are_exact() -> None:
    """With all pulled arms in the dictionary DTC is the exact posterior, and the regressors' variance is below it."""
    rng = np.random.default_rng(1)
    X, lam = np.linspace(0, 1, 60)[:, None], 0.01
    arms = np.arange(0, 30, 4)
    y = rng.normal(size=len(arms))
    mean, dtc, regressors = bands(SE(0.1), X, lam, arms, y, arms)
    exact = ExactPosterior(SE(0.1), X, lam)
    exact.update(arms, np.ones(len(arms)), y)
    np.testing.assert_allclose(mean, exact.mean, atol=1e-6)
    np.testing.assert_allclose(dtc, exact.variance, atol=1e-6)
    assert (regressors <= dtc + 1e-12).all()
    assert regressors[-1] < 1e-3 < 0.99 < dtc[-1]


# ---- the pages of claims: each finding is said once, and nothing is lost ----


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


# ---- kept results and the pages made from them are those of the claims as they are now ----


ROOT = Path(__file__).parents[3]
KEPT = sorted(path.parent.name for path in (ROOT / "leaderboards" / "results").glob("*/claims.json"))


def generator() -> Any:
    return module_at(ROOT / "docs" / "generate_papers.py")


def test_pages_are_up_to_date() -> None:
    made, folder = generator(), ROOT / "docs" / "papers"
    new = made.files()
    old = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir() if path.is_file()}
    assert sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name)) == [], "run make docs"
    figures = {str(path.relative_to(folder)) for path in (folder / "figures").iterdir()}
    assert figures == {file for name in KEPT for file in made.pictures(name)}, "run make docs"


@pytest.mark.parametrize("name", KEPT)
def test_kept_results_are_of_the_claims_of_today(name: str) -> None:
    """A claim that is reworded, or whose range moves, has to be judged again: reproduce NAME --only-check."""
    values = json.loads((ROOT / "leaderboards" / "results" / name / "claims.json").read_text(encoding="utf-8"))
    now = {claim.name: claim for claim in EXPERIMENTS[name].claims}
    assert [claim["name"] for claim in values["claims"]] == list(now)
    for claim in values["claims"]:
        said = now[claim["name"]]
        assert (claim["statement"], claim["note"], claim["figure"]) == (said.statement, said.note, said.figure.text)
        assert (claim["scope"], claim["reading"], claim["range"]) == (said.scope, said.reading, str(said.expected))
        estimate, low, high = (math.nan if claim[end] is None else claim[end] for end in ("estimate", "low", "high"))
        if said.figure.measure is None:
            assert claim["verdict"] == "not testable here"
        else:
            judged = said.expected.judge(Interval(estimate, low, high, claim["n"]))
            assert claim["verdict"] == judged, claim["name"]
    assert values["quick"] is False
    most = max((row["repetitions"] for row in values["table"]), default=values["repetitions"])
    more = f" --repetitions {most}" if most > values["repetitions_asked"] else ""
    assert values["command"] == f"gpbandit reproduce {name}{more}"


# ---- the figures of papers: which rows they have, their numbers, and that a reproduction draws them ----


def traces(*regrets: list[float]) -> dict[int, pd.DataFrame]:
    return {r: pd.DataFrame({"regret": np.array(regret, np.float64)}) for r, regret in enumerate(regrets)}


@pytest.mark.parametrize("name", DRAWN)
def test_figures_have_rows_of_their_suite(name: str) -> None:
    suite = load_suite(name)
    several = len(suite.tasks) > 1
    rows = {f"{a.ref.label}@{t.env.label}" if several else a.ref.label for a in suite.agents for t in suite.tasks}
    rows |= {f"{a.ref.label}@*" for a in suite.agents if several}
    for figure in DRAWN[name]:
        beside = {figure.uniform} if figure.metric == "regret_ratio" else set()
        assert {*figure.rows} | beside <= rows, figure.figure
        number = figure.figure.split(",")[0].removeprefix("Fig. ").split()[0]
        assert any(number in claim.source for claim in EXPERIMENTS[name].claims), "a claim is of the figure"


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("cumulative_regret", [3.0, 4.0, 6.0]),
        ("average_regret", [3.0, 2.0, 2.0]),
        ("simple_regret", [3.0, 1.0, 1.0]),
        ("regret_ratio", [0.75, 0.5, 0.5]),
    ],
)
def test_curves_are_means_over_repetitions(metric: str, expected: list[float]) -> None:
    runs = Runs({"A": traces([2, 1, 2], [4, 1, 2]), "Uniform": traces([4, 4, 4], [4, 4, 4]), "B": traces([9, 9, 9])})
    (curve,) = PaperFigure("Fig. 1", metric, ("A", "missing"), "").curves(runs)
    assert curve["t"].tolist() == [1, 2, 3]
    assert curve["n"].tolist() == [2, 2, 2]
    np.testing.assert_allclose(curve["mean"], expected)
    assert (curve["low"] <= curve["mean"]).all()
    assert (curve["mean"] <= curve["high"]).all()


def test_a_row_over_environments_is_their_mean() -> None:
    runs = Runs({"A@x": traces([2, 1], [4, 1]), "A@y": traces([0, 3], [0, 1], [9, 9]), "AB@x": traces([9, 9])})
    (curve,) = PaperFigure("Fig. 1", "simple_regret", ("A@*", "C@*"), "").curves(runs)
    assert curve["n"].tolist() == [2, 2]
    np.testing.assert_allclose(curve["mean"], [1.5, 0.5])


def test_a_reproduction_keeps_its_curves_and_draws_them(tmp_path: Path) -> None:
    one = experiment("gpbucb-se")
    runs = Runs({"GP-UCB": traces([2, 1], [1, 1]), "GP-BUCB": traces([3, 1], [2, 1])})
    curves = curves_of(one.name, runs)
    assert curves_of("lemmas", runs).empty
    made = Reproduction(one, False, 2, 2, 2, True, (), pd.DataFrame(), curves)
    text = write(made, tmp_path).read_text(encoding="utf-8")
    assert text.count("<svg") == len(DRAWN[one.name]) == 2
    assert "Fig. 4, minimum regret of Desautels" in text
    assert "Here 2 repetitions." in text
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "curves.csv"), curves, rtol=1e-3, check_dtype=False)
