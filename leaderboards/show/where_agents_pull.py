"""Where agents pull: the mean function of a task's first instance with the pulls of each agent.

In one dimension the mean is a curve, in two a coloured plane. In more, as for most tables, arms stand side by side in
the order of their means. It is a script beside the page, loaded when the reader comes near.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from leaderboards.show.rebuilt import Instance
from leaderboards.show.shared import Site
from leaderboards.store.store import StoreView

__all__ = ["pull_data", "three_digits"]

_MOST_ARMS = 1_200  # drawn in a plane
_MOST_POINTS = 300  # of a curve
_MOST_PULLS = 120  # different actions of an agent


def pull_data(site: Site, store: StoreView, task: str) -> dict[str, Any] | None:
    """The numbers of the picture; None where the means are unknown or nobody has played the instance."""
    instance = site.instances.get(task)
    if instance is None or instance.points is None or instance.mean is None or not np.isfinite(instance.mean).all():
        return None
    picture = _Picture(instance)
    names = (["action"] if instance.problem.is_finite else [f"action_{i}" for i in range(instance.problem.dim)]) + [
        "mean"
    ]
    runs = site.summary.runs
    seed, repetition = instance.block
    mine = runs[
        (runs["task"] == task)
        & (runs["status"] == "done")
        & (runs["seed"] == seed)
        & (runs["repetition"] == repetition)
    ]
    agents = {}
    for run, trace in store.traces(names, list(map(str, mine.index))):
        if picture.holds(trace):
            agents[str(mine.at[run.key, "agent"])] = picture.pulls(trace)
    if not agents:
        return None
    best = [agent for agent in site.best_agents(task) if agent in agents]
    return {**picture.background(), "agents": {agent: agents[agent] for agent in best}}


class _Picture:
    """Where an action lies in the picture of an instance."""

    def __init__(self, instance: Instance) -> None:
        assert instance.points is not None
        assert instance.mean is not None
        self.instance = instance
        self.points, self.mean = instance.points, instance.mean
        self.finite = instance.problem.is_finite
        dim = instance.problem.dim
        self.kind = {1: "line", 2: "arms" if self.finite else "grid"}.get(dim, "rank")
        self.best = int(np.argmax(self.mean))
        self.descending = np.sort(self.mean)[::-1]

    def holds(self, trace: Mapping[str, np.ndarray]) -> bool:
        """Whether a run can have been on this instance: a stranger's may be on another, or on none there is."""
        columns = np.stack([values for name, values in trace.items() if name.startswith("action")])
        if not self.finite:
            return bool(((columns >= 0) & (columns <= 1)).all())
        arms = columns[0]
        if not ((arms >= 0) & (arms < len(self.mean)) & (arms == np.floor(arms))).all():
            return False
        return bool(np.allclose(self.mean[arms.astype(np.int64)], trace["mean"]))

    def background(self) -> dict[str, Any]:
        """The mean function."""
        where = "feature" if self.finite else "coordinate"
        labels = {
            "line": [f"{where} of the {'arm' if self.finite else 'box'}", "mean"],
            "rank": [f"{'arms' if self.finite else 'sampled points'} by their mean, the best first", "mean"],
        }.get(self.kind, [f"{where} 1", f"{where} 2"])
        place = self.place(self.points[self.best : self.best + 1], self.mean[self.best : self.best + 1])
        found: dict[str, Any] = {
            "kind": self.kind,
            "finite": self.finite,
            "labels": labels,
            "top": float(self.mean[self.best]),
            "best": [float(part[0]) for part in place],
        }
        if self.kind == "rank":
            rank = np.unique(np.rint(np.geomspace(1, len(self.mean), _MOST_POINTS)).astype(np.int64))
            return found | {"x": rank.tolist(), "y": _short(self.descending[rank - 1])}
        if self.kind == "line":
            order = np.argsort(self.points[:, 0], kind="stable")
            kept = order[_some(len(order), _MOST_POINTS)]
            return found | {"x": _short(self._true(self.points[kept])[:, 0]), "y": _short(self.mean[kept])}
        if self.kind == "arms":
            kept = _some(len(self.points), _MOST_ARMS)
            x, y = self.points[kept].T
            return found | {"x": _short(x), "y": _short(y), "z": _short(self.mean[kept])}
        x, y = (np.unique(column) for column in self.points.T)
        z = np.empty((len(y), len(x)))
        z[np.searchsorted(y, self.points[:, 1]), np.searchsorted(x, self.points[:, 0])] = self.mean
        corners = self._true(np.stack([x, y], axis=1))
        return found | {"x": _short(corners[:, 0]), "y": _short(corners[:, 1]), "z": [_short(row) for row in z]}

    def place(self, points: np.ndarray, means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Both coordinates of actions in the picture."""
        if self.kind == "rank":
            return np.searchsorted(-self.descending, -means) + 1, means
        true = self._true(points)
        return true[:, 0], means if self.kind == "line" else true[:, 1]

    def _true(self, points: np.ndarray) -> np.ndarray:
        """Points in the units of the box; those of arms are features, which stay as they are."""
        low, high = self.instance.low, self.instance.high
        return points if low is None or high is None else low + points * (high - low)

    def pulls(self, trace: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """The actions of a run that were taken most often, with their number and the first time."""
        if self.finite:
            actions = np.asarray(trace["action"], np.int64)
            _, first, count = np.unique(actions, return_index=True, return_counts=True)
            points, means = self.points[actions[first]], self.mean[actions[first]]
        else:
            actions = np.stack([trace[f"action_{i}"] for i in range(self.instance.problem.dim)], axis=1)
            _, first, count = np.unique(actions, axis=0, return_index=True, return_counts=True)
            points, means = actions[first], np.asarray(trace["mean"], np.float64)[first]
        # What is pulled most is kept; of what is pulled once, what comes last.
        kept = np.sort(np.lexsort((-first, -count))[:_MOST_PULLS])
        x, y = self.place(points[kept], means[kept])
        return {
            "x": _short(x),
            "y": _short(y),
            "n": count[kept].tolist(),
            "t": (first[kept] + 1).tolist(),
            "total": len(actions),
            "distinct": len(first),
        }


def _short(x: np.ndarray) -> list[float]:
    found: list[float] = (x if np.issubdtype(x.dtype, np.integer) else three_digits(x)).tolist()
    return found


def _some(n: int, most: int) -> np.ndarray:
    return np.unique(np.rint(np.linspace(0, n - 1, min(n, most))).astype(np.int64))


def three_digits(x: np.ndarray) -> np.ndarray:
    """`x` to three significant digits; NaN where it is not finite."""
    x = np.where(np.isfinite(x), x, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(x == 0, 0.0, np.floor(np.log10(np.abs(x))))
    # Division by a whole power of ten is exact to the last digit, so that numbers are written short.
    power = 10.0 ** np.abs(2 - size)
    return np.where(size <= 2, np.rint(x * power) / power, np.rint(x / power) * power)
