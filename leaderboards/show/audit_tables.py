"""Tables of audits on pages: confidence bands, sketches, time and memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from leaderboards.audit.measure import RATIO_BOUND
from leaderboards.audit.report import AuditReport, BandReport, SketchReport
from leaderboards.score.statistics import Interval, score_interval
from leaderboards.show.format import NONE, between, duration, duration_between, number, size
from leaderboards.show.shared import Site
from leaderboards.show.table import Row, TableCell, agent_row, share_cell, task_row

_SKETCH_COLUMNS = 7


def audits_of(site: Site, task: str | None = None, agent: str | None = None) -> dict[str, Any] | None:
    """The audits on one task or of one agent, for the macro `audit_tables`; None without any."""
    reports = {
        pair: report
        for pair, report in site.audits.items()
        if (task is None or pair[0] == task) and agent in (None, pair[1])
    }
    if not reports:
        return None

    def row(pair: tuple[str, str], cells: list[TableCell]) -> Row:
        return task_row(site, pair[0], cells) if task is None else agent_row(site, pair[1], cells)

    bands = {pair: report.band for pair, report in reports.items() if report.band is not None}
    sketched = any(report.sketch is not None for report in reports.values())
    runs = [audit for report in reports.values() for audit in report.audits]
    return {
        "checkpoints": max(len(report.t) for report in reports.values()),
        "runs": len(runs),
        "differing": sum(report.differing for report in reports.values()),
        "on_box": any(audit.facts.on_box for audit in runs),
        "sampled": max(audit.facts.sampled for audit in runs),
        "bands": [row(pair, _band_cells(band)) for pair, band in bands.items()],
        "costs": [row(pair, _cost_cells(site, pair, report, sketched)) for pair, report in reports.items()],
        "sketched": sketched,
        "alpha": f"{RATIO_BOUND:g}",
        "bandless": _bandless(reports, task is not None),
    }


def coverage_table(site: Site) -> tuple[list[tuple[str, str]], list[Row]] | None:
    """Tasks with the files of their pages, and a row an agent: how often its band held on each, and how wide it was.

    None without audited bands.
    """
    bands = {pair: report.band for pair, report in site.audits.items() if report.band is not None}
    tasks = [task for task in site.summary.tasks if any(pair[0] == task for pair in bands)]
    agents = [agent for agent in site.summary.agents if any(pair[1] == agent for pair in bands)]
    rows = [agent_row(site, agent, (_coverage_cell(bands.get((task, agent))) for task in tasks)) for agent in agents]
    return ([(task, site.task_files[task]) for task in tasks], rows) if bands else None


def _coverage_cell(band: BandReport | None) -> TableCell:
    """The share of repetitions in which a band held; it leads where a theorem guarantees the band."""
    if band is None:
        return TableCell(NONE, why="not audited, or without a band")
    coverage, broken = band.coverage(), _verdict(band) == "broken"
    return TableCell(
        f"{'broken: ' if broken else ''}{coverage.estimate:.0%} of {coverage.n}",
        coverage.estimate,
        f"{_times(band.conservativeness().estimate)} as wide as needed",
        f"width {band.setting or NONE}; {_theorem(band)}",
        lead=_is_guaranteed(band),
        css="num bad" if broken else "num",
    )


def _bandless(reports: Mapping[tuple[str, str], AuditReport], by_agent: bool) -> list[str]:
    """Agents, or tasks, without a band, with the reason."""
    names: dict[str, list[str]] = {}
    for (task, agent), report in reports.items():
        if report.no_band:
            names.setdefault(report.no_band, []).append(agent if by_agent else task)
    return [f"{', '.join(group)} ({reason})" for reason, group in names.items()]


def _is_guaranteed(band: BandReport) -> bool:
    return not band.no_guarantee and band.delta is not None


def _verdict(band: BandReport) -> str:
    """Whether the guarantee is kept or broken; without a guarantee, whether the band held or was left."""
    if _is_guaranteed(band):
        return "kept" if band.passes else "broken"
    return "held" if band.coverage().estimate == 1 else "left"


def _theorem(band: BandReport) -> str:
    """Which theorem guarantees a band, or why none does, and how often the data refuted what the agent was given."""
    text = band.no_guarantee or f"guaranteed by {band.theorem or 'a theorem'}"
    if band.refuted:
        text += f"; the data refute the norm, the noise or the kernel in {band.refuted} of {len(band)}"
    return text


def _band_cells(band: BandReport) -> list[TableCell]:
    """Width, nominal and observed coverage, verdict, width over what is required, what was outside."""
    first, most, delta, verdict = band.first_violation(), band.most_violations, band.delta, _verdict(band)
    if delta is None:
        nominal = TableCell("none", why="the agent states no probability of failure")
    else:
        below = "no theorem" if band.no_guarantee else ""
        nominal = TableCell(f"{1 - delta:.4g}", 1 - delta, below, why=band.no_guarantee)
    what = "repetitions in which no mean was outside at any checkpoint, with the Clopper-Pearson interval"
    width, wide = band.setting or NONE, band.conservativeness()
    ends = f"{number(wide.low)} – {number(wide.high)}" if wide.is_known else ""
    return [
        TableCell(width, width, css=""),
        nominal,
        replace(share_cell(band.coverage(), band.refuted), why=what),
        TableCell(verdict, verdict, why=_theorem(band), css=f"status {_CSS.get(verdict, 'skipped')}"),
        TableCell(_times(wide.estimate), wide.estimate, ends),
        TableCell(number(most) if most else "0", most),
        TableCell("never") if first is None else TableCell(f"{first:,.0f}", first),
    ]


_CSS = {"kept": "done", "broken": "crashed"}


def _cost_cells(site: Site, pair: tuple[str, str], report: AuditReport, sketched: bool) -> list[TableCell]:
    """Seconds and bytes of an agent; where some agent has a sketch, how good that of this one is."""
    scores = site.shown.scores[pair]
    T = float(scores.t[-1])
    seconds = score_interval(scores.finals["policy_seconds"] / T)
    held = report.bytes.estimate
    return [
        TableCell(duration(seconds.estimate), seconds.estimate, duration_between(seconds)),
        TableCell(size(held), held),
        TableCell(size(held / T), held / T),
        *(_sketch_cells(report.sketch) if sketched else []),
    ]


def _sketch_cells(sketch: SketchReport | None) -> list[TableCell]:
    """How good a sketch is; dashes without one."""
    if sketch is None:
        return [TableCell(NONE)] * _SKETCH_COLUMNS
    return [
        _mean_cell(sketch.dictionary),
        _mean_cell(sketch.d_eff),
        _mean_cell(sketch.per_d_eff),
        TableCell(f"{number(sketch.low)} – {number(sketch.high)}", sketch.high),
        _mean_cell(sketch.factor),
        share_cell(sketch.kept),
        _mean_cell(sketch.resparsifications),
    ]


def _mean_cell(interval: Interval) -> TableCell:
    return TableCell(number(interval.estimate), interval.estimate, between(interval))


def _times(x: float) -> str:
    return "∞" if math.isinf(x) else f"{number(x)} ×"
