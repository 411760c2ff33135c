"""Description of a chart, drawn for pages and for papers: axes, lines with bands, reference levels.

`page_json` with `static/charts.js` draws charts for the page, `leaderboards.show.paper` for papers, and
`leaderboards.show.svg.thumbnail` as small drawings inside text.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Num

from leaderboards.score.statistics import score_bands
from leaderboards.show.format import packed_each, rounded_each
from leaderboards.show.palette import LineStyle

__all__ = ["EVALUATIONS", "Axis", "Chart", "Line", "mean_line", "mean_lines", "page_json", "styles_json", "thinned"]

Mark = Literal["line", "steps", "joined points", "points"]

EVALUATIONS = "evaluations t"
"""Label of the axis along the run."""

_BUDGET = 130_000  # characters of numbers in a page
_CHARACTERS = 8.0  # of a number and its comma
_FEWEST = 16  # points of a curve on the fullest page


@dataclass(frozen=True)
class Axis:
    """One axis.

    Attributes:
        label: What it shows, in words.
        unit: Unit; "" for a pure number.
        log: Whether its scale is logarithmic; the reader of a page may change it for values along a run.
        signed: Whether values may be negative: then there is no logarithmic scale and the axis need not start at 0.
        limits: Its two ends; None to fit the data.
    """

    label: str
    unit: str = ""
    log: bool = False
    signed: bool = False
    limits: tuple[float, float] | None = None

    @property
    def text(self) -> str:
        """Label with the unit in brackets."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


@dataclass(frozen=True)
class Line:
    """One curve, or the points of one agent.

    Attributes:
        name: Agent or task of the line; its `LineStyle` is found by this name.
        x: Positions, shape `(p,)`.
        y: Means, shape `(p,)`; NaN where there is none.
        low: Lower ends of the band or of the whiskers, shape `(p,)`; None without.
        high: Upper ends, shape `(p,)`; None without.
    """

    name: str
    x: Num[np.ndarray, " p"]
    y: Float[np.ndarray, " p"]
    low: Float[np.ndarray, " p"] | None = None
    high: Float[np.ndarray, " p"] | None = None

    @property
    def is_known(self) -> bool:
        """Whether there is anything to draw."""
        return bool(np.isfinite(self.y).any())


@dataclass(frozen=True)
class Chart:
    """A chart.

    Attributes:
        key: Name of its tab, unique on the page.
        title: Heading of its tab, or of its panel in a figure.
        x: Horizontal axis.
        y: Vertical axis.
        lines: The curves.
        meaning: A sentence or two for the reader of the page.
        formula: Formula in plain text.
        alt: What a reader who cannot see the chart would want to know.
        mark: Curves with bands, steps, points joined by lines, or points alone; points have whiskers.
        references: Levels of dashed horizontal lines.
        frontier: Names of the points that no other beats in both coordinates, from left to right; a step joins them.
    """

    key: str
    title: str
    x: Axis
    y: Axis
    lines: tuple[Line, ...]
    meaning: str = ""
    formula: str = ""
    alt: str = ""
    mark: Mark = "line"
    references: tuple[float, ...] = ()
    frontier: tuple[str, ...] = ()

    def on_log_axes(self, x: bool = True, y: bool = True) -> Chart:
        """The same chart with logarithmic axes."""
        return replace(self, x=replace(self.x, log=x or self.x.log), y=replace(self.y, log=y or self.y.log))

    def only(self, names: Container[str]) -> Chart:
        """The same chart with the lines of some names alone."""
        lines = tuple(line for line in self.lines if line.name in names)
        return replace(self, lines=lines, frontier=tuple(name for name in self.frontier if name in names))

    def without_bands(self) -> Chart:
        """The same chart with means alone."""
        return replace(self, lines=tuple(replace(line, low=None, high=None) for line in self.lines))


def mean_line(name: str, x: Num[np.ndarray, " p"], Y: Float[np.ndarray, "n p"]) -> Line:
    """Mean over repetitions with its 95 % band, which a single repetition does not have.

    Args:
        name: Name of the line.
        x: Positions, shape `(p,)`.
        Y: One row per repetition, shape `(n, p)`; no value is below 0.
    """
    return mean_lines({name: (x, Y)})[0]


def mean_lines(
    curves: Mapping[str, tuple[Num[np.ndarray, " _p"], Float[np.ndarray, "_n _p"]]],
) -> list[Line]:
    """`mean_line` by name of positions and repetitions; all of one shape take as long as one of them."""
    alike: dict[tuple[int, ...], list[str]] = {}
    for name, (_, Y) in curves.items():
        alike.setdefault(Y.shape, []).append(name)
    bands: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
    for names in alike.values():
        bands |= zip(names, score_bands(np.stack([curves[name][1] for name in names])))
    lines = []
    for name, (x, Y) in curves.items():
        mean, low, high = bands[name]
        lines.append(Line(name, x, mean) if len(Y) == 1 else Line(name, x, mean, low, high))
    return lines


def page_json(
    charts: Sequence[Chart], styles: Mapping[str, LineStyle], budget: float = _BUDGET, as_digits: bool = True
) -> dict[str, Any]:
    """The charts of a page as a JSON value for `static/charts.js`.

    Args:
        charts: One tab each.
        styles: Style of each line by name, in the order of the legend.
        budget: About how many characters of numbers there may be: curves are thinned evenly until they fit.
        as_digits: Whether heights are written in digits, or as `leaderboards.show.format.packed_each` has them.

    Raises:
        ValueError: if two charts have the same key.
    """
    for key, n in Counter(chart.key for chart in charts).items():
        if n > 1:
            raise ValueError(f"key: expected one chart of each key on a page, got {n} of {key!r}")
    order = {name: i for i, name in enumerate(styles)}
    n_lines = sum(len(chart.lines) for chart in charts)
    most = max(int(budget / (_CHARACTERS * 3 * max(n_lines, 1))), _FEWEST)
    shared: list[list[float | None]] = []
    drawn = []
    for chart in charts:
        ordered = sorted(chart.lines, key=lambda line: order[line.name])
        positions, heights = [], []
        for line in ordered:
            keep = thinned(len(line.x), most)
            ends = () if line.low is None or line.high is None else (line.low, line.high)
            positions.append(line.x[keep])
            heights += [values[keep] for values in (line.y, *ends)]
        numbers = iter(_numbers(heights) if as_digits else packed_each(heights))
        lines = []
        for line, x in zip(ordered, _numbers(positions)):
            if x not in shared:
                shared.append(x)
            value: dict[str, Any] = {"name": line.name, "x": shared.index(x), "y": next(numbers)}
            if line.low is not None and line.high is not None:
                value |= {"low": next(numbers), "high": next(numbers)}
            lines.append(value)
        drawn.append(
            {
                "key": chart.key,
                "title": chart.title,
                "meaning": chart.meaning,
                "formula": chart.formula,
                "alt": chart.alt,
                "mark": chart.mark,
                "x": _axis(chart.x),
                "y": _axis(chart.y),
                "references": list(chart.references),
                "frontier": list(chart.frontier),
                "lines": lines,
            }
        )
    used = {line.name for chart in charts for line in chart.lines}
    drawn_styles = {name: style for name, style in styles.items() if name in used}
    return {"xs": shared, "styles": styles_json(drawn_styles), "charts": drawn}


def styles_json(styles: Mapping[str, LineStyle]) -> dict[str, Any]:
    """Styles of lines by name as a JSON value for the page."""
    return {
        name: {"hue": style.hue, "dash": style.dash, "marker": style.marker, "symbol": style.symbol}
        for name, style in styles.items()
    }


def _axis(axis: Axis) -> dict[str, Any]:
    return {"label": axis.text, "log": axis.log, "signed": axis.signed, "limits": axis.limits}


@functools.lru_cache(maxsize=256)
def thinned(p: int, most: int) -> np.ndarray:
    """Which of `p` points are kept, `most` of them at the most."""
    kept = np.arange(p) if most >= p else np.unique(np.rint(np.linspace(0, p - 1, most)).astype(np.int64))
    kept.flags.writeable = False
    return kept


def _numbers(arrays: Sequence[np.ndarray]) -> list[list[float | None]]:
    """The numbers of some arrays as they are if they are whole, and rounded otherwise."""
    found = iter(rounded_each([values for values in arrays if values.dtype.kind not in "iu"]))
    return [values.tolist() if values.dtype.kind in "iu" else next(found) for values in arrays]
