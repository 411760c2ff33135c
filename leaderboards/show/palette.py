"""One line style per agent, the same on every page and figure: a hue, a dash and, among many agents, a marker.

Six hues and a grey keep apart under protanopia, deuteranopia and tritanopia and stand out from the page, light and
dark (the tests measure both); more agents need dashes as well, and dashes are hard to tell apart among more than ten.
Agents of one family share a hue.

Small drawings inside the text are SVG: they need no script, print well and follow the page's colours by class.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

import agents
from leaderboards.play.build import loaded_agent
from leaderboards.play.spec import Ref
from leaderboards.score.statistics import Interval

if TYPE_CHECKING:
    from leaderboards.show.chart import Chart

HUES = ("blue", "orange", "green", "plum", "brown", "sky", "grey")
LIGHT = ("#164c8d", "#d25202", "#2d935e", "#871c57", "#70540c", "#0b9cdf", "#6b7280")
DARK = ("#5c77c2", "#e9763f", "#aff5d6", "#b8567d", "#e0be79", "#16d1f9", "#9ca3af")
PAGE = {"light": "#ffffff", "dark": "#14161a"}
DASHES: dict[str, str] = {"solid": "none", "dash": "7 4", "dot": "2 3", "dashdot": "7 3 2 3"}
"""Plotly's name of each dash, and the SVG form at a line width of 2."""

MARKS: dict[str, str] = {
    "circle": "M10.4 5a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0-5.2 0z",
    "square": "M10.6 2.6h4.8v4.8h-4.8z",
    "diamond": "M13 1.4l3.6 3.6-3.6 3.6-3.6-3.6z",
    "triangle-up": "M13 1.4l3.6 6.4h-7.2z",
    "x": "M10.4 2.4l5.2 5.2m0-5.2l-5.2 5.2",
    "star": "M13 1.2v7.6m-3.8-3.8h7.6m-6.5-2.7l5.4 5.4m0-5.4l-5.4 5.4",
}
"""Plotly's name of each marker, and the SVG path of one in the middle of a swatch."""

_DASH_MARKS = dict(zip(DASHES, MARKS))
_FURTHER_MARKS = ("x", "star")
_THUMBNAIL_POINTS = 40
CROWD = 10
"""Most agents whose lines do without markers."""

FAMILY_HUES: dict[str, str] = {
    "GP-UCB": "blue",
    "sketched": "orange",
    "elimination": "green",
    "unbiased estimates": "green",
    "Thompson sampling": "plum",
    "estimated kernel": "plum",
    "heuristic": "brown",
    "batched GP-UCB": "sky",
    "adaptive lengthscale": "sky",
    "pure exploration": "grey",
}
"""Hue of each family that policies name as their `policy_family`; other families take a free one."""


@dataclass(frozen=True)
class LineStyle:
    """How an agent is drawn.

    Attributes:
        hue: Index into `HUES`, `LIGHT` and `DARK`.
        dash: One of `DASHES`.
        marker: One of `MARKS`, at a few points of a line; "" for none.
    """

    hue: int
    dash: str
    marker: str = ""

    @property
    def light(self) -> str:
        """Colour on a light page."""
        return LIGHT[self.hue]

    @property
    def symbol(self) -> str:
        """The marker of a single point."""
        return self.marker or _DASH_MARKS[self.dash]

    @property
    def svg_dash(self) -> str:
        """The dash as SVG has it."""
        return DASHES[self.dash]


def line_styles(drawn: Mapping[str, Ref]) -> dict[str, LineStyle]:
    """A style for each agent: its default style, or the first free one, the hue of its family first.

    Among more than `CROWD` agents, lines that are not solid have a marker for their dash.
    """
    defaults = _default_styles()
    styles: dict[str, LineStyle] = {}
    for name, ref in drawn.items():
        default = defaults.get(ref.id)
        if default is not None and default not in styles.values():
            styles[name] = default
    rounds = ("", *_FURTHER_MARKS)
    every = [LineStyle(hue, dash, mark) for mark, dash, hue in itertools.product(rounds, DASHES, range(len(HUES)))]
    hues = {family: HUES.index(hue) for family, hue in FAMILY_HUES.items()}
    for name, ref in drawn.items():
        if name in styles:
            continue
        family = _family(ref.id)
        # More agents than styles: the styles come round again, and the legend's order tells them apart.
        taken = {*styles.values()}
        free = [style for style in every if style not in taken] or every
        # A further marker only once every hue and dash is taken: those are seen first.
        styles[name] = min(free, key=lambda style: (rounds.index(style.marker), style.hue != hues.get(family, -1)))
        if family:
            hues.setdefault(family, styles[name].hue)
    if len(drawn) > CROWD:
        marked = {name: style for name, style in styles.items() if style.dash != "solid"}
        styles |= {name: replace(style, marker=style.symbol) for name, style in marked.items()}
    return {name: styles[name] for name in drawn}


def _default_styles() -> dict[str, LineStyle]:
    """Style by id: the hue of the policy's family, and one dash after the other in the order of registration.

    A registered agent of a known family keeps its style, whichever other agents are drawn; beyond the fourth of a hue
    there is no dash left.
    """
    dashes = {hue: iter(DASHES) for hue in HUES}
    hues = ((id, FAMILY_HUES.get(_family(id))) for id in agents.registered())
    found = ((id, HUES.index(hue), next(dashes[hue], None)) for id, hue in hues if hue is not None)
    return {id: LineStyle(hue, dash) for id, hue, dash in found if dash is not None}


def _family(id: str) -> str:
    """The family that an agent's class states; "" if it states none or is not known without an import."""
    family = getattr(loaded_agent(id), "policy_family", "")
    return family if isinstance(family, str) else ""


# ---- small drawings ----


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

    def x(value: float) -> float:
        return round(5 + 100 * (min(max(value, low), high) - low) / ((high - low) or 1.0), 1)

    # Numbers and constants alone: nothing is to be escaped, and a page has thousands of these.
    parts = ['<line class="axis" x1="5" x2="105.0" y1="8" y2="8"/>']
    if interval.is_known:
        ends = f'x1="{x(interval.low)}" x2="{x(interval.high)}"'
        parts.append(f'<line class="whisker hue{style.hue}" {ends} y1="8" y2="8"/>')
    if math.isfinite(interval.estimate):
        parts.append(f'<circle class="dot hue{style.hue}" cx="{x(interval.estimate)}" cy="8" r="4"/>')
    size = 'width="110" height="16" viewBox="0 0 110 16"'
    return Markup(f'<svg class="forest" {size} aria-hidden="true" focusable="false">{"".join(parts)}</svg>')


def thumbnail(chart: Chart, styles: Mapping[str, LineStyle], title: str) -> Markup:
    """The means of a chart, both axes logarithmic, over three decades at most; 320 wide, 150 high."""
    t = np.asarray(chart.lines[0].x, np.float64)
    known = [line.y[np.isfinite(line.y) & (line.y > 0)] for line in chart.lines]
    top = max((float(y.max()) for y in known if len(y)), default=1.0)
    low = max(min((float(y.min()) for y in known if len(y)), default=top / 10), top / 1000)
    first = max(t[0], t[-1] / 1000)
    across, up = math.log(t[-1] / first) or 1.0, math.log(top / low) or 1.0
    parts = [
        Markup('<line class="axis" x1="2" x2="318.0" y1="132.0" y2="132.0"/>'),
        Markup('<text class="tick" x="2" y="146.0">t = {:,.0f}</text>').format(first),
        Markup('<text class="tick" x="318.0" y="146.0" text-anchor="end">t = {:,.0f}</text>').format(t[-1]),
    ]
    for line in chart.lines:
        shown = np.flatnonzero(np.isfinite(line.y) & (line.y >= low) & (t >= first))
        if not len(shown):  # no regret, or less than can be drawn
            continue
        xs = 2 + 316 * np.log(t[shown] / first) / across
        # A point every few units of the drawing: a page has hundreds of these lines.
        kept = np.unique(np.searchsorted(xs, np.linspace(2, 318, _THUMBNAIL_POINTS)).clip(max=len(xs) - 1))
        ys = 128 - 122 * np.log(line.y[shown[kept]] / low) / up
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(xs[kept], ys))
        drawn = Markup('<polyline class="line hue{}" stroke-dasharray="{}" points="{}"><title>{}</title></polyline>')
        parts.append(drawn.format(styles[line.name].hue, styles[line.name].svg_dash, points, line.name))
    frame = Markup('<svg class="curves" viewBox="0 0 320 150" role="img" aria-label="{}">{}</svg>')
    return frame.format(title, Markup("").join(parts))
