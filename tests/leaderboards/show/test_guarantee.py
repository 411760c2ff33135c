"""Regret against how often bands held: as a chart, on the page and as a figure; and what a width is, in tables."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gpbandit_envs.channels import as_channel
from leaderboards.audit.report import AuditReport, audit_reports
from leaderboards.audit.store import audit_runs
from leaderboards.play.suite import parse_suite
from leaderboards.score.summary import Summary, summarise
from leaderboards.show import build_page, make_figures
from leaderboards.show.chart import TaskView
from leaderboards.show.charts import guarantee_chart
from leaderboards.store.store import Store
from leaderboards.work.executors import SerialExecutor
from leaderboards.work.schedule import run_missing

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
    assert not any(one.error or one.differs for one in audit_runs(store, sorted(store.done_keys()), checkpoints=20))
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
