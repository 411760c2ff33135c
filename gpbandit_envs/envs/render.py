"""Pictures of an episode: the function or the arms, the pulls so far, the regret. For people, never for policies."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpbandit_envs.envs.episodes import Feature
from gpbandit_envs.functions.base import ArmFamily, lattice

if TYPE_CHECKING:
    from gpbandit_envs.envs.bandit import BanditEnv

_BARS = "▁▂▃▄▅▆▇█"
_COLUMNS = 72
_TICKS = 6
_SIZE = (9.6, 4.0)  # inches at 100 dots each
_INK, _MEAN, _PULL, _BEST = "#2b2b2b", "#4c72b0", "#dd8452", "#55a868"


class Rendering(Feature):
    """The evaluations of the current episode, and their picture. Kept only where it is drawn: an episode may be long.

    Args:
        mode: `"ansi"` or `"rgb_array"`.
    """

    def __init__(self, mode: str) -> None:
        self._draw = draw_text if mode == "ansi" else draw_rgb
        self._forget()

    def _forget(self) -> None:
        self._actions: list[Any] = []
        self._rewards: list[float] = []
        self._means: list[float] = []
        self._best: list[float] = []

    def begin(self, env: BanditEnv) -> None:
        self._forget()

    def feed(self, env: BanditEnv, action: Any, mean: float, reward: float, info: dict[str, Any]) -> float:
        self._actions.append(copy.copy(action))  # a point may be the caller's own array, which it may fill anew
        self._rewards.append(reward)
        self._means.append(mean)
        self._best.append(env.best_mean)
        return reward

    def draw(self, env: BanditEnv) -> Any:
        """The picture of the episode so far, as text or pixels."""
        return self._draw(self.picture(env))

    def picture(self, env: BanditEnv) -> Picture:
        """What the picture shows.

        Raises:
            gymnasium.error.ResetNeeded: before the first `reset`.
        """
        optimum, family = env.certificate.optimum if env.optimum is None else env.optimum, env.recipe.family
        best = np.array(self._best)
        if isinstance(family, ArmFamily):
            points, indices = family.arms, np.array(self._actions, np.int64)
            pulled, mean = points[indices], env.mean(np.arange(len(points)))
        else:
            pulled, indices = np.array(self._actions).reshape(-1, family.dim), None
            points = box_points(family.dim)
            if family.expensive:  # a grid would take minutes: the mean is drawn where it is known already
                points = np.concatenate([np.array([env.certificate.optimal_action]), pulled])
            mean = env.mean(points)
            if math.isnan(optimum):  # the picture shows the best of what it knows
                optimum = max([float(mean.max()), *self._means])
            best = np.full(len(pulled), optimum)
        return Picture(
            title=env.problem.name,
            points=points,
            mean=mean,
            optimum=optimum,
            pulled=pulled,
            indices=indices,
            rewards=np.array(self._rewards),
            regrets=best - np.array(self._means),
        )


@dataclass(frozen=True)
class Picture:
    """The data of a drawing.

    Attributes:
        title: The environment's id.
        points: Where the mean is known for the picture, shape (n, d).
        mean: The mean there, shape (n,).
        optimum: Largest mean.
        pulled: Points of the evaluations so far, shape (t, d).
        indices: Their arms, shape (t,); None on a box.
        rewards: Their feedback, shape (t,).
        regrets: Their regrets, shape (t,).
    """

    title: str
    points: np.ndarray
    mean: np.ndarray
    optimum: float
    pulled: np.ndarray
    indices: np.ndarray | None
    rewards: np.ndarray
    regrets: np.ndarray


def box_points(dim: int) -> np.ndarray:
    """Points that show a function on the unit cube: a fine grid, or a sample in more than two dimensions."""
    if dim <= 2:
        return lattice(400 if dim == 1 else 60, dim)
    return np.random.default_rng(0).random((2_000, dim))


def draw_text(picture: Picture) -> str:
    """A line of numbers, the regret over time, and the pulls from the worst arm to the best."""
    t = len(picture.rewards)
    head = f"{picture.title}  t={t}  best mean {picture.optimum:.4g}"
    if t == 0:
        return head
    last = f"feedback {picture.rewards[-1]:.4g}  regret {picture.regrets[-1]:.4g}  total {picture.regrets.sum():.4g}"
    lines = [f"{head}  {last}", f"regret {_spark(_binned_mean(picture.regrets))}"]
    if picture.indices is not None:
        rank = np.empty(len(picture.mean), np.int64)
        rank[np.argsort(picture.mean, kind="stable")] = np.arange(len(picture.mean))
        columns = rank[picture.indices] * min(_COLUMNS, len(rank)) // len(rank)
        counts = np.bincount(columns, minlength=min(_COLUMNS, len(rank)))
        lines.append(f"pulls  {_spark(counts)}  worst to best arm")
    return "\n".join(lines)


def draw_rgb(picture: Picture) -> np.ndarray:
    """The function with the pulls beside the cumulative regret, uint8 of shape (400, 960, 3)."""
    # Imported here: matplotlib takes longer to load than everything else together, and pyplot keeps global state.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE, dpi=100, layout="constrained")
    canvas: Any = FigureCanvasAgg(figure)  # its methods have no types
    left, right = figure.subplots(1, 2)
    _draw_function(left, picture)
    steps = np.arange(1, len(picture.regrets) + 1)
    right.plot(steps, np.cumsum(picture.regrets), color=_INK)
    right.set(xlabel="evaluation", ylabel="cumulative regret", title=f"t = {len(steps)}")
    right.set_ylim(bottom=0)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(picture.title)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def _draw_function(axes: Any, picture: Picture) -> None:
    dim = picture.points.shape[1]
    best = picture.points[int(np.argmax(picture.mean))]
    if dim == 1:
        order = np.argsort(picture.points[:, 0])
        axes.plot(picture.points[order, 0], picture.mean[order], color=_MEAN, label="mean")
        if picture.indices is not None:  # an action is an index
            ticks = order[np.unique(np.linspace(0, len(order) - 1, _TICKS).round().astype(int))]
            axes.set_xticks(picture.points[ticks, 0], labels=ticks.tolist())
        axes.plot(picture.pulled[:, 0], picture.rewards, ".", color=_PULL, alpha=0.5, label="feedback")
        axes.axvline(best[0], color=_BEST, linestyle=":", label="best arm")
        axes.set(xlabel="action" if picture.indices is None else "arm, by its index", ylabel="reward")
        axes.legend(loc="best", frameon=False, fontsize="small")
    elif dim == 2:
        shown = axes.scatter(*picture.points.T, c=picture.mean, s=20, marker="s", cmap="viridis")
        axes.figure.colorbar(shown, ax=axes, label="mean")
        where, counts = np.unique(picture.pulled, axis=0, return_counts=True)
        axes.scatter(*where.T, s=12 * np.sqrt(counts), facecolors="none", edgecolors=_PULL)
        axes.plot(*best, "*", color="white", markeredgecolor=_INK, markersize=11)
        if picture.indices is not None:
            axes.set_title(f"best arm: {int(np.argmax(picture.mean))}", fontsize="medium")
    else:
        order = np.sort(picture.mean)[::-1]
        axes.plot(np.arange(1, len(order) + 1), order, color=_MEAN, label="means, sorted")
        means = picture.optimum - picture.regrets
        axes.plot(np.searchsorted(-order, -means) + 1, picture.rewards, ".", color=_PULL, alpha=0.5, label="feedback")
        axes.set(xlabel="rank of the arm", ylabel="reward", xscale="log")
        axes.legend(loc="best", frameon=False, fontsize="small")


def _binned_mean(values: np.ndarray) -> np.ndarray:
    return np.array([part.mean() for part in np.array_split(values, min(_COLUMNS, len(values)))])


def _spark(values: Sequence[float] | np.ndarray) -> str:
    heights = np.asarray(values, dtype=np.float64)
    top = heights.max()
    levels = np.zeros(len(heights), np.int64) if top <= 0 else (heights / top * (len(_BARS) - 1)).round().astype(int)
    return "".join(_BARS[max(0, level)] for level in levels)
