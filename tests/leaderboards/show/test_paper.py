""""""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from leaderboards.play.measures import RunColumns
from leaderboards.play.spec import Ref
from leaderboards.score.metrics import METRICS, REWARD, Metric, register_metric
from leaderboards.score.statistics import Interval
from leaderboards.score.summary import curve_table, score_table, summarise
from leaderboards.show import build_page, make_figures, paper
from leaderboards.show.chart import (
    CHARTS,
    EVALUATIONS,
    AgentView,
    Axis,
    Chart,
    Line,
    TasksView,
    TaskView,
    chart,
    mean_line,
    page_json,
)
from leaderboards.show.palette import LineStyle
from leaderboards.show.paper import (
    AXES,
    _text_latex,
    draw_intervals,
    draw_panels,
    escape_latex,
    metric_panels,
    paper_style,
)
from leaderboards.show.shared import Site
from leaderboards.store.store import Store
from tests.leaderboards.folders import AGENTS, Failure, folder, record, trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAGIC = {".pdf": b"%PDF", ".svg": b"<?xml"}


@pytest.mark.slow
def test_a_folder_becomes_figures_and_tables_and_the_same_ones_again(tmp_path: Path) -> None:
    odd = Ref("x:Odd", label="50 % & $x_1$ | <b>")
    folder(tmp_path, agents=[*AGENTS, odd], repetitions=4)
    files = make_figures(tmp_path, tmp_path / "out", ("pdf", "svg"))
    names = {path.name for path in files}
    stems = ("cumulative_regret", "simple_regret", "inference_regret", "regret_ratio", "ranks", "profiles")
    assert names == {f"{stem}{suffix}" for stem in stems for suffix in MAGIC} | {"scores.tex"}
    for path in files:
        if path.suffix in MAGIC:
            assert path.read_bytes().startswith(MAGIC[path.suffix])
    first = {path: path.read_bytes() for path in files}
    make_figures(tmp_path, tmp_path / "out", ("svg",))
    assert {path: path.read_bytes() for path in files} == first
    latex = (tmp_path / "out" / "scores.tex").read_text()
    assert "Agent & GPSample & RKHS" in latex
    assert "Uniform & $1.00$ & $1.00$" in latex
    assert r"50 \% \& \$x\_1\$ \textbar{} \textless{}b\textgreater{}" in latex
    assert escape_latex("[a] *b*") == "{[}a] {*}b{*}"
    assert latex.count(r"\\") == 1 + len(AGENTS) + 1


@pytest.mark.slow
def test_what_has_no_numbers_has_no_figure(tmp_path: Path) -> None:
    folder(tmp_path, agents=[Ref("GP-UCB")], repetitions=1)
    names = {path.name for path in make_figures(tmp_path)}
    assert "cumulative_regret.pdf" in names
    assert not any(name.startswith(("regret_ratio", "ranks", "profiles")) for name in names)
    assert (tmp_path / "figures" / "scores.tex").is_file()


@pytest.mark.slow
@pytest.mark.parametrize(("width", "inches", "font"), [("column", 3.25, "latex"), ("page", 6.75, "serif")])
def test_a_figure_is_as_wide_as_it_is_printed_and_all_of_it_is_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: str, inches: float, font: str
) -> None:
    long = Ref("x:Odd", label="An agent whose name is as long as a line of a column is wide")
    folder(tmp_path, agents=[*AGENTS, long], repetitions=4)
    cut = []

    def save(figure: Figure, path: Path, **_: object) -> None:
        Path(path).touch()
        assert figure.get_figwidth() == inches
        inside = figure.get_tightbbox()
        if inside.x0 < 0 or inside.y0 < 0 or inside.x1 > inches or inside.y1 > figure.get_figheight():
            cut.append((path, inside.extents))

    monkeypatch.setattr(Figure, "savefig", save)
    make_figures(tmp_path, formats=("pdf",), width=width, font=font)
    assert cut == []


@pytest.mark.slow
def test_axes_are_what_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder(tmp_path, repetitions=4)
    seen: dict[str, set[str]] = {}

    def save(figure: Figure, path: Path, **_: object) -> None:
        Path(path).touch()
        seen[Path(path).name.strip(".").partition(".")[0]] = {ax.get_yscale() for ax in figure.axes if ax.get_visible()}

    monkeypatch.setattr(Figure, "savefig", save)
    for axes in AXES:
        make_figures(tmp_path, tmp_path / axes, ("pdf",), axes=axes)
        assert seen["simple_regret"] == seen["cumulative_regret"] == {axes}


@pytest.mark.parametrize("wrong", [{"width": "3"}, {"axes": "sqrt"}, {"font": "Arial"}])
def test_choices_that_there_are_not_are_named(tmp_path: Path, wrong: dict[str, Any]) -> None:
    (name, value), *_ = wrong.items()
    with pytest.raises(ValueError, match=f"^{name}: expected one of .*, got '{value}'"):
        make_figures(tmp_path, **wrong)


def drawn(*charts: Chart) -> list[Axes]:
    styles = {name: LineStyle(i, "solid") for i, name in enumerate("abc")}
    with paper_style():
        figure = draw_panels(charts, styles)
        figure.draw_without_rendering()
    return list(figure.axes)


def on_log_axis(*curves: list[float]) -> Chart:
    lines = tuple(Line(name, np.arange(1, 1 + len(y)), np.array(y)) for name, y in zip("abc", curves))
    return Chart("key", "title", Axis("x"), Axis("y"), lines).on_log_axes()


def test_a_line_that_falls_to_zero_runs_along_the_lower_edge() -> None:
    (ax,) = drawn(on_log_axis([0.0, 8.0, 4.0, 0.0, 0.0], [5.0, 3.0, 2.0, 1.0, 0.5], [0.0, 0.0, 0.0, 0.0, 0.0]))
    falls, stays, zero = (np.asarray(line.get_ydata(), float) for line in ax.lines[:3])
    low, high = ax.get_ylim()
    assert falls[0] == falls[3], "what has yet to rise runs along the edge, as what has fallen"
    assert (falls[3:] > low).all()
    assert (falls[3:] < stays.min()).all(), "0 is below everything else"
    assert (zero == falls[3]).all()
    assert low * 1.2 > falls[3], "at the edge"
    assert high > 8


def test_all_curves_of_a_panel_begin_together_and_the_axis_reaches_their_beginnings() -> None:
    t = np.arange(1, 1001)
    sums = [0.02 * np.sqrt(t), 1.0 * t, np.where(t < 7, np.nan, 30.0 + t)]
    lines = tuple(Line(name, t, y) for name, y in zip("abc", sums))
    (ax,) = drawn(Chart("key", "title", Axis("evaluations"), Axis("y"), lines).on_log_axes())
    begins = {
        float(np.asarray(line.get_xdata())[np.isfinite(np.asarray(line.get_ydata(), float))][0])
        for line in ax.lines[:3]
    }
    assert begins == {7.0}
    assert ax.get_xlim()[0] == 7
    assert ax.get_xlabel() == "evaluations, from 7 on"
    assert ax.get_ylim()[0] < sums[0][6], "the smallest sum is seen from its beginning"
    whole = Chart("key", "title", Axis("evaluations"), Axis("y"), lines[:2]).on_log_axes()
    (ax,) = drawn(whole)
    assert (ax.get_xlim()[0], ax.get_xlabel()) == (1, "evaluations")


@pytest.mark.parametrize(("values", "least"), [([2.0, 3.0, 6.0], 2), ([2.0, 2.2, 2.5], 2), ([2.0, 40.0], 1)])
def test_log_axes_have_a_few_plain_labels_and_no_minor_ones(values: list[float], least: int) -> None:
    (ax,) = drawn(on_log_axis(values))
    low, high = ax.get_ylim()
    assert not any(label.get_text() for label in ax.yaxis.get_ticklabels(minor=True))
    shown = [label.get_text() for tick, label in zip(ax.get_yticks(), ax.get_yticklabels()) if low <= tick <= high]
    assert least <= len(shown) <= 6, shown
    if high / low < 10:
        assert all(float(text) > 0 for text in shown), shown


def test_inference_regret_has_intervals_unless_agents_are_many(tmp_path: Path) -> None:
    for n, filled in ((3, True), (11, False)):
        agents = [Ref("GP-UCB", {"width": float(w)}, f"width {w}") for w in range(1, n + 1)]
        site = Site(summarise(folder(tmp_path / str(n), [Ref("GPBandit/RKHS-v0")], agents, repetitions=3)))
        (chart,) = metric_panels(site, METRICS["inference_regret"])
        assert chart is not None
        assert {line.high is not None for line in chart.lines} == {filled}


@pytest.mark.slow
def test_some_agents_are_ranked_among_themselves_and_measured_against_all(tmp_path: Path) -> None:
    store = folder(tmp_path, agents=AGENTS, repetitions=6)
    site = Site(summarise(store))
    chosen = site.of({"EpsGreedy", "GP-UCB"})
    assert list(chosen.styles) == ["EpsGreedy", "GP-UCB"]
    (overall,) = chosen.overall.values()
    assert overall.ordered == ("GP-UCB", "EpsGreedy")
    assert [rank.estimate for rank in overall.mean_rank] == [2, 1]
    for task, found in chosen.rankings.items():
        whole: Any = site.rankings[task]
        assert found is not None
        assert found.metric == whole.metric == "regret_ratio"
        assert (whole.Y[:, [whole.agents.index(name) for name in found.agents]] == found.Y).all()
        assert [chosen.rank(task, name) for name in ("GP-UCB", "EpsGreedy", "Uniform")] == [1, 2, None]
    names = {path.name for path in make_figures(tmp_path, formats=("png",), agents=["EpsGreedy", "GP-UCB"])}
    assert {"cumulative_regret.png", "ranks.png", "profiles.png"} <= names


def test_scores_of_fewer_repetitions_are_marked_and_columns_named(tmp_path: Path) -> None:
    agents = [Ref("Uniform"), Ref("GP-UCB"), Ref("BBKB", label="BBKB <2>")]
    crashed: Failure = ("crashed", "ValueError: no", None)
    failures = {("RKHS", agent.label): crashed for agent in (agents[0], agents[2])}
    store = folder(tmp_path, agents=agents, repetitions=6, failures=failures)
    for repetition in range(1, 6):
        store.write(record(Ref("GPBandit/RKHS-v0"), agents[2], repetition))
    make_figures(tmp_path, formats=())
    latex = (tmp_path / "figures" / "scores.tex").read_text()
    (row,) = (line for line in latex.splitlines() if line.startswith(r"BBKB \textless{}2\textgreater{} & "))
    assert row.count(r"$^\dagger$") == latex.count(r"$^\dagger$") == 1
    assert "Final cumulative regret or regret ratio of suite" in latex
    assert " over repetitions (cumulative regret: RKHS); " in latex
    assert "With †: of fewer repetitions than the others, and not ranked." in latex
    assert latex.count(r"\textbf{\boldmath $") == latex.count(r"\textbf") > 0


def test_powers_of_ten_are_no_sums_in_latex() -> None:
    assert _text_latex(Interval(1.09e9, 9.8e8, 1.2e9, 7)) == (
        r"$1.09\times 10^{9}$ ($9.8\times 10^{8}$--$1.2\times 10^{9}$)"
    )
    assert _text_latex(Interval(1.2e-5, 0.0, 3e-5, 7)) == r"$1.20\times 10^{-5}$ ($0$--$3.0\times 10^{-5}$)"
    assert _text_latex(Interval(0.121, 0.12, 0.122, 7)) == "$0.121$ ($0.120$--$0.122$)"


def test_an_id_stands_for_all_agents_that_have_it(tmp_path: Path) -> None:
    agents = [Ref("GP-UCB", {"width": 1.0}, "narrow"), Ref("GP-UCB", {"width": 9.0}, "wide"), Ref("Uniform")]
    folder(tmp_path, agents=agents, repetitions=2)
    make_figures(tmp_path, formats=(), agents=["GP-UCB"])
    rows = (tmp_path / "figures" / "scores.tex").read_text().partition(r"\midrule")[2].splitlines()[1:]
    assert {row.split(" & ")[0] for row in rows[:2]} == {"narrow", "wide"}
    assert rows[2] == r"\bottomrule"


def test_a_long_legend_is_inside_the_figure_and_leaves_room_for_the_panels() -> None:
    names = [f"an agent of some long name, {i}" for i in range(38)]
    t = np.arange(1, 30)
    lines = tuple(Line(name, t, t * (i + 1.0)) for i, name in enumerate(names))
    charts = [Chart("key", f"panel {i}", Axis("x"), Axis("y"), lines) for i in range(6)]
    with paper_style(), warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib's, of axes that collapse
        figure = draw_panels(charts, {name: LineStyle(0, "solid") for name in names})
        figure.draw_without_rendering()
    (legend,) = figure.legends
    shown = legend.get_window_extent()
    assert shown.x0 >= 0
    assert shown.x1 <= figure.bbox.width
    assert min(ax.get_window_extent().height for ax in figure.axes) > 0.9 * figure.dpi


def test_mean_ranks_have_room_beside_long_names() -> None:
    widths = []
    for n in (4, 80):
        names = [f"{'W' * n} {i}" for i in range(6)]
        ranks = {name: Interval(i + 1.0, i + 0.5, i + 1.5, 9) for i, name in enumerate(names)}
        with paper_style(), warnings.catch_warnings():
            warnings.simplefilter("error")  # matplotlib's, of axes that collapse
            figure = draw_intervals(ranks, {name: LineStyle(0, "solid") for name in names}, "mean rank")
            figure.draw_without_rendering()
        (ax,) = figure.axes
        assert min(label.get_window_extent().x0 for label in ax.get_yticklabels()) >= 0
        assert ax.get_window_extent().width > 1.5 * figure.dpi
        widths.append(figure.get_figwidth())
    assert widths[0] == 4.2 < widths[1]


def test_an_empty_folder_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="directory: expected a results folder with finished runs"):
        make_figures(tmp_path)


@pytest.mark.slow
def test_figures_leave_pyplot_alone(tmp_path: Path) -> None:
    import matplotlib as mpl

    folder(tmp_path, agents=AGENTS[:2], repetitions=2)
    before = dict(mpl.rcParams)
    make_figures(tmp_path, formats=("png",))
    assert dict(mpl.rcParams) == before
    if "matplotlib.pyplot" in sys.modules:
        assert not sys.modules["matplotlib.pyplot"].get_fignums()


# ---- a metric is one call, a chart one decorated function: everything else finds them through the registries ----


ENVS = [Ref("GPBandit/RKHS-v0"), Ref("GPBandit/GPSample-v0")]
PLAYERS = [Ref("Uniform"), Ref("GP-UCB")]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return folder(tmp_path, ENVS, PLAYERS, repetitions=3)


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
    store = folder(tmp_path, ENVS[:1], PLAYERS[:1], repetitions=3)
    frame = trace(60, 0.7, np.random.default_rng(0))
    for repetition in range(3):
        width = np.linspace(1, 2 + repetition, len(frame))
        store.write(record(ENVS[0], PLAYERS[1], repetition, frame=frame.assign(width=width)))
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
