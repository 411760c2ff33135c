"""Tables of audits on pages: confidence bands, sketches, time and memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from leaderboards.audit.measure import ALPHA
from leaderboards.audit.report import AuditReport, BandReport, SketchReport
from leaderboards.score.statistics import Interval, score_interval
from leaderboards.show import svg
from leaderboards.show.format import NONE, between, duration, duration_between, number, size
from leaderboards.show.shared import Site
from leaderboards.show.table import TableCell

__all__ = ["AuditTables", "CoverageTable", "audits_of", "coverage_table"]

_SKETCH_COLUMNS = 7


@dataclass(frozen=True)
class RowHead:
    """The agent, or the task, that a row is about.

    Attributes:
        name: Its name.
        file: File name of its page.
        swatch: Line style of an agent; "" for a task.
    """

    name: str
    file: str
    swatch: Markup


@dataclass(frozen=True)
class BandRow:
    """A confidence band.

    Attributes:
        head: Whose it is.
        width: The agent's setting, and what it is: proven, Bayesian, unproven or tuned.
        nominal: Nominal probability `1 - delta` that the band holds.
        coverage: Share of repetitions in which it held.
        conservativeness: Factor by which it could be narrower.
        over_conic: Half-width over that of CMM; a dash where it was not measured.
        most_violations: Largest number of means outside at one checkpoint.
        first_violation: Time of the first checkpoint with a mean outside.
        verdict: "kept" or "broken" where a theorem guarantees the band, else "held" or "left".
        status: Class of the verdict in the style sheet.
        why: Which theorem guarantees the band, or why none does, and whether data refute what it was given.
    """

    head: RowHead
    width: str
    nominal: TableCell
    coverage: TableCell
    conservativeness: TableCell
    over_conic: TableCell
    most_violations: TableCell
    first_violation: TableCell
    verdict: str
    status: str
    why: str


@dataclass(frozen=True)
class CostRow:
    """What an agent costs, and how good its sketch is.

    Attributes:
        head: Whose costs they are.
        seconds: Policy seconds per evaluation.
        bytes: Bytes in the agent's arrays at the end.
        bytes_per: The same per evaluation.
        sketch: Cells of the sketch, in the order of the columns.
    """

    head: RowHead
    seconds: TableCell
    bytes: TableCell
    bytes_per: TableCell
    sketch: list[TableCell]


@dataclass(frozen=True)
class AuditTables:
    """The audits on one task, or of one agent, for the macro `audit_tables`.

    Attributes:
        checkpoints: Largest number of checkpoints of a run.
        runs: Number of audited runs.
        differing: How many of them left the stored trace when they were played again.
        on_box: Whether bands were audited at sampled points of a box.
        sampled: Number of arms at which variances were compared.
        bands: One row a band.
        costs: One row an agent, or a task.
        sketched: Whether one of them has a sketch.
        conic: Whether a band was compared with that of CMM.
        alpha: Factor within which theorems guarantee sketched variances.
        bandless: Agents, or tasks, without a band, with the reason.
    """

    checkpoints: int
    runs: int
    differing: int
    on_box: bool
    sampled: int
    bands: list[BandRow]
    costs: list[CostRow]
    sketched: bool
    conic: bool
    alpha: str
    bandless: list[str]


@dataclass(frozen=True)
class CoverageCell:
    """Coverage of one agent on one task.

    Attributes:
        cell: The share of repetitions in which the band held; it leads where a theorem guarantees the band.
        broken: Whether the runs refute that guarantee.
    """

    cell: TableCell
    broken: bool


@dataclass(frozen=True)
class CoverageTable:
    """Agents by tasks.

    Attributes:
        tasks: Name and file name of each task.
        rows: The agent, and one cell a task.
    """

    tasks: list[tuple[str, str]]
    rows: list[tuple[RowHead, list[CoverageCell]]]


def audits_of(site: Site, task: str | None = None, agent: str | None = None) -> AuditTables | None:
    """The audits on one task or of one agent; None without any."""
    reports = {
        pair: report
        for pair, report in site.audits.items()
        if (task is None or pair[0] == task) and agent in (None, pair[1])
    }
    if not reports:
        return None
    bands, costs = [], []
    for (task_name, agent_name), report in reports.items():
        head = _agent_head(site, agent_name) if task is not None else _task_head(site, task_name)
        if report.band is not None:
            bands.append(_band_row(head, report.band))
        costs.append(_cost_row(site, head, task_name, agent_name, report))
    runs = [audit for report in reports.values() for audit in report.audits]
    return AuditTables(
        checkpoints=max(len(report.t) for report in reports.values()),
        runs=len(runs),
        differing=sum(report.differing for report in reports.values()),
        on_box=any(audit.facts.on_box for audit in runs),
        sampled=max(audit.facts.sampled for audit in runs),
        bands=bands,
        costs=costs,
        sketched=any(report.sketch is not None for report in reports.values()),
        conic=any(report.band is not None and report.band.over_conic is not None for report in reports.values()),
        alpha=f"{ALPHA:g}",
        bandless=_bandless(reports, task is not None),
    )


def coverage_table(site: Site) -> CoverageTable | None:
    """Agents by tasks: how often bands held, and how wide they were; None without audited bands."""
    bands = {pair: report.band for pair, report in site.audits.items() if report.band is not None}
    if not bands:
        return None
    tasks = [task for task in site.summary.tasks if any(pair[0] == task for pair in bands)]
    rows = [
        (_agent_head(site, agent), [_coverage_cell(bands.get((task, agent))) for task in tasks])
        for agent in site.summary.agents
        if any(pair[1] == agent for pair in bands)
    ]
    return CoverageTable([(task, site.task_files[task]) for task in tasks], rows)


def _coverage_cell(band: BandReport | None) -> CoverageCell:
    if band is None:
        return CoverageCell(TableCell(NONE, why="not audited, or without a band"), broken=False)
    coverage = band.coverage()
    broken = _verdict(band) == "broken"
    why = f"width {band.setting or NONE}; {band.no_guarantee or _guaranteed(band)}{_refuted(band)}"
    cell = TableCell(
        f"{'broken: ' if broken else ''}{coverage.estimate:.0%} of {coverage.n}",
        coverage.estimate,
        f"{_times(band.conservativeness().estimate)} as wide as needed",
        why,
        lead=not band.no_guarantee and band.delta is not None,
    )
    return CoverageCell(cell, broken)


def _bandless(reports: Mapping[tuple[str, str], AuditReport], by_agent: bool) -> list[str]:
    """Agents, or tasks, without a band, with the reason."""
    names: dict[str, list[str]] = {}
    for (task, agent), report in reports.items():
        if report.no_band:
            names.setdefault(report.no_band, []).append(agent if by_agent else task)
    return [f"{', '.join(group)} ({reason})" for reason, group in names.items()]


def _agent_head(site: Site, agent: str) -> RowHead:
    return RowHead(agent, site.agent_files[agent], svg.swatch(site.styles[agent]))


def _task_head(site: Site, task: str) -> RowHead:
    return RowHead(task, site.task_files[task], Markup(""))


def _verdict(band: BandReport) -> str:
    """Whether the guarantee is kept or broken; without a guarantee, whether the band held or was left."""
    if band.no_guarantee or band.delta is None:
        return "held" if band.coverage().estimate == 1 else "left"
    return "kept" if band.passes else "broken"


def _guaranteed(band: BandReport) -> str:
    return f"guaranteed by {band.theorem or 'a theorem'}"


def _refuted(band: BandReport) -> str:
    """In how many repetitions the data refuted what the agent was given; "" if in none."""
    return (
        f"; the data refute the norm, the noise or the kernel in {band.refuted} of {len(band)}" if band.refuted else ""
    )


def _band_row(head: RowHead, band: BandReport) -> BandRow:
    coverage, width_ratio, first = band.coverage(), band.conservativeness(), band.first_violation()
    n, most = len(band), band.most_violations
    delta, verdict = band.delta, _verdict(band)
    if delta is None:
        nominal = TableCell("none", why="the agent states no probability of failure")
    else:
        nominal = TableCell(
            f"{1 - delta:.4g}", 1 - delta, "no theorem" if band.no_guarantee else "", why=band.no_guarantee
        )
    return BandRow(
        head=head,
        width=band.setting or NONE,
        nominal=nominal,
        coverage=TableCell(
            f"{coverage.estimate:.0%}",
            coverage.estimate,
            f"{round(coverage.estimate * n)} of {n}; {coverage.low:.0%} – {coverage.high:.0%}"
            + (f"; refuted in {band.refuted}" if band.refuted else ""),
            why="repetitions in which no mean was outside at any checkpoint, with the Clopper-Pearson interval",
        ),
        conservativeness=TableCell(_times(width_ratio.estimate), width_ratio.estimate, _times_between(width_ratio)),
        over_conic=TableCell(NONE)
        if band.over_conic is None
        else TableCell(_times(band.over_conic.estimate), band.over_conic.estimate, _times_between(band.over_conic)),
        most_violations=TableCell(number(most) if most else "0", most),
        first_violation=TableCell("never") if first is None else TableCell(f"{first:,.0f}", first),
        verdict=verdict,
        status={"kept": "done", "broken": "crashed"}.get(verdict, "skipped"),
        why=(band.no_guarantee or _guaranteed(band)) + _refuted(band),
    )


def _cost_row(site: Site, head: RowHead, task: str, agent: str, report: AuditReport) -> CostRow:
    cell = site.shown.scores[task, agent]
    T = float(cell.t[-1])
    seconds = score_interval(cell.finals["policy_seconds"] / T)
    held = report.bytes.estimate
    return CostRow(
        head=head,
        seconds=TableCell(duration(seconds.estimate), seconds.estimate, duration_between(seconds)),
        bytes=TableCell(size(held), held),
        bytes_per=TableCell(size(held / T), held / T),
        sketch=_sketch_cells(report.sketch),
    )


def _sketch_cells(sketch: SketchReport | None) -> list[TableCell]:
    """How good a sketch is; dashes without one."""
    if sketch is None:
        return [TableCell(NONE)] * _SKETCH_COLUMNS
    kept = sketch.kept
    return [
        _mean_cell(sketch.dictionary),
        _mean_cell(sketch.d_eff),
        _mean_cell(sketch.per_d_eff),
        TableCell(f"{number(sketch.low)} – {number(sketch.high)}", sketch.high),
        _mean_cell(sketch.factor),
        TableCell(
            f"{kept.estimate:.0%}",
            kept.estimate,
            f"{round(kept.estimate * kept.n)} of {kept.n}; {kept.low:.0%} – {kept.high:.0%}",
        ),
        _mean_cell(sketch.resparsifications),
    ]


def _mean_cell(interval: Interval) -> TableCell:
    return TableCell(number(interval.estimate), interval.estimate, between(interval))


def _times(x: float) -> str:
    return "∞" if math.isinf(x) else f"{number(x)} ×"


def _times_between(interval: Interval) -> str:
    return f"{number(interval.low)} – {number(interval.high)}" if interval.is_known else ""
