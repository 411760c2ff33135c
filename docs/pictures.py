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
_SHOWN_ARMS = 8
_STEPS_FOR_ALL = 300  # in which every context comes up
_CURVES = {"Random": _ORANGE, "MAP-UCB": _BLUE}

Draw = Callable[[EnvironmentRow, Any], None]


def caption(row: EnvironmentRow) -> str:
    """What the picture of an environment shows; known without its data."""
    return _kind(row)[1]


def missing(row: EnvironmentRow) -> str | None:
    """Why an environment has no picture; None if it has one."""
    if (FOLDER / f"{row.name}.png").exists():
        return None
    return f"No picture: none was drawn yet, as `python docs/pictures.py {row.name}` does where its data are."


def _kind(row: EnvironmentRow) -> tuple[Draw, str]:
    if row.id == TABLE.id:
        return _measured, "The made-up table of the guide: one dot a measurement, one line a solvent's averages."
    if row.group == "drawn functions":
        return _drawn, f"The mean functions of {_DRAWS} episodes, each with its best arm."
    if row.name in _EVALUATIONS:
        return _learning, (
            "The best mean so far in one repetition: every evaluation is real work, and there is no function to draw "
            "beforehand."
        )
    if row.group == "contexts":
        return _CONTEXTS[row.name]
    if row.group == "functions that change":
        return _changing, f"The means of {_SHOWN_ARMS} arms along an episode, and above them the largest of all."
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
    style: dict[Any, Any] = dict.fromkeys(names, _INK) | {"font.size": 9.0}
    with rc_context(style):
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


def _by_context(row: EnvironmentRow, axes: Any) -> None:
    made = _made(row)
    arms, means = made.problem.arms, made.mean(np.arange(made.problem.n_arms))
    for context in np.unique(arms[:, 1]):
        own = arms[:, 1] == context
        x, y = arms[own, 0], means[own]
        order, best = np.argsort(x), int(np.argmax(y))
        line = axes.plot(x[order], y[order], lw=1.2, color=_shade(context))
        axes.plot(x[best], y[best], "*", color=line[0].get_color(), ms=10)
    axes.set(xlabel="action", ylabel="mean", xlim=(0, 1))


def _by_offer(row: EnvironmentRow, axes: Any) -> None:
    env = gym.make(row.id)
    _, info = env.reset(seed=0)
    made: Any = env.unwrapped
    means = made.mean(np.arange(made.problem.n_arms))
    offers = {}
    for _ in range(_STEPS_FOR_ALL):
        offers[info["action_mask"].tobytes()] = info["action_mask"].astype(bool)
        _, _, _, _, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
    for i, offer in enumerate(sorted(offers.values(), key=lambda offer: -means[offer].max())):
        ordered = np.sort(means[offer])[::-1]
        colour = _shade(i / max(len(offers) - 1, 1))
        axes.step(np.arange(1, len(ordered) + 1), ordered, where="mid", color=colour, lw=1.0)
    axes.set(xscale="log", xlabel="rank of the arm among those that are offered", ylabel="mean")


def _asleep(row: EnvironmentRow, axes: Any) -> None:
    env = gym.make(row.id)
    _, info = env.reset(seed=0)
    made: Any = env.unwrapped
    x, means = made.problem.arms[:, 0], made.mean(np.arange(made.problem.n_arms))
    awake = info["action_mask"].astype(bool)
    axes.plot(x, means, color=_INK, lw=0.8)
    axes.plot(x[awake], means[awake], ".", color=_BLUE, ms=2.5)
    best = np.flatnonzero(awake)[int(np.argmax(means[awake]))]
    axes.plot(x[best], means[best], "*", color=_ORANGE, ms=11)
    axes.set(xlabel="arm", ylabel="mean", xlim=(0, 1))


def _changing(row: EnvironmentRow, axes: Any) -> None:
    env = gym.make(row.id)
    env.reset(seed=0)
    made: Any = env.unwrapped
    n_arms = made.problem.n_arms
    means = np.empty((row.horizon, n_arms))
    for step in range(row.horizon):
        means[step] = made.mean(np.arange(n_arms))
        env.step(0)
    shown = np.linspace(0, n_arms - 1, _SHOWN_ARMS).astype(int)
    t = np.arange(1, row.horizon + 1)
    for i, arm in enumerate(shown):
        axes.plot(t, means[:, arm], lw=0.8, color=_shade(i / (_SHOWN_ARMS - 1)))
    axes.plot(t, means.max(axis=1), color=_ORANGE, lw=1.6)
    axes.set(xlabel="evaluations", ylabel="mean", xlim=(1, row.horizon))


def _shade(share: float) -> Any:
    """A colour of a scale whose ends are legible on light and on dark pages."""
    from matplotlib import colormaps

    return colormaps["viridis"](0.2 + 0.65 * float(share))


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

    for width, (agent, colour) in zip((4.0, 1.4), _CURVES.items(), strict=True):  # both are seen where they coincide
        trace = leaderboards.run(row.id, agent, horizon=_EVALUATIONS[row.name]).trace
        axes.step(trace["t"], trace["mean"].cummax(), where="post", color=colour, lw=width, label=agent)
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


_CONTEXTS: dict[str, tuple[Draw, str]] = {
    "RKHSContext": (
        _by_context,
        "The mean over the actions in one episode, a line for every context, with its best action.",
    ),
    "SleepingArms": (_asleep, "The mean function; in blue the arms that the first step offers, with their best."),
    "DirectArylationContext": (_by_offer, "The means of what is offered, best first, a line for every context."),
    "NeurostimulationContext": (_by_offer, "The means of what is offered, best first, a line for every context."),
}


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
