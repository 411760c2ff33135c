"""The registry of charts: what each is drawn of, and where it is shown. Pages and figures read it.

A new chart is one decorated function, in `leaderboards/show/charts.py` or anywhere before the page is built:

    @chart(on="task", figure="switches", log_x=True)
    def switches(view: TaskView) -> Chart | None:
        lines = tuple(mean_line(name, scores.t, scores.curves["switches"]) for name, scores in view.scores.items())
        return Chart("switches", "Changes of arm", Axis(EVALUATIONS), Axis("changes so far"), lines)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

import numpy as np

from gpbandit_envs.channels import Channel, as_channel
from leaderboards.audit.report import AuditReport
from leaderboards.score.frames import OverallRanking
from leaderboards.score.scores import AgentScores
from leaderboards.show.chart import Chart
from leaderboards.show.shared import Site

__all__ = [
    "CHARTS",
    "AgentView",
    "RegisteredChart",
    "TaskView",
    "TasksView",
    "chart",
    "charts_on",
    "figure_panels",
    "task_view",
    "tasks_view",
]

On = Literal["task", "agent", "tasks", "study"]
Draw = Callable[[Any], Chart | None]
DrawT = TypeVar("DrawT", bound=Draw)


@dataclass(frozen=True)
class TaskView:
    """What charts `on="task"` are drawn of.

    Attributes:
        task: Name.
        scores: Scores by agent, in the order of the page.
        rule: When feedback arrives.
        horizon: Evaluations of a run.
        audits: Audits by agent; agents without one are left out.
        target_times: Evaluations to each target by agent, see `leaderboards.score.targets.task_times`.
    """

    task: str
    scores: Mapping[str, AgentScores]
    rule: Channel
    horizon: int
    audits: Mapping[str, AuditReport] = field(default_factory=dict)
    target_times: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class AgentView:
    """What charts `on="agent"` are drawn of.

    Attributes:
        agent: Name.
        scores: Scores by task.
        audits: Audits by task.
    """

    agent: str
    scores: Mapping[str, AgentScores]
    audits: Mapping[str, AuditReport]


@dataclass(frozen=True)
class TasksView:
    """What charts `on="tasks"` are drawn of: tasks of a class, within which agents are ranked.

    Attributes:
        tasks: By name.
        ranking: The ranking over them; None if there is none.
    """

    tasks: Mapping[str, TaskView]
    ranking: OverallRanking | None


@dataclass(frozen=True)
class RegisteredChart:
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

    def panel(self, view: Any, title: str) -> Chart | None:
        """The chart as a panel of a figure, which its title tells from the others; None where there is none."""
        drawn = self.draw(view)
        if drawn is None:
            return None
        drawn = drawn if self.bands else drawn.without_bands()
        return replace(drawn.on_log_axes(x=self.log_x, y=self.log_y), title=title)


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
        "tasks": [
            (name if several else "", tasks_view(site, found.tasks, found)) for name, found in site.overall.items()
        ],
        "study": [(study.env, study) for study, _ in site.delay_files],
    }
    for one in CHARTS:
        if one.figure:
            panels = (one.panel(view, title) for title, view in views[one.on])
            yield one.figure, [panel for panel in panels if panel is not None]


def task_view(site: Site, task: str) -> TaskView:
    """What is drawn of a task: the agents that the site shows."""
    about = site.summary.tasks[task]
    return TaskView(
        task,
        {agent: scores for agent, scores in site.shown.on(task).items() if agent in site.styles},
        as_channel(about.feedback),
        about.horizon,
        {agent: report for (on, agent), report in site.audits.items() if on == task},
        site.target_times[task],
    )


def tasks_view(site: Site, tasks: Iterable[str], ranking: OverallRanking | None) -> TasksView:
    """What is drawn of several tasks and the ranking over them."""
    return TasksView({task: task_view(site, task) for task in tasks}, ranking)
