"""Figures and tables for papers, the README and notebooks: by matplotlib, and tables in LaTeX."""

from __future__ import annotations

import io
import os
import textwrap
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from markupsafe import Markup

from gpbandit_envs.arguments import did_you_mean
from gpbandit_envs.atomic import written_whole
from leaderboards.audit.report import audit_reports
from leaderboards.score.metrics import METRICS, Metric
from leaderboards.score.statistics import Interval
from leaderboards.score.summary import Summary, summarise
from leaderboards.show.chart import Chart, figure_panels, task_view
from leaderboards.show.charts import metric_chart
from leaderboards.show.format import BETWEEN, between, file_names, number
from leaderboards.show.palette import CROWD, LineStyle
from leaderboards.show.shared import Site
from leaderboards.store.intact import own_folder, write_whole
from leaderboards.store.store import Store
from leaderboards.text import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

FORMATS = ("png", "pdf")
WIDTHS = {"column": 3.25, "page": 6.75}
"""Inches of a column and of both in the usual styles of two columns."""
FONTS: dict[str, dict[str, Any]] = {
    "sans": {},
    "serif": {"font.family": ["STIXGeneral"], "mathtext.fontset": "stix"},
    "latex": {
        "font.family": ["cmr10", "STIXGeneral"],  # LaTeX's own, which lacks a few characters
        "mathtext.fontset": "cm",
        "axes.formatter.use_mathtext": True,
    },
}
"""Like Helvetica, Times and Computer Modern. All come with matplotlib, so that a stranger's names never meet TeX."""
AXES = ("log", "linear")

_SMALLER = 0.85  # than seaborn's style: 8 points where the width is the one that is printed
_LETTERS = 15  # an inch, of 8 points
_SAMPLE_INCHES = 0.6  # of a line in the legend
_STACKED = 4  # panels below each other in a column; more are in two rows of half the width
_COLUMNS = 3  # panels beside each other
_ROWS_INCHES = 2.0  # beside names, whatever their length
_LEGEND_INCHES = 0.6  # a legend of three rows, for which the panels leave room
_DASHES: dict[str, Any] = {"solid": "-", "dash": (0, (5, 2)), "dot": (0, (1, 1.5)), "dashdot": (0, (5, 2, 1, 2))}
_MARKERS = {"circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "x": "X", "star": "*"}
# Without a date the same results give the same bytes.
_NO_DATE: dict[str, Any] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
_LATE_RANGE, _RANGE = 1e3, 1e6  # of a logarithmic axis, of late values and of all
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",  # which an argument of the row's end above would begin with, as would a star
    "*": "{*}",
    **{c: f"\\{c}" for c in "&%$#_{}"},
    **{"≤": r"$\le$", "≥": r"$\ge$", "≠": r"$\ne$", "≈": r"$\approx$", "∞": r"$\infty$", "√": r"$\surd$"},
    **{"−": "$-$", "→": r"$\to$", "∈": r"$\in$", "∑": r"$\sum$", "∂": r"$\partial$", "∇": r"$\nabla$"},
    **{"ς": r"$\varsigma$", "ϕ": r"$\phi$", "ϵ": r"$\epsilon$", "ℓ": r"$\ell$", "⋅": r"$\cdot$", "†": r"$\dagger$"},
}
_GREEK = {"LAMDA": "lambda"}
_CAPITALS = ("gamma", "delta", "theta", "lambda", "xi", "pi", "sigma", "upsilon", "phi", "psi", "omega")
_LATIN = {"eta": "H", "rho": "P", "chi": "X"}  # capital letters that look like others than their first


def make_figures(
    directory: str | os.PathLike[str] | Store,
    out: str | os.PathLike[str] | None = None,
    formats: tuple[str, ...] = FORMATS,
    agents: Sequence[str] = (),
    *,
    width: str | None = None,
    axes: str | None = None,
    font: str = "sans",
) -> list[Path]:
    """Write the figures and tables of a results folder.

    One figure per metric that has `in_figures`, with a panel per environment (`cumulative_regret`, `simple_regret`,
    `inference_regret`, `regret_ratio`), the mean ranks (`ranks`; `ranks-arms` and so on, one a class, where agents are
    ranked within classes of environments), the performance profiles (`profiles`), the cost of delay (`delay_cost`), the
    audits of confidence bands (`bands`) and of sketches (`sketches`), regret against how often bands held
    (`guarantee`), and the final scores as `scores.tex`. A figure for which there are no numbers is left out. On
    logarithmic axes all curves of a panel begin at the first evaluation at which all are known, which the label names
    where it is not the first of any; what is 0 or below the least value shown runs along the lower edge. With more than
    ten agents curves are without intervals.

    Args:
        directory: The results folder, alone or joined with the board that it was played against.
        out: Where to write; by default its folder `figures`.
        formats: File formats that matplotlib knows.
        agents: Agents to show, by their names on the page or their ids, which may stand for several; none for all.
            Ranks and tie groups are then of these agents among themselves.
        width: "column" (3.25 inches) or "page" (6.75), with text of 8 points; None for as many inches as panels need.
        axes: "log" or "linear", of the metrics over time; None for what suits each.
        font: "sans", "serif" or "latex", which looks like Computer Modern and needs no LaTeX.

    Returns:
        The files.

    Raises:
        ValueError: if the folder holds no finished run, or none of one of `agents`, or if a choice is none of these.
        StoreError: if `directory/figures` is a link to elsewhere, and `out` is not given.
    """
    for name, value, known in (("width", width, [None, *WIDTHS]), ("axes", axes, [None, *AXES]), ("font", font, FONTS)):
        if value not in known:
            raise ValueError(f"{name}: expected one of {', '.join(filter(None, known))}, got {value!r}")
    store = directory if isinstance(directory, Store) else Store(directory)
    summary = summarise(store)
    if not summary.scores:
        raise ValueError(f"directory: expected a results folder with finished runs, got {store.directory} with none")
    site = Site(summary, audits=audit_reports(store, summary))
    if agents:
        site = site.of(_chosen(summary, agents))
    folder = own_folder(store.directory / "figures") if out is None else Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    with paper_style(font, 1 if width is None else _SMALLER):
        for name, figure in _figures(site, None if width is None else WIDTHS[width], axes).items():
            # The layout moves a little with every drawing: it is settled once, for all formats.
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
            for format in formats:
                files.append(folder / f"{name}.{format}")
                with written_whole(files[-1]) as temporary:
                    figure.savefig(temporary, format=format, metadata=_NO_DATE.get(format), dpi=200)
    return [*files, write_whole(folder / "scores.tex", latex_table(site))]


def _chosen(summary: Summary, agents: Sequence[str]) -> set[str]:
    """The agents with finished runs that names or ids stand for."""
    played = {agent: summary.agents[agent].id for _, agent in summary.scores}
    chosen: set[str] = set()
    for name in agents:
        found = {name} & played.keys() or {agent for agent, id in played.items() if id == name}
        if not found:
            # As loose as abbreviations are: "epsgp" for EpsGreedy.
            hint = did_you_mean(name, dict.fromkeys((*played, *played.values())), cutoff=0.5)
            raise ValueError(f"agents: no finished run of {name!r}; {hint}")
        chosen |= found
    return chosen


def _figures(site: Site, width: float | None, axes: str | None) -> dict[str, Figure]:
    """The figures for which there are numbers, by file name: of metrics, of registered charts and of mean ranks."""
    drawn = (metric for metric in METRICS.values() if metric.has_curve and metric.in_figures)
    panels = {metric.name: metric_panels(site, metric, axes) for metric in drawn} | dict(figure_panels(site))
    figures = {}
    for name, charts in panels.items():
        known = [chart.only(site.styles) for chart in charts]
        if any(chart.lines for chart in known):
            figures[name] = draw_panels(known, site.styles, width)
    several = {name: found for name, found in site.overall.items() if len(found.agents) > 1}
    files = file_names("ranks", several) if len(site.classes) > 1 else dict.fromkeys(several, "ranks.html")
    for name, found in several.items():
        of = f" ({name})" if len(site.classes) > 1 else ""
        label = f"mean rank over {len(found.tasks)} environments{of}"
        ranks = draw_intervals(dict(zip(found.agents, found.mean_rank)), site.styles, label, width)
        figures[files[name].removesuffix(".html")] = ranks
    return figures


def metric_panels(site: Site, metric: Metric, axes: str | None = None) -> list[Chart]:
    """A panel for each environment where a metric is known; with `axes`, "log" or "linear", in place of its own."""
    panels = []
    for task in site.summary.tasks:
        scores = task_view(site, task).scores.items()
        chart = metric_chart(
            metric, {name: cell for name, cell in scores if np.isfinite(cell.curves[metric.name][:, -1]).all()}
        )
        if chart is not None:
            if not metric.bands_in_figures or len(chart.lines) > CROWD:
                chart = chart.without_bands()  # many bands hide the curves
            if axes == "linear":
                chart = chart.on_linear_axes()
            elif axes == "log" or metric.log_in_figures:
                chart = chart.on_log_axes()
            panels.append(replace(chart, title=task))
    return panels


# ---- drawing with matplotlib ----


@contextmanager
def paper_style(font: str = "sans", size: float = 1) -> Iterator[None]:
    """Seaborn's paper style in one of `FONTS`, with text of `size` times its points, inside the block alone."""
    import matplotlib as mpl
    import seaborn as sns

    style = sns.axes_style("ticks") | sns.plotting_context("paper", font_scale=size)
    fonts = {
        "pdf.fonttype": 42,
        "svg.fonttype": "none",
        "svg.hashsalt": "gpbandit",
        "mathtext.default": "regular",
        "text.usetex": False,  # a user's own setting would give a stranger's names to LaTeX
    }
    with mpl.rc_context(style | fonts | FONTS[font]):
        yield


def draw_panels(charts: Sequence[Chart], styles: Mapping[str, LineStyle], width: float | None = None) -> Figure:
    """A panel per chart, and one legend for all of them; a single chart is larger where no width (inches) is asked."""
    n_columns = min(len(charts), _COLUMNS)
    if width == WIDTHS["column"]:
        n_columns = 1 if len(charts) <= _STACKED else 2
    n_rows = -(-len(charts) // n_columns)
    across = None if width is None else width / n_columns
    down = None if across is None else 0.75 * min(across, WIDTHS["column"])
    if width is not None and down is not None:
        figure = _new_figure(width, down * n_rows + 0.5)
    else:
        figure = _new_figure(*((4.2, 3.0) if len(charts) == 1 else (2.9 * n_columns + 0.3, 2.3 * n_rows + 0.5)))
    axes = list(figure.subplots(n_rows, n_columns, squeeze=False).flat)
    for ax in axes[len(charts) :]:
        ax.set_visible(False)
    drawn: dict[str, Line2D] = {}
    for i, (ax, chart) in enumerate(zip(axes, charts)):
        start = _start(chart)
        drawn = _draw(ax, chart, styles, start) | drawn
        earlier = any(np.isfinite(line.y[line.x < start]).any() for line in chart.lines)
        label = chart.x.text + (f", from {start:g} on" if earlier else "")
        ax.set(title=plain(_folded(chart.title, across)), xlabel=plain(_folded(label, across)))
        if i % n_columns == 0:
            ax.set_ylabel(plain(_folded(chart.y.label, down)))
    beside = None if width is None else width - _SAMPLE_INCHES
    _legend(figure, {_folded(name, beside): line for name, line in drawn.items()})
    return figure


def _draw(ax: Axes, chart: Chart, styles: Mapping[str, LineStyle], start: float) -> dict[str, Line2D]:
    """Draw a chart; returns its curves by name.

    On logarithmic axes all curves begin together, and what is 0 or too small for them runs along the lower edge.
    """
    curves: dict[str, Line2D] = {}
    least, touched = _least(chart, start) if chart.y.log else -np.inf, False
    if chart.frontier:
        _draw_frontier(ax, chart)
    for line in chart.lines:
        style = styles[line.name]
        raised = np.where(np.isfinite(line.y), np.maximum(line.y, least), np.nan)
        touched |= bool((raised == least).any())
        y = np.where(line.x >= start, raised, np.nan)
        (drawn,) = ax.plot(line.x, y, color=style.light, linestyle=_DASHES[style.dash], linewidth=1.5)
        curves[line.name] = drawn
        if chart.mark == "steps":
            drawn.set_drawstyle("steps-post")
        if chart.mark == "points":
            filled = style.light if line.name in chart.frontier else "white"
            drawn.set(marker=_MARKERS[style.symbol], markersize=5, markerfacecolor=filled, linestyle="none")
        elif style.marker:
            drawn.set(marker=_MARKERS[style.marker], markersize=4, markevery=0.14)
        if line.low is None or line.high is None:
            continue
        low = np.maximum(line.low, least)
        if chart.mark in ("points", "joined points"):
            ends = np.stack([y - low, line.high - y])
            ax.errorbar(line.x, y, ends, color=style.light, linestyle="none", elinewidth=1, capsize=2)
        else:
            shown = np.isfinite(y) & np.isfinite(low)
            ax.fill_between(line.x, low, line.high, where=shown, color=style.light, alpha=0.16, linewidth=0)
    for level in chart.references:
        ax.axhline(level, color="0.35", linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
    _scale(ax, chart, start, least if touched else -np.inf)
    return curves


def _scale(ax: Axes, chart: Chart, start: float, edge: float) -> None:
    """The axes of a chart whose curves begin at `start`; some run along its lower edge, if that is finite."""
    ax.set(xscale="log" if chart.x.log else "linear", yscale="log" if chart.y.log else "linear", ylim=chart.y.limits)
    if chart.x.limits is not None:
        ax.set_xlim(chart.x.limits)
    if chart.x.log and np.isfinite(start):
        ax.set_xlim(start, None)
    if chart.y.limits is None and np.isfinite(edge):
        # A little below what runs along the edge, so that the whole line is seen.
        ax.set_ylim(edge * (edge / ax.get_ylim()[1]) ** 0.01, None)
    for axis in (ax.xaxis, ax.yaxis):
        _label_log_axis(axis)
    ax.spines[["top", "right"]].set_visible(False)


def _start(chart: Chart) -> float:
    """Where all curves of a chart begin that is drawn on a logarithmic horizontal axis: where all of them are known."""
    firsts = [line.x[np.isfinite(line.y)][0] for line in chart.lines if line.is_known]
    return float(max(firsts)) if chart.x.log and chart.mark != "points" and firsts else -np.inf


def _label_log_axis(axis: Axis) -> None:
    """On a logarithmic axis of less than a decade, a few whole numbers in place of labels such as 6 x 10^0."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    low, high = axis.get_view_interval()
    if axis.get_scale() != "log":
        return
    axis.set_minor_formatter(NullFormatter())
    if high / low < 10:
        several = high / low > 10**0.5
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)) if several else MaxNLocator(4))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.4g}"))


def _draw_frontier(ax: Axes, chart: Chart) -> None:
    """The step through the points that no other beats, on the side that is worse."""
    ends = {line.name: (line.x[0], line.y[0]) for line in chart.lines}
    x, y = np.array([ends[name] for name in chart.frontier]).T
    step = "steps-pre" if y[-1] > y[0] else "steps-post"
    ax.plot(x, y, color="0.35", linewidth=0.8, linestyle=(0, (1, 1.5)), drawstyle=step, zorder=1)


def _least(chart: Chart, start: float) -> float:
    """Where a logarithmic axis ends below: at half the smallest late mean, but three decades below the largest.

    Lower if a curve begins lower, as those of sums do, but no more than six decades.
    """
    means = [line.y[line.x >= line.x[-1] / 10] for line in chart.lines]
    late, begun = np.concatenate(means), np.array([y for line in chart.lines for y in line.y[line.x >= start][:1]])
    late, begun = (values[np.isfinite(values) & (values > 0)] for values in (late, begun))
    if len(late) == 0:
        return 1e-3
    least = max(late.min(), late.max() / _LATE_RANGE)
    return 0.5 * float(max(min(least, begun.min(initial=np.inf)), late.max() / _RANGE))


def draw_intervals(
    intervals: Mapping[str, Interval], styles: Mapping[str, LineStyle], label: str, width: float | None = None
) -> Figure:
    """A row per agent with its estimate and interval, the smallest estimate on top.

    Without a width (inches) the figure is wider for long names; with one these are folded.
    """
    order = sorted(intervals, key=lambda name: intervals[name].estimate, reverse=True)
    figure = _new_figure(4.2 if width is None else width, 0.28 * len(order) + 0.8)
    ax = figure.subplots()
    for y, name in enumerate(order):
        interval, colour = intervals[name], styles[name].light
        if interval.is_known:
            ax.plot([interval.low, interval.high], [y, y], color=colour, linewidth=2)
        ax.plot([interval.estimate], [y], "o", color=colour, markersize=5)
    ax.set_yticks(range(len(order)), [plain(_folded(name, width and width / 2)) for name in order])
    ax.grid(axis="x", alpha=0.3)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(left=False)
    ax.set(xlabel=label, xlim=(0.8, len(order) + 0.2))
    if width is None:
        names = max(text.get_window_extent().width for text in ax.get_yticklabels()) / figure.dpi
        figure.set_figwidth(max(figure.get_figwidth(), names + _ROWS_INCHES))
    return figure


def _new_figure(width_inches: float, height_inches: float) -> Figure:
    """An empty figure, outside pyplot's state."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width_inches, height_inches), layout="constrained")


def _legend(figure: Figure, curves: Mapping[str, Line2D]) -> None:
    """One legend below the figure for all curves, in as many columns as fit; the figure grows by rows beyond three."""
    for n_columns in range(min(len(curves), int(2 * figure.get_figwidth() / 2.9)), 0, -1):
        legend = figure.legend(
            list(curves.values()),
            # A label is given here alone: of a curve's own labels, matplotlib leaves out those that begin with "_".
            [plain(name) for name in curves],
            loc="outside lower center",
            ncols=n_columns,
            frameon=False,
        )
        extent = legend.get_window_extent()
        if extent.width <= figure.bbox.width or n_columns == 1:
            break
        legend.remove()
    figure.set_figheight(figure.get_figheight() + max(0.0, extent.height / figure.dpi - _LEGEND_INCHES))


def _folded(text: str, inches: float | None) -> str:
    """Text in lines of so many inches, in the letters of a figure whose width is asked; as it is where none are."""
    return text if inches is None else textwrap.fill(text, max(8, int(inches * _LETTERS)))


def plain(name: str) -> str:
    """A name without the dollars that matplotlib would read as mathematics."""
    return name.replace("$", r"\$")


# ---- tables ----


def latex_table(site: Site) -> str:
    """Agents by environments as a `tabular` with booktabs rules: mean and 95 % interval, leading tie groups in bold."""
    tasks = _played(site)
    rows = [["Agent", *map(escape_latex, tasks)]]
    rows += [[escape_latex(name), *(_cell(site, task, name) for task in tasks)] for name in _order(site)]
    head, *body = (" & ".join(row) + r" \\" for row in rows)
    begin, end = rf"\begin{{tabular}}{{l{'r' * len(tasks)}}}", r"\end{tabular}"
    return "\n".join([f"% {_caption(site)}", begin, r"\toprule", head, r"\midrule", *body, r"\bottomrule", end, ""])


def _cell(site: Site, task: str, name: str) -> str:
    mean = _score(site, task, name)
    text = "--" if mean is None else _text_latex(mean)
    if _is_part(site, task, name):
        text += r"$^\dagger$"
    # Bold text alone leaves mathematics as it is.
    return rf"\textbf{{\boldmath {text}}}" if site.rank(task, name) == 1 else text


def _played(site: Site) -> list[str]:
    return [task for task in site.summary.tasks if not site.styles.keys().isdisjoint(site.shown.on(task))]


def _order(site: Site) -> list[str]:
    placed = dict.fromkeys(agent for found in site.overall.values() for agent in found.ordered)
    return [*placed, *sorted(agent for agent in site.styles if agent not in placed)]


def _score(site: Site, task: str, agent: str) -> Interval | None:
    cell, found = site.shown.scores.get((task, agent)), site.rankings[task]
    if cell is None or found is None or not np.isfinite(cell.finals[found.metric]).all():
        return None
    return cell.intervals[found.metric]


def _is_part(site: Site, task: str, agent: str) -> bool:
    """Whether a score is of fewer repetitions than the ranks rest on: the others failed, or were not played yet."""
    found = site.rankings[task]
    return found is not None and agent not in found.agents and _score(site, task, agent) is not None


def _text_latex(interval: Interval) -> str:
    low, dash, high = between(interval).partition(BETWEEN)
    estimate = _number_latex(number(interval.estimate))
    return f"{estimate} ({_number_latex(low)}--{_number_latex(high)})" if dash else estimate


def _number_latex(text: str) -> str:
    """A number in mathematics, where the letter of 1.09e+09 would be a factor."""
    digits, e, exponent = text.partition("e")
    return rf"${digits}\times 10^{{{int(exponent)}}}$" if e else f"${digits}$"


def _caption(site: Site) -> str:
    tasks: dict[str, list[str]] = {}
    for task, found in site.rankings.items():
        if found is not None:
            tasks.setdefault(found.metric.replace("_", " "), []).append(task)
    metrics = sorted(tasks)
    what = " or ".join(metrics) or "scores"
    text = f"Final {what} of suite {site.title}: mean and 95 % interval over repetitions"
    if len(metrics) > 1:
        fewest = min(metrics, key=lambda metric: len(tasks[metric]))
        text += f" ({fewest}: {', '.join(tasks[fewest])})"
    text += "; the leading tie group of each environment in bold."
    if any(_is_part(site, task, name) for task in site.rankings for name in _order(site)):
        text += " With †: of fewer repetitions than the others, and not ranked."
    return text


def escape_latex(text: str) -> str:
    """Text as LaTeX prints it, on one line."""
    return "".join(map(_latex_character, " ".join(visible(text).split())))


def _latex_character(character: str) -> str:
    """A character as pdflatex prints it: it knows Latin letters, and others by their names alone."""
    if character < "\u0370":
        return _LATEX.get(character, character)
    words = unicodedata.name(character, "").split()
    if words[:1] == ["GREEK"] and words[2:3] == ["LETTER"] and len(words) == 4:
        name = _GREEK.get(words[3], words[3].lower())
        if words[1] == "SMALL":
            return "o" if name == "omicron" else f"$\\{name}$"
        return f"$\\{name.capitalize()}$" if name in _CAPITALS else f"$\\mathrm{{{_LATIN.get(name, name[0].upper())}}}$"
    if words[:1] in (["SUBSCRIPT"], ["SUPERSCRIPT"]):
        return rf"\text{words[0].lower()}{{{unicodedata.normalize('NFKC', character)}}}"
    return _LATEX.get(character, character)


class Drawing(NamedTuple):
    """A chart with the style of each line by name; a notebook shows it as SVG, without scripts or a network."""

    chart: Chart
    styles: Mapping[str, LineStyle]

    def figure(self) -> Figure:
        """The chart as a matplotlib figure, to be changed or saved."""
        with paper_style():
            return draw_panels([self.chart], self.styles)

    def picture(self) -> str:
        """The chart as SVG, the same for the same numbers."""
        text = io.StringIO()
        with paper_style():
            metadata: Any = dict.fromkeys(("Creator", "Date", "Format", "Type"))
            self.figure().savefig(text, format="svg", metadata=metadata, facecolor="white")
        svg = text.getvalue()
        return svg[svg.index("<svg") :]

    def svg(self) -> Markup:
        """The chart inside a figure of HTML, with its meaning below it."""
        frame = Markup('<figure style="margin:0" role="img" aria-label="{}">{}<figcaption>{}</figcaption></figure>')
        return frame.format(self.chart.alt, Markup(self.picture()), self.chart.meaning)

    def _repr_html_(self) -> str:
        return str(self.svg())
