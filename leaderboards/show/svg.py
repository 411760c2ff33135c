"""Small drawings inside the text, as SVG: they need no script, print well and follow the page's colours by class."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup

from leaderboards.score.statistics import Interval
from leaderboards.show.chart import Chart
from leaderboards.show.palette import MARKS, LineStyle

__all__ = ["forest", "scatter", "swatch", "thumbnail"]

_THUMBNAIL_POINTS = 40


def swatch(style: LineStyle) -> Markup:
    """A short line in an agent's style."""
    mark = f'<path class="mark" d="{MARKS[style.marker]}"/>' if style.marker else ""
    dash = "" if style.svg_dash == "none" else f' stroke-dasharray="{style.svg_dash}"'
    return Markup(
        f'<svg class="swatch hue{style.hue}" viewBox="0 0 26 10" aria-hidden="true">'
        f'<path class="line" d="M1 5h24"{dash}/>{mark}</svg>'
    )


def forest(interval: Interval, low: float, high: float, style: LineStyle) -> Markup:
    """An estimate with its interval on an axis from `low` to `high`; the text beside it says the same."""
    drawing_width, drawing_height = 110.0, 16.0

    def x(value: float) -> float:
        return round(5 + (drawing_width - 10) * (min(max(value, low), high) - low) / ((high - low) or 1.0), 1)

    # Numbers and constants alone: nothing is to be escaped, and a page has thousands of these.
    parts = [f'<line class="axis" x1="5" x2="{drawing_width - 5}" y1="8" y2="8"/>']
    if interval.is_known:
        ends = f'x1="{x(interval.low)}" x2="{x(interval.high)}"'
        parts.append(f'<line class="whisker hue{style.hue}" {ends} y1="8" y2="8"/>')
    if math.isfinite(interval.estimate):
        parts.append(f'<circle class="dot hue{style.hue}" cx="{x(interval.estimate)}" cy="8" r="4"/>')
    size = f'width="{drawing_width:.0f}" height="{drawing_height:.0f}"'
    box = f'viewBox="0 0 {drawing_width:.0f} {drawing_height:.0f}"'
    return Markup(f'<svg class="forest" {size} {box} aria-hidden="true" focusable="false">{"".join(parts)}</svg>')


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
        shown = np.flatnonzero(np.isfinite(line.y) & (line.y >= low) & (t >= first))
        if not len(shown):  # no regret, or less than can be drawn
            continue
        xs = 2 + (drawing_width - 4) * np.log(t[shown] / first) / across
        # A point every few units of the drawing: a page has hundreds of these lines.
        kept = np.unique(
            np.searchsorted(xs, np.linspace(2, drawing_width - 2, _THUMBNAIL_POINTS)).clip(max=len(xs) - 1)
        )
        shown, xs = shown[kept], xs[kept]
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


def scatter(points: Sequence[tuple[float, float, str, str]], x_title: str, y_title: str, title: str) -> Markup:
    """Points on two logarithmic axes, with a line at y = 1.

    Args:
        points: Of each its positive coordinates, its class in the style sheet, and its hint.
        x_title: What the horizontal axis shows.
        y_title: What the vertical axis shows.
        title: The drawing in words.
    """
    width, height, left, bottom, pad = 640.0, 260.0, 44.0, 34.0, 10.0
    xs = np.array([x for x, *_ in points] or [1.0])
    ys = np.array([y for _, y, *_ in points] + [1.0])
    x_low, x_high, y_low, y_high = xs.min() / 1.1, xs.max() * 1.1, ys.min() / 1.2, ys.max() * 1.2

    def across(x: float) -> float:
        return left + (width - left - pad) * math.log(x / x_low) / math.log(x_high / x_low)

    def up(y: float) -> float:
        return height - bottom - (height - bottom - pad) * math.log(y / y_low) / math.log(y_high / y_low)

    lines = [
        (left, width - pad, height - bottom, height - bottom, "axis"),
        (left, left, pad, height - bottom, "axis"),
        (left, width - pad, up(1.0), up(1.0), "one"),
    ]
    parts = [
        Markup('<line class="{}" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>').format(kind, x1, x2, y1, y2)
        for x1, x2, y1, y2, kind in lines
    ]
    text = Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>')
    parts += [text.format(across(x), height - bottom + 14, "middle", f"{x:g}") for x in _ticks(x_low, x_high)]
    parts += [text.format(left - 5, up(y) + 4, "end", f"{y:g}") for y in _ticks(y_low, y_high)]
    parts.append(text.format((left + width) / 2, height - 4, "middle", x_title))
    parts.append(text.format(left + 6, pad + 10, "start", y_title))
    dot = Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="4.5"><title>{}</title></circle>')
    parts += [dot.format(kind, across(x), up(y), hint) for x, y, kind, hint in points]
    return Markup('<svg class="scatter" viewBox="0 0 {:.0f} {:.0f}" role="img" aria-label="{}">{}</svg>').format(
        width, height, title, Markup("").join(parts)
    )


def _ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times the powers of ten within the ends."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [tick for power in powers for one in (1, 2, 5) if low <= (tick := one * 10.0**power) <= high]
