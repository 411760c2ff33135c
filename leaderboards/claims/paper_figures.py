"""The papers' figures, drawn from runs: axes and curves as far as text and captions tell them; the curves are ours."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from types import MappingProxyType

import numpy as np
import pandas as pd
from jaxtyping import Float

from leaderboards.claims.runs import NotPlayedError, Runs
from leaderboards.play.measures import cumulative, simple_regret
from leaderboards.play.suite import load_suite
from leaderboards.score.metrics import METRICS, average_regret, regret_ratio
from leaderboards.score.scores import subsample_times
from leaderboards.score.statistics import score_band
from leaderboards.show.chart import EVALUATIONS, Axis, Chart, Line
from leaderboards.show.palette import line_styles
from leaderboards.show.paper import Drawing

_POINTS = 40
_ALONG: Mapping[str, Callable[[Float[np.ndarray, "n T"]], Float[np.ndarray, "n T"]]] = {
    "average_regret": average_regret,
    "cumulative_regret": cumulative,
    "simple_regret": simple_regret,
}


@dataclass(frozen=True)
class PaperFigure:
    """A figure of a paper.

    Attributes:
        figure: Which one, such as `"Fig. 2 (a)"`.
        metric: The metric of its vertical axis; the horizontal one has the evaluations.
        rows: Its curves, by the rows of the experiment; `agent@*` is the mean over its environments.
        told: What the paper says of it: averages, settings, and what here is a stand-in.
        uniform: The row of uniform sampling that a regret ratio is over.
    """

    figure: str
    metric: str
    rows: tuple[str, ...]
    told: str
    uniform: str = "Uniform"

    def curves(self, runs: Runs) -> Iterator[pd.DataFrame]:
        """Of each row that has been played `figure`, `row`, `t`, `n`, `mean`, `low` and `high` of the repetitions."""
        beside = (self.uniform,) if self.metric == "regret_ratio" else ()
        for row in self.rows:
            of_row = [name for name in runs.agents if name == row or (row[-1] == "*" and name.startswith(row[:-1]))]
            try:
                repetitions = runs.together(*(of_row or (row,)), *beside)
            except NotPlayedError:
                continue
            regrets = [runs.column(name, "regret", repetitions) for name in (*of_row, *beside)]
            if beside:
                Y = regret_ratio(*map(cumulative, regrets))
            else:
                Y = np.mean([_ALONG[self.metric](regret) for regret in regrets], axis=0)
            t = subsample_times(Y.shape[1], _POINTS, "linear")
            mean, low, high = score_band(Y[:, t - 1])
            named = {"figure": self.figure, "row": row, "t": t, "n": len(Y)}
            yield pd.DataFrame({**named, "mean": mean, "low": low, "high": high})

    def svg(self, name: str, curves: pd.DataFrame) -> str:
        """The figure of experiment `name` as SVG; the same for the same curves."""
        agents = {entry.ref.label: entry.ref for entry in load_suite(name).agents}
        lines = {}
        for row, of_row in curves.groupby("row", sort=False):
            values = (of_row[column].to_numpy() for column in ("t", "mean", "low", "high"))
            lines[str(row).partition("@")[0]] = Line(str(row).partition("@")[0], *values)
        metric = METRICS[self.metric]
        chart = Chart(
            "figure", self.figure, Axis(EVALUATIONS), Axis(metric.title.lower(), metric.unit), tuple(lines.values())
        )
        return Drawing(chart, line_styles({label: agents[label] for label in lines})).picture()


def _read() -> dict[str, tuple[PaperFigure, ...]]:
    values = tomllib.loads((resources.files("leaderboards.claims") / "paper_figures.toml").read_text(encoding="utf-8"))
    return {
        name: tuple(PaperFigure(**{**one, "rows": tuple(one["rows"])}) for one in figures)
        for name, figures in values.items()
    }


DRAWN: Mapping[str, tuple[PaperFigure, ...]] = MappingProxyType(_read())
"""By experiment the figures of its paper that are drawn."""


def curves_of(name: str, runs: Runs) -> pd.DataFrame:
    """The curves of all figures of an experiment, as `PaperFigure.curves` has them; empty if it has none."""
    found = [curves for figure in DRAWN.get(name, ()) for curves in figure.curves(runs)]
    columns = ["figure", "row", "t", "n", "mean", "low", "high"]
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=columns)
