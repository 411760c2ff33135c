"""Small drawings inside the text, as SVG: they need no script, print well and follow the page's colours by class."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from markupsafe import Markup

from leaderboards.score.intervals import Interval
from leaderboards.show.palette import Look

__all__ = ["curves", "forest", "swatch"]


def swatch(look: Look) -> Markup:
    """A short line in an agent's look."""
    return Markup(
        '<svg class="swatch" width="26" height="10" viewBox="0 0 26 10" aria-hidden="true" focusable="false">'
        '<line class="line hue{}" x1="1" x2="25" y1="5" y2="5" stroke-dasharray="{}"/></svg>'
    ).format(look.hue, look.svg_dash)


def forest(interval: Interval, low: float, high: float, look: Look, reference: float | None = None) -> Markup:
    """An estimate with its interval on an axis from `low` to `high`; the text beside it says the same."""
    width, height = 110.0, 16.0

    def x(value: float) -> float:
        return round(5 + (width - 10) * (min(max(value, low), high) - low) / ((high - low) or 1.0), 1)

    parts = [Markup('<line class="axis" x1="5" x2="{}" y1="8" y2="8"/>').format(width - 5)]
    if reference is not None:
        parts.append(Markup('<line class="axis" x1="{0}" x2="{0}" y1="2" y2="14"/>').format(x(reference)))
    if interval.is_known:
        ends = x(interval.low), x(interval.high)
        parts.append(Markup('<line class="whisker hue{}" x1="{}" x2="{}" y1="8" y2="8"/>').format(look.hue, *ends))
    if math.isfinite(interval.estimate):
        parts.append(Markup('<circle class="dot hue{}" cx="{}" cy="8" r="4"/>').format(look.hue, x(interval.estimate)))
    return Markup(
        '<svg class="forest" width="{0:.0f}" height="{1:.0f}" viewBox="0 0 {0:.0f} {1:.0f}" aria-hidden="true" '
        'focusable="false">{2}</svg>'
    ).format(width, height, Markup("").join(parts))


def curves(
    t: Sequence[int] | np.ndarray, lines: Mapping[str, Float[np.ndarray, " p"]], looks: Mapping[str, Look], title: str
) -> Markup:
    """Mean curves of all agents against t, both axes linear from 0, with the ends of the axes labelled."""
    width, height, left, bottom = 320.0, 150.0, 6.0, 18.0
    top = max((float(np.nanmax(y)) for y in lines.values() if np.isfinite(y).any()), default=1.0) or 1.0
    T = float(t[-1])
    parts = [
        Markup('<line class="axis" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(
            left, width, height - bottom, height - bottom
        ),
        Markup('<text class="tick" x="{}" y="{}" text-anchor="end">t = {}</text>').format(
            width, height - 4, f"{T:,.0f}"
        ),
    ]
    for name, y in lines.items():
        points = " ".join(
            f"{left + (width - left) * a / T:.1f},{(height - bottom) - (height - bottom - 8) * b / top:.1f}"
            for a, b in zip(t, y)
            if math.isfinite(b)
        )
        parts.append(
            Markup(
                '<polyline class="line hue{}" stroke-dasharray="{}" points="{}"><title>{}</title></polyline>'
            ).format(looks[name].hue, looks[name].svg_dash, points, name)
        )
    return Markup('<svg class="curves" viewBox="0 0 {:.0f} {:.0f}" role="img" aria-label="{}">{}</svg>').format(
        width, height, title, Markup("").join(parts)
    )
