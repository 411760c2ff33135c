"""Figures of an experiment: outcomes in their order, and the front of the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from agents.experiment.goals import Goal

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

__all__ = ["BLUE", "COLUMNS", "GREY", "LIMIT", "ORANGE", "RED", "front_figure", "import_plotly", "outcome_figure"]

COLUMNS = 3
BLUE, ORANGE, RED, GREY = "#0072B2", "#E69F00", "#D55E00", "#999999"  # Okabe and Ito's, told apart by all eyes
# The template draws shapes without lines, and pale.
LIMIT: dict[str, Any] = {"line": {"dash": "dash", "color": GREY, "width": 1.5}, "opacity": 1.0}


def import_plotly() -> tuple[ModuleType, Any]:
    """Plotly's graph objects, and what makes panels.

    Raises:
        ImportError: if it is not installed.
    """
    try:
        import plotly.graph_objects as go
        from plotly.subplots import make_subplots
    except ImportError as error:
        raise ImportError('the figure of an experiment needs Plotly: pip install "gpbandit-envs[plot]"') from error
    return go, make_subplots


def outcome_figure(
    results: pd.DataFrame, names: Sequence[str], goals: Sequence[Goal], best: Mapping[str, Float[np.ndarray, " n"]]
) -> go.Figure:
    """Every outcome of `Experiment.results` in its order, and in one panel per parameter.

    `best` has of each outcome with a direction the best after each evaluation that has outcomes.
    """
    go, make_subplots = import_plotly()
    rows = -(-len(names) // COLUMNS)
    top = [{"colspan": COLUMNS}, *[None] * (COLUMNS - 1)]
    specs = [top, *[[{}] * COLUMNS for _ in range(rows)]] * len(goals)
    figure = make_subplots(rows=len(specs), cols=COLUMNS, specs=specs)
    for k, goal in enumerate(goals):
        _add_outcome(go, figure, results, names, goal, best, 1 + k * (1 + rows))
    return figure.update_layout(height=300 * len(specs), template="simple_white")


def _add_outcome(
    go: ModuleType,
    figure: go.Figure,
    results: pd.DataFrame,
    names: Sequence[str],
    goal: Goal,
    best: Mapping[str, Float[np.ndarray, " n"]],
    row: int,
) -> None:
    values = results[goal.name].to_numpy(dtype=float) if len(results) else np.zeros(0)
    t, done = np.arange(len(values)), np.isfinite(values)
    marks: dict[str, Any] = {"mode": "markers", "marker": {"color": BLUE}}
    first = row == 1
    figure.add_trace(go.Scatter(x=t[done], y=values[done], name=goal.name, showlegend=first, **marks), row=row, col=1)
    if done.any():
        if goal.direction is not None:
            line = {"color": ORANGE, "shape": "hv"}
            so_far = go.Scatter(
                x=t[done], y=best[goal.name], mode="lines", line=line, name="best so far", showlegend=first
            )
            figure.add_trace(so_far, row=row, col=1)
        failed = (results["status"] == "failed").to_numpy()
        cross = {"color": RED, "symbol": "x"}
        level = np.full(int(failed.sum()), values[done].min())
        lost = go.Scatter(x=t[failed], y=level, mode="markers", marker=cross, name="failed", showlegend=first)
        figure.add_trace(lost, row=row, col=1)
    if goal.limit is not None:
        figure.add_hline(y=goal.limit[1], **LIMIT, row=row, col=1)
    figure.update_xaxes(title_text="row of results(), counted from 0", row=row, col=1)
    figure.update_yaxes(title_text=goal.name, row=row, col=1)
    for i, name in enumerate(names):
        place = {"row": row + 1 + i // COLUMNS, "col": 1 + i % COLUMNS}
        x: Any = results[name][done] if len(results) else []
        figure.add_trace(go.Scatter(x=x, y=values[done], showlegend=False, **marks), **place)
        figure.update_xaxes(title_text=name, **place)
        if i % COLUMNS == 0:
            figure.update_yaxes(title_text=goal.name, **place)


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
            if goal.limit is not None:
                at = {"x" if goal is one else "y": goal.limit[1]}
                add(**at, **LIMIT, **place)
        figure.update_xaxes(title_text=str(one), **place)
        figure.update_yaxes(title_text=str(other), **place)
    return figure.update_layout(height=450, template="simple_white")
