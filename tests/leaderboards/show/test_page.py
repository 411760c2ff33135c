"""What the pages are made of, without a browser."""

from __future__ import annotations

import base64
import itertools
import json
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import leaderboards
from agents import Agent
from gpbandit_envs.channels import as_channel
from leaderboards.api.run_suite import run_suite
from leaderboards.play.spec import Ref
from leaderboards.score.metrics import METRICS
from leaderboards.score.scores import AgentScores
from leaderboards.score.statistics import Interval
from leaderboards.score.summary import summarise
from leaderboards.score.tasks import Task
from leaderboards.show import build_page, palette
from leaderboards.show.build import embed, page_templates, prose
from leaderboards.show.chart import Axis, Chart, Line, TaskView, page_json
from leaderboards.show.charts import metric_chart, time_chart
from leaderboards.show.environment import REPEATED, repetition_data
from leaderboards.show.format import between, file_names, number, packed_each, row_command
from leaderboards.show.overview import overview_page
from leaderboards.show.palette import HUES, LineStyle, line_styles, swatch, thumbnail
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
