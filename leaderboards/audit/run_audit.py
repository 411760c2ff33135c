"""Play a stored run again and measure the agent's beliefs at checkpoints.

A trace holds what was done, not what was believed. A run is a function of its spec, so confidence bands, posteriors and
memory can be measured later by playing it again, bit for bit. A measurement must leave the agent as it is: the trace of
the replay is compared with the stored one, and `AuditFacts.differs` says where they part.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy  # SciPy loads `scipy.stats` when it is first asked for, which a command that plays seldom does
from jaxtyping import Float

from agents.core.guarantees import guarantee_status
from gpbandit_envs.gp.threads import one_blas_thread
from gpbandit_envs.problem import Problem
from leaderboards.audit.measure import band_violations, held_bytes, informative, sketch_accuracy
from leaderboards.play.protocol_checks import IncompatibleError
from leaderboards.play.record import Text
from leaderboards.play.run import Loop, begin
from leaderboards.play.spec import RunSpec, generator
from leaderboards.score.scores import subsample_times
from leaderboards.verify.verify import compare

CHECKPOINTS = 30
"""Default number of checkpoints of a run."""

SAMPLED = 256
"""Default number of arms for comparing sketched and exact variances, and on a box of points for the band."""


class ReplayError(Exception):
    """A run cannot be replayed; the text says why."""


@dataclass(frozen=True, kw_only=True)
class AuditFacts:
    """What is true of an audited run as a whole.

    Attributes:
        width: The agent's setting of its confidence width; "" if it has none.
        kind: What the width is, see `agents.core.guarantees.Kind`; "" without a width.
        theorem: Source of the theorem behind the width; "" without one.
        no_guarantee: Why no theorem guarantees the band in this run; "" if one does.
        no_band: Why the run has no audited band; "" if it has one.
        delta: Failure probability that the agent states; None if it states none.
        refuted: Whether the data refuted the norm, the noise or the kernel that the agent was given.
        no_sketch: Why it has no audited sketch; "" if it has one.
        points: Arms, or points of a box, at which the band was audited.
        on_box: Whether they are points of a box.
        sampled: Arms at which sketched and exact variances were compared.
        differs: Where the replay left the stored trace; "" if nowhere.
    """

    width: Text
    kind: Text = ""
    theorem: Text = ""
    no_guarantee: Text
    no_band: Text
    delta: float | None
    refuted: bool = False
    no_sketch: Text
    points: int
    on_box: bool
    sampled: int
    differs: Text


@dataclass(frozen=True)
class RunAudit:
    """The audit of one run.

    Attributes:
        key: The run.
        facts: What is true of the run as a whole.
        checkpoints: One row per checkpoint: `t`, `bytes`, `informative`, and the columns `BAND_COLUMNS` and
            `SKETCH_COLUMNS` of `leaderboards.audit.measure`.
    """

    key: str
    facts: AuditFacts
    checkpoints: pd.DataFrame


def audit_run(
    spec: RunSpec,
    checkpoints: int = CHECKPOINTS,
    sampled: int = SAMPLED,
    stored: pd.DataFrame | None = None,
) -> RunAudit:
    """Play the run `spec` again and measure the agent at log-spaced checkpoints.

    Args:
        spec: The run.
        checkpoints: How many, at least 2; every evaluation is one if there are no more.
        sampled: At how many arms variances are compared; on a box, at how many points the band is.
        stored: The run's trace, to be compared with the replay.

    Raises:
        ReplayError: if the run cannot be played again.
        ValueError: if a number is out of range, or what the agent predicts is no band.
    """
    if checkpoints < 2 or sampled < 1:
        raise ValueError(f"checkpoints, sampled: expected at least 2 and 1, got {checkpoints!r} and {sampled!r}")
    if not spec.rebuildable:
        raise ReplayError("the run was played with an object that was made by hand; no spec can rebuild it")
    with one_blas_thread():
        try:
            loop = begin(spec)
        except IncompatibleError as error:
            raise ReplayError(str(error)) from None
        with closing(loop.env):
            audit = _Audit(loop, sampled, generator(spec, "audit"))
            due = subsample_times(spec.horizon, checkpoints, "log").tolist()
            while not loop.finished:
                loop.turn()
                if due and loop.t >= due[0]:
                    due = [t for t in due if t > loop.t]
                    audit.measure()
            differs = compare(stored, loop.trace.frame(loop.t)) if stored is not None else None
            return RunAudit(spec.key, audit.facts(differs or ""), pd.DataFrame(audit.rows))


class _Audit:
    """The audit of a run that is being played, of what was chosen before its first turn."""

    def __init__(self, loop: Loop, sampled: int, rng: np.random.Generator) -> None:
        self.rows: list[dict[str, float]] = []
        self._loop, problem = loop, loop.problem
        self._X, self._actions = _audited_points(problem, sampled, rng)
        self._f = _means(loop, self._actions)
        self._arms = np.zeros(0, np.int64)
        if problem.is_finite:
            self._arms = np.sort(rng.permutation(problem.n_arms)[:sampled])
        self._no_band = "the environment does not know its means" if self._f is None else ""

    def measure(self) -> None:
        """Measure at a checkpoint."""
        loop, agent = self._loop, self._loop.agent
        if loop.problem.time_varying:
            self._f = _means(loop, self._actions)
        band = None if self._f is None else agent.predict(self._X)
        if self._f is not None and band is None:
            self._no_band = "the agent states no confidence band"
        f = np.zeros(0) if self._f is None else self._f
        row = {"t": loop.t, "bytes": held_bytes(agent), **band_violations(band, f), "informative": informative(band, f)}
        self.rows.append({**row, **sketch_accuracy(agent.sketch(), self._arms)})

    def facts(self, differs: str) -> AuditFacts:
        """What is true of the run, which left a stored trace where `differs` says."""
        agent, problem, no_band = self._loop.agent, self._loop.problem, self._no_band
        guarantee = agent.band_guarantee()
        return AuditFacts(
            width="" if no_band else guarantee.width,
            no_guarantee=no_band or guarantee_status(guarantee, problem),
            delta=guarantee.delta,
            no_band=no_band,
            no_sketch="" if agent.sketch() is not None else "the agent has no sketched posterior",
            points=len(self._X),
            on_box=not problem.is_finite,
            sampled=len(self._arms),
            differs=differs,
            kind=guarantee.kind if guarantee.width and not no_band else "",
            theorem="" if no_band else guarantee.theorem,
            refuted=guarantee.refuted,
        )


def _audited_points(
    problem: Problem, sampled: int, rng: np.random.Generator
) -> tuple[Float[np.ndarray, "p d"], np.ndarray]:
    """All arms, or Sobol points of a box, and the actions that they are."""
    if problem.arms is not None:
        return problem.arms, np.arange(problem.n_arms)
    X = scipy.stats.qmc.Sobol(problem.dim, rng=rng).random_base2((sampled - 1).bit_length())
    return X, X


def _means(loop: Loop, actions: np.ndarray) -> Float[np.ndarray, " p"] | None:
    """Noise-free means of actions, as of now; None if they are not known."""
    if not loop.oracle.known:
        return None
    return np.asarray(loop.env.unwrapped.mean(actions), np.float64)  # type: ignore[attr-defined]
