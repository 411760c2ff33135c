"""Why a row has its score: what an agent did on a task, read off its runs and what it was told.

Four causes, each computed from numbers that a board keeps:

| cause | what it says | rests on |
|---|---|---|
| decisions | results came in batches, or late, so that few evaluations knew of those before | batches, feedback model |
| exploration | the second half cost what uniform draws cost, or more | regret per evaluation over the mean gap |
| traps | from some evaluation on one action alone was taken, with regret | regret that grows along a straight line |
| told | the agent was told a kernel, noise or norm that is not the true one | what the task states |

| symbol | meaning |
|---|---|
| n | finished repetitions |
| p | evaluations at which regret is kept |
| T | horizon |
| gap | mean gap of a repetition's instance: the regret of a uniform draw |
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from gpbandit_envs.channels import Channel, as_channel
from leaderboards.play.feedback import words_of
from leaderboards.play.measures import has_batches
from leaderboards.score.metrics import BEST_SO_FAR
from leaderboards.score.scores import AgentScores, Block
from leaderboards.score.statistics import Interval, mean_interval
from leaderboards.score.tasks import Task
from leaderboards.store.kept_audit import KeptAudit

__all__ = ["EXPLORES", "Band", "Causes", "Decisions", "Exploration", "StatedWidth", "Told", "Traps", "find_causes"]

EXPLORES = 0.9
"""Regret per evaluation, over that of a uniform draw, from which on choices count as no better than uniform ones."""
_AT_LEAST = 0.8  # where its interval must begin: of repetitions that differ more, the mean says little

_LEAST_SHARE = 0.1  # of a row's regret, or of its evaluations: less explains nothing
_ALIKE = 0.25  # of uniform draws with one and the same regret: staying there is no trap
_FEW = 4  # uniform draws that tell no such share
_ROUNDING = 2.0**-16  # largest relative error of regret on a board, see `leaderboards.archive.files`
_OF_KERNEL = ("lengthscale", "sup", "corruption")  # what of a misspecification makes the told kernel a wrong one


@dataclass(frozen=True)
class StatedWidth:
    """The confidence width that a policy states for the end of a run, before any pull.

    Attributes:
        width: Factor of the posterior standard deviation.
        batch_ratio: Factor in it that pays for evaluations whose results are not in; 1 for none.
    """

    width: float
    batch_ratio: float = 1.0


@dataclass(frozen=True)
class Told:
    """What an agent was told, and what its width follows from that.

    Attributes:
        needs: What of the problem it reads: `"kernel"`, `"noise"` and `"norm"` count here.
        explores_only: Whether it never looks at rewards, as uniform and uncertainty sampling.
        n_arms: How many arms there are; None for a box, or if it is not known.
        stated: Its width at the end; None if that depends on the pulls, or it has none.
    """

    needs: Collection[str] = ()
    explores_only: bool = False
    n_arms: int | None = None
    stated: StatedWidth | None = None


@dataclass(frozen=True)
class Decisions:
    """Evaluations that were chosen without the results of those just before.

    Attributes:
        evaluations: T.
        batches: Mean number of batches; None where results come one by one, but late.
        feedback: The feedback model, where that is the reason; "" where the agent batched of its own accord.
    """

    evaluations: int
    batches: float | None
    feedback: str


@dataclass(frozen=True)
class Band:
    """The audited bands of an agent on a task.

    Attributes:
        half_width: Largest half-width at the end, mean over repetitions, unit of the reward.
        required: Factor of the bands that would have held every mean, geometric mean over repetitions.
    """

    half_width: float
    required: float


@dataclass(frozen=True)
class Exploration:
    """Repetitions that cost in their second half what uniform draws cost, or more.

    Attributes:
        repetitions: How many.
        cost: Regret per evaluation there over the mean gap.
        is_meant: Whether the agent never looks at rewards.
        arms: Mean number of different arms in all T evaluations; None where it is not known, as on a board.
        uniform_arms: The same of uniform sampling, expected; None if either is not known.
        band: Of the audits; None without any.
        stated: The agent's own word on its width.
    """

    repetitions: int
    cost: Interval
    is_meant: bool
    arms: float | None
    uniform_arms: float | None
    band: Band | None
    stated: StatedWidth | None


@dataclass(frozen=True)
class Traps:
    """Repetitions that ended on one action alone, which is not the best, as all evaluations to the end had one regret.

    Attributes:
        repetitions: How many.
        start: Median evaluation from which on.
        loss: Regret of each evaluation from then on over the mean gap; mean over them.
        share: Share of the row's cumulative regret that they lost so.
        is_alone: Whether uniform sampling has shown that there are not many actions of that regret; False where it has
            not played.
    """

    repetitions: int
    start: int
    loss: float
    share: float
    is_alone: bool


@dataclass(frozen=True)
class Causes:
    """What an agent did on a task.

    Attributes:
        n: Finished repetitions.
        cost: Regret per evaluation in the second half over the mean gap, of all repetitions; None if it is not known.
        settled: In how many repetitions the second half had no regret, beyond what counts as none.
        settled_from: Median evaluation from which on there was none in these; None without any.
        decisions: Batches and late results; None where each evaluation knew of all before.
        exploration: See there; None if most repetitions left exploration.
        traps: See there; None where they explain less than a tenth of the regret.
        told_wrong: What the agent was told wrong and by how much, as `Task.misspecification` has it.
        audited: Audited repetitions.
        refuted: Those of them in which the data refuted what it was told.
    """

    n: int
    cost: Interval | None
    settled: int = 0
    settled_from: int | None = None
    decisions: Decisions | None = None
    exploration: Exploration | None = None
    traps: Traps | None = None
    told_wrong: Mapping[str, float] = field(default_factory=dict)
    audited: int = 0
    refuted: int = 0


def find_causes(
    scores: AgentScores,
    task: Task,
    told: Told | None = None,
    audits: Sequence[KeptAudit] = (),
    uniform: AgentScores | None = None,
) -> Causes:
    """What an agent did on a task.

    Args:
        scores: Its finished runs there.
        task: The task.
        told: What it was told; None if that is not known.
        audits: Audits of its runs.
        uniform: The runs of uniform sampling there; None if it has none.
    """
    told = told or Told()
    decisions = _decisions(scores, as_channel(task.feedback))
    wrong = _told_wrong(task.misspecification, told.needs)
    refuted = sum(audit.refuted for audit in audits)
    ends = _Ends.of(scores, uniform)
    if ends is None:
        return Causes(len(scores), None, decisions=decisions, told_wrong=wrong, audited=len(audits), refuted=refuted)
    settled = ends.start[ends.is_still & ~ends.has_regret]
    return Causes(
        len(scores),
        mean_interval(ends.cost),
        len(settled),
        int(np.median(settled)) if len(settled) else None,
        decisions,
        _exploration(scores, ends, told, audits),
        _traps(ends),
        wrong,
        len(audits),
        refuted,
    )


@dataclass(frozen=True)
class _Ends:
    """How each repetition went on from the middle, arrays of shape `(n,)`.

    Attributes:
        cost: Regret per evaluation from the middle on, over the mean gap.
        is_still: Whether all evaluations from the middle on have the same regret.
        has_regret: Of these, whether that regret is more than what counts as none.
        start: First evaluation from which on all have the same regret; NaN where they are not still.
        loss: That regret, over the mean gap.
        lost: That regret, summed from there on, unit of the reward.
        total: Cumulative regret at T, unit of the reward.
        is_alone: Whether uniform sampling has shown that few actions have that regret.
    """

    cost: Float[np.ndarray, " n"]
    is_still: np.ndarray
    has_regret: np.ndarray
    start: Float[np.ndarray, " n"]
    loss: Float[np.ndarray, " n"]
    lost: Float[np.ndarray, " n"]
    total: Float[np.ndarray, " n"]
    is_alone: np.ndarray

    @classmethod
    def of(cls, scores: AgentScores, uniform: AgentScores | None) -> _Ends | None:
        """None where regret or mean gap is unknown, or too few evaluations are kept."""
        t, regret, gaps = scores.t, scores.curves["cumulative_regret"], scores.gaps
        middle = int(np.searchsorted(t, math.ceil(t[-1] / 2)))
        # Two evaluations lie on a straight line whatever was done between them.
        if len(t) - middle < 3 or not (np.isfinite(regret).all() and np.isfinite(gaps).all()):
            return None
        cost = (regret[:, -1] - regret[:, middle]) / ((t[-1] - t[middle]) * gaps)
        first = _straight_from(t, regret)
        at = np.minimum(first, len(t) - 2)
        rows = np.arange(len(regret))
        lost = regret[:, -1] - regret[rows, at]
        loss = lost / ((t[-1] - t[at]) * gaps)
        # Regret per evaluation that rounding may hide.
        unseen = 2 * _ROUNDING * regret[:, -1] / ((t[-1] - t[at]) * gaps)
        alike = np.array(
            [
                _alike(uniform, block, each / (t[-1] - t[i]), 2 * _ROUNDING * end / (t[-1] - t[i]))
                if i <= middle
                else math.nan
                for block, each, i, end in zip(scores.blocks, lost, at, regret[:, -1])
            ]
        )
        # Where a quarter of all actions have the same regret, one regret to the end says nothing of what was done.
        is_still = (first <= middle) & ((loss <= BEST_SO_FAR + unseen) | ~(alike >= _ALIKE))
        return cls(
            cost,
            is_still,
            loss > BEST_SO_FAR + unseen,
            # The evaluation at which the line begins is where its regret was last seen to change, or before.
            np.where(is_still, t[at] + 1.0, np.nan),
            loss,
            lost,
            regret[:, -1],
            np.isfinite(alike),
        )


def _alike(uniform: AgentScores | None, block: Block, regret: float, error: float) -> float:
    """Share of uniform draws on the instance of a block that have the regret `regret`; NaN if too few are known.

    Of the kept evaluations those tell the regret of one draw that follow upon each other.
    """
    if uniform is None or block not in uniform.blocks:
        return math.nan
    total = uniform.curves["cumulative_regret"][uniform.blocks.index(block)]
    single = np.diff(uniform.t, prepend=0) == 1
    if single.sum() < _FEW or not np.isfinite(total).all():
        return math.nan
    draws, errors = np.diff(total, prepend=0.0)[single], 2 * _ROUNDING * total[single]
    return float((np.abs(draws - regret) <= errors + error).mean())


def _straight_from(t: np.ndarray, regret: Float[np.ndarray, "n p"]) -> np.ndarray:
    """By repetition, the first kept evaluation from which on cumulative regret grows along a straight line to its end.

    Each point is known to a relative error of `_ROUNDING`: the line through the ends may be off a point between by its
    own error and those of the ends, that of the start with its weight.
    """
    T, error = t[-1], _ROUNDING * np.abs(regret)
    found = np.full(len(regret), len(t) - 1)
    straight = np.arange(len(regret))  # those that are straight so far
    for i in range(len(t) - 2, -1, -1):
        left = (T - t[i:]) / (T - t[i])
        R, E = regret[straight, i:], error[straight, i:]
        line = R[:, -1:] - left * (R[:, -1:] - R[:, :1])
        straight = straight[(np.abs(R - line) <= E + left * E[:, :1] + E[:, -1:]).all(axis=1)]
        if not len(straight):
            break
        found[straight] = i
    return found


def _decisions(scores: AgentScores, rule: Channel) -> Decisions | None:
    T = int(scores.t[-1])
    if not has_batches(rule):
        return None if rule.is_immediate else Decisions(T, None, words_of(rule))
    batches = float(np.mean(scores.finals["batches"]))
    if not batches <= (1 - _LEAST_SHARE) * T:  # NaN too
        return None
    return Decisions(T, batches, "" if rule.name == "on_request" else words_of(rule))


def _exploration(scores: AgentScores, ends: _Ends, told: Told, audits: Sequence[KeptAudit]) -> Exploration | None:
    """Exploration, if most repetitions still move in the second half and cost what uniform draws cost."""
    moving = ~ends.is_still
    if 2 * moving.sum() <= len(moving):
        return None
    cost = mean_interval(ends.cost[moving])
    if not (cost.estimate >= EXPLORES and cost.low >= _AT_LEAST):  # a single repetition has no interval
        return None
    T, arms, uniform = int(scores.t[-1]), None, None
    if np.isfinite(scores.arms[moving]).all():
        arms = float(scores.arms[moving].mean())
        if told.n_arms is not None:
            uniform = told.n_arms * -math.expm1(T * math.log1p(-1 / told.n_arms)) if told.n_arms > 1 else 1.0
            if 2 * arms < uniform:  # a few arms whose regret happens to be that of a uniform draw
                return None
    return Exploration(int(moving.sum()), cost, told.explores_only, arms, uniform, _band(audits), told.stated)


def _band(audits: Sequence[KeptAudit]) -> Band | None:
    banded = [audit for audit in audits if not audit.no_band]
    half = np.array([audit.half_width for audit in banded])
    required = np.array([audit.required_scaling for audit in banded])
    if not len(banded) or not np.isfinite(half).all() or not (np.isfinite(required) & (required > 0)).all():
        return None
    return Band(float(half.mean()), float(np.exp(np.log(required).mean())))


def _traps(ends: _Ends) -> Traps | None:
    trapped = ends.is_still & ends.has_regret
    total = ends.total.sum()
    share = float(ends.lost[trapped].sum() / total) if total > 0 else 0.0
    if share < _LEAST_SHARE:
        return None
    start, loss = np.median(ends.start[trapped]), ends.loss[trapped].mean()
    return Traps(int(trapped.sum()), int(start), float(loss), share, bool(ends.is_alone[trapped].all()))


def _told_wrong(misspecification: Mapping[str, float], needs: Collection[str]) -> dict[str, float]:
    """The part of a misspecification that an agent was told."""
    return {
        name: size for name, size in misspecification.items() if ("kernel" if name in _OF_KERNEL else name) in needs
    }
