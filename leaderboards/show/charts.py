"""The charts of results: metrics along the run, time, accuracy, differences, delays and audits.

What is decorated with `chart` is on pages and in figures by that alone, see `leaderboards.show.chart`. The
others are drawn once for each metric, diagnostic or pair of agents.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from gpbandit_envs.channels import IMMEDIATE
from leaderboards.audit.measure import RATIO_BOUND
from leaderboards.audit.report import AuditReport
from leaderboards.play.measures import has_batches, workers_of
from leaderboards.score.comparison import PairedComparison
from leaderboards.score.delay_cost import KINDS, DelayStudy
from leaderboards.score.metrics import METRICS, REWARD, Metric
from leaderboards.score.scores import AgentScores
from leaderboards.score.statistics import performance_profile, stratified_means
from leaderboards.show.chart import (
    EVALUATIONS,
    AgentView,
    Axis,
    Chart,
    Line,
    TasksView,
    TaskView,
    chart,
    mean_line,
    mean_lines,
)
from leaderboards.show.format import duration, number

DELAY_TITLES = {
    "delay": "Cost of delay",
    "geometric": "Cost of geometric delay",
    "poisson": "Cost of Poisson delay",
    "batch": "Cost of batches",
    "workers": "Cost of parallel workers",
}

_WIDE = 10.0  # largest over smallest value from which a linear axis would press the good agents into one line
_SETTLED = 0.02  # ratios of the first few evaluations are mostly noise and would flatten the rest

_DIAGNOSTICS = {
    "width": ("Confidence width", "What multiplies the standard deviation in the band, after each evaluation."),
    "information_gain": ("Information gain", "Realised information gain of the evaluations so far, in nats."),
    "d_eff": ("Effective dimension", "Sum of the ridge leverage scores of the evaluations so far."),
    "unique_arms": ("Distinct arms", "How many different arms have been pulled."),
    "dictionary_size": ("Dictionary size", "Inducing arms drawn for the sketched posterior."),
    "dictionary_rank": ("Dictionary rank", "Inducing arms that do not depend on others."),
    "resparsifications": ("Resparsifications", "How often the dictionary was drawn anew."),
    "batch_length": ("Batch length", "Evaluations in the batch."),
    "epsilon": ("Exploration rate", "Probability of a uniform action."),
    "alive": ("Arms alive", "Arms that have not been ruled out."),
}


# ---- agents on one task ----


def best_first(by_agent: Mapping[str, AgentScores]) -> list[str]:
    """Agents in the order of their final cumulative regret; those for which it is unknown come last."""
    last = {name: float(scores.curves["cumulative_regret"][:, -1].mean()) for name, scores in by_agent.items()}
    return sorted(by_agent, key=lambda name: (not math.isfinite(last[name]), last[name]))


def metric_chart(metric: Metric, by_agent: Mapping[str, AgentScores]) -> Chart | None:
    """Mean curves of a metric with 95 % bands, one an agent; None if it is known of no agent."""
    lines = _known(mean_lines({name: (scores.t, scores.curves[metric.name]) for name, scores in by_agent.items()}))
    if not lines:
        return None
    ends = {line.name: float(line.y[-1]) for line in lines}
    known = sorted((value, name) for name, value in ends.items() if math.isfinite(value))
    text = ", ".join(f"{name} {number(value)}" for value, name in known)
    return Chart(
        metric.name,
        metric.title,
        Axis(EVALUATIONS),
        Axis(metric.title, metric.unit, log=_is_wide(ends.values())),
        lines,
        meaning=metric.meaning,
        formula=metric.symbol,
        alt=f"{metric.title} against the number of evaluations; means at t = {lines[0].x[-1]}: {text}.",
    )


@chart(on="task")
def time_chart(view: TaskView) -> Chart | None:
    """Cumulative regret against the time of the simulated experiment; None without a clock or without costs."""
    workers = workers_of(view.rule)
    if workers is None:
        return None
    times = {name: scores.curves["simulated_time"].mean(axis=0) for name, scores in view.scores.items()}
    lines = _known(
        mean_line(name, times[name], scores.curves["cumulative_regret"])
        for name, scores in view.scores.items()
        if np.isfinite(times[name]).all()
    )
    if not lines:
        return None
    regret, time = METRICS["cumulative_regret"], METRICS["simulated_time"]
    with_workers = f"{workers} worker{'' if workers == 1 else 's'}"
    ends = ", ".join(f"{line.name} {number(float(line.x[-1]))}" for line in lines)
    return Chart(
        time.name,
        "Regret against time",
        Axis(f"experiment time with {with_workers}", time.unit),
        Axis(regret.title, regret.unit, log=_is_wide(float(line.y[-1]) for line in lines)),
        lines,
        meaning=f"How long the experiment takes with {with_workers}: "
        + ("a batch lasts until its last evaluation is done." if has_batches(view.rule) else "none waits for another."),
        formula=time.symbol,
        alt=f"Cumulative regret against experiment time with {with_workers}, which ends at: {ends}.",
    )


@chart(on="task")
def frontier_chart(view: TaskView) -> Chart | None:
    """Final regret against the policy's seconds, one point an agent, and the frontier; None for fewer than two."""
    seconds = {name: float(one.finals["policy_seconds"].mean()) / float(one.t[-1]) for name, one in view.scores.items()}
    lines = _regret_against({name: x for name, x in seconds.items() if x > 0}, view)
    frontier = _frontier(lines)
    if len(lines) < 2:
        return None
    ends = ", ".join(f"{name} {number(lines[name].y[0])} in {duration(seconds[name])}" for name in frontier)
    return Chart(
        "frontier",
        "Accuracy and time",
        Axis("policy seconds for an evaluation", log=True),
        Axis("cumulative regret at the end", REWARD, log=_is_wide(float(line.y[0]) for line in lines.values())),
        tuple(lines.values()),
        meaning="Each agent by its seconds for an evaluation and its regret, with the 95 % interval; the line joins "
        "those that no other beats in both.",
        alt=f"Final cumulative regret against policy seconds for an evaluation; on the frontier: {ends}.",
        mark="points",
        frontier=frontier,
    )


@chart(on="task", figure="guarantee", log_y=True)
def guarantee_chart(view: TaskView) -> Chart | None:
    """Final regret against the share of runs whose band held, an agent with a band a point; None for fewer than 2."""
    bands = {name: view.audits[name].band for name in view.scores if name in view.audits}
    held = {name: band.coverage() for name, band in bands.items() if band is not None}
    lines = _regret_against({name: share.estimate for name, share in held.items()}, view)
    if len(lines) < 2:
        return None
    texts = [
        f"{name} {number(line.y[0])}, held in {held[name].estimate:.0%} of {held[name].n} ({band.setting})"
        for name, line in lines.items()
        if (band := bands[name]) is not None
    ]
    return Chart(
        "guarantee",
        "Regret and guarantee",
        Axis("share of runs whose band held", limits=(-0.05, 1.05)),
        Axis("final cumulative regret", REWARD, log=_is_wide(float(line.y[0]) for line in lines.values())),
        tuple(lines.values()),
        meaning="Each agent by how often no mean was outside its confidence band at any checkpoint, and its regret, "
        "with the 95 % interval; best is below on the right. The line joins those that no other beats in both. That a "
        "band held here is no proof: the table of bands says which are guaranteed.",
        alt=f"Final cumulative regret against the share of repetitions in which the band held: {'; '.join(texts)}.",
        mark="points",
        frontier=_frontier(lines, sign=-1)[::-1],
    )


def _regret_against(positions: Mapping[str, float], view: TaskView) -> dict[str, Line]:
    """A point an agent with known regret: its final regret with the interval, at its position."""
    lines = {}
    for name, x in positions.items():
        regret = view.scores[name].intervals["cumulative_regret"]
        if math.isfinite(regret.estimate):
            ends = (np.array([max(regret.low, 0.0)]), np.array([regret.high])) if regret.is_known else ()
            lines[name] = Line(name, np.array([x]), np.array([regret.estimate]), *ends)
    return lines


def _frontier(lines: Mapping[str, Line], sign: int = 1) -> tuple[str, ...]:
    """Names of the points that no other beats: small regret, and `sign` times a small position, in that order."""
    points = {name: (sign * float(line.x[0]), float(line.y[0])) for name, line in lines.items()}
    free = [
        name
        for name, (x, y) in points.items()
        if not any(a <= x and b <= y and (a, b) != (x, y) for a, b in points.values())
    ]
    return tuple(sorted(free, key=points.__getitem__))


# ---- agents on several tasks ----


@chart(on="tasks", figure="profiles")
def profile_chart(view: TasksView) -> Chart | None:
    """Performance profiles: share of runs with at most that regret ratio, of ranked agents whose ratios are known."""
    ranked, tasks = ((), ()) if view.ranking is None else (view.ranking.agents, view.ranking.tasks)
    ratios = {name: [view.tasks[task].scores[name].finals["regret_ratio"] for task in tasks] for name in ranked}
    known = {name: strata for name, strata in ratios.items() if all(np.isfinite(x).all() for x in strata)}
    if not known:
        return None
    every = np.concatenate([x for strata in known.values() for x in strata])
    tau = np.geomspace(max(every[every > 0].min(initial=1.0), 1e-4) * 0.8, max(every.max(), 1.0) * 1.1, 400)
    return Chart(
        "profiles",
        "Performance profiles",
        Axis("regret ratio τ", log=True),
        Axis("share of runs at or below τ", limits=(0.0, 1.02)),
        tuple(Line(name, tau, performance_profile(strata, tau)) for name, strata in known.items()),
        meaning="Share of runs with at most that regret ratio, every environment with the same weight.",
        mark="steps",
    )


@chart(on="tasks", figure="sweep")
def sweep_chart(view: TasksView, which: int = 0) -> Chart | None:
    """Final regret against an argument that a grid goes through, of agents that have played all levels."""
    numbers: dict[str, dict[float, list[TaskView]]] = {}
    for task, one in view.tasks.items():
        for name, value in view.levels.get(task, {}).items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                numbers.setdefault(name, {}).setdefault(float(value), []).append(one)
    swept = [(name, dict(sorted(levels.items()))) for name, levels in numbers.items() if len(levels) > 1]
    if which >= len(swept):
        return None
    name, levels = swept[which]
    tasks, lines = [one for level in levels.values() for one in level], []
    for agent in tasks[0].scores:
        if all(agent in one.scores for one in tasks):
            means = [
                stratified_means([one.scores[agent].finals[view.by][:, None] for one in level])[0]
                for level in levels.values()
            ]
            y, low, high = (np.array(ends) for ends in zip(*((mean.estimate, mean.low, mean.high) for mean in means)))
            ends = (low, high) if all(mean.is_known for mean in means) else ()
            lines.append(Line(agent, np.array(list(levels)), y, *ends))
    others = " Other arguments of the grid weigh alike." if len(swept) > 1 else ""
    regret = METRICS[view.by]
    title = f"Regret against {name}"
    return Chart(
        f"sweep-{which}",
        title,
        Axis(name),
        Axis(f"final {regret.title.lower()}", regret.unit),
        _known(lines),
        meaning=f"Mean {regret.title.lower()} at the end at each level of {name}, with its 95 % interval.{others}",
        alt=f"{title}, for {', '.join(line.name for line in lines)}.",
        mark="joined points",
    )


@chart(on="tasks", figure="second_sweep")
def second_sweep_chart(view: TasksView) -> Chart | None:
    """The same against the second argument of a grid."""
    return sweep_chart(view, 1)


# ---- one agent on all tasks ----


def diagnostic_charts(agent: str, by_task: Mapping[str, AgentScores]) -> list[Chart]:
    """Each diagnostic that the agent reports along the run, one curve a task."""
    charts: list[Chart] = []
    for name in dict.fromkeys(name for scores in by_task.values() for name in scores.diagnostics):
        title, meaning = _DIAGNOSTICS.get(name, (name.replace("_", " ").capitalize(), "As the agent reports it."))
        lines = _known(
            mean_line(task, scores.t, scores.diagnostics[name])
            for task, scores in by_task.items()
            if name in scores.diagnostics
        )
        if lines:
            alt = f"{title} of {agent} against the number of evaluations, one curve per environment."
            key = f"diagnostic-{len(charts)}"
            charts.append(Chart(key, title, Axis(EVALUATIONS), Axis(title), lines, meaning, alt=alt))
    return charts


# ---- two agents ----


def difference_chart(
    first: str, second: str, comparisons: Mapping[str, PairedComparison], metric: Metric
) -> Chart | None:
    """Paired differences of a metric along the run, one curve a task; None if no task is compared by it."""
    lines = []
    for task, found in comparisons.items():
        if found.metric == metric.name:
            late = slice(int(np.searchsorted(found.t, found.t[-1] * _SETTLED)), None)
            ends = (found.low[late], found.high[late]) if len(found.blocks) > 1 else (None, None)
            lines.append(Line(task, found.t[late], found.mean[late], *ends))
    if not lines:
        return None
    title = f"{metric.title}: difference"
    return Chart(
        metric.name,
        title,
        Axis(EVALUATIONS),
        Axis(f"{first} minus {second}", signed=True),
        tuple(lines),
        meaning=f"Below 0, {first} does better on the same instances; above 0, {second} does.",
        alt=f"{title} of {first} and {second} against the number of evaluations, by environment.",
    )


# ---- delays ----


@chart(on="study", figure="delay_cost")
def delay_chart(study: DelayStudy) -> Chart:
    """Extra regret against the strength of the delay, one curve an agent."""
    lines = []
    for agent, costs in study.costs.items():
        intervals = [cost.difference for cost in costs.values()]
        ends = [[i.estimate for i in intervals]]
        if all(interval.is_known for interval in intervals):
            ends += [[i.low for i in intervals], [i.high for i in intervals]]
        x = np.array([IMMEDIATE[study.kind], *costs])
        lines.append(Line(agent, x, *(np.array([0.0, *values]) for values in ends)))
    unit = KINDS[study.kind]
    title = DELAY_TITLES[study.kind]
    return Chart(
        f"{study.kind}-regret",
        title,
        Axis(unit),
        Axis("regret above immediate", REWARD, signed=True),
        tuple(lines),
        meaning=f"Mean paired difference of each agent with itself: final cumulative regret with so many {unit}, minus "
        "that with feedback after every evaluation, on the same instances. At 0 late feedback costs nothing.",
        alt=f"{title} against {unit}, for {', '.join(study.costs)}; the table holds the numbers.",
        mark="joined points",
        references=(0.0,),
    )


# ---- audits ----


@chart(on="task", figure="bands", log_x=True)
@chart(on="agent")
def band_chart(view: TaskView | AgentView) -> Chart | None:
    """How much wider the confidence band would have to be along the run, one curve an agent or a task."""
    lines = _known(
        _along(name, report, "required_scaling") for name, report in view.audits.items() if report.band is not None
    )
    widest = max((float(np.nanmax(line.y)) for line in lines), default=0.0)
    return _audit_chart(
        "audit-band",
        "Confidence band",
        Axis("required over stated width", log=widest > _WIDE),
        lines,
        "How wide the band would have to be to hold every mean, over how wide it is: above 1 a mean is outside. A "
        "batch is checked when it ends.",
        references=(1.0,),
    )


@chart(on="task")
@chart(on="agent")
def dictionary_chart(view: TaskView | AgentView) -> Chart | None:
    """Size of the dictionary against the effective dimension of the pulls."""
    return _audit_chart(
        "audit-dictionary",
        "Dictionary",
        Axis("arms in the dictionary"),
        _known(
            mean_line(name, report.along("d_eff").mean(axis=0), report.along("dictionary"))
            for name, report in view.audits.items()
            if report.sketch is not None
        ),
        "Size of the dictionary against the effective dimension of the pulls, by the exact posterior: theory "
        "guarantees a size proportional to it.",
        x=Axis("effective dimension of the pulls"),
    )


@chart(on="task", figure="sketches", log_x=True)
@chart(on="agent")
def variance_chart(view: TaskView | AgentView) -> Chart | None:
    """Sketched over exact variance along the run, from the smallest ratio to the largest."""
    lines = []
    for name, report in view.audits.items():
        if report.sketch is not None:
            median, low, high = (report.along(f"ratio_{part}") for part in ("median", "low", "high"))
            lines.append(Line(name, report.t, median.mean(axis=0), low.min(axis=0), high.max(axis=0)))
    return _audit_chart(
        "audit-ratio",
        "Sketched variance",
        Axis("sketched over exact variance", log=True),
        _known(lines),
        "Median over sampled arms, mean over repetitions; the band reaches from the smallest to the largest ratio of "
        f"any arm and repetition. Theory guarantees between 1/{RATIO_BOUND:g} and {RATIO_BOUND:g}.",
        references=(1 / RATIO_BOUND, 1.0, RATIO_BOUND),
    )


@chart(on="task")
@chart(on="agent")
def memory_chart(view: TaskView | AgentView) -> Chart | None:
    """Bytes in the agent's arrays along the run."""
    return _audit_chart(
        "audit-bytes",
        "Memory",
        Axis("arrays of the agent", "MiB", log=True),
        _known(_along(name, report, "bytes", 1 / 2**20) for name, report in view.audits.items()),
        "What the agent's arrays hold: kernel rows, factors, counts; the problem's own arms are not counted.",
    )


def _audit_chart(
    key: str,
    title: str,
    y: Axis,
    lines: tuple[Line, ...],
    meaning: str,
    x: Axis | None = None,
    references: tuple[float, ...] = (),
) -> Chart | None:
    if not lines:
        return None
    against = "the number of evaluations" if x is None else x.label
    alt = f"{title}: {y.text} against {against}, for {', '.join(line.name for line in lines)}."
    return Chart(key, title, x or Axis(EVALUATIONS), y, lines, meaning, alt=alt, references=references)


def _along(name: str, report: AuditReport, column: str, scale: float = 1.0) -> Line:
    Y = report.along(column) * scale
    Y[~np.isfinite(Y)] = np.nan  # a band without width needs an infinite factor, which no axis can show
    return mean_line(name, report.t, Y)


def _known(lines: Iterable[Line]) -> tuple[Line, ...]:
    return tuple(line for line in lines if line.is_known)


def _is_wide(values: Iterable[float]) -> bool:
    """Whether the largest value is more than `_WIDE` times the smallest; False where one of them is 0."""
    known = [value for value in values if math.isfinite(value)]
    return bool(known) and min(known) > 0 and max(known) / min(known) > _WIDE
