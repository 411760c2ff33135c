"""A metric is a function and a line: everything else finds it through the registry."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from leaderboards.play.spec import Ref
from leaderboards.score.metrics import METRICS, REWARD, Metric, RunColumns, register
from leaderboards.score.summary import curve_table, score_table, summarise
from leaderboards.show import build_page, make_figures
from tests.leaderboards.folders import folder


def largest_regret(run: RunColumns) -> np.ndarray:
    return np.maximum.accumulate(run.regret)


@pytest.fixture
def registered() -> Iterator[None]:
    register(Metric("largest_regret", "Largest regret", "max r_s", REWARD, "The worst evaluation.", largest_regret))
    yield
    del METRICS["largest_regret"]


@pytest.mark.usefixtures("registered")
def test_a_new_metric_is_in_the_summary_the_pages_the_figures_and_the_tables(tmp_path: Path) -> None:
    store = folder(tmp_path, [Ref("GPBandit/RKHS-v0")], [Ref("Uniform"), Ref("GP-UCB")], repetitions=3)
    summary = summarise(store)
    expected = np.mean(
        [store.trace(key)["regret"].max() for key in summary.runs.index[summary.runs["agent"] == "GP-UCB"]]
    )
    assert summary.scores["RKHS", "GP-UCB"].finals["largest_regret"].mean() == pytest.approx(expected)
    for table in (score_table(summary), curve_table(summary)):
        assert "largest_regret" in set(table["metric"])
    pages = build_page(tmp_path).parent / "site"
    for name in ("env-rkhs", "agent-gp-ucb"):
        page = (pages / f"{name}.html").read_text()
        assert page.count(">Largest regret</th>") == 1, name
        assert f'data-sort="{expected:.7g}"' in page, name
    assert (pages / "env-rkhs.html").read_text().count('"key":"largest_regret"') == 1
    assert tmp_path / "figures" / "largest_regret.png" in make_figures(tmp_path, formats=("png",))


def test_a_name_is_registered_once() -> None:
    with pytest.raises(ValueError, match="metric: expected a new name, got 'simple_regret'"):
        register(METRICS["simple_regret"])
