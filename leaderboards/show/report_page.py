"""The page of `report` as a PDF, drawn by matplotlib."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gpbandit_envs.atomic import written_whole
from leaderboards.show.paper import draw_rows, paper_style, plain
from leaderboards.show.report import AgentReport, ProvenRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["write_pdf"]

_PROVEN = 16  # tasks in the chart of bounds
_LABEL = 40  # characters
_WRAP = 140  # characters of a line of text
_OWN = "#0072b2"

# Lengths are inches from the upper left corner.
_WIDTH, _HEIGHT = 8.27, 11.69  # A4
_MARGIN = 0.5
_TEXT = 0.115  # a line of text
_HEAD = 0.24  # a heading, to the top of what it is above
_AXIS = 0.6  # an axis below a chart, and the space to the next heading
_LABELS = 2.55  # names on the left of a chart
_BETWEEN = 0.75  # two charts beside each other
_PROFILE = 8  # rows, the height of the charts in the middle
_ROW = 0.19  # a row of a chart, at most


def write_pdf(report: AgentReport, path: Path) -> None:
    """Write the page; the same report gives the same bytes.

    Raises:
        OSError: if the file cannot be written.
    """
    with paper_style(), written_whole(path) as temporary:
        _page(report).savefig(temporary, format="pdf", metadata={"CreationDate": None})


def _page(report: AgentReport) -> Figure:
    from matplotlib.figure import Figure

    bounds = _bounds(report)
    guarantee = textwrap.wrap(plain(report.guarantee), _WRAP)
    facts = [
        line
        for name, text in report.facts
        for line in textwrap.wrap(plain(f"{name}: {text}"), _WRAP, subsequent_indent="    ", break_long_words=True)
    ]
    rows = (max(1, len(report.rivals)), _PROFILE, len(bounds))
    texts = _TEXT * (len(guarantee) + len(facts)) + 4 * _HEAD + _AXIS * (2 + bool(bounds))
    row = min(_ROW, (_HEIGHT - 2 * _MARGIN - 2 * _HEAD - texts) / sum(rows))

    figure = Figure(figsize=(_WIDTH, _HEIGHT))
    top, left, right = _MARGIN, _MARGIN + _LABELS, _WIDTH - _MARGIN
    _write(figure, top, [plain(report.agent)], fontsize=15, fontweight="bold")
    top += _HEAD
    _write(figure, top, [plain(f"on {report.suite}, among {report.of} agents: {report.basis}")], fontsize=8)
    top += _HEAD

    _head(figure, top, "Score among rivals: 0 as good as one uniform draw, 100 no regret")
    _draw_rivals(_axes(figure, left, top + _HEAD, right, rows[0] * row), report)
    top += _HEAD + rows[0] * row + _AXIS

    middle = left + (right - left - _BETWEEN) / 2
    _head(figure, top, "Profile (ring: the best agent)")
    _draw_profile(_axes(figure, left, top + _HEAD, middle, rows[1] * row), report)
    _head(figure, top, "Share of targets reached", middle + _BETWEEN)
    _draw_targets(_axes(figure, middle + _BETWEEN, top + _HEAD, right, rows[1] * row), report)
    top += _HEAD + rows[1] * row + _AXIS

    _head(figure, top, "Guarantee")
    _write(figure, top + 0.75 * _HEAD, guarantee)
    top += _HEAD + _TEXT * len(guarantee)
    if bounds:
        _draw_bounds(_axes(figure, left, top, right, rows[2] * row), bounds)
        top += rows[2] * row + _AXIS

    _head(figure, top, "How it was run")
    _write(figure, top + 0.75 * _HEAD, facts)
    return figure


def _bounds(report: AgentReport) -> list[ProvenRow]:
    """Tasks in the chart of bounds; none where no bound is known, as measured regret alone says nothing of it."""
    if all(row.bound is None for row in report.proven):
        return []
    return [row for row in report.proven if row.measured > 0][:_PROVEN]


def _axes(figure: Figure, left: float, top: float, right: float, height: float) -> Axes:
    bottom = _HEIGHT - top - height
    return figure.add_axes((left / _WIDTH, bottom / _HEIGHT, (right - left) / _WIDTH, height / _HEIGHT))


def _head(figure: Figure, top: float, text: str, left: float = _MARGIN) -> None:
    figure.text(left / _WIDTH, 1 - top / _HEIGHT, text, fontsize=9, fontweight="bold", va="top")


def _write(figure: Figure, top: float, lines: list[str], fontsize: float = 6.5, fontweight: str = "normal") -> None:
    # A line has the same height in any font: matplotlib's own spacing follows the letters of a line.
    for i, line in enumerate(lines):
        y = 1 - (top + i * _TEXT) / _HEIGHT
        figure.text(_MARGIN / _WIDTH, y, line, fontsize=fontsize, fontweight=fontweight, va="top")


def _draw_rivals(ax: Axes, report: AgentReport) -> None:
    if not report.rivals:
        _say(ax, "It has no score, since it lacks runs on some task.")
        return
    rows = [(row, report.is_own(row)) for row in reversed(report.rivals)]
    draw_rows(ax, [(f"{row.place}  {_short(row.agent)}", row.score, _OWN if own else "0.45") for row, own in rows])
    _bare(ax, len(rows))
    for label, (_, own) in zip(ax.get_yticklabels(), rows):
        label.set_fontweight("bold" if own else "normal")


def _draw_profile(ax: Axes, report: AgentReport) -> None:
    if not report.profile:
        _say(ax, "It has finished no group of tasks.")
        return
    titles, own, best, _ = zip(*report.profile)
    places = np.arange(len(titles))[::-1]
    ax.barh(places, own, color=_OWN, height=0.55)
    ax.plot(best, places, "o", color="0.3", markerfacecolor="white", markersize=5, linestyle="none")
    ax.set_yticks(places, [plain(title) for title in titles])
    ax.axvline(0, color="0.3", linewidth=0.8)
    _bare(ax, len(titles))


def _draw_targets(ax: Axes, report: AgentReport) -> None:
    if not report.targets:
        _say(ax, "No scale of regret is known.")
        return
    for (name, share), line in zip(report.targets.items(), ("-", "--", "-.", ":")):
        own = name == report.agent
        ax.plot(
            report.evaluations, share, line, drawstyle="steps-post", color=_OWN if own else "0.45", label=plain(name)
        )
    ax.set(xscale="log", ylim=(0, 1.02))
    ax.legend(fontsize=6, frameon=False, loc="upper left")
    ax.set_xlabel("evaluations", fontsize=7)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=7)


def _draw_bounds(ax: Axes, rows: list[ProvenRow]) -> None:
    rows = rows[::-1]
    places = np.arange(len(rows))
    ax.plot([row.measured for row in rows], places, "o", color=_OWN, markersize=4, linestyle="none")
    bounded = [(row.bound, place) for row, place in zip(rows, places) if row.bound is not None]
    ax.plot(*zip(*bounded), "|", color="0.2", markersize=8, linestyle="none")
    ax.set_yticks(places, [plain(f"{_short(row.task)}, t = {row.t:,}") for row in rows])
    ax.set_xscale("log")
    ax.set_xlabel("cumulative regret: measured (dot), proven (bar)", fontsize=7)
    _bare(ax, len(rows))
    ax.tick_params(axis="y", labelsize=6)


def _short(name: str) -> str:
    """A name that fits beside a chart."""
    return name if len(name) <= _LABEL else f"{name[: _LABEL - 1]}\N{HORIZONTAL ELLIPSIS}"


def _bare(ax: Axes, rows: int) -> None:
    """Rows with names alone on their side, from edge to edge."""
    ax.set_ylim(-0.6, rows - 0.4)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(left=False, labelsize=7)


def _say(ax: Axes, text: str) -> None:
    ax.set_axis_off()
    ax.text(0.0, 0.5, text, fontsize=8, transform=ax.transAxes)
