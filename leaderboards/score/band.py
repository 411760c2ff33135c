"""One look at a confidence band, and what an agent promises of it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

import agents
from agents.core.registry import load_entry_point
from gpbandit_envs.problem import Problem
from leaderboards.play.spec import Ref

__all__ = ["BAND_COLUMNS", "look_at_band", "promise", "stated_delta", "stated_width"]

BAND_COLUMNS = ("outside", "needed", "half")
"""Arms outside the band; factor by which all bands would have to grow to hold all means; largest half-width."""

# Where the band has no width the mean may differ by rounding alone.
_ROUNDING = 1e-9
_RKHS, _BAYES = "theory", "bayes"


def look_at_band(
    band: tuple[Float[np.ndarray, " p"], Float[np.ndarray, " p"]] | None, f: Float[np.ndarray, " p"]
) -> dict[str, float]:
    """`BAND_COLUMNS` of a band at p points.

    Args:
        band: Mean and half-width, as `predict` answers; all columns are NaN for None.
        f: The noise-free means there.

    Raises:
        ValueError: if the band has another shape, or a half-width is negative or NaN.
    """
    if band is None:
        return dict.fromkeys(BAND_COLUMNS, np.nan)
    mean, half = (np.asarray(part, np.float64) for part in band)
    if mean.shape != f.shape or half.shape != f.shape or not (half >= 0).all() or np.isnan(mean).any():
        raise ValueError(
            f"predict: expected means and half-widths >= 0 of shape {f.shape}, got shapes {mean.shape} and {half.shape}"
            f" with smallest half-width {half.min(initial=np.inf)}"
        )
    error = np.abs(f - mean)
    error[error <= _ROUNDING * max(float(np.abs(f).max()), 1.0)] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(error == 0, 0.0, error / half)
    return {"outside": float((error > half).sum()), "needed": float(ratio.max()), "half": float(half.max())}


def stated_delta(agent: Any) -> float | None:
    """The probability of failure that the band of a playing agent is meant for; None if it says none.

    A policy that hands its episode to one of several forms is asked for that of its form.
    """
    playing = getattr(agent, "form", agent)
    delta = getattr(playing, "delta", getattr(getattr(playing, "model", None), "delta", None))
    return float(delta) if isinstance(delta, float) and 0 < delta < 1 else None


def stated_width(agent: Ref) -> str:
    """The agent's setting `width` as text, with its default where the spec says nothing; "" if it has none.

    Raises:
        ValueError: if there is no such agent.
    """
    if ":" in agent.id:
        build: Any = load_entry_point(agent.id)
        settings = dict(agent.kwargs)
    else:
        found = agents.spec(agent.id)
        build, settings = found.load(), {**found.kwargs, **agent.kwargs}
    parameter = inspect.signature(build).parameters.get("width")
    value = settings.get("width", None if parameter is None else parameter.default)
    if value is None or value is inspect.Parameter.empty:
        return ""
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def promise(agent: Ref, problem: Problem) -> tuple[str, str]:
    """The agent's width, and "" if a theorem promises that its band holds, else why none does.

    The RKHS widths need a bound on the norm of the mean, the Bayesian ones a draw from the prior; both need the true
    kernel and noise. What a card of level `"oracle"` leaves unsaid of the norm is a draw from the prior.
    """
    width = stated_width(agent)
    stated = agent.kwargs.get("norm_bound")
    guessed = stated == "double" or isinstance(stated, Mapping)
    norm_bound = problem.norm_bound or stated
    if width not in (_RKHS, _BAYES):
        return width, "a tuned width is promised nothing" if width else "no width is stated"
    if problem.knowledge != "oracle" or "kernel" in agent.kwargs or "lam" in agent.kwargs:
        return width, "the kernel and noise it is given are not known to be true"
    if width == _RKHS and guessed:
        return width, "the norm of the mean is guessed, and doubled when the data refute the guess"
    if width == _RKHS and not norm_bound:
        return width, "no bound on the norm of the mean is known"
    if width == _BAYES and norm_bound:
        return width, "the mean is no draw from the prior"
    return width, ""
