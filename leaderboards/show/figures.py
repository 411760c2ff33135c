"""Figures and tables for papers and for the README: PNG, PDF and SVG by matplotlib, tables in Markdown and LaTeX."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from leaderboards.play.store import Store
from leaderboards.score.catalogue import METRICS
from leaderboards.score.inspection import inspect
from leaderboards.score.statistics import mean_band, performance_profile
from leaderboards.score.summary import summarise
from leaderboards.show.inspection_figures import band_figure, price_figure, sketch_figure
from leaderboards.show.paper import COLUMNS, grid, legend, line, new_figure, paper_style, plain
from leaderboards.show.site import Site, make_site
from leaderboards.show.tables import latex_table, markdown_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FORMATS", "METRIC_FIGURES", "make_figures"]

FORMATS = ("png", "pdf")
METRIC_FIGURES = ("cumulative_regret", "simple_regret", "inference_regret", "regret_ratio")
_BANDED = ("cumulative_regret", "regret_ratio")  # elsewhere the bands reach 0 and would hide the curves


def make_figures(
    directory: str | os.PathLike[str], out: str | os.PathLike[str] | None = None, formats: tuple[str, ...] = FORMATS
) -> list[Path]:
    """Write the figures and tables of a results folder.

    One figure per metric with a panel per environment (`cumulative_regret`, `simple_regret`, `inference_regret`,
    `regret_ratio`), the mean ranks (`ranks`), the performance profiles (`profiles`), the price of feedback (`price`),
    the audits of confidence bands (`bands`) and of sketches (`sketches`), and the final scores as `scores.md` and
    `scores.tex`. A figure for which there are no numbers is left out.

    Args:
        directory: The results folder.
        out: Where to write; by default `directory/figures`.
        formats: File formats that matplotlib knows.

    Returns:
        The files.

    Raises:
        ValueError: if the folder holds no finished run.
    """
    directory = Path(directory)
    store = Store(directory)
    summary = summarise(store)
    if not summary.cells:
        raise ValueError(f"directory: expected a results folder with finished runs, got {directory} with none")
    site = make_site(summary, inspections=inspect(store, summary))
    place = Path(out) if out is not None else directory / "figures"
    place.mkdir(parents=True, exist_ok=True)
    files = []
    with paper_style():
        drawings = {metric: _metric_figure(site, metric) for metric in METRIC_FIGURES}
        drawings |= {"ranks": _rank_figure(site), "profiles": _profile_figure(site)}
        drawings |= {"price": price_figure(site), "bands": band_figure(site), "sketches": sketch_figure(site)}
        for name, figure in drawings.items():
            if figure is None:
                continue
            # The layout moves a little with every drawing: it is settled once, for all formats.
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
            for format in formats:
                path = place / f"{name}.{format}"
                # Without a date the same results give the same bytes.
                nameless = {"png": {}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(format, {})
                figure.savefig(path, metadata=nameless, dpi=200)
                files.append(path)
    for suffix, table in ((".md", markdown_table(site)), (".tex", latex_table(site))):
        path = place / f"scores{suffix}"
        path.write_text(table, encoding="utf-8")
        files.append(path)
    return files


def _metric_figure(site: Site, metric: str) -> Figure | None:
    """A panel per task: means, both axes logarithmic, with 95 % bands where they can be seen."""
    summary = site.summary
    panels = {
        task: cells
        for task in summary.tasks
        if (cells := {n: c for n, c in summary.on(task).items() if np.isfinite(c.curves[metric][:, -1]).all()})
    }
    if not panels:
        return None
    figure, used = grid(len(panels))
    for ax, (task, cells) in zip(used, panels.items()):
        least, first = _least(cells, metric), float("inf")
        for name, cell in cells.items():
            mean, low, high = mean_band(cell.curves[metric])
            with np.errstate(invalid="ignore"):
                drawn = np.where(mean >= least, mean, np.nan)
                band = np.isfinite(low) & (drawn > 0)
            first = min(first, float(cell.t[np.isfinite(drawn)][0])) if np.isfinite(drawn).any() else first
            line(ax, site, name, cell.t, drawn)
            if metric not in _BANDED:
                continue
            ax.fill_between(
                cell.t, np.maximum(low, least), high, where=band, color=site.looks[name].light, alpha=0.16, linewidth=0
            )
        ax.set(
            xscale="log",
            yscale="log",
            xlim=(first if np.isfinite(first) else 1, None),
            title=plain(task),
            xlabel="evaluations $t$",
        )
        ax.spines[["top", "right"]].set_visible(False)
    about = METRICS[metric]
    for ax in used[::COLUMNS]:
        ax.set_ylabel(about.title.lower())
    legend(figure, used)
    return figure


def _least(cells: dict[str, Any], metric: str) -> float:
    """Where the axis ends below: the smallest mean in the last decade, or a thousandth of the largest."""
    means = [cell.curves[metric].mean(axis=0)[cell.t >= cell.t[-1] / 10] for cell in cells.values()]
    values = np.concatenate(means)
    values = values[np.isfinite(values) & (values > 0)]
    return float(max(values.min(), values.max() / 1000)) * 0.5 if len(values) else 1e-3


def _rank_figure(site: Site) -> Figure | None:
    found = site.overall
    if found is None or len(found.agents) < 2:
        return None
    order = np.argsort([interval.estimate for interval in found.mean_rank])[::-1]
    figure = new_figure(4.2, 0.28 * len(order) + 0.8)
    ax = figure.subplots()
    for y, i in enumerate(order):
        interval, colour = found.mean_rank[i], site.looks[found.agents[i]].light
        if interval.is_known:
            ax.plot([interval.low, interval.high], [y, y], color=colour, linewidth=2)
        ax.plot([interval.estimate], [y], "o", color=colour, markersize=5)
    ax.set_yticks(range(len(order)), [plain(found.agents[i]) for i in order])
    ax.set(xlabel=f"mean rank over {len(found.tasks)} environments", xlim=(0.8, len(order) + 0.2))
    ax.grid(axis="x", alpha=0.3)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(left=False)
    return figure


def _profile_figure(site: Site) -> Figure | None:
    """Share of runs with at most that regret ratio; the agents that are ranked on every task."""
    found = site.overall
    if found is None:
        return None
    ratios = {}
    for name in found.agents:
        strata = [site.summary.cells[task, name].finals["regret_ratio"] for task in found.tasks]
        if all(np.isfinite(x).all() for x in strata):
            ratios[name] = strata
    if not ratios:
        return None
    every = np.concatenate([x for strata in ratios.values() for x in strata])
    tau = np.geomspace(max(every[every > 0].min(initial=1.0), 1e-4) * 0.8, max(every.max(), 1.0) * 1.1, 400)
    figure = new_figure(4.2, 3.0)
    ax = figure.subplots()
    for name, strata in ratios.items():
        line(ax, site, name, tau, performance_profile(strata, tau), drawstyle="steps-post")
    ax.set(xscale="log", xlabel=r"regret ratio $\tau$", ylabel=r"share of runs at or below $\tau$", ylim=(0, 1.02))
    ax.spines[["top", "right"]].set_visible(False)
    legend(figure, [ax])
    return figure
