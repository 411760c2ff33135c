"""Charts of what audits found: bands, dictionaries, variances and memory along the run, and accuracy against time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from leaderboards.score.inspection import Inspection
from leaderboards.score.statistics import mean_band, mean_interval
from leaderboards.score.sketch import ALPHA
from leaderboards.show.charts import curve
from leaderboards.show.numbers import duration, number, rounded
from leaderboards.show.site import Site

__all__ = ["audit_tabs", "frontier_tab"]

_MEBIBYTE = 2**20
_CROWD = 12  # tabs of a page that share its budget with these


def audit_tabs(inspections: Mapping[str, Inspection]) -> list[dict[str, Any]]:
    """Tabs of a chart along the run, one curve an agent (or whatever the keys name)."""
    tabs = []
    crowd = _CROWD * len(inspections)
    needed = {name: _along(one, "needed", crowd) for name, one in inspections.items() if one.band is not None}
    if needed := _known(needed):
        top = max(max(filter(None, series["m"]), default=0.0) for series in needed.values())
        tabs.append(
            _tab(
                "audit-band",
                "Confidence band",
                "width needed over width stated",
                "How wide the band would have to be to hold every mean, over how wide it is: above 1 a mean is "
                "outside. A batch is looked at when it ends.",
                needed,
                log=top > 10,
                reference=[1.0],
            )
        )
    sketched = {name: one for name, one in inspections.items() if one.sketch is not None}
    sizes = {name: _against_d_eff(one, crowd) for name, one in sketched.items()}
    if sizes := _known(sizes):
        tabs.append(
            _tab(
                "audit-dictionary",
                "Dictionary",
                "arms in the dictionary",
                "Size of the dictionary against the effective dimension of the pulls, by the exact posterior: theory "
                "promises a size proportional to it.",
                sizes,
                x="effective dimension of the pulls",
            )
        )
    ratios = {name: _ratios(one, crowd) for name, one in sketched.items()}
    if ratios := _known(ratios):
        tabs.append(
            _tab(
                "audit-ratio",
                "Sketched variance",
                "sketched over exact variance",
                "Median over sampled arms, mean over repetitions; the band reaches from the smallest to the largest "
                f"ratio of any arm and repetition. Theory promises between 1/{ALPHA:g} and {ALPHA:g}.",
                ratios,
                log=True,
                reference=[1 / ALPHA, 1.0, ALPHA],
            )
        )
    held = _known({name: _along(one, "bytes", crowd, 1 / _MEBIBYTE) for name, one in inspections.items()})
    if held:
        tabs.append(
            _tab(
                "audit-bytes",
                "Memory",
                "arrays of the agent (MiB)",
                "What the agent's arrays hold: kernel rows, factors, counts; the problem's own arms are not counted.",
                held,
                log=True,
            )
        )
    return tabs


def frontier_tab(site: Site, task: str) -> dict[str, Any] | None:
    """Final regret against the policy's seconds, one point an agent, and the line of those that none beats in both."""
    series, at = {}, {}
    for name, cell in site.summary.on(task).items():
        metric = "cumulative_regret"
        seconds = float(cell.finals["policy_seconds"].mean()) / float(cell.t[-1])
        regret = mean_interval(cell.finals[metric])
        if not (math.isfinite(regret.estimate) and seconds > 0):
            continue
        at[name] = (seconds, regret.estimate)
        series[name] = {
            "t": [rounded(seconds)],
            "m": [rounded(regret.estimate)],
            **({"l": [rounded(max(regret.low, 0.0))], "h": [rounded(regret.high)]} if regret.is_known else {}),
        }
    if len(series) < 2:
        return None
    front = sorted(
        (name for name in at if not any(_beats(at[other], at[name]) for other in at)), key=lambda name: at[name][0]
    )
    ends = ", ".join(f"{name} {number(at[name][1])} in {duration(at[name][0])}" for name in front)
    ys = [y for _, y in at.values() if y > 0]
    return _tab(
        "frontier",
        "Accuracy and time",
        "cumulative regret at the end",
        "Each agent by its seconds for an evaluation and its regret, with the 95 % interval; the line joins those that "
        "no other beats in both.",
        series,
        x="policy seconds for an evaluation",
        log=bool(ys) and max(ys) / min(ys) > 10,
        alt=f"Final cumulative regret against policy seconds for an evaluation; on the frontier: {ends}.",
    ) | {"points": True, "front": front}


def _beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one != other and one[0] <= other[0] and one[1] <= other[1]


def _tab(
    key: str, title: str, axis: str, meaning: str, series: Mapping[str, Any], alt: str | None = None, **more: Any
) -> dict[str, Any]:
    names = ", ".join(series)
    x = more.get("x", "the number of evaluations")
    return {
        "key": key,
        "title": title,
        "axis": axis,
        "meaning": meaning,
        "log": False,
        "series": dict(series),
        "alt": alt or f"{title}: {axis} against {x}, for {names}.",
        **more,
    }


def _along(one: Inspection, column: str, crowd: int, scale: float = 1.0) -> dict[str, Any]:
    Y = one.along(column) * scale
    Y[~np.isfinite(Y)] = np.nan  # a band without width needs an infinite factor, which has no place on an axis
    return curve(one.t, *mean_band(Y), single=len(one) == 1, curves=crowd)


def _ratios(one: Inspection, crowd: int) -> dict[str, Any]:
    median, low, high = (one.along(name) for name in ("ratio_median", "ratio_low", "ratio_high"))
    return curve(one.t, median.mean(axis=0), low.min(axis=0), high.max(axis=0), single=False, curves=crowd)


def _against_d_eff(one: Inspection, crowd: int) -> dict[str, Any]:
    d_eff = np.array([float(f"{x:.4g}") for x in one.along("d_eff").mean(axis=0)])
    return curve(d_eff, *mean_band(one.along("dictionary")), single=len(one) == 1, curves=crowd)


def _known(series: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {name: one for name, one in series.items() if any(y is not None for y in one["m"])}
