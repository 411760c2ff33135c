"""Confidence-band audit: does the band that an agent states hold the mean, for all arms, all the time?

A width of theory promises `P(|f(x) - mean_t(x)| <= half_t(x) for all x and t) >= 1 - delta`. The audit plays runs again
(a band is no part of a trace), asks `predict` for all arms at chosen times, and counts the repetitions in which a mean
ever leaves its band. It also says how much wider than needed the band is. What leaves the band between two looks is not
seen: with fewer looks than evaluations, the coverage is an upper estimate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.stats

from leaderboards.play.audits import StoredAudit
from leaderboards.play.make import describe_agent, describe_env, horizon_of
from leaderboards.play.spec import RunSpec
from leaderboards.score.intervals import LEVEL, Interval, mean_interval
from leaderboards.score.probe import LOOKS, probe

__all__ = ["Audit", "AuditError", "audit", "band_audit", "share"]

Named = str | tuple[str, Mapping[str, Any]]


class AuditError(Exception):
    """A band cannot be audited; the text says why."""


@dataclass(frozen=True)
class Audit:
    """What became of the bands of one agent on one task.

    Attributes:
        looks: One row per repetition and time: `repetition, t, outside` (arms whose mean is outside the band), `needed`
            (factor by which all bands would have to be scaled to hold all means; above 1 where one leaves its band)
            and `half` (largest half-width, in units of the reward).
        delta: Failure probability that the agent promises; None if it states none.
        width: The agent's setting of that name; "" if it has none.
        unpromised: Why no theorem promises that this band holds; "" if one does.
    """

    looks: pd.DataFrame
    delta: float | None
    width: str = ""
    unpromised: str = ""

    def __len__(self) -> int:
        return int(self.looks["repetition"].nunique())

    def coverage(self, level: float = LEVEL) -> Interval:
        """Share of repetitions in which no mean ever left its band, with the Clopper-Pearson interval."""
        held = self.looks.groupby("repetition")["outside"].max() == 0
        return share(int(held.sum()), len(held), level)

    @property
    def passes(self) -> bool | None:
        """Whether the promise `1 - delta` is still possible after what was seen; None without a delta."""
        return None if self.delta is None else self.coverage().high >= 1 - self.delta

    def slack(self, level: float = LEVEL) -> Interval:
        """How many times wider than needed the band is: the geometric mean over repetitions of `1 / max needed`.

        The interval is Student's on logarithms. A band without width has slack 0, an exact one infinite slack; with
        such a repetition the estimate is the median and the ends are not known.
        """
        needed = self.looks.groupby("repetition")["needed"].max().to_numpy()
        with np.errstate(divide="ignore"):
            slack = 1 / needed
        if not (np.isfinite(slack).all() and (slack > 0).all()):
            return Interval(float(np.median(slack)), np.nan, np.nan, len(slack), level)
        on_logs = mean_interval(np.log(slack), level)
        low, estimate, high = np.exp([on_logs.low, on_logs.estimate, on_logs.high])
        return Interval(float(estimate), float(low), float(high), len(slack), level)

    @property
    def worst(self) -> float:
        """Largest number of arms outside the band at one look of any repetition."""
        return float(self.looks["outside"].max())

    def first_exit(self) -> float | None:
        """Median time of the first look at which a mean was outside, over the repetitions with one; None if none."""
        out = self.looks[self.looks["outside"] > 0].groupby("repetition")["t"].min()
        return None if out.empty else float(out.median())


def share(hits: int, n: int, level: float = LEVEL) -> Interval:
    """A share of repetitions with its Clopper-Pearson interval."""
    ends = scipy.stats.binomtest(hits, n).proportion_ci(level, method="exact")
    return Interval(hits / n, float(ends.low), float(ends.high), n, level)


def band_audit(audits: Iterable[StoredAudit], delta: float | None = None) -> Audit | None:
    """The audited repetitions of one agent on one task together; None if none of them has a band.

    Args:
        audits: Audited runs.
        delta: Failure probability to hold the agent to; by default its own.
    """
    banded = [audit for audit in audits if not audit.about["no_band"]]
    if not banded:
        return None
    looks = pd.concat([audit.looks.assign(repetition=i) for i, audit in enumerate(banded)], ignore_index=True)
    about = banded[0].about
    columns = ["repetition", "t", "outside", "needed", "half"]
    return Audit(looks[columns], delta or about["delta"], about["width"], about["unpromised"])


def audit(
    env: Named,
    agent: Named,
    repetitions: int,
    horizon: int | None = None,
    delta: float | None = None,
    n_times: int = LOOKS,
    seed: int = 0,
    feedback: str = "on_request",
) -> Audit:
    """Play repetitions and look at the band at log-spaced times.

    Args:
        env: Environment with known means: an id or an `(id, kwargs)` pair.
        agent: Agent with a band: an id or an `(id, kwargs)` pair.
        repetitions: How many, at least 1.
        horizon: Number of evaluations; by default the environment's time limit.
        delta: Failure probability to hold the agent to; by default its own.
        n_times: At how many times the band is looked at.
        seed: Root seed of all streams.
        feedback: Regime of feedback.

    Raises:
        AuditError: if the agent states no band, or the environment does not know its means.
        ReplayError: if agent and environment do not fit.
    """
    if repetitions < 1:
        raise ValueError(f"repetitions: expected at least 1, got {repetitions!r}")
    if delta is not None and not 0 < delta < 1:
        raise ValueError(f"delta: expected a number in (0, 1) or None, got {delta!r}")
    common = {"env": describe_env(env), "agent": describe_agent(agent), "horizon": horizon_of(env, horizon)}
    audits = []
    for repetition in range(repetitions):
        spec = RunSpec(**common, repetition=repetition, seed=seed, feedback=feedback)  # type: ignore[arg-type]
        audits.append(probe(spec, n_times))
        if audits[-1].about["no_band"]:
            raise AuditError(f"{spec.agent.id} on {spec.env.id}: {audits[-1].about['no_band']}")
    found = band_audit(audits, delta)
    assert found is not None
    return found
