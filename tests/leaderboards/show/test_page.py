"""What the pages are made of, without a browser."""

from __future__ import annotations

import base64
import html
import itertools
import json
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from importlib import import_module, resources
from pathlib import Path

import numpy as np
import pytest

import agents
import leaderboards
from agents import Agent
from agents.exact.gp_ucb import GPUCB
from benchmarks.bench_site import audit, write
from gpbandit_envs.channels import as_channel
from leaderboards.api.run_suite import run_suite
from leaderboards.audit.store import AuditStore
from leaderboards.cli.ranking import _score_lines
from leaderboards.play.run import instance_env
from leaderboards.play.spec import Ref
from leaderboards.score.metrics import METRICS
from leaderboards.score.scores import AgentScores
from leaderboards.score.statistics import Interval
from leaderboards.score.summary import summarise, unfinished_runs
from leaderboards.score.tasks import Task
from leaderboards.show import build, build_page, palette
from leaderboards.show.agent_card import agent_card, bibtex, cited, describe_built
from leaderboards.show.build import embed, page_templates, prose
from leaderboards.show.chart import Axis, Chart, Line, TaskView, page_json
from leaderboards.show.charts import metric_chart, time_chart
from leaderboards.show.environment import REPEATED, repetition_data
from leaderboards.show.format import between, file_names, number, packed_each, row_command
from leaderboards.show.overview import _cards, overview_page
from leaderboards.show.palette import HUES, LineStyle, line_styles, swatch, thumbnail
from leaderboards.show.paper import latex_table
from leaderboards.show.rebuilt import first_problem
from leaderboards.show.shared import Site
from leaderboards.show.table import TableCell, number_cell
from leaderboards.store.exchange import add, pack
from leaderboards.store.store import Store
from tests.leaderboards.folders import AGENTS, Failure, folder, record, trace

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
VISION = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
# Ottosson (2020), OKLab: a distance of 0.02 is about the smallest that is seen side by side.
TO_CONES = np.array(
    [[0.4122215, 0.5363325, 0.0514460], [0.2119035, 0.6806995, 0.1073970], [0.0883025, 0.2817188, 0.6299787]]
)
TO_LAB = np.array(
    [[0.2104543, 0.7936178, -0.0040720], [1.9779985, -2.4285922, 0.4505937], [0.0259040, 0.7827718, -0.8086758]]
)


def linear(colour: str) -> np.ndarray:
    c = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def contrast(a: str, b: str) -> float:
    low, high = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (a, b))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_palette_stands_out_and_survives_colour_blindness(theme: str) -> None:
    colours = {"light": palette.LIGHT, "dark": palette.DARK}[theme]
    # WCAG 2.2, 1.4.11: 3:1 for graphics.
    assert min(contrast(colour, palette.PAGE[theme]) for colour in colours) >= 3
    for matrix in VISION.values():
        lab = [TO_LAB @ np.cbrt(TO_CONES @ np.clip(np.asarray(matrix) @ linear(c), 0, 1)) for c in colours]
        assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(lab, 2)) > 0.07


def test_settings_of_one_agent_share_its_hue_and_differ_in_dash() -> None:
    found = line_styles({f"GP-UCB {w}": Ref("GP-UCB", {"width": w}) for w in (1, 2, 3)})
    assert {style.hue for style in found.values()} == {HUES.index("blue")}
    assert len({style.dash for style in found.values()}) == 3


def test_eighty_agents_have_eighty_line_styles_and_more_still_have_one() -> None:
    found = line_styles({f"a{i}": Ref(f"x:A{i}") for i in range(80)})
    assert len(set(found.values())) == 80
    assert len(line_styles({f"a{i}": Ref(f"x:A{i}") for i in range(100)})) == 100


def test_lines_have_markers_only_among_more_than_ten() -> None:
    ten = line_styles({f"a{i}": Ref(f"x:A{i}") for i in range(10)})
    assert {style.marker for style in ten.values()} == {""}
    thirty = line_styles({f"a{i}": Ref(f"x:A{i}") for i in range(30)})
    assert {(style.dash, style.marker) for style in list(thirty.values())[:28]} == {
        ("solid", ""),
        ("dash", "square"),
        ("dot", "diamond"),
        ("dashdot", "triangle-up"),
    }
    assert all(thirty[name].hue == style.hue and thirty[name].dash == style.dash for name, style in ten.items())
    assert 'class="mark"' in swatch(thirty["a29"])
    assert 'class="mark"' not in swatch(thirty["a0"])


def test_a_value_of_any_size_is_a_value() -> None:
    macro = page_templates().from_string("{% from 'macros.html.j2' import score %}{{ score(cell) }}")
    big, none = (macro.render(cell=cell).strip() for cell in (number_cell(2.5e9), TableCell("–")))
    assert big.startswith('<td class="num" data-sort="2.5e+09">')
    assert none.startswith('<td class="num none" data-sort="Infinity">')


def test_file_names_are_plain_and_unique() -> None:
    found = file_names("env", ["RKHS", "rkhs!", "../../etc/passwd", "é", "ü", "x" * 300])
    assert len(set(found.values())) == 6
    assert all(name.isascii() and "/" not in name and len(name) < 100 for name in found.values())
    assert found["RKHS"] == "env-rkhs.html"


@pytest.mark.parametrize(
    ("x", "text"),
    [(0.0, "0"), (1.0, "1.00"), (0.0123456, "0.0123"), (12345.6, "12346"), (1.2e-7, "1.20e-07"), (-3.14159, "-3.14")],
)
def test_numbers_have_three_digits(x: float, text: str) -> None:
    assert number(x) == text
    assert number(float("nan")) == "–"


def test_numbers_are_packed_in_single_precision_or_stay_a_list() -> None:
    arrays = [np.array([1.5, np.nan, -0.1, 0.0]), np.zeros(0), np.array([[1e-30, np.inf]])]
    first, none, last = (np.frombuffer(base64.b64decode(text), "<f4") for text in packed_each(arrays))
    np.testing.assert_array_equal(first, np.array([1.5, np.nan, -0.1, 0.0], np.float32))
    assert not len(none)
    np.testing.assert_array_equal(last, np.array([1e-30, np.nan], np.float32))
    assert packed_each([]) == []
    for extreme in (1e-300, -1e200):
        assert packed_each([np.array([extreme, np.nan]), np.ones(1)]) == [[extreme, None], [1.0]]


def test_intervals_have_the_decimals_of_their_estimate_and_are_cut_at_zero() -> None:
    assert between(Interval(0.107, 0.00545, 0.2081, 5)) == "0.005 – 0.208"
    assert between(Interval(0.107, -0.1, 0.2081, 5)) == "0 – 0.208"
    assert between(Interval(1.0, 1.0, 1.0, 5)) == ""
    assert between(Interval(1.0, float("nan"), float("nan"), 1)) == ""


def test_embedded_json_closes_no_tag_and_reads_back() -> None:
    value = {"</script><!--": ["&amp;", "\u2028", "'\"", 1.5, None]}
    text = str(embed(value))
    assert "<" not in text
    assert ">" not in text
    assert json.loads(text) == value
    with pytest.raises(ValueError, match="not JSON compliant"):
        embed(float("nan"))


def charts_of(cells: dict[str, AgentScores]) -> list[Chart]:
    made = [metric_chart(metric, cells) for metric in METRICS.values() if metric.has_curve and metric.in_charts]
    return [chart for chart in made if chart is not None]


CURVES = [name for name, metric in METRICS.items() if metric.has_curve]


def test_charts_are_thinned_until_the_page_is_small() -> None:
    rng = np.random.default_rng(0)
    t = np.arange(1, 151)
    cells = {}
    for i in range(25):
        curves = {name: rng.random((3, 150)) for name in CURVES}
        cells[f"agent {i}"] = AgentScores(t, ((0, 0), (0, 1), (0, 2)), curves, {"simulated_time": rng.random(3)})
    timed = time_chart(TaskView("a task", cells, as_channel("on_request"), 150))
    assert timed is not None
    data = page_json([*charts_of(cells), timed], line_styles({name: Ref(name) for name in cells}))
    assert len(json.dumps(data)) < 260_000
    assert data["xs"][0][0] == 1
    assert data["xs"][0][-1] == 150
    assert len(data["charts"]) == len([name for name in CURVES if METRICS[name].in_charts]) + 1
    assert all(line["x"] == 0 for chart in data["charts"][:-1] for line in chart["lines"]), "times are written once"


def test_an_unknown_metric_has_no_chart_and_one_run_no_band() -> None:
    t = np.arange(1, 6)
    known = ("batches", "policy_seconds", "simulated_time")
    curves = {name: np.full((1, 5), 1.0 if name in known else np.nan) for name in CURVES}
    data = page_json(charts_of({"a": AgentScores(t, ((0, 0),), curves)}), {"a": LineStyle(0, "solid")})
    assert [chart["key"] for chart in data["charts"]] == ["batches", "policy_seconds"]
    assert set(data["charts"][0]["lines"][0]) == {"name", "x", "y"}


@pytest.mark.parametrize(
    ("feedback", "title"),
    [
        ("workers:4", "experiment time with 4 workers (unit of the cost)"),
        ("batch:5", "experiment time with 10 workers (unit of the cost)"),
        ("delay:4", None),
    ],
)
def test_experiment_time_has_the_workers_of_the_feedback_model_or_no_chart(feedback: str, title: str | None) -> None:
    names = ("cumulative_regret", "simulated_time")
    cell = AgentScores(
        np.arange(1, 6), ((0, 0),), {name: np.ones((1, 5)) for name in names}, {"simulated_time": np.ones(1)}
    )
    chart = time_chart(TaskView("a task", {"a": cell}, as_channel(feedback), 5))
    assert (chart.x.text if chart else None) == title


def test_batches_are_shown_only_where_feedback_comes_in_batches(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for feedback in ("delay:3", "batch:1"):
        one = record(Ref("GPBandit/RKHS-v0", label=feedback), Ref("GP-BUCB"), 0)
        store.write(replace(one, spec=replace(one.spec, feedback=feedback)))
    build_page(tmp_path)
    pages = {path.stem: path.read_text() for path in (tmp_path / "site").glob("*.html")}
    for page, n in (("env-delay-3", 0), ("env-batch-1", 1)):
        assert pages[page].count(">Batches</th>") == pages[page].count('"key":"batches"') == n
        assert pages[page].count('"key":"simulated_time"') == n
    assert "feedback does not come in batches under delay:3" in pages["agent-gp-bucb"]


@pytest.mark.slow
def test_the_command_of_a_row_plays_that_row_again() -> None:
    env, agent = Ref("GPBandit/RKHS-v0", {"n_arms": 20, "dim": 1}), Ref("GP-UCB", {"width": "practical"})
    text = row_command(Task("RKHS", env, 15, "on_request"), agent, ((3, 0), (3, 1)))
    assert text is not None
    words = shlex.split(text)
    assert words[0] == "python"
    done = subprocess.run([sys.executable, *words[1:]], capture_output=True, text=True, check=True)
    for line, repetition in zip(done.stdout.splitlines(), (0, 1), strict=True):
        record = leaderboards.run((env.id, dict(env.kwargs)), (agent.id, dict(agent.kwargs)), repetition, 15, seed=3)
        assert float(line.split()[1]) == record.trace["regret"].sum()


def test_an_object_has_no_command() -> None:
    task = Task("RKHS", Ref("GPBandit/RKHS-v0"), 15, "on_request")
    assert row_command(task, Ref("object:x"), ((0, 0),)) is None


def test_the_page_is_the_same_twice_and_forgets_pages_of_what_is_gone(tmp_path: Path) -> None:
    folder(tmp_path, repetitions=2)
    index = build_page(tmp_path)
    first = {path.name: path.read_bytes() for path in tmp_path.rglob("*.html")}
    gone = [tmp_path / "site" / "env-gone.html"]
    gone += [tmp_path / "site" / place / "env-gone.js" for place in ("repetitions", "compare")]
    for path in gone:
        path.write_text("old")
    assert build_page(tmp_path) == index
    assert {path.name: path.read_bytes() for path in tmp_path.rglob("*.html")} == first
    assert not any(path.exists() for path in gone)


def test_single_repetitions_are_the_curves_of_the_runs(tmp_path: Path) -> None:
    site = Site(summarise(folder(tmp_path, repetitions=3)))
    found = repetition_data(site, "RKHS")["metrics"]
    assert tuple(found) == REPEATED
    scores = site.summary.scores["RKHS", "GP-UCB"]
    for name in REPEATED:
        x, runs = found[name]["x"], found[name]["runs"]["GP-UCB"]
        at = np.searchsorted(scores.t, x)
        curves = np.frombuffer(base64.b64decode(runs), "<f4").reshape(3, len(x))
        np.testing.assert_allclose(curves, scores.curves[name][:, at], rtol=1e-7)


def test_one_repetition_has_no_others_beside_it(tmp_path: Path) -> None:
    folder(tmp_path, [Ref("GPBandit/RKHS-v0")], AGENTS[:2], repetitions=1)
    build_page(tmp_path, theory=False)
    assert not list((tmp_path / "site" / "repetitions").iterdir())
    assert '"repeated":[]' in (tmp_path / "site" / "env-rkhs.html").read_text()


def test_runs_from_elsewhere_are_marked(tmp_path: Path) -> None:
    env, ours = [Ref("GPBandit/RKHS-v0")], tmp_path / "ours"
    theirs = folder(tmp_path / "theirs", env, [Ref("GP-UCB")], 3)
    pack(theirs.directory, tmp_path / "theirs.zip")
    folder(ours, env, [Ref("Uniform")], 3)
    add(tmp_path / "theirs.zip", ours)
    page = (build_page(ours).parent / "site" / "env-rkhs.html").read_text()
    assert page.count("3 submitted") == 1
    assert "A new function of exact RKHS norm" in page


def test_runs_that_are_verified_are_counted_among_those_that_are_done(tmp_path: Path) -> None:
    env, agents = Ref("GPBandit/RKHS-v0"), [Ref("Uniform"), Ref("GP-UCB"), Ref("BBKB")]
    failures: dict[tuple[str, str], Failure] = {("RKHS", "BBKB"): ("skipped", "it does not fit", None)}
    summary = summarise(folder(tmp_path, [env], agents, 3, failures=failures))
    summary.runs["standing"] = "verified"  # as all runs of a board
    page = overview_page(Site(summary))
    assert page["counts"] == {"done": 6, "skipped": 3, "verified": 6}


@pytest.mark.parametrize(("n", "said"), [(1, "the other has not"), (2, "the other 2 have not")])
def test_agents_without_a_rank_are_counted(tmp_path: Path, n: int, said: str) -> None:
    env, agents = Ref("GPBandit/RKHS-v0"), [Ref("Uniform", {"n": k}, f"agent {k}") for k in range(4)]
    store = folder(tmp_path, [env], agents, repetitions=2)
    for agent in agents[n:]:
        store.write(record(env, agent, 2, 60))
        store.write(record(env, agent, 3, 60))
        store.write(record(env, agent, 4, 60))
    (ranking,) = overview_page(Site(summarise(store)))["rankings"]
    assert ranking["basis"].split("; ")[1] == f"{said} finished all repetitions of all"


@pytest.mark.parametrize(("n", "folded"), [(10, False), (11, True)])
def test_commands_of_many_rows_are_folded(tmp_path: Path, n: int, folded: bool) -> None:
    agents = [Ref("GP-UCB", {"width": float(k + 1)}, f"width {k + 1}") for k in range(n)]
    folder(tmp_path, [Ref("GPBandit/RKHS-v0")], agents, repetitions=1)
    page = (build_page(tmp_path, theory=False).parent / "site" / "env-rkhs.html").read_text()
    assert page.count('aria-label="Command for ') == n
    assert (f"<summary>Commands of {n} rows</summary>" in page) == folded


def test_a_thumbnail_leaves_out_a_curve_that_is_next_to_nothing() -> None:
    t = np.arange(1, 6)
    curves = {"a": np.full(5, 4.0), "b": np.full(5, 0.001), "c": np.zeros(5), "d": np.full(5, np.nan)}
    chart = Chart("key", "title", Axis("t"), Axis("y"), tuple(Line(name, t, y) for name, y in curves.items()))
    drawn = str(thumbnail(chart, {name: LineStyle(i, "solid") for i, name in enumerate(curves)}, "all"))
    assert re.findall("<title>(.)</title>", drawn) == ["a"]


def test_a_page_of_one_evaluation(tmp_path: Path) -> None:
    folder(tmp_path, [Ref("GPBandit/RKHS-v0")], [Ref("Uniform"), Ref("EpsGreedy")], 1, 1)
    assert build_page(tmp_path).is_file()


def test_facts_of_an_environment_are_named_in_words(tmp_path: Path) -> None:
    played = {"name": "facts", "environments": ["GPBandit/GPSample-v0"], "agents": ["Uniform"], "horizon": 2}
    run_suite(played | {"repetitions": 1}, out=tmp_path, progress=False)
    build_page(tmp_path)
    text = (tmp_path / "site" / "env-gpsample.html").read_text(encoding="utf-8")
    assert "Regret of a uniform draw (unit of the reward)" in text
    assert not {f">{name}<" for name in next(iter(Store(tmp_path).entries().values())).facts if f">{name}<" in text}


def test_an_empty_folder_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="directory: expected a results folder with runs"):
        build_page(tmp_path)


def test_who_leads_is_said_of_those_that_finished(tmp_path: Path) -> None:
    env, agents = Ref("GPBandit/RKHS-v0"), [Ref("Uniform"), Ref("GP-UCB"), Ref("BBKB")]
    store = folder(tmp_path, [env], agents, repetitions=6)
    assert "that finished all" not in build_page(tmp_path).read_text()
    for agent in agents[:2]:
        store.write(record(env, agent, 6, 60))
    assert "of the 2 that finished all 7 repetitions" in build_page(tmp_path).read_text()


def test_a_large_leading_group_is_counted(tmp_path: Path) -> None:
    agents = [Ref("Uniform", {"n": n}, f"agent {n}") for n in range(9)]
    store = folder(tmp_path / "few", [Ref("GPBandit/RKHS-v0")], agents, repetitions=1)
    (card,) = overview_page(Site(summarise(store)))["tasks"]
    assert card["leading"] == [], "one repetition tells nobody apart"
    store = Store(tmp_path / "more")
    for agent in agents:  # which do equally well
        for repetition in range(6):
            frame = trace(60, 0.3, np.random.default_rng(repetition))
            store.write(record(Ref("GPBandit/RKHS-v0"), agent, repetition, frame=frame))
    site = Site(summarise(store))
    (card,) = overview_page(site)["tasks"]
    assert len(card["leading"]) == 6
    assert card["leading"][:5] == site.best_agents("RKHS")[:5]
    assert card["leading"][5] == "and 4 more"


def test_text_of_docstrings_is_escaped_with_its_code_marked() -> None:
    assert prose("a `x < 1` b & c") == "a <code>x &lt; 1</code> b &amp; c"
    assert prose("a lone ` stays <b>") == "a lone ` stays &lt;b&gt;"


def test_an_agent_of_others_is_described_as_such(tmp_path: Path) -> None:
    folder(tmp_path, [Ref("GPBandit/RKHS-v0")], [Ref("Uniform"), Ref(f"{__name__}:Mine", label="Mine")], repetitions=2)
    build_page(tmp_path, theory=False)
    page = (tmp_path / "site" / "agent-mine.html").read_text()
    assert "not a part of this project" in page
    assert "Mine alone." in page
    assert "not a part of this project" not in (tmp_path / "site" / "agent-uniform.html").read_text()


class Mine(Agent):
    """Mine alone."""


@pytest.mark.parametrize(("n_envs", "folded"), [(5, False), (6, True)])
def test_many_gaps_are_folded(tmp_path: Path, n_envs: int, folded: bool) -> None:
    envs = [Ref("GPBandit/RKHS-v0", {"n_arms": 10 + n}, f"RKHS {n}") for n in range(n_envs)]
    agents = [Ref("Uniform"), *(Ref("GP-UCB", {"width": w}, f"width {w}") for w in range(1, 5))]
    skipped: Failure = ("skipped", "it does not fit", None)
    failures = {(env.label, agent.label): skipped for env in envs for agent in agents[1:]}
    folder(tmp_path, envs, agents, repetitions=1, failures=failures)
    page = build_page(tmp_path).read_text()
    assert page.count("it does not fit") >= 4 * n_envs
    assert (f"<summary>{4 * n_envs} groups of runs" in page) == folded


def test_an_interval_is_cut_at_zero_where_no_value_is_below() -> None:
    found = Interval(-1.2, -1.5, -1.0, 5)
    assert between(found, values=np.array([-1.4, -1.0])) == "-1.50 – -1.00"
    above = Interval(0.2, -0.1, 0.5, 5)
    assert between(above, values=np.array([0.1, 0.3])) == between(above) == "0 – 0.500"
    assert between(above, values=np.array([-0.1, 0.3])) == "-0.100 – 0.500"


# ---- what a page builds again of a task ----


def test_the_problem_is_the_one_that_was_played(tmp_path: Path) -> None:
    store = Store(tmp_path)
    played = leaderboards.run(("GPBandit/RKHS-v0", {"n_arms": 30, "dim": 2}), "Random", 4, 10, seed=3)
    store.write(played)
    problem = first_problem(summarise(store), "RKHS")
    assert problem is not None
    with instance_env(played.spec) as (_, expected):
        np.testing.assert_array_equal(problem.arms, expected.arms)


def test_a_size_from_a_stranger_is_refused_before_anything_is_built(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write(record(Ref("GPBandit/RKHS-v0", {"n_arms": 10**7}), Ref("GP-UCB"), 0))
    store.write(record(Ref("other/Env-v0"), Ref("GP-UCB"), 0))
    summary = summarise(store)
    with pytest.raises(ValueError, match="n_arms: no environment is built again for more than 100,000, got 10,000,000"):
        first_problem(summary, "RKHS")
    assert first_problem(summary, "Env") is None


# ---- the plotting library of the pages is the one that the package was built with, else that of Plotly ----


THEIRS = resources.files("plotly") / "package_data" / "plotly.min.js"


def test_ours_before_that_of_plotly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "_STATIC", tmp_path)
    assert build.plotting_library() == THEIRS
    (tmp_path / "plotly.min.js").write_text("ours")
    assert build.plotting_library() == tmp_path / "plotly.min.js"


def test_without_either_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "_STATIC", tmp_path)
    monkeypatch.setitem(sys.modules, "plotly", None)
    with pytest.raises(ImportError, match=r"pages draw with plotly.min.js, .* pip install -e \. in the checkout"):
        build.plotting_library()


# ---- large folders: how much memory the site takes to build, and how large its pages become ----


# The peak is read by the process itself: what the kernel tells of children counts those of other tests too, and what it
# tells as "maximum resident set" starts at the size of the process that forked.
BUILD = """
import sys
from pathlib import Path
from leaderboards.show import build_page
build_page(sys.argv[1])
print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks of memory are read from /proc")
def test_a_fifth_of_the_promised_size_is_built_in_half_the_memory(tmp_path: Path) -> None:
    # The whole, 1,000 runs of 10,000 rows, and the time are measured by benchmarks/bench_site.py.
    write(tmp_path, 200, 10_000)
    built = subprocess.run([sys.executable, "-c", BUILD, str(tmp_path)], check=True, capture_output=True, text=True)
    assert int(built.stdout.split()[-1]) * 1024 < 1e9


@pytest.mark.slow
def test_pages_stay_small_with_many_audited_agents(tmp_path: Path) -> None:
    agents = [Ref("Uniform", label="Agent"), *(Ref(f"a.module:Agent{i}", label=f"Agent{i}") for i in range(24))]
    store = folder(tmp_path, [Ref("GPBandit/RKHS-v0")], agents, repetitions=3, T=400)
    rng = np.random.default_rng(0)
    for key in store.done_keys():
        one = audit(store.spec(key), rng)
        if int(store.spec(key).agent.label[5:] or 0) % 3:  # a third of the agents have a sketch
            one = replace(one, facts=replace(one.facts, no_sketch="none"))
        AuditStore(tmp_path).write(one)
    build_page(tmp_path, theory=False)
    sizes = {path.name: path.stat().st_size for path in tmp_path.rglob("*.html")}
    assert len(sizes) == 1 + 1 + 25 + 1
    assert max(sizes.values()) < 300_000, max(sizes, key=sizes.__getitem__)
    scripts = list((tmp_path / "site" / "compare").glob("*.js"))
    assert len(scripts) == 25
    assert max(path.stat().st_size for path in scripts) < 400_000


# ---- agent card ----


def test_an_agent_of_a_run_has_its_words_settings_and_needs() -> None:
    card = agent_card(Ref("GP-UCB", {"width": 2.0}))
    assert card is not None
    assert card.paragraphs[0].startswith("Evaluate `argmax mean_{t-1} + width_t sd_{t-1}`")
    assert any("Algorithm 1" in text for text in card.references)
    given = {one.name: one.value for one in card.arguments if one.given}
    assert given == {"width": "2.0"}
    meanings = {one.name: one.meaning for one in card.arguments}
    assert meanings["lam"].startswith("Noise variance in the posterior; None for the problem's `noise_std ** 2`")
    assert meanings["width"].endswith("or a `WidthSchedule`."), "further lines belong to the argument"
    assert (card.module, card.name) == ("agents.exact.gp_ucb", "GPUCB")
    assert (card.plays, card.batches, card.kernel_is_told) == ("arms and boxes", "sequential", True)


def test_defaults_of_an_id_count_as_given() -> None:
    card = agent_card(Ref("SM-MEI"))
    assert card is not None
    assert {one.name: one.value for one in card.arguments if one.given} == {"policy": "'mei'"}


def test_a_class_that_is_not_loaded_has_no_card() -> None:
    assert agent_card(Ref("nowhere.module:Thing")) is None
    assert agent_card(Ref("object:thing")) is None


@pytest.mark.parametrize("id", list(agents.registered()))
def test_every_agent_has_a_description_that_ends_before_its_arguments(id: str) -> None:
    card = agent_card(Ref(id))
    assert card is not None
    assert card.paragraphs
    assert not any(text.startswith(("Args:", "Attributes:", "Reference", "Raises:")) for text in card.paragraphs)
    assert card.kernel_is_told is not None


@pytest.mark.parametrize("id", list(agents.registered()))
def test_every_argument_says_what_it_is(id: str) -> None:
    """Its own words, or those of the class that it inherits it from."""
    card = agent_card(Ref(id))
    assert card is not None
    assert [one.name for one in card.arguments if not one.meaning] == []


def test_what_says_nothing_is_described_by_its_name() -> None:
    class Silent(Agent):
        def __init__(self, *parts: int, **rest: int) -> None: ...

    Silent.__doc__ = None
    card = describe_built(Silent, {"speed": 3})
    assert card.references == ()
    assert [(one.name, one.value, one.given) for one in card.arguments] == [("speed", "3", True)]
    assert card.kernel_is_told is None
    assert (card.plays, card.batches) == ("", "")
    assert card.name.endswith("Silent")


# ---- bibTeX: every paper that an agent cites has its entry, and every entry is cited ----


TEXT = (resources.files("agents") / "papers.bib").read_text(encoding="utf-8")
KEYS = re.findall(r"^@\w+\{(\w+),$", TEXT, re.MULTILINE)


def references(id: str) -> tuple[str, ...]:
    import_module(str(agents.spec(id).entry_point).partition(":")[0])
    card = agent_card(Ref(id))
    assert card is not None
    return card.references


def test_the_entries_are_what_the_agents_cite() -> None:
    own = [id for id in agents.registered() if str(agents.spec(id).entry_point).startswith("agents.")]
    cites = {key for id in own for text in references(id) for key in cited(text)}
    assert sorted(cites) == KEYS


@pytest.mark.parametrize("entry", TEXT.split("\n\n")[1:])
def test_an_entry_names_author_title_place_and_the_year_of_its_key(entry: str) -> None:
    fields = dict(re.findall(r"^  (\w+) = \{(.*)\},?$", entry, re.MULTILINE))
    key = re.findall(r"^@\w+\{(\w+),", entry)[0]
    assert entry.count("{") == entry.count("}")
    assert key == f"{fields['author'].partition(',')[0].lower()}{fields['year']}"
    assert {"title"} < fields.keys()
    assert fields.keys() & {"booktitle", "journal", "howpublished"}


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("Wang and de Freitas (2014), Theoretical analysis, section 2.", ["wang2014"]),
        (
            'Bergstra and Bengio (2012), Random search; the baseline "Random" of Ha et al. (2023).',
            ["bergstra2012", "ha2023"],
        ),
        ("Ha, Nguyen, Zhang and van den Hengel (2023), Algorithm 1.", ["ha2023"]),
        ("Auer, Cesa-Bianchi and Fischer (2002), Theorem 4 (1999).", ["auer2002"]),
        ("Nothing that was published.", []),
    ],
)
def test_a_citation_is_its_first_author_and_year(text: str, keys: list[str]) -> None:
    assert cited(text) == keys


def test_entries_come_once_in_the_order_of_mention() -> None:
    text = bibtex(["Li and Scarlett (2022), Algorithm 1; No (1900).", "Auer et al. (2002); Li and Scarlett (2022)."])
    assert re.findall(r"^@\w+\{(\w+),", text, re.MULTILINE) == ["li2022", "auer2002"]
    assert bibtex(["Nobody (1900)."]) == ""


# ---- environments that nobody could play are not counted, printed or drawn; cards say why nothing is ranked ----


PLAYED, OTHER = Ref("GPBandit/RKHS-v0"), Ref("GPBandit/GPSample-v0")
NEEDS: Failure = ("skipped", "the agent needs kernel", None)
DATA: Failure = ("skipped", "without its data: no network", None)
CRASH: Failure = ("crashed", "ValueError: no", "Traceback")


def site(path: Path, failed: dict[str, Failure], agents: tuple[Ref, ...] = tuple(AGENTS), repetitions: int = 6) -> Site:
    failures = {(OTHER.label, label): failure for label, failure in failed.items()}
    return Site(summarise(folder(path, [PLAYED, OTHER], agents, repetitions, failures=failures)))


def labels(agents: tuple[Ref, ...] = tuple(AGENTS)) -> list[str]:
    return [each.label for each in agents]


def test_it_is_named_with_the_main_reason_and_is_nowhere_else(tmp_path: Path) -> None:
    first, *others = labels()
    found = site(tmp_path, {first: DATA, **dict.fromkeys(others, NEEDS)})
    assert list(found.summary.tasks) == list(found.rankings) == list(found.task_files) == ["RKHS"]
    assert found.summary.unplayed == {"GPSample": "the agent needs kernel" if len(others) > 1 else DATA[1]}
    assert "skipped" not in found.counts()
    assert len(unfinished_runs(found.summary)) == 0
    assert "GPSample" not in latex_table(found)
    lines = list(_score_lines(found.summary, "cumulative_regret"))
    assert lines[0] == f"nobody could play GPSample: {found.summary.unplayed['GPSample']}"
    assert not any("GPSample" in line for line in lines[1:])
    assert ", 1 environment, " in lines[1]
    pages = leaderboards.Results(tmp_path).page()
    text = html.unescape(re.sub("<[^>]+>", " ", Path(pages).read_text(encoding="utf-8")))
    assert text.count("GPSample") == 1
    assert f"Nobody could play GPSample: {found.summary.unplayed['GPSample']}." in text
    assert re.search(r"Environments\s+1\s", text)
    assert not list(Path(pages).parent.rglob("env-gpsample*"))


@pytest.mark.parametrize("case", ["one played", "one crashed", "not tried by all", "all there is"])
def test_what_somebody_could_play_or_failed_to_is_counted(tmp_path: Path, case: str) -> None:
    first, *others = labels()
    failed: dict[str, Failure] = dict.fromkeys(others, NEEDS)
    if case == "one crashed":
        failed[first] = CRASH
    found = site(tmp_path, failed)
    if case == "not tried by all":
        store = folder(tmp_path / "part", [PLAYED], AGENTS)
        folder(tmp_path / "part", [OTHER], AGENTS[1:], failures={(OTHER.label, label): NEEDS for label in others})
        found = Site(summarise(store))
    if case == "all there is":
        failures = {(OTHER.label, label): NEEDS for label in labels()}
        found = Site(summarise(folder(tmp_path / "all", [OTHER], AGENTS, failures=failures)))
    assert OTHER.label in found.summary.tasks
    assert found.summary.unplayed == {}


@pytest.mark.parametrize(
    ("failed", "repetitions", "why"),
    [
        (dict.fromkeys(labels(), CRASH), 6, "no run is done, ValueError: no"),
        ({}, 3, "too few repetitions, 3 where places begin at 6"),
        ({}, 6, ""),
    ],
)
def test_cards_say_the_true_reason(tmp_path: Path, failed: dict[str, Failure], repetitions: int, why: str) -> None:
    card = _cards(site(tmp_path, failed, repetitions=repetitions))[OTHER.label]
    assert card["unranked"] == why
    assert bool(card["leading"]) == (not why)


def test_cards_of_repetitions_that_no_two_have_in_common(tmp_path: Path) -> None:
    store = folder(tmp_path, [PLAYED], AGENTS)
    for repetition, agent in enumerate(AGENTS):
        store.write(record(OTHER, agent, repetition, 60))
    card = _cards(Site(summarise(store)))[OTHER.label]
    assert card["unranked"] == "no two agents have finished the same repetitions"


def test_row_t_of_a_trace_has_the_width_of_choice_t_plus_1() -> None:
    widths: list[float] = []

    class Spy(GPUCB):
        def select(self, n, pending):  # type: ignore[no-untyped-def]
            actions = super().select(n, pending)
            widths.append(self.current_width)
            return actions

    trace = leaderboards.run(("GPBandit/GPSample-v0", {"n_arms": 50}), Spy(), horizon=6).trace
    assert trace["width"].tolist()[:-1] == widths[1:]
    assert len(set(widths)) == 6
