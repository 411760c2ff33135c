"""Curves and final scores of a run, and of all runs of an agent on a task."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.channels import Channel
from leaderboards.play.measures import IN_UNITS, RunColumns, at_shares, simple_regret
from leaderboards.score import metrics
from leaderboards.score.statistics import Interval, Slope, loglog_slope, score_intervals
from leaderboards.store.kept import KEPT, KeptRun, kept_times

Block = tuple[int, int]
"""Root seed and repetition, which fix the instance, its noise, delays and costs; scores are paired by block."""

N_POINTS = 150
"""Largest number of points kept of each curve."""


def subsample_times(T: int, n_points: int = N_POINTS, spacing: str = "mixed") -> Int[np.ndarray, " p"]:
    """Times at which a curve of length `T` is kept: at most `n_points` of 1..T, both ends included.

    Args:
        T: Length of the curve, at least 1.
        n_points: How many points, at least 2.
        spacing: `"linear"`, `"log"`, or `"mixed"`: half of each, so that both views look smooth.
    """
    if n_points >= T:
        return np.arange(1, T + 1)
    n_log = {"linear": 0, "log": n_points, "mixed": max(n_points // 2 - 1, 0)}[spacing]
    times = np.concatenate([np.geomspace(1, T, n_log), np.linspace(1, T, n_points - n_log)])
    return np.unique(np.rint(times).astype(np.int64))


@dataclass
class AgentScores:
    """The finished runs of one agent on one task.

    Attributes:
        t: Times at which curves are kept, shape `(p,)`.
        blocks: Seed and repetition of each run, n of them.
        curves: By metric, one row per run, shape `(n, p)`.
        finals: By metric, one value per run, shape `(n,)`.
        diagnostics: What the agent reported of itself, by name, one row per run, shape `(n, p)`; NaN before the first.
        mean_gaps: Regret of a uniform draw on the instance of each run, shape `(n,)`; NaN where unknown.
    """

    t: Int[np.ndarray, " p"]
    blocks: tuple[Block, ...]
    curves: dict[str, Float[np.ndarray, "n p"]] = field(default_factory=dict)
    finals: dict[str, Float[np.ndarray, " n"]] = field(default_factory=dict)
    diagnostics: dict[str, Float[np.ndarray, "n p"]] = field(default_factory=dict)
    mean_gaps: Float[np.ndarray, " n"] = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        if not len(self.mean_gaps):
            self.mean_gaps = np.full(len(self.blocks), np.nan)

    def __len__(self) -> int:
        return len(self.blocks)

    @functools.cached_property
    def intervals(self) -> dict[str, Interval]:
        """The mean of each final score with its interval, see `score_interval`; for scores that are complete."""
        return dict(zip(self.finals, score_intervals(np.stack(list(self.finals.values()))))) if self.finals else {}

    @functools.cached_property
    def growth(self) -> Slope | None:
        """The growth exponent of the cumulative regret, see `loglog_slope`."""
        return loglog_slope(self.t, self.curves["cumulative_regret"])

    def rows(self, blocks: list[Block]) -> list[int]:
        """Positions of `blocks`.

        Raises:
            KeyError: if there is no run of one of them.
        """
        at = {block: i for i, block in enumerate(self.blocks)}
        return [at[block] for block in blocks]

    def on(self, blocks: Sequence[Block]) -> AgentScores:
        """The scores of `blocks` alone, in their order.

        Raises:
            KeyError: if there is no run of one of them.
        """
        if tuple(blocks) == self.blocks:
            return self
        rows = self.rows(list(blocks))
        return AgentScores(
            self.t,
            tuple(blocks),
            {name: values[rows] for name, values in self.curves.items()},
            {name: values[rows] for name, values in self.finals.items()},
            {name: values[rows] for name, values in self.diagnostics.items()},
            self.mean_gaps[rows],
        )

    def add_scale(
        self,
        gaps: Float[np.ndarray, " n"],
        tolerances: Float[np.ndarray, " n"],
        best: Float[np.ndarray, "n q"],
        times: Int[np.ndarray, " q"],
    ) -> None:
        """Add the mean gap of each run's instance, and how soon the best evaluation was good on its scale.

        Args:
            gaps: The mean gaps; NaN where unknown.
            tolerances: Bounds on the errors of the optima, beyond which nothing is claimed; NaN for none.
            best: `RunScores.best` of each run.
            times: The evaluations of these.
        """
        self.mean_gaps = np.asarray(gaps, np.float64)
        least = np.fmax(metrics.BEST_SO_FAR, tolerances / self.mean_gaps)
        along = metrics.best_so_far(times, best / self.mean_gaps[:, None], least)
        self.curves["best_so_far"] = along[:, np.searchsorted(times, self.t, side="right") - 1]
        self.finals["best_so_far"] = along[:, -1].copy()

    def add_regret_ratio(self, reference: AgentScores | None) -> None:
        """Add the regret ratio against the scores of uniform sampling, paired by block; NaN for blocks it lacks."""
        ratio = np.full((len(self), len(self.t)), np.nan)
        if reference is not None:
            both = [block for block in self.blocks if block in set(reference.blocks)]
            mine, theirs = self.rows(both), reference.rows(both)
            name = "cumulative_regret"
            ratio[mine] = metrics.regret_ratio(self.curves[name][mine], reference.curves[name][theirs])
        self.curves["regret_ratio"] = ratio
        self.finals["regret_ratio"] = ratio[:, -1].copy()


@dataclass(frozen=True)
class RunScores:
    """Curves and final scores of one run.

    Attributes:
        curves: By metric, its values at the kept times, shape `(p,)`.
        finals: By metric, its value at the horizon.
        diagnostics: By name, what the agent reported of itself at the kept times, shape `(p,)`.
        best_mean: Largest mean among the evaluations where the optimum is unknown; NaN where regret is in the trace, or
            a mean is unknown too.
        measured_from: The mean from which regret is measured where the optimum is unknown; None if it is not yet.
        best: Simple regret at the evaluations of `kept_times`, whatever others are kept: boards keep these.
    """

    curves: dict[str, Float[np.ndarray, " p"]]
    finals: dict[str, float]
    diagnostics: dict[str, Float[np.ndarray, " p"]]
    best_mean: float = np.nan
    measured_from: float | None = None
    best: Float[np.ndarray, " q"] = field(default_factory=lambda: np.zeros(0))

    def measured(self, best: float, t: Int[np.ndarray, " p"]) -> RunScores:
        """The same with regret measured from the mean `best`, where the optimum is unknown, at the times `t`.

        For the scores of a run without its trace; of another one the trace says more.
        """
        gain = best - (self.measured_from or 0.0)
        curves, finals = dict(self.curves), dict(self.finals)
        for name in ("cumulative_regret", "simple_regret", "average_regret", "best_measured"):
            evaluations = t if name == "cumulative_regret" else 1
            curves[name] = curves[name] + gain * evaluations
            finals[name] = float(curves[name][-1])
        return replace(self, curves=curves, finals=finals, measured_from=best, best=self.best + gain)


def reduce_run(
    trace: Mapping[str, np.ndarray], t: Int[np.ndarray, " p"], rule: Channel, diagnostics: Sequence[str] = ()
) -> RunScores:
    """Curves at the times `t` and final scores of one run; the regret ratio is added by `AgentScores.add_regret_ratio`.

    Args:
        trace: `leaderboards.play.measures.COLUMNS`, `diagnostics` and what
            `leaderboards.score.metrics.other_columns` asks for, by name, each of shape `(T,)`.
        t: Times, from 1, of which the last is T; shape `(p,)`.
        rule: When feedback arrived; batches and experiment time are NaN where it has none.
        diagnostics: Columns to keep beside the scores.

    Raises:
        ValueError: if the trace does not end at the last of the times, or its numbers make no sense.
        TypeError: if a metric gives values of another shape than it states.
    """
    T = len(trace["regret"])
    if t[-1] != T:
        raise ValueError(f"trace: expected {t[-1]} evaluations, got {T}")
    at = np.asarray(t) - 1
    run = RunColumns.of(trace, rule, metrics.other_columns())
    curves, finals = {}, {}
    for name, metric in metrics.METRICS.items():
        if metric.of is None:
            continue
        values = np.asarray(metric.of(run), np.float64)
        if values.shape != ((T,) if metric.has_curve else ()):
            expected = f"values along t, of shape ({T},)" if metric.has_curve else "one number"
            raise TypeError(f"metric {name!r}: expected {expected}, got shape {values.shape}")
        if metric.has_curve:
            curves[name] = values[at]
        finals[name] = float(values[-1] if metric.has_curve else values)
    best = simple_regret(run.regret)[kept_times(T, rule) - 1]
    return RunScores(curves, finals, {name: trace[name][at] for name in diagnostics}, best=best)


def unknown_scores(t: Int[np.ndarray, " p"], rule: Channel) -> RunScores:
    """The scores of a run whose trace makes no sense: NaN."""
    named = {name: metric for name, metric in metrics.METRICS.items() if metric.of is not None}
    curves = {name: np.full(len(t), np.nan) for name, metric in named.items() if metric.has_curve}
    return RunScores(curves, dict.fromkeys(named, np.nan), {}, best=np.full(len(kept_times(int(t[-1]), rule)), np.nan))


def kept_scores(kept: KeptRun) -> RunScores:
    """The scores of a run without its trace; metrics that are neither kept nor follow from what is are NaN."""
    T = int(kept.t[-1])
    curves = {name: np.asarray(kept.curves[name], np.float64) for name in KEPT}
    finals = kept.finals
    curves["average_regret"] = curves["cumulative_regret"] / kept.t
    for name, (curve, shares) in IN_UNITS.items():
        curves[name] = at_shares(curves[curve], kept.t, shares)
        finals[name] = float(curves[name][-1])
    finals["average_regret"] = finals["cumulative_regret"] / T
    unknown = np.full(len(kept.t), np.nan)
    ordered = {name: metric.has_curve for name, metric in metrics.METRICS.items() if metric.of is not None}
    return RunScores(
        {name: curves.get(name, unknown) for name, has_curve in ordered.items() if has_curve or name in curves},
        {name: finals.get(name, np.nan) for name in ordered},
        {},
        kept.best_mean,
        best=curves["simple_regret"],
    )
