"""Confidence-band audit: does the band that an agent states hold the mean, for all arms, all the time?

A width of theory promises `P(|f(x) - mean_t(x)| <= half_t(x) for all x and t) >= 1 - delta`. The audit plays runs again
(a band is no part of a trace), asks `predict` for all arms at chosen times, and counts the repetitions in which a mean
ever leaves its band. It also says how much wider than needed the band is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.stats
from jaxtyping import Int

from leaderboards.play.build import describe_agent, describe_env, horizon_of, make_agent, make_env
from leaderboards.play.feedback import parse_feedback
from leaderboards.play.loop import Loop
from leaderboards.play.runner import card
from leaderboards.play.spec import RunSpec
from leaderboards.play.streams import env_seed, generator
from leaderboards.score.cell import thin
from leaderboards.score.intervals import LEVEL, Interval

__all__ = ["Audit", "AuditError", "audit", "audit_run"]

# Where the band has no width the mean may differ by rounding alone.
_ROUNDING = 1e-9

Named = str | tuple[str, Mapping[str, Any]]


class AuditError(Exception):
    """A band cannot be audited; the text says why."""


@dataclass(frozen=True)
class Audit:
    """What became of the bands.

    Attributes:
        looks: One row per repetition and time: `repetition, t, outside` (arms whose mean is outside the band), `needed`
            (factor by which all bands would have to be scaled to hold all means; above 1 where one leaves its band)
            and `half` (largest half-width, in units of the reward).
        delta: Failure probability that the agent promises.
    """

    looks: pd.DataFrame
    delta: float

    def coverage(self, level: float = LEVEL) -> Interval:
        """Share of repetitions in which no mean ever left its band, with the Clopper-Pearson interval."""
        held = self.looks.groupby("repetition")["outside"].max() == 0
        n, hits = len(held), int(held.sum())
        ends = scipy.stats.binomtest(hits, n).proportion_ci(level, method="exact")
        return Interval(hits / n, float(ends.low), float(ends.high), n, level)

    @property
    def passes(self) -> bool:
        """Whether the promise `1 - delta` is still possible after what was seen."""
        return self.coverage().high >= 1 - self.delta

    @property
    def slack(self) -> float:
        """How much wider than needed the band is: the median over repetitions of `1 / max needed`; inf if exact."""
        needed = self.looks.groupby("repetition")["needed"].max().to_numpy()
        with np.errstate(divide="ignore"):
            return float(np.median(1 / needed))


def audit(
    env: Named,
    agent: Named,
    repetitions: int,
    horizon: int | None = None,
    delta: float = 0.1,
    n_times: int = 30,
    seed: int = 0,
    feedback: str = "on_request",
) -> Audit:
    """Play repetitions again and look at the band at log-spaced times.

    Args:
        env: Environment with finitely many arms and known means: an id or an `(id, kwargs)` pair.
        agent: Agent with a band: an id or an `(id, kwargs)` pair.
        repetitions: How many, at least 1.
        horizon: Number of evaluations; by default the environment's time limit.
        delta: Failure probability that the agent promises.
        n_times: At how many times the band is looked at.
        seed: Root seed of all streams.
        feedback: Regime of feedback.

    Raises:
        AuditError: if the agent states no band, or the environment has no arms or does not know its means.
    """
    if repetitions < 1:
        raise ValueError(f"repetitions: expected at least 1, got {repetitions!r}")
    if not 0 < delta < 1:
        raise ValueError(f"delta: expected a number in (0, 1), got {delta!r}")
    T = horizon_of(env, horizon)
    times = thin(T, max(n_times, 2), "log")
    frames = []
    for repetition in range(repetitions):
        spec = RunSpec(
            env=describe_env(env),
            agent=describe_agent(agent),
            repetition=repetition,
            horizon=T,
            seed=seed,
            feedback=feedback,
        )
        frames.append(audit_run(spec, times).assign(repetition=repetition))
    return Audit(pd.concat(frames, ignore_index=True), delta)


def audit_run(spec: RunSpec, times: Int[np.ndarray, " p"]) -> pd.DataFrame:
    """One run, looked at after the first turn that reaches each of `times`: `t, outside, needed, half`."""
    env = make_env((spec.env.id, spec.env.kwargs), spec.horizon)
    try:
        env.reset(seed=env_seed(spec))
        problem = card(env, spec.horizon)
        if not problem.is_finite:
            raise AuditError(f"{spec.env.id} is a box: only bands over finitely many arms are audited")
        agent = make_agent((spec.agent.id, spec.agent.kwargs))
        agent.reset(problem, generator(spec, "agent"))
        rule = parse_feedback(spec.feedback)
        channel = rule.channel(agent.capabilities, spec.horizon, generator(spec, "delay"))
        loop = Loop(env, agent, problem, channel, spec.horizon)
        if not loop.oracle.known:
            raise AuditError(f"{spec.env.id} does not know its means")
        f = np.asarray(env.unwrapped.mean(np.arange(problem.n_arms)))  # type: ignore[attr-defined]
        rows = []
        due = iter(times.tolist())
        next_time = next(due)
        while not loop.finished:
            loop.turn()
            if loop.t < next_time:
                continue
            rows.append((loop.t, *_look(agent.predict(problem.arms), f, spec)))  # type: ignore[arg-type]
            next_time = next((t for t in due if t > loop.t), spec.horizon + 1)
        return pd.DataFrame(rows, columns=["t", "outside", "needed", "half"])
    finally:
        env.close()


def _look(band: tuple[np.ndarray, np.ndarray] | None, f: np.ndarray, spec: RunSpec) -> tuple[int, float, float]:
    if band is None:
        raise AuditError(f"{spec.agent.id} states no confidence band")
    mean, half = band
    error = np.abs(f - mean)
    error[error <= _ROUNDING * max(float(np.abs(f).max()), 1.0)] = 0.0
    outside = int((error > half).sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(error == 0, 0.0, error / half)
    return outside, float(ratio.max()), float(half.max())
