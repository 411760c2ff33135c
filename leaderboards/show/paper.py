"""What all figures for papers share: style, looks, one legend."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from leaderboards.show.site import Site

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["COLUMNS", "grid", "legend", "line", "new_figure", "paper_style", "plain"]

COLUMNS = 3
"""Panels beside each other."""

_DASHES: dict[str, Any] = {"solid": "-", "dash": (0, (5, 2)), "dot": (0, (1, 1.5)), "dashdot": (0, (5, 2, 1, 2))}


@contextmanager
def paper_style() -> Iterator[None]:
    """Seaborn's paper style, inside the block alone."""
    import matplotlib as mpl
    import seaborn as sns

    style = sns.axes_style("ticks") | sns.plotting_context("paper")
    fonts = {"pdf.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "gpbandit", "mathtext.default": "regular"}
    with mpl.rc_context(style | fonts):
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of that size in inches, outside pyplot's state."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def line(ax: Axes, site: Site, name: str, x: np.ndarray, y: np.ndarray, **kwargs: Any) -> None:
    """A curve in the look of the agent `name`."""
    look = site.looks[name]
    ax.plot(x, y, color=look.light, linestyle=_DASHES[look.dash], linewidth=1.5, label=name, **kwargs)


def legend(figure: Figure, axes: list[Axes]) -> None:
    """One legend below the figure for all of `axes`."""
    handles: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels()):
            handles.setdefault(label, handle)
    figure.legend(
        list(handles.values()),
        list(handles),
        loc="outside lower center",
        ncols=min(len(handles), int(2 * figure.get_figwidth() / 2.9)),
        frameon=False,
    )


def grid(n: int) -> tuple[Figure, list[Axes]]:
    """A figure with n panels, `COLUMNS` beside each other."""
    columns = min(n, COLUMNS)
    rows = -(-n // columns)
    figure = new_figure(2.9 * columns + 0.3, 2.3 * rows + 0.5)
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for ax in axes[n:]:
        ax.set_visible(False)
    return figure, axes[:n]


def plain(name: str) -> str:
    """A name without the dollars that matplotlib would read as mathematics."""
    return name.replace("$", r"\$")
