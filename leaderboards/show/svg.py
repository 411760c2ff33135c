"""Small drawings inside the text, as SVG: they need no script, print well and follow the page's colours by class."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from markupsafe import Markup

from leaderboards.score.statistics import Interval
from leaderboards.show.chart import Chart
from leaderboards.show.palette import LineStyle

__all__ = ["forest", "swatch", "thumbnail"]


def swatch(style: LineStyle) -> Markup:
    """A short line in an agent's style."""
    return Markup(
        '<svg class="swatch" viewBox="0 0 26 10" aria-hidden="true">'
        '<path class="line hue{}" d="M1 5h24" stroke-dasharray="{}"/></svg>'
    ).format(style.hue, style.svg_dash)


def forest(interval: Interval, low: float, high: float, style: LineStyle, reference: float | None = None) -> Markup:
    """An estimate with its interval on an axis from `low` to `high`; the text beside it says the same."""
    drawing_width, drawing_height = 110.0, 16.0

    def x(value: float) -> float:
        return round(5 + (drawing_width - 10) * (min(max(value, low), high) - low) / ((high - low) or 1.0), 1)

    parts = [Markup('<line class="axis" x1="5" x2="{}" y1="8" y2="8"/>').format(drawing_width - 5)]
    if reference is not None:
        parts.append(Markup('<line class="axis" x1="{0}" x2="{0}" y1="2" y2="14"/>').format(x(reference)))
    if interval.is_known:
        ends = x(interval.low), x(interval.high)
        parts.append(Markup('<line class="whisker hue{}" x1="{}" x2="{}" y1="8" y2="8"/>').format(style.hue, *ends))
    if math.isfinite(interval.estimate):
        parts.append(Markup('<circle class="dot hue{}" cx="{}" cy="8" r="4"/>').format(style.hue, x(interval.estimate)))
    return Markup(
        '<svg class="forest" width="{0:.0f}" height="{1:.0f}" viewBox="0 0 {0:.0f} {1:.0f}" aria-hidden="true" '
        'focusable="false">{2}</svg>'
    ).format(drawing_width, drawing_height, Markup("").join(parts))


def thumbnail(chart: Chart, styles: Mapping[str, LineStyle], title: str) -> Markup:
    """The means of a chart, both axes logarithmic, over three decades at most."""
    drawing_width, drawing_height, bottom = 320.0, 150.0, 18.0
    t = np.asarray(chart.lines[0].x, np.float64)
    known = [line.y[np.isfinite(line.y) & (line.y > 0)] for line in chart.lines]
    top = max((float(y.max()) for y in known if len(y)), default=1.0)
    low = max(min((float(y.min()) for y in known if len(y)), default=top / 10), top / 1000)
    first = max(t[0], t[-1] / 1000)
    across = math.log(t[-1] / first) or 1.0
    up = math.log(top / low) or 1.0
    axis_y, label_y = drawing_height - bottom, drawing_height - 4
    parts = [
        Markup('<line class="axis" x1="2" x2="{0}" y1="{1}" y2="{1}"/>').format(drawing_width - 2, axis_y),
        Markup('<text class="tick" x="2" y="{}">t = {:,.0f}</text>').format(label_y, first),
        Markup('<text class="tick" x="{}" y="{}" text-anchor="end">t = {:,.0f}</text>').format(
            drawing_width - 2, label_y, t[-1]
        ),
    ]
    for line in chart.lines:
        shown = np.isfinite(line.y) & (line.y >= low) & (t >= first)
        xs = 2 + (drawing_width - 4) * np.log(t[shown] / first) / across
        ys = (axis_y - 4) - (axis_y - 10) * np.log(line.y[shown] / low) / up
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(xs, ys))
        style = styles[line.name]
        parts.append(
            Markup(
                '<polyline class="line hue{}" stroke-dasharray="{}" points="{}"><title>{}</title></polyline>'
            ).format(style.hue, style.svg_dash, points, line.name)
        )
    return Markup('<svg class="curves" viewBox="0 0 {:.0f} {:.0f}" role="img" aria-label="{}">{}</svg>').format(
        drawing_width, drawing_height, title, Markup("").join(parts)
    )
