"""The front of the best, as a table and as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from agents.experiment.evaluations import Outcomes
from agents.experiment.goals import Goal
from agents.experiment.hypervolume import is_dominated
from agents.experiment.parameters import Point

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["front_of", "middle_of"]


def front_of(
    averages: Sequence[tuple[Point, Outcomes, int]], goals: Sequence[Goal], names: Sequence[str]
) -> pd.DataFrame:
    """The points that no other beats, of those with their outcomes and numbers; see `Experiment.pareto`."""
    import pandas as pd

    objectives = [goal for goal in goals if goal.direction is not None]
    kept = [each for each in averages if all(goal.met(each[1][goal.name]) for goal in goals)]
    Y = np.array([[goal.sign * outcomes[goal.name] for goal in objectives] for _, outcomes, _ in kept])
    best = np.flatnonzero(~is_dominated(Y)) if len(kept) else np.zeros(0, int)
    order = sorted(best.tolist(), key=lambda i: tuple(-Y[i]))
    columns = [*names, *(goal.name for goal in goals)]
    rows = [{**kept[i][0], **kept[i][1]} for i in order]
    return pd.DataFrame(rows, columns=columns, index=[kept[i][2] for i in order])


def middle_of(front: pd.DataFrame, goals: Sequence[Goal], names: Sequence[str]) -> Point:
    """The point of the front that dominates the largest volume above the worst of each outcome in it."""
    Y = np.column_stack([goal.sign * front[goal.name] for goal in goals if goal.direction is not None])
    extent = np.ptp(Y, axis=0)
    shares = (Y - Y.min(axis=0)) / np.where(extent > 0, extent, 1.0)
    point: Point = front[list(names)].to_dict("records")[int(np.argmax(shares.prod(axis=1)))]  # type: ignore[assignment]
    return point
