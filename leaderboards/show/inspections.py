"""What audits add to pages: tables of confidence bands, of sketches, and of what agents cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from leaderboards.score.audit import Audit
from leaderboards.score.inspection import Inspection, SketchAudit
from leaderboards.score.sketch import ALPHA
from leaderboards.score.statistics import Interval, mean_interval
from leaderboards.show import svg
from leaderboards.show.format import between, duration, duration_between, number, size
from leaderboards.show.site import Site

__all__ = ["audits_of", "bands_at_a_glance"]

_LAST = 1e9


def audits_of(site: Site, task: str | None = None, agent: str | None = None) -> dict[str, Any] | None:
    """Context of the macros `bands` and `sketches`, for the audits on one task or of one agent; None without any."""
    found = {
        cell: one
        for cell, one in site.inspections.items()
        if (task is None or cell[0] == task) and agent in (None, cell[1])
    }
    if not found:
        return None
    looks = max(len(one.t) for one in found.values())
    band_rows, cost_rows = [], []
    for (task_name, agent_name), one in found.items():
        head = _head(site, task_name, agent_name, by_agent=task is not None)
        if one.band is not None:
            band_rows.append(head | _band(one.band))
        cost_rows.append(head | _cost(site, task_name, agent_name, one))
    return {
        "looks": looks,
        "runs": sum(map(len, found.values())),
        "differing": sum(one.differing for one in found.values()),
        "on_box": any(audit.about["on_box"] for one in found.values() for audit in one.audits),
        "sampled": max(audit.about["sampled"] for one in found.values() for audit in one.audits),
        "bands": band_rows,
        "costs": cost_rows,
        "sketched": any(row["is_sketched"] for row in cost_rows),
        "alpha": f"{ALPHA:g}",
        "bandless": _bandless(found, task is not None),
    }


def bands_at_a_glance(site: Site) -> dict[str, Any] | None:
    """Agents by tasks: how often bands held, and how wide they were; None without audited bands."""
    bands = {cell: one.band for cell, one in site.inspections.items() if one.band is not None}
    if not bands:
        return None
    tasks = [task for task in site.summary.tasks if any(cell[0] == task for cell in bands)]
    rows = []
    for agent in site.summary.agents:
        if any(cell[1] == agent for cell in bands):
            cells = [_glance(bands.get((task, agent))) for task in tasks]
            rows.append({**_head(site, tasks[0], agent, by_agent=True), "cells": cells})
    return {"tasks": [(task, site.task_files[task]) for task in tasks], "rows": rows}


def _glance(band: Audit | None) -> dict[str, Any]:
    if band is None:
        return _cell("–", "", _LAST, "not audited, or without a band") | {"promised": False, "broken": False}
    row = _band(band)
    coverage = band.coverage()
    mark = {"kept": "", "broken": "broken: ", "held": "", "left": ""}[row["verdict"]]
    why = f"width {row['width']}; {band.unpromised or 'promised by a theorem'}"
    share = f"{mark}{coverage.estimate:.0%} of {coverage.n}"
    return _cell(share, f"{_times(band.slack().estimate)} as wide as needed", coverage.estimate, why) | {
        "promised": not band.unpromised and band.delta is not None,
        "broken": row["verdict"] == "broken",
    }


def _bandless(found: Mapping[tuple[str, str], Inspection], by_agent: bool) -> list[str]:
    """What has no band, by reason."""
    names: dict[str, list[str]] = {}
    for (task, agent), one in found.items():
        if one.no_band:
            names.setdefault(one.no_band, []).append(agent if by_agent else task)
    return [f"{', '.join(those)} ({reason})" for reason, those in names.items()]


def _head(site: Site, task: str, agent: str, by_agent: bool) -> dict[str, Any]:
    name = agent if by_agent else task
    return {
        "name": name,
        "file": site.agent_files[agent] if by_agent else site.task_files[task],
        "swatch": svg.swatch(site.styles[agent]) if by_agent else "",
    }


def _band(band: Audit) -> dict[str, Any]:
    coverage, slack, exit_at = band.coverage(), band.slack(), band.first_exit()
    n = len(band)
    delta = band.delta
    if delta is None:
        promised = _cell("none", "", _LAST, "the agent states no probability of failure")
    else:
        promised = _cell(f"{1 - delta:.4g}", "" if not band.unpromised else "no theorem", 1 - delta, band.unpromised)
    if band.unpromised or delta is None:
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
            "repetitions in which no mean was outside at any look, with the Clopper-Pearson interval",
        ),
        "slack": _cell(
            _times(slack.estimate), _times_between(slack), slack.estimate if slack.estimate < _LAST else _LAST
        ),
        "worst": _cell(number(band.worst) if band.worst else "0", "", band.worst),
        "exit": _cell("never" if exit_at is None else f"{exit_at:,.0f}", "", _LAST if exit_at is None else exit_at),
        "verdict": verdict,
        "status": status,
        "verdict_why": band.unpromised,
    }


def _cost(site: Site, task: str, agent: str, one: Inspection) -> dict[str, Any]:
    cell = site.summary.cells[task, agent]
    seconds = mean_interval(cell.finals["policy_seconds"] / cell.t[-1])
    T = float(cell.t[-1])
    sketch = one.sketch
    row = {
        "is_sketched": sketch is not None,
        "seconds": _cell(duration(seconds.estimate), duration_between(seconds), seconds.estimate),
        "bytes": _cell(size(one.bytes.estimate), "", one.bytes.estimate),
        "bytes_per": _cell(size(one.bytes.estimate / T), "", one.bytes.estimate / T),
    }
    return row | (_NO_SKETCH if sketch is None else _sketch(sketch))


def _sketch(sketch: SketchAudit) -> dict[str, Any]:
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
