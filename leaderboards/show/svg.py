"""Small drawings inside the text, as SVG: they need no script, print well and follow the page's colours by class."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from markupsafe import Markup

from leaderboards.score.statistics import Interval
from leaderboards.show.palette import Look

__all__ = ["curves", "forest", "swatch"]


def swatch(look: Look) -> Markup:
    """A short line in an agent's look."""
    return Markup(
        '<svg class="swatch" viewBox="0 0 26 10" aria-hidden="true">'
        '<path class="line hue{}" d="M1 5h24" stroke-dasharray="{}"/></svg>'
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
    """Mean curves of all agents against t, both axes logarithmic, over three decades at most."""
    width, height, bottom = 320.0, 150.0, 18.0
    t = np.asarray(t, np.float64)
    known = [y[np.isfinite(y) & (y > 0)] for y in lines.values()]
    top = max((float(y.max()) for y in known if len(y)), default=1.0)
    low = max(min((float(y.min()) for y in known if len(y)), default=top / 10), top / 1000)
    first = max(t[0], t[-1] / 1000)
    across = math.log(t[-1] / first) or 1.0
    up = math.log(top / low) or 1.0
    parts = [
        Markup('<line class="axis" x1="2" x2="{0}" y1="{1}" y2="{1}"/>').format(width - 2, height - bottom),
        Markup('<text class="tick" x="2" y="{}">t = {:,.0f}</text>').format(height - 4, first),
        Markup('<text class="tick" x="{}" y="{}" text-anchor="end">t = {:,.0f}</text>').format(
            width - 2, height - 4, t[-1]
        ),
    ]
    for name, y in lines.items():
        seen = np.isfinite(y) & (y >= low) & (t >= first)
        xs = 2 + (width - 4) * np.log(t[seen] / first) / across
        ys = (height - bottom - 4) - (height - bottom - 10) * np.log(y[seen] / low) / up
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(xs, ys))
        parts.append(
            Markup(
                '<polyline class="line hue{}" stroke-dasharray="{}" points="{}"><title>{}</title></polyline>'
            ).format(looks[name].hue, looks[name].svg_dash, points, name)
        )
    return Markup('<svg class="curves" viewBox="0 0 {:.0f} {:.0f}" role="img" aria-label="{}">{}</svg>').format(
        width, height, title, Markup("").join(parts)
    )
