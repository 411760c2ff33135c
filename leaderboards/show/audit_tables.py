"""Tables of audits on pages: confidence bands, sketches, time and memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from leaderboards.audit.measure import ALPHA
from leaderboards.audit.report import AuditReport, BandReport, SketchReport
from leaderboards.score.statistics import Interval, mean_interval
from leaderboards.show import svg
from leaderboards.show.format import between, duration, duration_between, number, size
from leaderboards.show.site import Site

__all__ = ["audits_of", "coverage_table"]

_LAST = 1e9


def audits_of(site: Site, task: str | None = None, agent: str | None = None) -> dict[str, Any] | None:
    """Context of the macro `audit_tables`, for the audits on one task or of one agent; None without any."""
    reports = {
        pair: report
        for pair, report in site.audits.items()
        if (task is None or pair[0] == task) and agent in (None, pair[1])
    }
    if not reports:
        return None
    band_rows, cost_rows = [], []
    for (task_name, agent_name), report in reports.items():
        head = _head(site, task_name, agent_name, by_agent=task is not None)
        if report.band is not None:
            band_rows.append(head | _band(report.band))
        cost_rows.append(head | _cost(site, task_name, agent_name, report))
    runs = [audit for report in reports.values() for audit in report.audits]
    return {
        "checkpoints": max(len(report.t) for report in reports.values()),
        "runs": len(runs),
        "differing": sum(report.differing for report in reports.values()),
        "on_box": any(audit.facts.on_box for audit in runs),
        "sampled": max(audit.facts.sampled for audit in runs),
        "bands": band_rows,
        "costs": cost_rows,
        "sketched": any(row["is_sketched"] for row in cost_rows),
        "alpha": f"{ALPHA:g}",
        "bandless": _bandless(reports, task is not None),
    }


def coverage_table(site: Site) -> dict[str, Any] | None:
    """Agents by tasks: how often bands held, and how wide they were; None without audited bands."""
    bands = {pair: report.band for pair, report in site.audits.items() if report.band is not None}
    if not bands:
        return None
    tasks = [task for task in site.summary.tasks if any(pair[0] == task for pair in bands)]
    rows = []
    for agent in site.summary.agents:
        if any(pair[1] == agent for pair in bands):
            cells = [_coverage_cell(bands.get((task, agent))) for task in tasks]
            rows.append({**_head(site, tasks[0], agent, by_agent=True), "cells": cells})
    return {"tasks": [(task, site.task_files[task]) for task in tasks], "rows": rows}


def _coverage_cell(band: BandReport | None) -> dict[str, Any]:
    if band is None:
        return _cell("–", "", _LAST, "not audited, or without a band") | {"promised": False, "broken": False}
    row = _band(band)
    coverage = band.coverage()
    mark = {"kept": "", "broken": "broken: ", "held": "", "left": ""}[row["verdict"]]
    why = f"width {row['width']}; {band.no_guarantee or 'promised by a theorem'}"
    text = f"{mark}{coverage.estimate:.0%} of {coverage.n}"
    return _cell(text, f"{_times(band.conservativeness().estimate)} as wide as needed", coverage.estimate, why) | {
        "promised": not band.no_guarantee and band.delta is not None,
        "broken": row["verdict"] == "broken",
    }


def _bandless(reports: Mapping[tuple[str, str], AuditReport], by_agent: bool) -> list[str]:
    """Agents, or tasks, without a band, with the reason."""
    names: dict[str, list[str]] = {}
    for (task, agent), report in reports.items():
        if report.no_band:
            names.setdefault(report.no_band, []).append(agent if by_agent else task)
    return [f"{', '.join(group)} ({reason})" for reason, group in names.items()]


def _head(site: Site, task: str, agent: str, by_agent: bool) -> dict[str, Any]:
    name = agent if by_agent else task
    return {
        "name": name,
        "file": site.agent_files[agent] if by_agent else site.task_files[task],
        "swatch": svg.swatch(site.styles[agent]) if by_agent else "",
    }


def _band(band: BandReport) -> dict[str, Any]:
    coverage, width_ratio, first = band.coverage(), band.conservativeness(), band.first_violation()
    n, most = len(band), band.most_violations
    delta = band.delta
    if delta is None:
        promised = _cell("none", "", _LAST, "the agent states no probability of failure")
    else:
        promised = _cell(
            f"{1 - delta:.4g}", "" if not band.no_guarantee else "no theorem", 1 - delta, band.no_guarantee
        )
    if band.no_guarantee or delta is None:
        verdict, status = ("held" if coverage.estimate == 1 else "left"), "skipped"
    else:
        verdict, status = ("kept", "done") if band.passes else ("broken", "crashed")
    return {
        "width": band.width or "–",
        "promised": promised,
        "coverage": _cell(
            f"{coverage.estimate:.0%}",
            f"{round(coverage.estimate * n)} of {n}; {coverage.low:.0%} – {coverage.high:.0%}",
            coverage.estimate,
            "repetitions in which no mean was outside at any checkpoint, with the Clopper-Pearson interval",
        ),
        "conservativeness": _cell(
            _times(width_ratio.estimate), _times_between(width_ratio), min(width_ratio.estimate, _LAST)
        ),
        "most_violations": _cell(number(most) if most else "0", "", most),
        "first_violation": _cell("never" if first is None else f"{first:,.0f}", "", _LAST if first is None else first),
        "verdict": verdict,
        "status": status,
        "verdict_why": band.no_guarantee,
    }


def _cost(site: Site, task: str, agent: str, report: AuditReport) -> dict[str, Any]:
    cell = site.summary.cells[task, agent]
    seconds = mean_interval(cell.finals["policy_seconds"] / cell.t[-1])
    T = float(cell.t[-1])
    sketch = report.sketch
    row = {
        "is_sketched": sketch is not None,
        "seconds": _cell(duration(seconds.estimate), duration_between(seconds), seconds.estimate),
        "bytes": _cell(size(report.bytes.estimate), "", report.bytes.estimate),
        "bytes_per": _cell(size(report.bytes.estimate / T), "", report.bytes.estimate / T),
    }
    return row | (_NO_SKETCH if sketch is None else _sketch(sketch))


def _sketch(sketch: SketchReport) -> dict[str, Any]:
    kept = sketch.kept
    return {
        "dictionary": _counted(sketch.dictionary),
        "d_eff": _counted(sketch.d_eff),
        "per_d_eff": _counted(sketch.per_d_eff),
        "ratio": _cell(f"{number(sketch.low)} – {number(sketch.high)}", "", sketch.high),
        "factor": _counted(sketch.factor),
        "kept": _cell(
            f"{kept.estimate:.0%}",
            f"{round(kept.estimate * kept.n)} of {kept.n}; {kept.low:.0%} – {kept.high:.0%}",
            kept.estimate,
        ),
        "resparsifications": _counted(sketch.resparsifications),
    }


def _cell(text: str, interval: str, sort: float, why: str = "") -> dict[str, Any]:
    return {"text": text, "interval": interval, "sort": sort, "lead": False, "place": "", "why": why}


def _counted(interval: Interval) -> dict[str, Any]:
    return _cell(number(interval.estimate), between(interval), interval.estimate)


_NO_SKETCH: dict[str, Any] = {
    name: _cell("–", "", _LAST)
    for name in ("dictionary", "d_eff", "per_d_eff", "ratio", "factor", "kept", "resparsifications")
}


def _times(x: float) -> str:
    return "∞" if math.isinf(x) else f"{number(x)} ×"


def _times_between(interval: Interval) -> str:
    return f"{number(interval.low)} – {number(interval.high)}" if interval.is_known else ""
