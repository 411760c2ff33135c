"""Description of a chart, and the registry of charts: what each is drawn of, and where it is shown.

`page_json` with `static/charts.js` draws charts for the page, `leaderboards.show.paper` for papers, and
`leaderboards.show.palette.thumbnail` as small drawings inside text.

A new chart is one decorated function, in `leaderboards/show/charts.py` or anywhere before the page is built:

    @chart(on="task", figure="switches", log_x=True)
    def switches(view: TaskView) -> Chart | None:
        lines = tuple(mean_line(name, scores.t, scores.curves["switches"]) for name, scores in view.scores.items())
        return Chart("switches", "Changes of arm", Axis(EVALUATIONS), Axis("changes so far"), lines)
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float, Num

from gpbandit_envs.channels import Channel, as_channel
from leaderboards.audit.report import AuditReport
from leaderboards.score.frames import OverallRanking
from leaderboards.score.scores import AgentScores
from leaderboards.score.statistics import score_band
from leaderboards.show.format import packed_each, rounded_each
from leaderboards.show.palette import LineStyle
from leaderboards.show.shared import Site

On = Literal["task", "agent", "tasks", "study"]
Draw = Callable[[Any], "Chart | None"]
DrawT = TypeVar("DrawT", bound=Draw)

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
    mark: Literal["line", "steps", "joined points", "points"] = "line"
    references: tuple[float, ...] = ()
    frontier: tuple[str, ...] = ()

    def on_log_axes(self, x: bool = True, y: bool = True) -> Chart:
        """The same chart with logarithmic axes."""
        return replace(self, x=replace(self.x, log=x or self.x.log), y=replace(self.y, log=y or self.y.log))

    def on_linear_axes(self) -> Chart:
        """The same chart with linear axes."""
        return replace(self, x=replace(self.x, log=False), y=replace(self.y, log=False))

    def only(self, names: Container[str]) -> Chart:
        """The same chart with the lines of some names alone."""
        lines = tuple(line for line in self.lines if line.name in names)
        return replace(self, lines=lines, frontier=tuple(name for name in self.frontier if name in names))

    def without_bands(self) -> Chart:
        """The same chart with means alone."""
        return replace(self, lines=tuple(replace(line, low=None, high=None) for line in self.lines))


def mean_line(name: str, x: Num[np.ndarray, " p"], Y: Float[np.ndarray, "n p"]) -> Line:
    """Mean over repetitions with its 95 % band, which a single repetition does not have."""
    return mean_lines({name: (x, Y)})[0]


def mean_lines(curves: Mapping[str, tuple[Num[np.ndarray, " _p"], Float[np.ndarray, "_n _p"]]]) -> list[Line]:
    """`mean_line` by name of positions and repetitions; all of one shape take as long as one of them."""
    alike: dict[tuple[int, ...], list[str]] = {}
    for name, (_, Y) in curves.items():
        alike.setdefault(Y.shape, []).append(name)
    bands: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
    for names in alike.values():
        bands |= zip(names, zip(*score_band(np.stack([curves[name][1] for name in names], axis=1))))
    return [Line(name, x, *bands[name][: 1 if len(Y) == 1 else 3]) for name, (x, Y) in curves.items()]


# ---- charts of a page ----


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
            positions.append(line.x[keep])
            heights += [values[keep] for values in (line.y, line.low, line.high) if values is not None]
        numbers = iter(_numbers(heights) if as_digits else packed_each(heights))
        lines = []
        for line, x in zip(ordered, _numbers(positions)):
            if x not in shared:
                shared.append(x)
            known = [name for name in ("y", "low", "high") if getattr(line, name) is not None]
            lines.append({"name": line.name, "x": shared.index(x), **{name: next(numbers) for name in known}})
        told = ("key", "title", "meaning", "formula", "alt", "mark")
        axes = {"x": _axis(chart.x), "y": _axis(chart.y)}
        lists = {"references": list(chart.references), "frontier": list(chart.frontier), "lines": lines}
        drawn.append({name: getattr(chart, name) for name in told} | axes | lists)
    used = {line.name for chart in charts for line in chart.lines}
    drawn_styles = {name: style for name, style in styles.items() if name in used}
    return {"xs": shared, "styles": styles_json(drawn_styles), "charts": drawn}


def styles_json(styles: Mapping[str, LineStyle]) -> dict[str, Any]:
    """Styles of lines by name as a JSON value for the page."""
    return {name: {**asdict(style), "symbol": style.symbol} for name, style in styles.items()}


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


# ---- the registry ----


@dataclass(frozen=True)
class TaskView:
    """What charts `on="task"` are drawn of.

    Attributes:
        task: Name.
        scores: Scores by agent, in the order of the page.
        rule: When feedback arrives.
        horizon: Evaluations of a run.
        audits: Audits by agent; agents without one are left out.
    """

    task: str
    scores: Mapping[str, AgentScores]
    rule: Channel
    horizon: int
    audits: Mapping[str, AuditReport] = field(default_factory=dict)


class AgentView(NamedTuple):
    """What charts `on="agent"` are drawn of: its name, and its scores and audits by task."""

    agent: str
    scores: Mapping[str, AgentScores]
    audits: Mapping[str, AuditReport]


class TasksView(NamedTuple):
    """What charts `on="tasks"` are drawn of.

    Attributes:
        tasks: Tasks of a class, by name.
        ranking: The ranking over them, if there is one.
        levels: By task, the arguments that a grid goes through.
        by: What agents are ranked by.
    """

    tasks: Mapping[str, TaskView]
    ranking: OverallRanking | None
    levels: Mapping[str, Mapping[str, Any]] = {}
    by: str = "cumulative_regret"


class RegisteredChart(NamedTuple):
    """A chart, and where it is shown.

    Attributes:
        on: What it is drawn of: a `TaskView`, an `AgentView`, a `TasksView`, or, with `"study"`, a
            `leaderboards.score.delay_cost.DelayStudy`.
        draw: The function: a chart, whose `key` no other on the page has, or None where there is nothing to draw.
        figure: File name of the figure for papers, with a panel each; "" for none. An agent has no figures.
        log_x: Whether the panels have a logarithmic horizontal axis where the page begins with a linear one.
        log_y: The same of the vertical axis.
        bands: Whether the panels show bands.
    """

    on: On
    draw: Draw
    figure: str = ""
    log_x: bool = False
    log_y: bool = False
    bands: bool = True


CHARTS: list[RegisteredChart] = []
"""All charts, in the order of tabs and figures."""


def chart(
    *, on: On, figure: str = "", log_x: bool = False, log_y: bool = False, bands: bool = True
) -> Callable[[DrawT], DrawT]:
    """Register the decorated function as a chart, see `RegisteredChart`; one function may be registered on several.

    Raises:
        ValueError: for another `on`, a figure that is an agent's, or one of a name that another chart has.
    """
    if on not in ("task", "agent", "tasks", "study"):
        raise ValueError(f"on: expected 'task', 'agent', 'tasks' or 'study', got {on!r}")
    if figure and on == "agent":
        raise ValueError(f"figure: expected none for a chart on one agent, got {figure!r}")
    if figure and figure in {one.figure for one in CHARTS}:
        raise ValueError(f"figure: expected a new name, got {figure!r}, which another chart has")

    def register(draw: DrawT) -> DrawT:
        CHARTS.append(RegisteredChart(on, draw, figure, log_x, log_y, bands))
        return draw

    return register


def charts_on(on: On, view: Any) -> list[Chart]:
    """The registered charts of a view that have something to draw, in order."""
    drawn = (one.draw(view) for one in CHARTS if one.on == on)
    return [found for found in drawn if found is not None]


def figure_panels(site: Site) -> Iterator[tuple[str, list[Chart]]]:
    """Name and panels of each figure of a registered chart: a panel a task, class of tasks or delay study."""
    several = len(site.classes) > 1
    views: dict[On, list[tuple[str, Any]]] = {
        "task": [(task, task_view(site, task)) for task in site.summary.tasks],
        "tasks": [(name if several else "", tasks_view(site, over.tasks, over)) for name, over in site.overall.items()],
        "study": [(study.env, study) for study, _ in site.delay_files],
    }
    for one in CHARTS:
        if one.figure:
            drawn = [(title, panel) for title, view in views[one.on] if (panel := one.draw(view)) is not None]
            panels = [(title, panel if one.bands else panel.without_bands()) for title, panel in drawn]
            yield one.figure, [replace(panel.on_log_axes(one.log_x, one.log_y), title=title) for title, panel in panels]


def task_view(site: Site, task: str) -> TaskView:
    """What is drawn of a task: the agents that the site shows."""
    about = site.summary.tasks[task]
    return TaskView(
        task,
        {agent: scores for agent, scores in site.shown.on(task).items() if agent in site.styles},
        as_channel(about.feedback),
        about.horizon,
        {agent: report for (on, agent), report in site.audits.items() if on == task},
    )


def tasks_view(site: Site, tasks: Iterable[str], ranking: OverallRanking | None) -> TasksView:
    """What is drawn of several tasks and the ranking over them."""
    views = {task: task_view(site, task) for task in tasks}
    return TasksView(views, ranking, site.summary.levels, site.ranked_by)
