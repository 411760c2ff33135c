"""One line style per agent, the same on every page and figure: a hue, a dash and, among many agents, a marker.

Six hues and a grey keep apart under protanopia, deuteranopia and tritanopia and stand out from the page, light and
dark (the tests measure both); more agents need dashes as well, and dashes are hard to tell apart among more than ten.
Agents of one family share a hue.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace

import agents
from leaderboards.play.build import loaded_agent
from leaderboards.play.spec import Ref

__all__ = ["CROWD", "DARK", "DASHES", "FAMILY_HUES", "HUES", "LIGHT", "MARKS", "LineStyle", "line_styles"]

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

_DASH_MARKS = {"solid": "circle", "dash": "square", "dot": "diamond", "dashdot": "triangle-up"}
_FURTHER_MARKS = ("x", "star")
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

    Args:
        drawn: Agents by the name they are drawn under.
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
        free = [style for style in every if style not in styles.values()] or every
        # A further marker only once every hue and dash is taken: those are seen first.
        styles[name] = min(free, key=lambda style: (rounds.index(style.marker), style.hue != hues.get(family, -1)))
        if family:
            hues.setdefault(family, styles[name].hue)
    return {name: _in_crowd(styles[name]) if len(drawn) > CROWD else styles[name] for name in drawn}


def _in_crowd(style: LineStyle) -> LineStyle:
    return style if style.dash == "solid" else replace(style, marker=style.symbol)


def _default_styles() -> dict[str, LineStyle]:
    """Style by id: the hue of the policy's family, and one dash after the other in the order of registration.

    A registered agent of a known family keeps its style, whichever other agents are drawn. Those beyond the fourth of a
    hue, for which there is no dash left, have none.
    """
    styles: dict[str, LineStyle] = {}
    dashes = {hue: iter(DASHES) for hue in HUES}
    for id in agents.registered():
        hue = FAMILY_HUES.get(_family(id))
        dash = None if hue is None else next(dashes[hue], None)
        if hue is not None and dash is not None:
            styles[id] = LineStyle(HUES.index(hue), dash)
    return styles


def _family(id: str) -> str:
    """The family that an agent's class states; "" if it states none or is not known without an import."""
    family = getattr(loaded_agent(id), "policy_family", "")
    return family if isinstance(family, str) else ""
