"""Regret against how often bands held: as a chart, on the page and as a figure; and what a width is, in tables."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from agents.experiment.outlook import _TRUE
from gpbandit_envs.channels import as_channel
from gpbandit_envs.problem import KNOWLEDGE_LEVELS
from leaderboards.audit.report import AuditReport, audit_reports
from leaderboards.audit.store import audit_runs
from leaderboards.play.measures import RANKED_BY
from leaderboards.play.oracle import MEAN_GAP
from leaderboards.play.spec import Ref
from leaderboards.play.suite import load_suite, parse_suite
from leaderboards.score.board_scores import BATCHES, LEAST_TASKS, SEQUENTIAL, STATED, batching
from leaderboards.score.summary import Summary, summarise
from leaderboards.show import build_page, make_figures
from leaderboards.show.agent import agent_page
from leaderboards.show.chart import TaskView
from leaderboards.show.charts import guarantee_chart
from leaderboards.show.honesty import honesty
from leaderboards.show.overview import _card, score_tables
from leaderboards.show.scores import of_task
from leaderboards.show.shared import NOT_TOLD, TOLD, Site
from leaderboards.store.store import Store
from leaderboards.work.executors import SerialExecutor
from leaderboards.work.schedule import run_missing
from tests.browser import PHONE, Open
from tests.leaderboards.folders import POWERS, record

TASK = "RKHS"
AGENTS = {
    "Uniform": ("Uniform", {}),
    "DMM": ("GP-UCB", {"width": "dmm"}),
    "practical": ("GP-UCB", {"width": "practical"}),
    "narrow": ("GP-UCB", {"width": 0.1}),
    "refuted": ("GP-UCB", {"width": "dmm", "norm_bound": {"times": 0.01}}),
}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three repetitions of each agent, audited at every evaluation."""
    directory = tmp_path_factory.mktemp("widths")
    env = {"id": "GPBandit/RKHS-v0", "kwargs": {"n_arms": 30, "dim": 1, "norm": 3.0}, "label": TASK}
    entries = [{"id": id, "kwargs": kwargs, "label": label} for label, (id, kwargs) in AGENTS.items()]
    suite = parse_suite({"name": "w", "horizon": 20, "repetitions": 3, "environments": [env], "agents": entries})
    store = Store(directory)
    store.write_suite(suite)
    run_missing(list(suite.specs()), store, SerialExecutor())
    audited = dict(audit_runs(store, sorted(store.done_keys()), checkpoints=20)).values()
    assert not any(isinstance(one, str) or one.differs for one in audited)
    return directory


def reports(directory: Path) -> tuple[Summary, dict[str, AuditReport]]:
    summary = summarise(Store(directory))
    found = audit_reports(Store(directory), summary)
    return summary, {agent: report for (_, agent), report in found.items()}


def view(summary: Summary, audits: dict[str, AuditReport]) -> TaskView:
    return TaskView(TASK, summary.on(TASK), as_channel("on_request"), summary.tasks[TASK].horizon, audits)


def test_a_point_is_an_agents_regret_and_the_share_of_runs_whose_band_held(played: Path) -> None:
    summary, audits = reports(played)
    chart = guarantee_chart(view(summary, audits))
    assert chart is not None
    points = {line.name: (float(line.x[0]), float(line.y[0])) for line in chart.lines}
    assert set(points) == set(AGENTS) - {"Uniform"}, "Uniform has no band"
    for name, (held, regret) in points.items():
        assert regret == pytest.approx(summary.scores[TASK, name].finals["cumulative_regret"].mean())
        band = audits[name].band
        assert band is not None
        assert held == band.coverage().estimate
    assert points["DMM"][0] == 1
    assert points["narrow"][0] == points["refuted"][0] == 0
    better = {
        name: [o for o, (h, r) in points.items() if h >= points[name][0] and r <= points[name][1] and o != name]
        for name in points
    }
    assert set(chart.frontier) == {name for name, others in better.items() if not others}
    shares = [points[name][0] for name in chart.frontier]
    assert shares == sorted(shares), "from left to right"
    assert "held in 100% of 3 (dmm (proven))" in chart.alt


def test_one_agent_alone_is_no_frontier(played: Path) -> None:
    summary, audits = reports(played)
    assert guarantee_chart(view(summary, {"DMM": audits["DMM"]})) is None
    assert guarantee_chart(view(summary, {})) is None


def test_the_page_draws_it_and_says_what_a_width_is(played: Path) -> None:
    page = (build_page(played).parent / "site" / "env-rkhs.html").read_text(encoding="utf-8")
    assert "Regret and guarantee" in page
    cells = set(re.findall(r"<td>([^<]*)</td>", page))
    assert {"dmm (proven)", "dmm (unproven)", "practical (tuned)", "0.1 (tuned)"} <= cells
    assert "refuted in 3" in page
    assert "the data refute the norm, the noise or the kernel in 3 of 3" in page
    assert "guaranteed by Flynn and Reeb (2025), DMM" in page
    found = re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert found is not None
    charts = {chart["key"]: chart for chart in json.loads(found[1])["charts"]}
    assert charts["guarantee"]["mark"] == "points"
    assert charts["guarantee"]["frontier"]


@pytest.mark.slow
def test_it_is_a_figure(played: Path, tmp_path: Path) -> None:
    files = {path.name: path for path in make_figures(played, tmp_path, ("svg",))}
    text = files["guarantee.svg"].read_text(encoding="utf-8")
    assert "share of runs whose band held" in text
    assert TASK in text


# ---- tables of scores on pages: tabs by criterion and classes of entrants ----


TASKS = LEAST_TASKS


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five agents on as many tasks as places on tasks like these need; EpsGreedy recommends the best arm but once."""
    store = Store(tmp_path_factory.mktemp("scored"))
    for task in range(TASKS):
        env = Ref("GPBandit/RKHS-v0", {"dim": 1 + task, "n_arms": 1_000 if task < 3 else 200}, f"task {task}")
        for agent in map(Ref, POWERS):
            for repetition in range(6):
                one = record(env, agent, repetition)
                if agent.id == "EpsGreedy":
                    missed = 0.005 if (task, repetition) == (1, 0) else 0.0
                    one = replace(one, trace=one.trace.assign(inference_regret=missed))
                store.write(replace(one, facts={"optimum": 1.0, MEAN_GAP: 1.0}))
    build_page(store.directory, theory=False)
    return store.directory


@pytest.fixture(scope="module")
def site(scored: Path) -> Site:
    return Site(summarise(Store(scored)))


@pytest.mark.no_cover
def test_every_criterion_has_a_tab_that_says_what_it_rests_on(site: Site) -> None:
    (table,) = score_tables(site)
    assert [tab.by for tab in table.tabs] == list(RANKED_BY)
    for tab in table.tabs:
        scores = [row.cells[0].sort for row in tab.rows]
        assert scores == sorted(scores, reverse=True)
        assert tab.notes[0].startswith(f"places on tasks like these {TASKS} environments; ")
        assert any("first" in note for note in tab.notes)
    by_regret, by_recommendation = table.tabs[0].rows, table.tabs[2].rows
    assert by_regret[-1].name == "Uniform"
    assert by_recommendation[0].name == "EpsGreedy"
    assert by_recommendation[0].cells[0].text == "100.0"


def test_agents_are_placed_within_their_classes_too(site: Site) -> None:
    assert {name: batching(site.summary, name) for name in POWERS} == {
        "Uniform": SEQUENTIAL,
        "EpsGreedy": SEQUENTIAL,
        "GP-UCB": SEQUENTIAL,
        "BBKB": BATCHES,
        "GP-AUCB": BATCHES,
    }
    (table,) = score_tables(site)
    assert table.kernels == [TOLD, NOT_TOLD]
    assert table.batchings == [SEQUENTIAL, BATCHES]
    rows = {row.name: row for row in table.tabs[0].rows}
    everybody, told_none, one_at_a_time, both = json.loads(rows["EpsGreedy"].places)
    assert (everybody, told_none, one_at_a_time, both) == ("4", "1", "2", "1")
    assert json.loads(rows["GP-UCB"].places)[2:] == ["1", "1"]


def test_every_level_of_knowledge_has_its_heading() -> None:
    assert set(STATED) == set(KNOWLEDGE_LEVELS)
    assert len(set(STATED.values())) == len(STATED)


def test_a_task_has_its_own_places(site: Site) -> None:
    table = of_task(site, "task 0")
    assert table is not None
    assert [tab.by for tab in table.tabs] == list(RANKED_BY)
    assert table.tabs[0].rows[-1].name == "Uniform"
    assert table.tabs[0].notes[0] == "6 repetitions of this environment"
    for task, ends in (("task 0", ""), ("task 1", "99.7 – 100.0")):
        found = of_task(site, task)
        assert found is not None
        first = found.tabs[2].rows[0]
        assert (first.name, first.cells[0].interval) == ("EpsGreedy", ends)


def test_ones_own_agent_is_marked_where_it_played_like_one_of_the_board(tmp_path: Path) -> None:
    store, env = Store(tmp_path), Ref("GPBandit/RKHS-v0")
    for repetition in range(2):
        one = replace(record(env, Ref("Uniform"), repetition), facts={"optimum": 1.0, MEAN_GAP: 1.0})
        for agent in (Ref("Uniform"), Ref("Random")):
            store.write(replace(one, spec=replace(one.spec, agent=agent)))
    summary = replace(summarise(store), against="core-v2", rivals=frozenset({"Random"}))
    (table,) = score_tables(Site(summary))
    assert [(row.name, row.also, row.own) for row in table.tabs[0].rows] == [("Random", ("Uniform",), True)]


def test_the_tab_of_honesty_has_the_rates_that_an_outlook_states() -> None:
    found = honesty(load_suite("lab-v1"))
    assert found is not None
    of = {cells[0].sort: cells for name, cells in found.models if name == "Experiment.outlook"}
    said = {n: tuple(round(100 * float(cells[i].sort)) for i in (1, 3, 2, 4)) for n, cells in of.items()}
    assert (said, found.campaigns, found.families) == (_TRUE, (240, 504), 6)
    assert honesty(None) is honesty(load_suite("quick")) is None


def test_a_tab_is_chosen_for_the_whole_page_and_stands_in_the_address(scored: Path, open_page: Open) -> None:
    with open_page(scored / "index.html", PHONE) as page:
        tabs = page.locator("#scores-0 [role=tab]")
        assert tabs.all_inner_texts() == ["Cumulative regret", "Simple regret", "Inference regret", "Best so far"]
        tabs.nth(0).focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.textContent") == "Inference regret"
        assert page.url.endswith("#by=inference_regret")
        shown = page.locator("#scores-0 .criterion:visible")
        assert shown.count() == 1
        assert shown.locator("tbody th.agent").first.inner_text().startswith("EpsGreedy")
        page.reload()
        assert page.locator("#scores-0 [role=tab][aria-selected=true]").inner_text() == "Inference regret"
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


def test_a_class_of_entrants_is_placed_among_itself(scored: Path, open_page: Open) -> None:
    with open_page(scored / "index.html") as page:
        rows = page.locator("#scores-0-cumulative_regret tbody tr")
        page.locator("#scores-0 select[name=kernel]").select_option(NOT_TOLD)
        left = rows.locator("visible=true").all_inner_texts()
        assert [text.split("\t")[0].split("\n")[0] for text in left] == ["1", "2"]
        page.locator("#scores-0 select[name=kernel]").select_option("")
        assert page.locator("#scores-0-cumulative_regret tbody tr:visible").count() == 5


def test_rivals_are_in_order_of_their_rank(site: Site) -> None:
    order = site.best_agents()
    assert order != list(site.summary.agents)
    assert [rival.name for rival in agent_page(site, order[1])["rivals"]] == [order[0], *order[2:]]


def test_a_card_draws_who_leads_the_reference_and_ones_own(tmp_path: Path) -> None:
    store, env = Store(tmp_path), Ref("GPBandit/RKHS-v0")
    widths = [Ref("GP-UCB", {"width": 1.0 + i}, f"width {i}") for i in range(12)]
    for agent in (Ref("Uniform"), *widths):
        for repetition in range(2):
            store.write(record(env, agent, repetition))
    summary = summarise(store)
    last = [agent for agent in Site(summary).best_agents("RKHS") if agent != "Uniform"][-1]
    site = Site(replace(summary, against="core-v2", rivals=frozenset(summary.agents) - {last}))
    assert last not in site.best_agents("RKHS")[:8]
    drawn = re.findall(r"<title>([^<]+)</title>", str(_card(site, "RKHS")["drawing"]))
    assert set(drawn) == {*site.best_agents("RKHS")[:8], "Uniform", last}
