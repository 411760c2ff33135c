"""Figures for papers of what other benchmarks do not measure: the price of feedback, bands, sketches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from leaderboards.score.inspection import Inspection
from leaderboards.score.statistics import mean_band
from leaderboards.score.price import KINDS
from leaderboards.score.sketch import ALPHA
from leaderboards.show.paper import COLUMNS, grid, legend, line, plain
from leaderboards.show.site import Site

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["band_figure", "price_figure", "sketch_figure"]

_REFERENCE = {"color": "0.35", "linewidth": 0.8, "linestyle": (0, (4, 3)), "zorder": 0}


def price_figure(site: Site) -> Figure | None:
    """A panel per environment and kind of feedback: paired differences with 95 % intervals against its strength."""
    prices = [price for price, _ in site.price_files]
    if not prices:
        return None
    figure, axes = grid(len(prices))
    for ax, price in zip(axes, prices, strict=True):
        least = 1.0 if price.kind in ("batch", "workers") else 0.0
        for name, charges in price.charges.items():
            x = np.array([least, *charges])
            y, low, high = (
                np.array([0.0, *(getattr(charge.difference, end) for charge in charges.values())])
                for end in ("estimate", "low", "high")
            )
            line(ax, site, name, x, y)
            colour = site.looks[name].light
            ax.errorbar(x, y, np.stack([y - low, high - y]), color=colour, linestyle="none", elinewidth=1, capsize=2)
        ax.axhline(0.0, **_REFERENCE)  # type: ignore[arg-type]
        ax.set(title=plain(price.env), xlabel=KINDS[price.kind])
    return _finish(figure, axes, "regret above immediate")


def band_figure(site: Site) -> Figure | None:
    """A panel per task: width needed over width stated along the run; above 1 a mean is outside the band."""

    def draw(ax: Axes, name: str, one: Inspection) -> None:
        Y = one.along("needed")
        Y[~np.isfinite(Y)] = np.nan
        mean, low, high = mean_band(Y)
        _banded(ax, site, name, one.t.astype(np.float64), mean, np.maximum(low, 0.0), high)

    return _audited(site, lambda one: one.band is not None, draw, "needed over stated width", (1.0,))


def sketch_figure(site: Site) -> Figure | None:
    """A panel per task: sketched over exact variance along the run, from the smallest ratio to the largest."""

    def draw(ax: Axes, name: str, one: Inspection) -> None:
        median, low, high = (one.along(f"ratio_{part}") for part in ("median", "low", "high"))
        t = one.t.astype(np.float64)
        _banded(ax, site, name, t, median.mean(axis=0), low.min(axis=0), high.max(axis=0))
        ax.set_yscale("log")

    return _audited(
        site, lambda one: one.sketch is not None, draw, "sketched over exact variance", (1 / ALPHA, 1, ALPHA)
    )


def _audited(
    site: Site,
    wanted: Callable[[Inspection], bool],
    draw: Callable[[Axes, str, Inspection], None],
    label: str,
    references: tuple[float, ...],
) -> Figure | None:
    panels: dict[str, dict[str, Inspection]] = {}
    for task in site.summary.tasks:
        found = {name: one for (on, name), one in site.inspections.items() if on == task and wanted(one)}
        if found:
            panels[task] = found
    if not panels:
        return None
    figure, axes = grid(len(panels))
    for ax, (task, found) in zip(axes, panels.items(), strict=True):
        for name, one in found.items():
            draw(ax, name, one)
        for y in references:
            ax.axhline(y, **_REFERENCE)  # type: ignore[arg-type]
        ax.set(title=plain(task), xlabel="evaluations $t$", xscale="log")
    return _finish(figure, axes, label)


def _banded(
    ax: Axes, site: Site, name: str, t: np.ndarray, mean: np.ndarray, low: np.ndarray, high: np.ndarray
) -> None:
    line(ax, site, name, t, mean)
    ax.fill_between(t, low, high, where=np.isfinite(low), color=site.looks[name].light, alpha=0.16, linewidth=0)


def _finish(figure: Figure, axes: list[Axes], label: str) -> Figure:
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    for ax in axes[::COLUMNS]:
        ax.set_ylabel(label)
    legend(figure, axes)
    return figure
