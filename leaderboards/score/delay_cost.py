"""The cost of delay: extra regret caused by delayed or batched feedback.

Tasks that differ only in the feedback model share their instances, noise and delays, so that the cost is a
paired difference of one agent with itself: its cumulative regret under that model minus that under immediate feedback.
Each task of a family has an order of members of its own: only repetitions in which both played one member are paired.

| feedback model | strength |
|---|---|
| `batch:1`, `delay:0`, `geometric:0`, `poisson:0`, `workers:1` | immediate: feedback after every evaluation |
| `delay:d`, `geometric:m`, `poisson:m` | d, m evaluations late |
| `batch:q`, `workers:W` | q, W evaluations open at a time |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gpbandit_envs.channels import as_channel
from leaderboards.play.spec import canonical_json
from leaderboards.score.statistics import Interval, paired_difference, ratio_interval
from leaderboards.score.summary import Summary

KINDS = {
    "delay": "evaluations of delay",
    "geometric": "mean evaluations of geometric delay",
    "poisson": "mean evaluations of Poisson delay",
    "batch": "evaluations in a batch",
    "workers": "workers",
}
"""Kinds of feedback models that have a strength, with its unit."""


@dataclass(frozen=True)
class DelayCost:
    """Extra regret of one agent under one feedback model.

    Attributes:
        regret: Mean final cumulative regret over the blocks compared.
        base: The same under immediate feedback.
        difference: Mean paired difference, the former minus the latter.
        relative: The mean difference over `base`, with Fieller's interval; NaN if that is 0.
    """

    regret: float
    base: float
    difference: Interval
    relative: Interval


@dataclass(frozen=True)
class DelayStudy:
    """The delay costs of all agents on one environment, for one kind of feedback.

    Attributes:
        env: Label of the environment, that of its immediate task.
        kind: One of `KINDS`.
        base: The task with immediate feedback.
        tasks: The tasks of that kind by strength, from the weakest.
        costs: By agent, its costs by strength; only agents that have finished runs of the base and of one of the tasks.
    """

    env: str
    kind: str
    base: str
    tasks: Mapping[float, str]
    costs: Mapping[str, Mapping[float, DelayCost]]


def delay_studies(summary: Summary) -> list[DelayStudy]:
    """One study for each environment, horizon and kind for which the folder holds immediate and other feedback."""
    groups: dict[str, dict[str, dict[float, str]]] = {}
    bases: dict[str, str] = {}
    for name, task in summary.tasks.items():
        rule = as_channel(task.feedback)
        setting = canonical_json([task.env.identity, task.horizon, task.seed])
        if rule.name == "on_request":
            continue
        if rule.is_immediate:
            bases.setdefault(setting, name)
        else:
            groups.setdefault(setting, {}).setdefault(rule.name, {})[rule.value] = name
    studies = []
    for setting, kinds in groups.items():
        if setting not in bases:
            continue
        base = bases[setting]
        for kind in (kind for kind in KINDS if kind in kinds):
            tasks = dict(sorted(kinds[kind].items()))
            by_agent = {agent: costs for agent in summary.agents if (costs := _costs(summary, agent, base, tasks))}
            if by_agent:
                studies.append(DelayStudy(summary.tasks[base].env.label, kind, base, tasks, by_agent))
    return studies


def _costs(summary: Summary, agent: str, base: str, tasks: Mapping[float, str]) -> dict[float, DelayCost]:
    """The costs of an agent by strength, where it has finished runs of the task and of the base that can be paired."""
    immediate, costs = summary.scores.get((base, agent)), {}
    for strength, task in tasks.items() if immediate is not None else ():
        scores = summary.scores.get((task, agent))
        if scores is None or immediate is None:
            continue
        mine, theirs = summary.tasks[task].members, summary.tasks[base].members
        both = set(immediate.blocks).intersection(scores.blocks)
        blocks = [block for block in scores.blocks if block in both and mine.get(block) == theirs.get(block)]
        x = scores.finals["cumulative_regret"][scores.rows(blocks)]
        y = immediate.finals["cumulative_regret"][immediate.rows(blocks)]
        if blocks and np.isfinite(x).all() and np.isfinite(y).all():
            both_ways = paired_difference(x, y), ratio_interval(x - y, y)
            costs[strength] = DelayCost(float(x.mean()), float(y.mean()), *both_ways)
    return costs
