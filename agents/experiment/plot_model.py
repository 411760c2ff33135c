"""The figure of a model: slices through a point, a contour, and how much each parameter matters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from math import sqrt
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from agents.experiment.constraints import Linear
from agents.experiment.parameters import Parameter, Parameters, Point
from agents.experiment.plot import BLUE, COLUMNS, GREY, ORANGE, import_plotly
from agents.experiment.region import Region

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

__all__ = ["importance", "model_figure", "moved"]

_SLICE, _CONTOUR = 61, 33  # values along a slice, and along each side of a contour

Predict = Callable[[Float[np.ndarray, "n d"]], tuple[np.ndarray, np.ndarray]]
"""Mean and half-width of the band at points of the unit cube, unit of the outcome."""


def importance(parameters: Parameters, lengthscales: Sequence[float]) -> dict[str, float]:
    """How fast the outcome changes with each parameter, as shares that sum to 1.

    Over the range of a number it is `1 / lengthscale`; from one value of a category to another, with a coordinate for
    each, the root of the mean square of theirs, times `sqrt(2)`, the distance.
    """
    out, start = {}, 0
    for each in parameters.all:
        rates = 1 / np.asarray(lengthscales[start : start + each.dimension.size])
        out[each.name] = float(np.sqrt(np.mean(rates**2)) * (sqrt(2) if each.dimension.choices else 1.0))
        start += each.dimension.size
    total = sum(out.values())
    return {name: rate / total for name, rate in out.items()}


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


def model_figure(
    parameters: Parameters,
    region: Region | None,
    point: Point,
    predict: Predict,
    results: pd.DataFrame,
    outcome: str,
    shares: Mapping[str, float],
    pair: tuple[str, str] | None,
) -> go.Figure:
    """A slice through a point for each parameter, with the band; the shares; and a contour of two parameters.

    Without a region everything is allowed; without shares (see `importance`) no parameter matters more; without a pair
    the two numbers that matter most have the contour. Raises as `Experiment.plot_model`.
    """
    go, make_subplots = import_plotly()
    numeric = [each.name for each in parameters.all if not each.dimension.choices]
    if pair is None and len(numeric) > 1:
        first, second = sorted(numeric, key=lambda name: -shares.get(name, 0.0))[:2]
        pair = (first, second)
    elif pair is not None and not (isinstance(pair, (tuple, list)) and tuple(pair) in list(permutations(numeric, 2))):
        raise ValueError(f"pair: expected two of {', '.join(numeric)}, got {pair!r}")
    rows = -(-len(parameters.all) // COLUMNS)
    last = [{}, {"colspan": 2}, None]
    figure = make_subplots(rows=rows + 1, cols=COLUMNS, specs=[*[[{}] * COLUMNS for _ in range(rows)], last])
    for i, each in enumerate(parameters.all):
        place = {"row": 1 + i // COLUMNS, "col": 1 + i % COLUMNS}
        _add_slice(go, figure, place, each, (parameters, region, point), predict, results, outcome)
        if i % COLUMNS == 0:
            figure.update_yaxes(title_text=outcome, **place)
    if shares:
        names = sorted(shares, key=lambda name: shares[name])
        bars = go.Bar(x=[shares[name] for name in names], y=names, orientation="h", marker_color=BLUE, showlegend=False)
        figure.add_trace(bars, row=rows + 1, col=1)
        figure.update_xaxes(title_text="importance: 1 / lengthscale, as a share", row=rows + 1, col=1)
    if pair is not None:
        _add_contour(go, figure, rows + 1, pair, (parameters, region, point), predict, results, outcome)
    return figure.update_layout(height=300 * (rows + 1) + 60, template="simple_white")


_Place = tuple[Parameters, Region | None, Point]


def _values(parameter: Parameter, n: int) -> list[Any]:
    """Values along the range of a parameter: all levels, or up to `n` that are spread evenly."""
    d = parameter.dimension
    if d.levels is None:
        return d.value(np.linspace(0.0, 1.0, n)).tolist()
    values = parameter.values
    return [values[i] for i in np.unique(np.linspace(0, len(values) - 1, min(n, len(values))).round().astype(int))]


def _predicted(
    place: _Place, changes: Sequence[Mapping[str, Any]], predict: Predict
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Mean and half-width where some values of the point are changed; NaN where constraints exclude it."""
    parameters, region, point = place
    points = [moved(point, change, region) for change in changes]
    there = np.array([each is not None for each in points], bool)
    mean, half_width = np.full((2, len(points)), np.nan)
    if there.any():
        X = parameters.domain.unit(np.array([parameters.row(each) for each in points if each is not None]))
        mean[there], half_width[there] = predict(X)
    return mean, half_width


def _add_slice(
    go: ModuleType, figure: go.Figure, at: Mapping[str, int], parameter: Parameter, place: _Place, predict: Predict,
    results: pd.DataFrame, outcome: str,
) -> None:  # fmt: skip
    name, x = parameter.name, _values(parameter, _SLICE)
    mean, half = _predicted(place, [{name: value} for value in x], predict)
    first = at["row"] == at["col"] == 1
    told = {"color": GREY, "opacity": 0.6, "size": 5}
    seen = go.Scatter(x=results[name], y=results[outcome], mode="markers", marker=told, name="told", showlegend=first)
    figure.add_trace(seen, **at)
    if parameter.dimension.choices:
        bars = {"type": "data", "array": half, "color": BLUE}
        marker = {"color": BLUE, "size": 9}
        shown = go.Scatter(x=x, y=mean, error_y=bars, mode="markers", marker=marker, name="mean", showlegend=first)
        figure.add_trace(shown, **at)
        figure.update_xaxes(categoryorder="array", categoryarray=x, **at)
    else:
        inside = np.isfinite(half)
        where, low, high = np.array(x)[inside], (mean - half)[inside], (mean + half)[inside]
        band = go.Scatter(
            x=np.concatenate([where, where[::-1]]), y=np.concatenate([high, low[::-1]]), fill="toself",
            fillcolor="rgba(0,114,178,0.2)", line={"width": 0}, hoverinfo="skip", name="band", showlegend=first,
        )  # fmt: skip
        if inside.any():  # a policy that has no scale yet has no band
            figure.add_trace(band, **at)
        line = go.Scatter(x=x, y=mean, mode="lines", line={"color": BLUE}, name="mean", showlegend=first)
        figure.add_trace(line, **at)
        figure.add_vline(x=place[2][name], line={"color": ORANGE, "dash": "dot", "width": 2}, opacity=1.0, **at)
        figure.update_xaxes(type="log" if parameter.dimension.log else "linear", **at)
    figure.update_xaxes(title_text=name, **at)


def _add_contour(
    go: ModuleType, figure: go.Figure, row: int, pair: tuple[str, str], place: _Place, predict: Predict,
    results: pd.DataFrame, outcome: str,
) -> None:  # fmt: skip
    x, y = (_values(place[0].named(name), _CONTOUR) for name in pair)
    mean, _ = _predicted(place, [{pair[0]: one, pair[1]: other} for other in y for one in x], predict)
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
        update(title_text=name, type="log" if place[0].named(name).dimension.log else "linear", **at)
