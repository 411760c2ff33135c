"""Figures of an experiment: outcomes in their order, the front of the best, and what a model says."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float

from agents.experiment.constraints import Linear
from agents.experiment.goals import Goal
from agents.experiment.parameters import Parameter, Parameters, Point
from agents.experiment.region import Region
from gpbandit_envs.lazy import optional

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

COLUMNS = 3
BLUE, ORANGE, RED, GREY = "#0072B2", "#E69F00", "#D55E00", "#999999"  # Okabe and Ito's, told apart by all eyes
# The template draws shapes without lines, and pale.
LIMIT: dict[str, Any] = {"line": {"dash": "dash", "color": GREY, "width": 1.5}, "opacity": 1.0}


def import_plotly() -> tuple[ModuleType, Any]:
    """Plotly's graph objects, and what makes panels.

    Raises:
        ImportError: if it is not installed.
    """
    needs = "the figure of an experiment needs Plotly"
    go, panels = optional(needs, "plot", "plotly.graph_objects", "plotly.subplots")
    return go, panels.make_subplots


def outcome_figure(
    results: pd.DataFrame,
    names: Sequence[str],
    goals: Sequence[Goal],
    best: Mapping[str, Float[np.ndarray, " n"]],
    parameters: Parameters,
) -> go.Figure:
    """Every outcome of `Experiment.results` in its order, and in one panel per parameter.

    `best` has of each outcome with a direction the best after each evaluation that has outcomes.
    """
    go, make_subplots = import_plotly()
    rows = -(-len(names) // COLUMNS)
    top = [{"colspan": COLUMNS}, *[None] * (COLUMNS - 1)]
    specs = [top, *[[{}] * COLUMNS for _ in range(rows)]] * len(goals)
    figure = make_subplots(rows=len(specs), cols=COLUMNS, specs=specs)
    there = results[[goal.name for goal in goals]].notna()
    whole = there.all(axis="columns").to_numpy()
    for k, goal in enumerate(goals):
        _add_outcome(go, figure, results, names, goal, best, whole, 1 + k * (1 + rows), parameters)
    told = int(there.any(axis="columns").sum())
    title = f"{', '.join(map(str, goals))}: {told} outcomes in their order, and by each parameter"
    return _laid_out(figure, title, 300 * len(specs))


def _laid_out(figure: go.Figure, title: str, height: int, width: int = 1_000, **more: Any) -> go.Figure:
    """A figure whose title is broken into lines that fit; as a file it has this width, in pixels."""
    lines = textwrap.wrap(title, width // 10)
    text, top = {"text": "<br>".join(lines), "font_size": 16}, 60 + 22 * len(lines)
    return figure.update_layout(
        title=text, height=height + top, width=width, margin_t=top, template="simple_white", **more
    )


def _add_outcome(
    go: ModuleType,
    figure: go.Figure,
    results: pd.DataFrame,
    names: Sequence[str],
    goal: Goal,
    best: Mapping[str, Float[np.ndarray, " n"]],
    whole: Bool[np.ndarray, " rows"],
    row: int,
    parameters: Parameters,
) -> None:
    values = results[goal.name].to_numpy(dtype=float) if len(results) else np.zeros(0)
    t, done = np.arange(len(values)), np.isfinite(values)
    marks: dict[str, Any] = {"mode": "markers", "marker": {"color": BLUE}}
    first, varying = row == 1, {each.name: each for each in parameters.all}
    figure.add_trace(go.Scatter(x=t[done], y=values[done], name=goal.name, showlegend=first, **marks), row=row, col=1)
    if done.any():
        if goal.direction is not None:
            line = {"color": ORANGE, "shape": "hv"}
            so_far = go.Scatter(
                x=t[whole], y=best[goal.name], mode="lines", line=line, name="best so far", showlegend=first
            )
            figure.add_trace(so_far, row=row, col=1)
        failed = (results["status"] == "failed").to_numpy()
        cross = {"color": RED, "symbol": "x"}
        level = np.full(int(failed.sum()), values[done].min())
        lost = go.Scatter(x=t[failed], y=level, mode="markers", marker=cross, name="failed", showlegend=first)
        figure.add_trace(lost, row=row, col=1)
    for limit in goal.limits:
        figure.add_hline(y=limit, **LIMIT, row=row, col=1)
    figure.update_xaxes(title_text="row of results(), counted from 0", row=row, col=1)
    figure.update_yaxes(title_text=goal.name, row=row, col=1)
    for i, name in enumerate(names):
        place = {"row": row + 1 + i // COLUMNS, "col": 1 + i % COLUMNS}
        x: Any = results[name][done] if len(results) else []
        figure.add_trace(go.Scatter(x=x, y=values[done], showlegend=False, **marks), **place)
        figure.update_xaxes(title_text=name, **_axis(varying.get(name)), **place)
        if i % COLUMNS == 0:
            figure.update_yaxes(title_text=goal.name, **place)


def outlook_figure(
    rows: Sequence[tuple[float, ...]],
    best: Float[np.ndarray, " n"],
    goal: Goal,
    level: float,
) -> go.Figure:
    """The best so far, and after each plate the recommended point with its interval and the best there may be.

    Each row has the number of outcomes, the mean, the ends of the interval, and the gap.
    """
    go, _ = import_plotly()
    n, mean, low, high, gap = np.array(rows).reshape(-1, 5).T
    figure = go.Figure()
    if goal.target is None:
        line = {"color": GREY, "shape": "hv"}
        figure.add_scatter(x=np.arange(1, len(best) + 1), y=best, mode="lines", line=line, name="best measured so far")
    bars = {"type": "data", "array": high - mean, "arrayminus": mean - low, "color": BLUE}
    marks: dict[str, Any] = {"mode": "lines+markers", "marker": {"size": 9}}
    name = f"recommended point, and where its value lies ({level:.0%})"
    figure.add_scatter(x=n, y=mean, error_y=bars, name=name, line={"color": BLUE}, **marks)
    line, name = {"color": ORANGE, "dash": "dash"}, f"nothing is better than this ({level:.0%})"
    figure.add_scatter(x=n, y=mean + goal.sign * gap, name=name, line=line, **marks)
    figure.update_xaxes(title_text="experiments with an outcome")
    figure.update_yaxes(title_text=goal.measured)
    title = f"Outlook for {goal.measured}: how good the recommended point is, and how much better it may get"
    return _laid_out(figure, title, 400, legend={"orientation": "h", "y": -0.2})


def front_figure(outcomes: pd.DataFrame, front: pd.DataFrame, goals: Sequence[Goal]) -> go.Figure:
    """Outcomes against each other, with the front of the best and the limits: a panel for each pair of goals."""
    go, make_subplots = import_plotly()
    wanted = [goal for goal in goals if goal.direction is not None]
    pairs = list(combinations(wanted if len(wanted) > 1 else goals, 2))
    if len(wanted) == 1:
        pairs = [(wanted[0], goal) for goal in goals if goal is not wanted[0]]
    figure = make_subplots(rows=1, cols=len(pairs))
    kept = np.ones(len(outcomes), bool)
    for goal in goals:
        kept &= np.array([goal.met(y) for y in outcomes[goal.name]], bool)
    for column, (one, other) in enumerate(pairs, start=1):
        place, first = {"row": 1, "col": column}, column == 1
        for name, which, marker in (
            ("breaks a limit", ~kept, {"color": GREY, "symbol": "x"}),
            ("evaluated", kept, {"color": BLUE, "opacity": 0.5}),
        ):
            x, y = outcomes[one.name][which], outcomes[other.name][which]
            trace = go.Scatter(
                x=x, y=y, mode="markers", marker=marker, name=name, showlegend=bool(first and which.any())
            )
            figure.add_trace(trace, **place)
        ordered = front.sort_values(one.name)
        # Along a pair of two objectives the edge of what the front dominates; of more it is no line.
        line = {"color": ORANGE, "shape": "vh" if one.sign > 0 else "hv"}
        mode = "lines+markers" if len(wanted) == 2 else "markers"
        x, y = ordered[one.name], ordered[other.name]
        marker = {"color": ORANGE, "size": 9}
        figure.add_trace(
            go.Scatter(x=x, y=y, mode=mode, line=line, marker=marker, name="best", showlegend=first), **place
        )
        for goal, add in ((one, figure.add_vline), (other, figure.add_hline)):
            for limit in goal.limits:
                add(**{"x" if goal is one else "y": limit}, **LIMIT, **place)
        figure.update_xaxes(title_text=str(one), **place)
        figure.update_yaxes(title_text=str(other), **place)
    title = f"{', '.join(map(str, goals))}: no other point evaluated beats the best ones in all"
    return _laid_out(figure, title, 400, max(1_000, 450 * len(pairs)))


# ---- a model: slices through a point, a contour, and how much each parameter matters ----


_SLICE, _CONTOUR = 61, 33  # values along a slice, and along each side of a contour
_FEW = 12  # levels, of which each has a tick and a mark

Predict = Callable[[Float[np.ndarray, "n d"]], np.ndarray]
"""Mean, and lower and upper end of the interval, at points of the unit cube, unit of the outcome, shape (3, n)."""

Effects = Mapping[str, tuple[float, float, float]]
"""Of each parameter its total effect, a share of the variance, with its lower and upper end."""


def moved(point: Point, values: Mapping[str, Any], region: Region | None) -> Point | None:
    """A point with other values of some parameters; None if constraints exclude it.

    Of an equality, such as the sum of a mixture, the other parameters keep their ratios (Cox's direction).
    """
    out = {**point, **values}
    if region is None:
        return out
    for each in region.constraints:
        if isinstance(each, Linear) and each.low == each.high and set(each.names) & set(values):
            others = [name for name in each.names if name not in values]
            rest = sum(each.coefficients[name] * point[name] for name in others)
            needed = each.high - sum(each.coefficients[name] * values[name] for name in each.names if name in values)
            for name in others:
                c = each.coefficients[name]
                out[name] = point[name] * needed / rest if rest else needed / (c * len(others))
    try:
        region.parameters.row(out)
        region.check(out)
    except ValueError:
        return None
    return out


def numbers_of(parameters: Parameters) -> list[str]:
    """The parameters that are numbers, of which two may have a contour."""
    return [each.name for each in parameters.all if not each.dimension.choices]


def model_figure(
    parameters: Parameters,
    region: Region | None,
    point: Point,
    predict: Predict,
    results: pd.DataFrame,
    outcome: str,
    effects: Effects,
    pair: tuple[str, str] | None,
    level: float,
) -> go.Figure:
    """A slice through a point for each parameter, with its interval; what matters; and a contour of two parameters.

    Without a region everything is allowed; without a pair the two numbers that matter most have the contour. Raises as
    `Experiment.plot_model`.
    """
    go, make_subplots = import_plotly()
    numeric = numbers_of(parameters)
    if pair is None and len(numeric) > 1:
        first, second = sorted(numeric, key=lambda name: -effects[name][0])[:2]
        pair = (first, second)
    rows = -(-len(parameters.all) // COLUMNS)
    last = [{}, {"colspan": 2}, None]
    specs = [*[[{}] * COLUMNS for _ in range(rows)], last]
    figure = make_subplots(rows=rows + 1, cols=COLUMNS, specs=specs, horizontal_spacing=0.1)
    for i, each in enumerate(parameters.all):
        place = {"row": 1 + i // COLUMNS, "col": 1 + i % COLUMNS}
        _add_slice(go, figure, place, each, (parameters, region, point), predict, results, outcome, level)
        if i % COLUMNS == 0:
            figure.update_yaxes(title_text=outcome, **place)
    names = sorted(effects, key=lambda name: effects[name][0])
    middle, low, high = np.array([effects[name] for name in names]).T
    bars = {"type": "data", "array": high - middle, "arrayminus": middle - low, "color": GREY}
    shown = go.Bar(x=middle, y=names, error_x=bars, orientation="h", marker_color=BLUE, showlegend=False)
    figure.add_trace(shown, row=rows + 1, col=1)
    title = f"total effect,<br>share of the variance ({level:.0%})"
    figure.update_xaxes(title_text=title, rangemode="tozero", row=rows + 1, col=1)
    if pair is not None:
        _add_contour(go, figure, rows + 1, pair, (parameters, region, point), predict, results, outcome)
    held = ", ".join(f"{name} {shown_number(value)}" for name, value in point.items())
    title = f"{outcome} by the model, through the marked point; all else is held at {held}"
    return _laid_out(figure, title, 300 * (rows + 1))


_Place = tuple[Parameters, Region | None, Point]


def shown_number(value: Any) -> str:
    """A value in a title: numbers with four digits."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _values(parameter: Parameter, n: int) -> list[Any]:
    """Values along the range of a parameter: all levels, or up to `n` that are spread evenly."""
    d = parameter.dimension
    if d.levels is None:
        return d.value(np.linspace(0.0, 1.0, n)).tolist()
    values = parameter.values
    return [values[i] for i in np.unique(np.linspace(0, len(values) - 1, min(n, len(values))).round().astype(int))]


def _axis(parameter: Parameter | None) -> dict[str, Any]:
    """What the axis of a parameter is like: a logarithm in powers of ten, and a tick for each of few levels."""
    if parameter is None:
        return {}
    d = parameter.dimension
    if d.choices:
        return {"type": "category", "categoryorder": "array", "categoryarray": [str(each) for each in parameter.labels]}
    if d.log:
        return {"type": "log", "dtick": 1 if d.high >= 100 * d.low else "D2", "exponentformat": "power"}
    if d.levels is not None and d.levels <= _FEW:
        return {"tickvals": list(parameter.values)}
    return {}


def _predicted(place: _Place, changes: Sequence[Mapping[str, Any]], predict: Predict) -> Float[np.ndarray, "3 n"]:
    """Mean and ends of the interval where some values of the point are changed; NaN where constraints exclude it."""
    parameters, region, point = place
    points = [moved(point, change, region) for change in changes]
    there = np.array([each is not None for each in points], bool)
    found = np.full((3, len(points)), np.nan)
    if there.any():
        X = parameters.domain.unit(np.array([parameters.row(each) for each in points if each is not None]))
        found[:, there] = predict(X)
    return found


def _add_slice(
    go: ModuleType, figure: go.Figure, at: Mapping[str, int], parameter: Parameter, place: _Place, predict: Predict,
    results: pd.DataFrame, outcome: str, level: float,
) -> None:  # fmt: skip
    name, x, d = parameter.name, _values(parameter, _SLICE), parameter.dimension
    mean, low, high = _predicted(place, [{name: value} for value in x], predict)
    first = at["row"] == at["col"] == 1
    told = {"color": GREY, "opacity": 0.6, "size": 5}
    seen = go.Scatter(x=results[name], y=results[outcome], mode="markers", marker=told, name="told", showlegend=first)
    figure.add_trace(seen, **at)
    band = f"between ({level:.0%})"
    if d.levels is not None and d.levels <= _FEW:  # nothing is between levels
        bars = {"type": "data", "array": high - mean, "arrayminus": mean - low, "color": BLUE}
        chosen = [parameter.number(value) == parameter.number(place[2][name]) for value in x]
        marker = {"color": [ORANGE if each else BLUE for each in chosen], "size": 9}
        name_of = f"mean, {band}"
        shown = go.Scatter(x=x, y=mean, error_y=bars, mode="markers", marker=marker, name=name_of, showlegend=first)
        figure.add_trace(shown, **at)
    else:
        inside = np.isfinite(mean)
        where = np.array(x)[inside]
        area = go.Scatter(
            x=np.concatenate([where, where[::-1]]), y=np.concatenate([high[inside], low[inside][::-1]]), fill="toself",
            mode="lines", fillcolor="rgba(0,114,178,0.2)", line={"width": 0}, hoverinfo="skip", name=band,
            showlegend=first,
        )  # fmt: skip
        figure.add_trace(area, **at)
        line = go.Scatter(x=x, y=mean, mode="lines", line={"color": BLUE}, name="mean", showlegend=first)
        figure.add_trace(line, **at)
        figure.add_vline(x=place[2][name], line={"color": ORANGE, "dash": "dot", "width": 2}, opacity=1.0, **at)
    figure.update_xaxes(title_text=name, **_axis(parameter), **at)


def _add_contour(
    go: ModuleType, figure: go.Figure, row: int, pair: tuple[str, str], place: _Place, predict: Predict,
    results: pd.DataFrame, outcome: str,
) -> None:  # fmt: skip
    x, y = (_values(place[0].named(name), _CONTOUR) for name in pair)
    mean = _predicted(place, [{pair[0]: one, pair[1]: other} for other in y for one in x], predict)[0]
    at = {"row": row, "col": 2}
    bar = {"title": outcome, "len": 0.9 / row, "y": 0.45 / row}
    shades = go.Contour(x=x, y=y, z=mean.reshape(len(y), len(x)), colorscale="Viridis", colorbar=bar)
    figure.add_trace(shades, **at)
    dots = {"color": "white", "line": {"color": "black", "width": 1}, "size": 5}
    seen = go.Scatter(x=results[pair[0]], y=results[pair[1]], mode="markers", marker=dots, showlegend=False)
    figure.add_trace(seen, **at)
    star = {"color": ORANGE, "symbol": "star", "size": 14, "line": {"color": "black", "width": 1}}
    centre = go.Scatter(
        x=[place[2][pair[0]]], y=[place[2][pair[1]]], mode="markers", marker=star, name="the point", showlegend=True
    )
    figure.add_trace(centre, **at)
    for update, name in ((figure.update_xaxes, pair[0]), (figure.update_yaxes, pair[1])):
        update(title_text=name, **_axis(place[0].named(name)), **at)
