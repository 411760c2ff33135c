"""The figure of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

__all__ = ["outcome_figure"]

_COLUMNS = 3
_BLUE, _ORANGE, _RED = "#0072B2", "#E69F00", "#D55E00"  # Okabe and Ito's, told apart by all eyes


def outcome_figure(results: pd.DataFrame, names: Sequence[str], outcome: str, *, minimise: bool) -> go.Figure:
    """Outcomes in the order of evaluation with the best so far, and one panel per parameter.

    Args:
        results: One row per evaluation, with its parameters, its outcome (NaN where there is none) and its status.
        names: The parameters.
        outcome: Name of the outcome.
        minimise: Whether small outcomes are good.

    Raises:
        ImportError: if Plotly is not installed.
    """
    try:
        import plotly.graph_objects as go
        from plotly.subplots import make_subplots
    except ImportError as error:
        raise ImportError('the figure of an experiment needs Plotly: pip install "gpbandit-envs[plot]"') from error

    rows = -(-len(names) // _COLUMNS)
    figure = make_subplots(
        rows=1 + rows,
        cols=_COLUMNS,
        specs=[[{"colspan": _COLUMNS}, *[None] * (_COLUMNS - 1)], *[[{}] * _COLUMNS for _ in range(rows)]],
    )
    values = results[outcome].to_numpy(dtype=float) if len(results) else np.zeros(0)
    t, done = np.arange(1, len(values) + 1), np.isfinite(values)
    marks: dict[str, Any] = {"mode": "markers", "marker": {"color": _BLUE}}
    figure.add_trace(go.Scatter(x=t[done], y=values[done], name=outcome, **marks), row=1, col=1)
    if done.any():
        best = (np.minimum if minimise else np.maximum).accumulate(values[done])
        line = {"color": _ORANGE, "shape": "hv"}
        figure.add_trace(go.Scatter(x=t[done], y=best, mode="lines", line=line, name="best so far"), row=1, col=1)
        failed = (results["status"] == "failed").to_numpy()
        cross = {"color": _RED, "symbol": "x"}
        level = np.full(int(failed.sum()), values[done].min())
        figure.add_trace(go.Scatter(x=t[failed], y=level, mode="markers", marker=cross, name="failed"), row=1, col=1)
    figure.update_xaxes(title_text="evaluation", row=1, col=1)
    figure.update_yaxes(title_text=outcome, row=1, col=1)
    for i, name in enumerate(names):
        place = {"row": 2 + i // _COLUMNS, "col": 1 + i % _COLUMNS}
        x: Any = results[name][done] if len(results) else []
        figure.add_trace(go.Scatter(x=x, y=values[done], showlegend=False, **marks), **place)
        figure.update_xaxes(title_text=name, **place)
        if i % _COLUMNS == 0:
            figure.update_yaxes(title_text=outcome, **place)
    return figure.update_layout(height=300 * (1 + rows), template="simple_white")
