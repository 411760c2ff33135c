"""Charts that show themselves in a notebook."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from leaderboards.show.chart import Chart
from leaderboards.show.palette import LineStyle
from leaderboards.show.paper import draw_panels, paper_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Drawing"]

_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))


@dataclass(frozen=True)
class Drawing:
    """A chart with the styles of its lines; a notebook shows it as SVG, which needs neither scripts nor a network.

    Attributes:
        chart: The description, with the numbers.
        styles: Style of each line by name.
    """

    chart: Chart
    styles: Mapping[str, LineStyle]

    def figure(self) -> Figure:
        """The chart as a matplotlib figure, to be changed or saved."""
        with paper_style():
            return draw_panels([self.chart], self.styles)

    def _repr_html_(self) -> str:
        with paper_style():
            text = io.StringIO()
            self.figure().savefig(text, format="svg", metadata=_NO_METADATA, facecolor="white")
        svg = text.getvalue()
        return str(
            Markup('<figure style="margin:0" role="img" aria-label="{}">{}<figcaption>{}</figcaption></figure>').format(
                self.chart.alt, Markup(svg[svg.index("<svg") :]), self.chart.meaning
            )
        )
