"""Audits of all runs of an agent on a task: coverage of the band, accuracy of the sketch, memory.

A width of a theorem guarantees `P(|f(x) - mean_t(x)| <= half_width_t(x) for all x and t) >= 1 - delta`. The coverage is
the fraction of repetitions without any violation at any checkpoint. Violations between two checkpoints are not seen:
with fewer checkpoints than evaluations, the coverage is an upper estimate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from leaderboards.audit.measure import RATIO_BOUND
from leaderboards.audit.run_audit import CHECKPOINTS, RunAudit, audit_run
from leaderboards.audit.store import AuditStore
from leaderboards.play.build import check_as_made, describe_agent, describe_env, horizon_of
from leaderboards.play.protocol_checks import inside_feedback
from leaderboards.play.spec import RunSpec
from leaderboards.score.statistics import Interval, mean_interval, proportion
from leaderboards.score.summary import Summary
from leaderboards.store.store import Store

Named = str | tuple[str, Mapping[str, Any]]


class AuditError(Exception):
    """A band cannot be audited; the text says why."""


@dataclass(frozen=True)
class BandReport:
    """Coverage and width of the bands of one agent on one task.

    Attributes:
        checkpoints: One row per repetition and checkpoint: `repetition, t, violations, required_scaling, half_width`;
            see `leaderboards.audit.measure.BAND_COLUMNS`.
        delta: Failure probability that the band is held to; None if the agent states none.
        width: The agent's setting of its confidence width; "" if it has none.
        no_guarantee: Why no theorem guarantees this band; "" if one does.
        kind: What the width is: proven, Bayesian, unproven or tuned; "" if it is not known.
        theorem: Source of the theorem behind the width; "" without one.
        refuted: Repetitions in which the data refuted the norm, the noise or the kernel that the agent was given.
    """

    checkpoints: pd.DataFrame
    delta: float | None
    width: str = ""
    no_guarantee: str = ""
    kind: str = ""
    theorem: str = ""
    refuted: int = 0

    @property
    def setting(self) -> str:
        """The agent's setting of its width, and what it is on this task: `practical (tuned)` is no theorem's."""
        kind = "unproven" if self.kind == "proven" and self.no_guarantee else self.kind
        return f"{self.width} ({kind})" if self.width and kind else self.width

    @cached_property
    def _by_repetition(self) -> pd.DataFrame:
        """A row a repetition; grouped once, as the pages of a task and of an agent ask for it again and again."""
        rows = self.checkpoints.assign(first=self.checkpoints["t"].where(self.checkpoints["violations"] > 0))
        return rows.groupby("repetition").agg({"violations": "max", "required_scaling": "max", "first": "min"})

    def __len__(self) -> int:
        return int(self.checkpoints["repetition"].nunique())

    def coverage(self) -> Interval:
        """Fraction of repetitions without any violation, with the Clopper-Pearson interval."""
        held = self._by_repetition["violations"] == 0
        return proportion(int(held.sum()), len(held))

    @property
    def passes(self) -> bool | None:
        """Whether the coverage `1 - delta` is still possible after what was seen; None without a delta."""
        return None if self.delta is None else self.coverage().high >= 1 - self.delta

    def conservativeness(self) -> Interval:
        """Stated over required width: the geometric mean over repetitions of `1 / max required_scaling`.

        The interval is Student's on logarithms. It is 0 for a band without width and infinite for an exact one; with
        such a repetition the estimate is the median and the ends are not known.
        """
        required = self._by_repetition["required_scaling"].to_numpy()
        with np.errstate(divide="ignore"):
            ratio = 1 / required
        if not (np.isfinite(ratio).all() and (ratio > 0).all()):
            return Interval(float(np.median(ratio)), np.nan, np.nan, len(ratio))
        on_logs = mean_interval(np.log(ratio))
        low, estimate, high = np.exp([on_logs.low, on_logs.estimate, on_logs.high])
        return Interval(float(estimate), float(low), float(high), len(ratio))

    @property
    def most_violations(self) -> float:
        """Largest number of arms outside the band at one checkpoint of any repetition."""
        return float(self.checkpoints["violations"].max())

    def first_violation(self) -> float | None:
        """Median time of the first checkpoint with a violation, over the repetitions with one; None if none."""
        median = float(self._by_repetition["first"].median())
        return None if math.isnan(median) else median


@dataclass(frozen=True)
class SketchReport:
    """The sketch of one agent on one task, over n audited runs.

    Attributes:
        dictionary: Size of the last dictionary.
        d_eff: Effective dimension of all pulls, by the exact posterior.
        per_d_eff: The former over the latter.
        low: Smallest ratio of sketched to exact variance at any checkpoint.
        high: Largest one.
        factor: The worst factor of a run, `max(ratio, 1 / ratio)` over its checkpoints and sampled arms.
        kept: Fraction of the runs that stayed within `[1 / RATIO_BOUND, RATIO_BOUND]`.
        resparsifications: Dictionaries drawn in a run.
    """

    dictionary: Interval
    d_eff: Interval
    per_d_eff: Interval
    low: float
    high: float
    factor: Interval
    kept: Interval
    resparsifications: Interval


@dataclass(frozen=True)
class AuditReport:
    """All audits of one agent on one task.

    Attributes:
        audits: The audited runs, n of them.
        t: Times of curves: the checkpoints of the first run.
        band: Of the confidence bands; None if the agent states none or the means are not known.
        no_band: Why there is none; "" if there is one.
        sketch: Of the sketch; None if the agent has none.
        bytes: Bytes in the agent's arrays at the end.
    """

    audits: tuple[RunAudit, ...]
    t: Int[np.ndarray, " p"]
    band: BandReport | None
    no_band: str
    sketch: SketchReport | None
    bytes: Interval

    @property
    def differing(self) -> int:
        """Runs whose replay left the stored trace."""
        return sum(bool(audit.facts.differs) for audit in self.audits)

    def along(self, column: str) -> Float[np.ndarray, "n p"]:
        """A column of the checkpoints at the times `t`; within a batch, its value at the batch's end."""
        rows = []
        for audit in self.audits:
            seen = audit.checkpoints["t"].to_numpy()
            at = np.minimum(np.searchsorted(seen, self.t), len(seen) - 1)
            rows.append(audit.checkpoints[column].to_numpy(np.float64)[at])
        return np.array(rows)


def band_report(audits: Iterable[RunAudit], delta: float | None = None) -> BandReport | None:
    """The audited repetitions of one agent on one task together; None if none of them has a band.

    Args:
        audits: Audited runs.
        delta: Failure probability to hold the agent to; by default its own.
    """
    banded = [audit for audit in audits if not audit.facts.no_band]
    if not banded:
        return None
    rows = pd.concat([audit.checkpoints.assign(repetition=i) for i, audit in enumerate(banded)], ignore_index=True)
    facts = banded[0].facts
    columns = ["repetition", "t", "violations", "required_scaling", "half_width"]
    refuted = sum(audit.facts.refuted for audit in banded)
    stated = (facts.width, facts.no_guarantee, facts.kind, facts.theorem)
    return BandReport(rows[columns], delta or facts.delta, *stated, refuted)


def audit_band(
    env: Named,
    agent: Named,
    repetitions: int,
    horizon: int | None = None,
    delta: float | None = None,
    checkpoints: int = CHECKPOINTS,
    seed: int = 0,
    feedback: str | None = None,
) -> BandReport:
    """Play repetitions and measure the band at log-spaced checkpoints, without a results folder.

    Args:
        env: Environment with known means: an id or an `(id, kwargs)` pair.
        agent: Agent with a band: an id or an `(id, kwargs)` pair.
        repetitions: How many, at least 1.
        horizon: Number of evaluations; by default the environment's time limit.
        delta: Failure probability to hold the agent to; by default its own.
        checkpoints: How many a run has.
        seed: Root seed of all streams.
        feedback: Feedback model, see `gpbandit_envs.channels`.

    Raises:
        AuditError: if the agent states no band, or the environment does not know its means.
        ReplayError: if agent and environment do not fit.
        TypeError: if the environment is an object inside a wrapper of the user's own.
    """
    if repetitions < 1:
        raise ValueError(f"repetitions: expected at least 1, got {repetitions!r}")
    if delta is not None and not 0 < delta < 1:
        raise ValueError(f"delta: expected a number in (0, 1) or None, got {delta!r}")
    env, feedback = inside_feedback(env, feedback)
    check_as_made("env", env)
    env_ref, agent_ref, horizon = describe_env(env), describe_agent(agent), horizon_of(env, horizon)
    audits = []
    for repetition in range(repetitions):
        spec = RunSpec(
            env=env_ref, agent=agent_ref, repetition=repetition, horizon=horizon, seed=seed, feedback=feedback
        )
        audits.append(audit_run(spec, checkpoints))
        if audits[-1].facts.no_band:
            raise AuditError(f"{spec.agent.id} on {spec.env.id}: {audits[-1].facts.no_band}")
    report = band_report(audits, delta)
    assert report is not None
    return report


def audit_reports(store: Store, summary: Summary) -> dict[tuple[str, str], AuditReport]:
    """Reports by (task, agent), of the pairs of which a run has been audited."""
    done = summary.runs[summary.runs["status"] == "done"]
    stored = AuditStore(store.directory).read(str(key) for key in done.index)
    audits: dict[tuple[str, str], list[RunAudit]] = {}
    for key, task, agent in zip(done.index, done["task"], done["agent"]):
        if str(key) in stored and len(stored[str(key)].checkpoints):
            audits.setdefault((str(task), str(agent)), []).append(stored[str(key)])
    pairs = ((task, agent) for task in summary.tasks for agent in summary.agents)
    return {pair: _report(audits[pair]) for pair in pairs if pair in audits}


def _report(audits: list[RunAudit]) -> AuditReport:
    last = np.array([audit.checkpoints["bytes"].iloc[-1] for audit in audits], np.float64)
    return AuditReport(
        tuple(audits),
        audits[0].checkpoints["t"].to_numpy(),
        band_report(audits),
        audits[0].facts.no_band,
        _sketch_report([audit for audit in audits if not audit.facts.no_sketch]),
        mean_interval(last),
    )


def _sketch_report(audits: list[RunAudit]) -> SketchReport | None:
    # The first checkpoint may come before the first dictionary; from then on there is always one.
    frames = [audit.checkpoints[audit.checkpoints["dictionary"] > 0] for audit in audits]
    frames = [frame for frame in frames if len(frame)]
    if not frames:
        return None
    dictionary, d_eff, resparsifications = (
        np.array([frame[name].iloc[-1] for frame in frames]) for name in ("dictionary", "d_eff", "resparsifications")
    )
    low = np.array([frame["ratio_low"].min() for frame in frames])
    high = np.array([frame["ratio_high"].max() for frame in frames])
    with np.errstate(divide="ignore"):
        factor = np.maximum(high, 1 / low)
    return SketchReport(
        mean_interval(dictionary),
        mean_interval(d_eff),
        mean_interval(dictionary / d_eff),
        float(low.min()),
        float(high.max()),
        mean_interval(factor),
        proportion(int((factor <= RATIO_BOUND).sum()), len(factor)),
        mean_interval(resparsifications),
    )
