"""A metric is one call, a chart one decorated function: everything else finds them through the registries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from leaderboards.play.measures import RunColumns
from leaderboards.play.spec import Ref
from leaderboards.score.metrics import METRICS, REWARD, Metric, register_metric
from leaderboards.score.summary import curve_table, score_table, summarise
from leaderboards.show import build_page, make_figures, paper
from leaderboards.show.chart import (
    CHARTS,
    EVALUATIONS,
    AgentView,
    Axis,
    Chart,
    TasksView,
    TaskView,
    chart,
    mean_line,
    page_json,
)
from leaderboards.show.palette import LineStyle
from leaderboards.store.store import Store
from tests.leaderboards.folders import folder, record, trace

ENVS = [Ref("GPBandit/RKHS-v0"), Ref("GPBandit/GPSample-v0")]
AGENTS = [Ref("Uniform"), Ref("GP-UCB")]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return folder(tmp_path, ENVS, AGENTS, repetitions=3)


@pytest.fixture
def metrics() -> Iterator[None]:
    register_metric(
        Metric(
            "largest_regret",
            "Largest regret",
            "max r_s",
            REWARD,
            "The worst evaluation.",
            lambda run: np.maximum.accumulate(run.regret),
        )
    )
    register_metric(
        Metric(
            "best_reward",
            "Best reward",
            "max y_s",
            REWARD,
            "With its noise.",
            lambda run: np.fmax.accumulate(run.others["reward"]),
            columns=("reward",),
        )
    )
    register_metric(
        Metric("last_width", "Last width", "beta_T", "", "Of the band.", last_width, ("width",), has_curve=False)
    )
    yield
    for name in ("largest_regret", "best_reward", "last_width"):
        del METRICS[name]


def last_width(run: RunColumns) -> float:
    return float(run.others["width"][-1])


@pytest.mark.slow
@pytest.mark.usefixtures("metrics")
def test_a_new_metric_is_in_the_summary_the_pages_the_figures_and_the_tables(store: Store) -> None:
    summary = summarise(store)
    keys = summary.runs.index[(summary.runs["agent"] == "GP-UCB") & (summary.runs["task"] == "RKHS")]
    expected = np.mean([store.trace(key)["regret"].max() for key in keys])
    assert summary.scores["RKHS", "GP-UCB"].finals["largest_regret"].mean() == pytest.approx(expected)
    for table in (score_table(summary), curve_table(summary)):
        assert "largest_regret" in set(table["metric"])
    pages = build_page(store.directory).parent / "site"
    for name in ("env-rkhs", "agent-gp-ucb"):
        page = (pages / f"{name}.html").read_text()
        assert page.count(">Largest regret</th>") == 1, name
        assert f'data-sort="{expected:.7g}"' in page, name
    assert (pages / "env-rkhs.html").read_text().count('"key":"largest_regret"') == 1
    assert store.directory / "figures" / "largest_regret.png" in make_figures(store.directory, formats=("png",))


@pytest.mark.usefixtures("metrics")
def test_a_metric_reads_any_column_that_it_names_and_is_unknown_where_a_run_has_none(tmp_path: Path) -> None:
    store = folder(tmp_path, ENVS[:1], AGENTS[:1], repetitions=3)
    frame = trace(60, 0.7, np.random.default_rng(0))
    for repetition in range(3):
        width = np.linspace(1, 2 + repetition, len(frame))
        store.write(record(ENVS[0], AGENTS[1], repetition, frame=frame.assign(width=width)))
    summary = summarise(store)
    assert summary.scores["RKHS", "GP-UCB"].finals["last_width"].tolist() == [2, 3, 4]
    best = summary.scores["RKHS", "GP-UCB"].curves["best_reward"]
    assert np.array_equal(best, np.tile(np.maximum.accumulate(frame["reward"]), (3, 1)))
    assert np.isfinite(summary.scores["RKHS", "Uniform"].curves["best_reward"]).all()
    assert np.isnan(summary.scores["RKHS", "Uniform"].finals["last_width"]).all()
    page = (build_page(tmp_path).parent / "site" / "env-rkhs.html").read_text()
    assert page.count(">Last width</th>") == page.count(">Best reward</th>") == 1


def test_a_name_is_registered_once() -> None:
    with pytest.raises(ValueError, match="metric: expected a new name, got 'simple_regret'"):
        register_metric(METRICS["simple_regret"])


@pytest.fixture
def charts() -> Iterator[None]:
    there = list(CHARTS)

    @chart(on="task", figure="average", log_x=True)
    @chart(on="agent")
    def average(view: TaskView | AgentView) -> Chart | None:
        lines = [mean_line(name, scores.t, scores.curves["average_regret"]) for name, scores in view.scores.items()]
        return Chart("average-outside", "Average", Axis(EVALUATIONS), Axis("R_t / t", REWARD), tuple(lines))

    @chart(on="tasks", figure="hardest", bands=False)
    def hardest(view: TasksView) -> Chart | None:
        last = list(view.tasks.values())[-1]
        lines = [mean_line(name, scores.t, scores.curves["simple_regret"]) for name, scores in last.scores.items()]
        return Chart("hardest-outside", "Hardest", Axis(EVALUATIONS), Axis("simple regret", REWARD), tuple(lines))

    yield
    CHARTS[:] = there


@pytest.mark.slow
@pytest.mark.usefixtures("charts")
def test_a_new_chart_is_on_pages_and_figures_with_its_own_axes(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    index = build_page(store.directory)
    pages = index.parent / "site"
    for name in ("env-rkhs", "env-gpsample", "agent-gp-ucb"):
        assert (pages / f"{name}.html").read_text().count('"key":"average-outside"') == 1, name
    assert index.read_text().count('"key":"hardest-outside"') == 1
    drawn: dict[tuple[str, ...], list[Chart]] = {}
    whole = paper.draw_panels

    def draw(panels: list[Chart], styles: dict[str, LineStyle], width: float | None = None) -> object:
        drawn[tuple(dict.fromkeys(panel.key for panel in panels))] = panels
        return whole(panels, styles, width)

    monkeypatch.setattr(paper, "draw_panels", draw)
    files = {path.name for path in make_figures(store.directory, formats=("svg",))}
    assert {"average.svg", "hardest.svg"} <= files
    panels = drawn[("average-outside",)]
    assert {panel.title: (panel.x.log, panel.y.log) for panel in panels} == {
        "RKHS": (True, False),
        "GPSample": (True, False),
    }
    assert all(line.high is not None for panel in panels for line in panel.lines)
    (panel,) = drawn[("hardest-outside",)]
    assert (panel.x.log, panel.y.log) == (False, False)
    assert all(line.high is None for line in panel.lines)


def test_a_chart_is_on_something_there_is_and_has_a_name_of_its_own() -> None:
    with pytest.raises(ValueError, match="on: expected 'task', 'agent', 'tasks' or 'study', got 'tsak'"):
        chart(on="tsak")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="figure: expected a new name, got 'bands'"):
        chart(on="task", figure="bands")
    with pytest.raises(ValueError, match="figure: expected none for a chart on one agent, got 'mine'"):
        chart(on="agent", figure="mine")
    one = Chart("mine", "Mine", Axis("x"), Axis("y"), ())
    with pytest.raises(ValueError, match=re.escape("key: expected one chart of each key on a page, got 2 of 'mine'")):
        page_json([one, one], {})


@pytest.mark.parametrize(
    ("has_curve", "values", "expected"),
    [(True, 1.0, "values along t, of shape (60,), got shape ()"), (False, [1.0, 2.0], "one number, got shape (2,)")],
)
def test_a_metric_of_another_shape_than_it_states_is_named(
    store: Store, monkeypatch: pytest.MonkeyPatch, has_curve: bool, values: object, expected: str
) -> None:
    odd = Metric("odd", "Odd", "o", "", "Odd.", lambda _: np.array(values), has_curve=has_curve)
    monkeypatch.setitem(METRICS, "odd", odd)
    with pytest.raises(TypeError, match=re.escape(f"metric 'odd': expected {expected}")):
        summarise(store)
