"""The price of feedback: what it costs an agent that feedback is late, or comes in batches.

Tasks that differ in nothing but the regime of feedback share their instances, noise and delays, so that the price is a
paired difference of one agent with itself: its cumulative regret under a regime minus that under immediate feedback.

| regime | strength |
|---|---|
| `batch:1`, `delay:0`, `geometric:0`, `workers:1` | immediate: feedback after every evaluation |
| `delay:d`, `geometric:m` | d, m evaluations late |
| `batch:q`, `workers:W` | q, W evaluations open at a time |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from leaderboards.play.feedback import parse_feedback
from leaderboards.play.spec import canonical_json
from leaderboards.score.cell import Cell
from leaderboards.score.intervals import Interval
from leaderboards.score.statistics import paired_difference
from leaderboards.score.summary import Summary

__all__ = ["KINDS", "Charge", "Price", "prices"]

KINDS = {
    "delay": "evaluations of delay",
    "geometric": "mean evaluations of delay",
    "batch": "evaluations in a batch",
    "workers": "workers",
}
"""Kinds of regimes that have a strength, with its unit."""

_LEAST = {"delay": 0.0, "geometric": 0.0, "batch": 1.0, "workers": 1.0}


@dataclass(frozen=True)
class Charge:
    """What one agent pays under one regime.

    Attributes:
        task: The task of that regime.
        strength: Delay or batch size.
        regret: Mean final cumulative regret over the blocks compared.
        base: The same under immediate feedback.
        difference: Mean paired difference, the former minus the latter.
        relative: The difference and its ends over `base`; NaN where that is 0.
    """

    task: str
    strength: float
    regret: float
    base: float
    difference: Interval
    relative: Interval


@dataclass(frozen=True)
class Price:
    """The price of one kind of feedback on one environment.

    Attributes:
        env: Label of the environment, that of its immediate task.
        kind: One of `KINDS`.
        base: The task of immediate feedback.
        tasks: The tasks of that kind by strength, from the weakest.
        charges: By agent, its charges by strength; only agents that have played the base and one of the tasks.
    """

    env: str
    kind: str
    base: str
    tasks: Mapping[float, str]
    charges: Mapping[str, Mapping[float, Charge]]


def prices(summary: Summary) -> list[Price]:
    """All prices that the folder can tell: for each environment and horizon with immediate and other feedback."""
    groups: dict[str, dict[str, dict[float, str]]] = {}
    bases: dict[str, str] = {}
    for name, task in summary.tasks.items():
        rule = parse_feedback(task.feedback)
        place = canonical_json([task.env.identity, task.horizon, task.seed])
        if rule.name == "on_request":
            continue
        if rule.value == _LEAST[rule.name]:
            bases.setdefault(place, name)
        else:
            groups.setdefault(place, {}).setdefault(rule.name, {})[rule.value] = name
    found = []
    for place, kinds in groups.items():
        if place not in bases:
            continue
        base = bases[place]
        for kind in (kind for kind in KINDS if kind in kinds):
            tasks = kinds[kind]
            ordered = dict(sorted(tasks.items()))
            charges = {agent: made for agent in summary.agents if (made := _charges(summary, agent, base, ordered))}
            if charges:
                found.append(Price(summary.tasks[base].env.label, kind, base, ordered, charges))
    return found


def _charges(summary: Summary, agent: str, base: str, tasks: Mapping[float, str]) -> dict[float, Charge]:
    immediate = summary.cells.get((base, agent))
    if immediate is None:
        return {}
    made = {}
    for strength, task in tasks.items():
        cell = summary.cells.get((task, agent))
        charge = None if cell is None else _charge(task, strength, immediate, cell)
        if charge is not None:
            made[strength] = charge
    return made


def _charge(task: str, strength: float, immediate: Cell, cell: Cell) -> Charge | None:
    units = [unit for unit in cell.units if unit in set(immediate.units)]
    if not units:
        return None
    x = cell.finals["cumulative_regret"][cell.rows(units)]
    y = immediate.finals["cumulative_regret"][immediate.rows(units)]
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        return None
    difference, base = paired_difference(x, y), float(y.mean())
    with np.errstate(divide="ignore", invalid="ignore"):
        low, estimate, high = np.array([difference.low, difference.estimate, difference.high]) / (base or np.nan)
    relative = Interval(float(estimate), float(low), float(high), difference.n, difference.level)
    return Charge(task, strength, float(x.mean()), base, difference, relative)
