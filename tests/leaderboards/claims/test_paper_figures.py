"""The figures of papers: which rows they have, their numbers, and that a reproduction draws them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from leaderboards.claims.experiments import EXPERIMENTS, experiment
from leaderboards.claims.pages import write
from leaderboards.claims.paper_figures import DRAWN, PaperFigure, curves_of
from leaderboards.claims.reproduce import Reproduction
from leaderboards.claims.runs import Runs
from leaderboards.play.suite import load_suite


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
