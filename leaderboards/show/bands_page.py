"""The page on bands and choices: what keeps its word, what was tested, and what a proven band costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from leaderboards.audit.bands import SAYS, TESTED, BandRow, ChoiceRow, Study
from leaderboards.play.spec import Ref
from leaderboards.show.chart import Axis, Chart, Line
from leaderboards.show.format import NONE
from leaderboards.show.palette import line_styles
from leaderboards.show.paper import Drawing

BANDS_FILE = "guarantees.html"
GROUPS = {
    "known": "the mean is of the stated norm",
    "near": "the mean is only near such a function, by a proven distance",
    "drawn": "the mean is a draw from the stated prior",
}
"""What is true on each group of tasks."""
_ORDER = ("keeps its word", "not confirmed", "not tested", "says nothing", "holds, no theorem", "fails")


def bands_page(study: Study) -> dict[str, Any]:
    """Context of `bands.html.j2`."""
    rows = sorted(study.bands, key=lambda row: (bool(row.control), _ORDER.index(row.verdict), -row.factor))
    fail, controls = study.controls
    return {
        "study": study,
        "tested": f"{TESTED:g}",
        "says": f"{SAYS:.0%}",
        "fail": fail,
        "controls": controls,
        "bands": [_band(row) for row in rows],
        "groups": [
            (GROUPS[group], study.tasks[group], [_choice(row) for row in found], _figure(found, GROUPS[group]))
            for group, found in study.choices.items()
        ],
    }


def _band(row: BandRow) -> dict[str, str]:
    reach = {"any": "all players", "data": "all but the adversary", "own": "its own policy"}[row.reach]
    worst = row.worst
    return {
        "band": row.band,
        "reach": reach,
        "verdict": row.verdict,
        "why": row.control or row.why_not,
        "held": f"{row.runs - row.violated:,} of {row.runs:,}",
        "worst": f"{worst.violated} of {worst.runs:,} missed on {worst.task}, {worst.player}",
        "factor": f"{row.factor:.2f}" if math.isfinite(row.factor) else "more than any",
        "said": f"{row.informative:.0%}",
        "half": _share(row.half_width),
    }


def _choice(row: ChoiceRow) -> dict[str, str]:
    return {
        "rule": row.rule,
        "regret": f"{row.regret:.3f}",
        "error": f"{row.error:.3f}",
        "band": row.band or NONE,
        "half": _share(row.half_width),
        "said": f"{row.informative:.0%}" if row.band else NONE,
    }


def _share(x: float) -> str:
    return f"{x:.2f}" if math.isfinite(x) else NONE


def _figure(rows: Sequence[ChoiceRow], where: str) -> str:
    """Half-width against regret as SVG; "" where fewer than two rules have a band."""
    drawn = [row for row in rows if row.band]
    if len(drawn) < 2:
        return ""
    lines = tuple(Line(row.rule, np.array([row.regret]), np.array([row.half_width])) for row in drawn)
    x, y = Axis("regret over that of uniform sampling"), Axis("half-width over the range")
    alt = "; ".join(f"{row.rule}: regret {row.regret:.2f}, half-width {row.half_width:.2f}" for row in drawn)
    chart = Chart("bands", where, x, y, lines, "Of the tightest band along each rule.", alt=alt, mark="points")
    return Drawing(chart, line_styles({row.rule: Ref(row.rule) for row in drawn})).svg()
