"""One line style per agent, the same on every page and figure: a hue and a dash.

Six hues and a grey keep apart under protanopia, deuteranopia and tritanopia and stand out from the page, light and
dark (the tests measure both); 25 agents need dashes besides. Rivals of one family share a hue.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from leaderboards.play.spec import Ref

__all__ = ["DARK", "DASHES", "DEFAULT_STYLES", "HUES", "LIGHT", "LineStyle", "line_styles"]

HUES = ("blue", "orange", "green", "plum", "brown", "sky", "grey")
LIGHT = ("#164c8d", "#d25202", "#2d935e", "#871c57", "#70540c", "#0b9cdf", "#6b7280")
DARK = ("#5c77c2", "#e9763f", "#aff5d6", "#b8567d", "#e0be79", "#16d1f9", "#9ca3af")
PAGE = {"light": "#ffffff", "dark": "#14161a"}
DASHES: dict[str, str] = {"solid": "none", "dash": "7 4", "dot": "2 3", "dashdot": "7 3 2 3"}
"""Plotly's name of each dash, and the SVG form at a line width of 2."""

DEFAULT_STYLES: dict[str, tuple[str, str]] = {
    "GP-UCB": ("blue", "solid"),
    "GP-BUCB": ("blue", "dash"),
    "SM-UCB": ("blue", "dot"),
    "SM-MEI": ("blue", "dashdot"),
    "BBKB": ("orange", "solid"),
    "BKB": ("orange", "dash"),
    "BBKB-GlobalLocal": ("orange", "dot"),
    "BPE": ("green", "solid"),
    "UHE-BO": ("green", "dash"),
    "RA-BO": ("green", "dot"),
    "Random+EXP3": ("green", "dashdot"),
    "ASYNC-TS": ("plum", "solid"),
    "MAP-UCB": ("plum", "dash"),
    "MCMC-UCB": ("plum", "dot"),
    "Wang-deFreitas": ("plum", "dashdot"),
    "EpsGreedy": ("brown", "solid"),
    "REG-EVOLUTION": ("brown", "dash"),
    "Portfolio": ("brown", "dot"),
    "GP-AUCB": ("sky", "solid"),
    "NRB-UCB": ("sky", "dash"),
    "NTB-UCB": ("sky", "dot"),
    "A-GP-UCB": ("sky", "dashdot"),
    "Uniform": ("grey", "solid"),
    "Random": ("grey", "dash"),
    "UncertaintySampling": ("grey", "dot"),
}


@dataclass(frozen=True)
class LineStyle:
    """How an agent is drawn.

    Attributes:
        hue: Index into `HUES`, `LIGHT` and `DARK`.
        dash: One of `DASHES`.
    """

    hue: int
    dash: str

    @property
    def light(self) -> str:
        """Colour on a light page."""
        return LIGHT[self.hue]

    @property
    def svg_dash(self) -> str:
        """The dash as SVG has it."""
        return DASHES[self.dash]


def line_styles(agents: Mapping[str, Ref]) -> dict[str, LineStyle]:
    """A line style for each agent: its default style, or the first free one, its own hue first."""
    taken: set[LineStyle] = set()
    found: dict[str, LineStyle] = {}
    for name, ref in agents.items():
        default = DEFAULT_STYLES.get(ref.id)
        style = LineStyle(HUES.index(default[0]), default[1]) if default else None
        if style is not None and style not in taken:
            found[name] = style
            taken.add(style)
    every = [LineStyle(hue, dash) for dash, hue in itertools.product(DASHES, range(len(HUES)))]
    for name, ref in agents.items():
        if name in found:
            continue
        default = DEFAULT_STYLES.get(ref.id)
        own = HUES.index(default[0]) if default else -1
        # More agents than styles: the styles come round again, and the legend's order tells them apart.
        free = [style for style in every if style not in taken] or every
        found[name] = min(free, key=lambda style: style.hue != own)
        taken.add(found[name])
    return {name: found[name] for name in agents}
