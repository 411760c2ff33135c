"""Draws docs/figures/environments/*.png, the picture on every environment's page.

python docs/pictures.py [NAME ...]   # all environments, or those that are named

Data are fetched as for playing. An environment whose data cannot be had keeps the picture that it has; one that never
had a picture has the reason on its page. The same libraries give the same bytes.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import gpbandit_envs
from gpbandit_envs.registry import ENVIRONMENTS, TABLE, EnvironmentRow

FOLDER = Path(__file__).resolve().parent / "figures" / "environments"
_INK = "#7f7f7f"  # as legible on a white page as on a dark one
_BLUE, _ORANGE, _GREEN = "#3b7dd8", "#e08a2c", "#2ca25f"
_SIZE = (6.4, 2.9)
_DRAWS = 3
_SIDE = {"LogisticRegression": 25}  # trainings a side; 0.1 s each
_EVALUATIONS = {"XGBoost": 40, "LunarLanding": 40}
_CURVES = {"Random": _ORANGE, "MAP-UCB": _BLUE}

Draw = Callable[[EnvironmentRow, Any], None]


def caption(row: EnvironmentRow) -> str:
    """What the picture of an environment shows; known without its data."""
    return _kind(row)[1]


def missing(row: EnvironmentRow) -> str | None:
    """Why an environment has no picture; None if it has one."""
    if (FOLDER / f"{row.name}.png").exists():
        return None
    return "No picture: its data are supplied by hand, and were not there when this page was made."


def _kind(row: EnvironmentRow) -> tuple[Draw, str]:
    if row.id == TABLE.id:
        return _measured, "The made-up table of the guide: one dot a measurement, one line a solvent's averages."
    if row.group == "drawn functions":
        return _drawn, f"The mean functions of {_DRAWS} episodes, each with its best arm."
    if row.name == "SleepingArms":
        return _offered, "A mean function, the arms that one step offers, and the best of these."
    if row.group == "contexts":
        return _by_context, "All means from the best arm to the worst, a line for each context."
    if row.group == "functions that change":
        return _moving, "The means of three arms along an episode; dashed, the best mean of every step."
    if row.name in _EVALUATIONS:
        return _learning, (
            "The best mean so far in one repetition: every evaluation is real work, and there is no function to draw "
            "beforehand."
        )
    if row.data is not None and row.dim is None:
        if row.name == "Neurostimulation":
            return _map, "The mean of every electrode; the star is the best."
        return _sorted, "All means, from the best arm to the worst, on a logarithmic scale of ranks."
    if row.name.startswith("Hartmann"):
        return _slices, "The mean along every coordinate through the maximum, the others as there."
    if row.name in _SIDE:
        return _heat, f"The mean on a grid of {_SIDE[row.name]} by {_SIDE[row.name]} trainings; the star is the best."
    return _heat, "The mean function; the star is a maximum."


def draw(row: EnvironmentRow) -> bytes:
    """The picture as a PNG of at most 128 colours.

    Raises:
        gpbandit_envs.datasets.DataError: if the environment's data cannot be had.
        ImportError: if it needs an extra that is not installed.
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image

    names = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    with rc_context(dict.fromkeys(names, _INK) | {"font.size": 9.0}):
        figure = Figure(figsize=_SIZE, dpi=150, layout="constrained", facecolor="none")
        canvas: Any = FigureCanvasAgg(figure)
        axes = figure.subplots()
        axes.set_facecolor("none")
        axes.spines[["top", "right"]].set_visible(False)
        _kind(row)[0](row, axes)
        canvas.draw()
        pixels = np.asarray(canvas.buffer_rgba())
    file = io.BytesIO()
    Image.fromarray(pixels).quantize(128, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(file, "PNG")
    return file.getvalue()


def _made(row: EnvironmentRow) -> Any:
    env = gym.make(row.id)
    env.reset(seed=0)
    return env.unwrapped


def _drawn(row: EnvironmentRow, axes: Any) -> None:
    env = gym.make(row.id)
    for seed, colour in zip(range(_DRAWS), (_BLUE, _ORANGE, _GREEN), strict=True):
        env.reset(seed=seed)
        made: Any = env.unwrapped
        x, means = made.problem.arms[:, 0], made.mean(np.arange(made.problem.n_arms))
        order, best = np.argsort(x), int(np.argmax(means))
        axes.plot(x[order], means[order], color=colour, lw=1.2)
        axes.plot(x[best], means[best], "*", color=colour, ms=11)
    axes.set(xlabel="arm", ylabel="mean", xlim=(0, 1))


def _offered(row: EnvironmentRow, axes: Any) -> None:
    env: Any = gym.make(row.id)
    _, info = env.reset(seed=0)
    x, means = env.unwrapped.problem.arms[:, 0], env.unwrapped.mean(np.arange(env.action_space.n))
    offered = np.flatnonzero(info["action_mask"])
    best = offered[np.argmax(means[offered])]
    axes.plot(x, means, color=_INK, lw=1.0)
    axes.plot(x[offered], means[offered], ".", color=_BLUE, ms=5)
    axes.plot(x[best], means[best], "*", color=_ORANGE, ms=12)
    axes.set(xlabel="arm", ylabel="mean", xlim=(0, 1))


def _by_context(row: EnvironmentRow, axes: Any) -> None:
    from matplotlib import colormaps

    made = _made(row)
    context_of, means = made.recipe.offers.context_of, made.mean(np.arange(made.problem.n_arms))
    n = int(context_of.max()) + 1
    for z, colour in enumerate(colormaps["viridis"](np.linspace(0.05, 0.85, n))):
        of_context = np.sort(means[context_of == z])[::-1]
        axes.plot(np.arange(1, len(of_context) + 1), of_context, color=colour, lw=1.1)
    axes.set(xlabel="rank of the arm in its context", ylabel="mean", xlim=(1, None))


def _moving(row: EnvironmentRow, axes: Any) -> None:
    env: Any = gym.make(row.id)
    env.reset(seed=0)
    arms = np.linspace(0, env.action_space.n - 1, 5, dtype=np.int64)[1:-1]
    steps, means, best = np.arange(1, row.horizon + 1), [], []
    for _ in steps:
        means.append(env.unwrapped.mean(arms))
        best.append(env.unwrapped.optimum)
        env.step(0)
    for curve, colour in zip(np.transpose(means), (_BLUE, _ORANGE, _GREEN), strict=True):
        axes.plot(steps, curve, color=colour, lw=1.1)
    axes.plot(steps, best, "--", color=_INK, lw=1.0)
    axes.set(xlabel="step", ylabel="mean", xlim=(1, len(steps)))


def _heat(row: EnvironmentRow, axes: Any) -> None:
    made = _made(row)
    side = _SIDE.get(row.name, 161)
    if made.problem.is_finite:
        arms, values = made.problem.arms, made.mean(np.arange(made.problem.n_arms))
        side = round(len(arms) ** 0.5)
        order = np.lexsort((arms[:, 0], arms[:, 1]))
        points, values = arms[order], values[order]
    else:
        ticks = (np.arange(side) + 0.5) / side
        points = np.stack([np.tile(ticks, side), np.repeat(ticks, side)], axis=1)
        values = np.asarray(made.mean(points))
    square = {"origin": "lower", "extent": (0, 1, 0, 1), "aspect": "equal", "cmap": "viridis"}
    shown = axes.imshow(values.reshape(side, side), **square)
    best = points[int(np.argmax(values))]
    axes.plot(*best, "*", color="white", markeredgecolor="black", ms=12, clip_on=False)
    axes.figure.colorbar(shown, ax=axes, label="mean").outline.set_visible(False)
    axes.set(xlabel="first coordinate", ylabel="second coordinate")


def _map(row: EnvironmentRow, axes: Any) -> None:
    made = _made(row)
    arms, means = made.problem.arms, made.mean(np.arange(made.problem.n_arms))
    shown = axes.scatter(*arms.T, c=means, s=160, cmap="viridis")
    axes.plot(*arms[int(np.argmax(means))], "*", color="white", markeredgecolor="black", ms=13)
    axes.figure.colorbar(shown, ax=axes, label="mean").outline.set_visible(False)
    axes.set(xlabel="first feature", ylabel="second feature")


def _sorted(row: EnvironmentRow, axes: Any) -> None:
    made = _made(row)
    means = np.sort(made.mean(np.arange(made.problem.n_arms)))[::-1]
    axes.step(np.arange(1, len(means) + 1), means, where="mid", color=_BLUE, lw=1.4)
    axes.axhline(means.mean(), color=_ORANGE, ls="--", lw=1.0)
    axes.annotate("average of all arms", (1, means.mean()), (2, 3), textcoords="offset points", color=_ORANGE)
    axes.set(xscale="log", xlabel="rank of the arm", ylabel="mean", xlim=(1, len(means)))


def _slices(row: EnvironmentRow, axes: Any) -> None:
    made = _made(row)
    top = np.asarray(made.certificate.optimal_action, dtype=float)
    ticks = np.linspace(0, 1, 201)
    for i in range(len(top)):
        points = np.tile(top, (len(ticks), 1))
        points[:, i] = ticks
        line = axes.plot(ticks, made.mean(points), lw=1.3, label=f"coordinate {i + 1}")
        axes.plot(top[i], made.mean(top[None])[0], "*", color=line[0].get_color(), ms=10)
    axes.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    axes.set(xlabel="coordinate, in the unit cube", ylabel="mean", xlim=(0, 1))


def _learning(row: EnvironmentRow, axes: Any) -> None:
    import leaderboards

    for agent, colour in _CURVES.items():
        trace = leaderboards.run(row.id, agent, horizon=_EVALUATIONS[row.name]).trace
        axes.step(trace["t"], trace["mean"].cummax(), where="post", color=colour, lw=1.4, label=agent)
    axes.legend(frameon=False, fontsize="small", loc="lower right")
    axes.set(xlabel="evaluations", ylabel="best mean so far")


def _measured(_row: EnvironmentRow, axes: Any) -> None:
    from docs.blocks import blocks

    made_up = next(block for block in blocks(FOLDER.parents[1] / "guides" / "environment.md") if block.file)
    namespace: dict[str, Any] = {}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            exec(made_up.text, namespace)
        finally:
            os.chdir(before)
    rows = namespace["rows"]
    for (solvent, group), colour in zip(rows.groupby("solvent"), (_BLUE, _ORANGE, _GREEN), strict=True):
        averages = group.groupby("temperature")["yield"].mean()
        axes.plot(averages.index, averages, color=colour, lw=1.2, label=solvent)
        axes.plot(group["temperature"], group["yield"], "o", color=colour, ms=3)
    axes.legend(title="solvent", frameon=False, fontsize="small")
    axes.set(xlabel="temperature", ylabel="yield")


def main() -> None:
    """Draw what is named, or everything."""
    chosen = sys.argv[1:]
    FOLDER.mkdir(parents=True, exist_ok=True)
    for row in (*ENVIRONMENTS, TABLE):
        if chosen and row.name not in chosen:
            continue
        try:
            (FOLDER / f"{row.name}.png").write_bytes(draw(row))
        except (gpbandit_envs.datasets.DataError, ImportError) as error:
            sys.stderr.write(f"{row.name}: {error}\n")


if __name__ == "__main__":
    sys.path.insert(0, str(FOLDER.parents[2]))
    main()
