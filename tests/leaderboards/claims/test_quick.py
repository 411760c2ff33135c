"""The quick forms: every claim that is marked as stable at short horizons agrees, through the command line.

Those that take most of a minute and more are left to `gpbandit reproduce --quick`: a horizon of 50,000, or 40 runs.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.gp.kernels import SE
from leaderboards.claims.experiments import EXPERIMENTS, PAPERS, experiment, experiments_of
from leaderboards.claims.starvation import bands
from leaderboards.cli import main
from tests.datasets.conftest import at_hand


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
