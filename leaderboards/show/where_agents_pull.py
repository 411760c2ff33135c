"""Where agents pull: the mean function of a task's first instance with the pulls of each agent.

In one dimension the mean is a curve, in two a coloured plane. In more, as for most tables, arms stand side by side in
the order of their means. It is a script beside the page, loaded when the reader comes near.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leaderboards.show.rebuilt import Instance
from leaderboards.show.shared import Site
from leaderboards.store.store import Store

_MOST_ARMS = 1_200  # drawn in a plane
_MOST_POINTS = 300  # of a curve
_MOST_PULLS = 120  # different actions of an agent


def pull_data(site: Site, store: Store, task: str) -> dict[str, Any] | None:
    """The numbers of the picture; None where the means are unknown or nobody has played the instance."""
    one = site.instances.get(task)
    if one is None or one.points is None or one.mean is None or not np.isfinite(one.mean).all():
        return None
    finite, dim = one.problem.is_finite, one.problem.dim
    kind = {1: "line", 2: "arms" if finite else "grid"}.get(dim, "rank")
    names = ["action"] if finite else [f"action_{i}" for i in range(dim)]
    runs, (seed, repetition) = site.summary.runs, one.block
    mine = runs[
        (runs["task"] == task)
        & (runs["status"] == "done")
        & (runs["seed"] == seed)
        & (runs["repetition"] == repetition)
    ]
    agents = {}
    for run, trace in store.traces([*names, "mean"], list(map(str, mine.index))):
        actions = np.stack([trace[name] for name in names], axis=1)
        if _can_be_of(one.mean if finite else None, actions, trace["mean"]):
            _, first, count = np.unique(actions, axis=0, return_index=True, return_counts=True)
            # What is pulled most is kept; of what is pulled once, what comes last.
            kept = np.sort(np.lexsort((-first, -count))[:_MOST_PULLS])
            at = actions[first[kept]]
            points = one.points[at[:, 0].astype(np.int64)] if finite else at
            means = one.mean[at[:, 0].astype(np.int64)] if finite else trace["mean"][first[kept]]
            x, y = _place(one, kind, points, np.asarray(means, np.float64))
            numbers = {"x": _short(x), "y": _short(y), "n": count[kept].tolist(), "t": (first[kept] + 1).tolist()}
            agents[str(mine.at[run.key, "agent"])] = {**numbers, "total": len(actions), "distinct": len(first)}
    if not agents:
        return None
    where = "feature" if finite else "coordinate"
    labels = {
        "line": [f"{where} of the {'arm' if finite else 'box'}", "mean"],
        "rank": [f"{'arms' if finite else 'sampled points'} by their mean, the best first", "mean"],
    }.get(kind, [f"{where} 1", f"{where} 2"])
    best = int(np.argmax(one.mean))
    place = _place(one, kind, one.points[best : best + 1], one.mean[best : best + 1])
    return {
        "kind": kind,
        "finite": finite,
        "labels": labels,
        "top": float(one.mean[best]),
        "best": [float(part[0]) for part in place],
        **_background(one, kind, one.points, one.mean),
        "agents": {agent: agents[agent] for agent in site.best_agents(task) if agent in agents},
    }


def _can_be_of(arms: np.ndarray | None, actions: np.ndarray, means: np.ndarray) -> bool:
    """Whether a run can have been on this instance: a stranger's may be on another, or on none there is."""
    if arms is None:
        return bool(((actions >= 0) & (actions <= 1)).all())
    if not ((actions >= 0) & (actions < len(arms)) & (actions == np.floor(actions))).all():
        return False
    return bool(np.allclose(arms[actions[:, 0].astype(np.int64)], means))


def _background(one: Instance, kind: str, points: np.ndarray, mean: np.ndarray) -> dict[str, Any]:
    """The mean function."""
    if kind == "rank":
        rank = np.unique(np.rint(np.geomspace(1, len(mean), _MOST_POINTS)).astype(np.int64))
        return {"x": rank.tolist(), "y": _short(np.sort(mean)[::-1][rank - 1])}
    if kind == "line":
        kept = np.argsort(points[:, 0], kind="stable")[_some(len(points), _MOST_POINTS)]
        return {"x": _short(_true(one, points[kept])[:, 0]), "y": _short(mean[kept])}
    if kind == "arms":
        kept = _some(len(points), _MOST_ARMS)
        return {"x": _short(points[kept, 0]), "y": _short(points[kept, 1]), "z": _short(mean[kept])}
    x, y = (np.unique(column) for column in points.T)
    z = np.empty((len(y), len(x)))
    z[np.searchsorted(y, points[:, 1]), np.searchsorted(x, points[:, 0])] = mean
    corners = _true(one, np.stack([x, y], axis=1))
    return {"x": _short(corners[:, 0]), "y": _short(corners[:, 1]), "z": [_short(row) for row in z]}


def _place(one: Instance, kind: str, points: np.ndarray, means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both coordinates of actions in the picture."""
    if kind == "rank":
        assert one.mean is not None
        return np.searchsorted(np.sort(-one.mean), -means) + 1, means
    true = _true(one, points)
    return true[:, 0], means if kind == "line" else true[:, 1]


def _true(one: Instance, points: np.ndarray) -> np.ndarray:
    """Points in the units of the box; those of arms are features, which stay as they are."""
    return points if one.low is None or one.high is None else one.low + points * (one.high - one.low)


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
