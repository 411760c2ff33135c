"""What an agent did on a task, in one sentence of numbers that a board keeps.

| part | what it says | rests on |
|---|---|---|
| decisions | results came in batches, or late, so that few evaluations knew of those before | batches, channel |
| its end | all regret of some repetitions from an evaluation on was the same; or what the second half cost | regret |
| told | the agent was told a kernel, noise or norm that is not the true one | what the task states |
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
from jaxtyping import Float

from gpbandit_envs.channels import as_channel
from leaderboards.play.build import loaded_agent
from leaderboards.play.measures import has_batches
from leaderboards.play.protocol_checks import words_of
from leaderboards.play.spec import Ref
from leaderboards.score.metrics import BEST_SO_FAR
from leaderboards.score.scores import AgentScores
from leaderboards.score.statistics import mean_interval
from leaderboards.score.summary import REFERENCES, Summary
from leaderboards.score.tasks import Task
from leaderboards.show.rebuilt import built_agent

_LEAST_SHARE = 0.1  # of a row's regret, or of its evaluations: less explains nothing
_ROUNDING = 2.0**-16  # largest relative error of regret on a board
_OF_KERNEL = ("lengthscale", "sup", "corruption")  # what of a misspecification makes the told kernel a wrong one


def deed(summary: Summary, task: str, agent: str) -> str:
    """What an agent did on a task; "" where nothing is known."""
    scores = summary.scores.get((task, agent))
    return "" if scores is None else sentence(scores, summary.tasks[task], needs_of(summary.agents[agent]))


def sentence(scores: AgentScores, task: Task, needs: Collection[str] = ()) -> str:
    """What was done in these runs."""
    text = "; ".join(filter(None, (_decisions(scores, task), *_ends(scores), _told_wrong(task, needs))))
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def needs_of(ref: Ref) -> Collection[str]:
    """What an agent reads of a problem; nothing is known of one that is not loaded, and references read nothing."""
    built: Any = None if ref.id in REFERENCES else loaded_agent(ref.id)
    needs = frozenset(getattr(getattr(built, "capabilities", None), "needs", ()))
    if built is not None and getattr(getattr(built_agent(ref), "schedule", None), "assumes", None) == "norm":
        needs |= {"norm"}  # its width grows with the bound
    return needs


def _decisions(scores: AgentScores, task: Task) -> str:
    channel, T = as_channel(task.feedback), int(scores.t[-1])
    if not has_batches(channel):
        return "" if channel.is_immediate else f"results came late ({words_of(channel)})"
    batches = float(np.mean(scores.finals["batches"]))
    if not batches <= (1 - _LEAST_SHARE) * T:  # NaN too
        return ""
    decisions = f"{batches:,.0f} decisions in {T:,} evaluations"
    if channel.name != "on_request":
        return f"results came in {words_of(channel)}: {decisions}"
    length = T / batches
    return f"in batches of {f'{length:.0f}' if length == round(length) else f'{length:.1f} on average'}: {decisions}"


def _ends(scores: AgentScores) -> Iterator[str]:
    """How the repetitions went on from the middle; costs are regret per evaluation over that of a uniform draw."""
    t, regret, gaps = scores.t, scores.curves["cumulative_regret"], scores.mean_gaps
    middle = int(np.searchsorted(t, math.ceil(t[-1] / 2)))
    # Two evaluations lie on a straight line whatever was done between them.
    if len(t) - middle < 3 or not (np.isfinite(regret).all() and np.isfinite(gaps).all()):
        return
    n, since = len(regret), straight_from(t, regret)
    at = np.minimum(since, len(t) - 2)
    lost, left = regret[:, -1] - regret[np.arange(n), at], (t[-1] - t[at]) * gaps
    still = since <= middle
    some = lost > BEST_SO_FAR * left + 2 * _ROUNDING * regret[:, -1]  # more regret than what counts as none
    same, none = still & some, still & ~some
    begins = t[at] + 1
    share = float(lost[same].sum() / max(regret[:, -1].sum(), np.finfo(float).tiny))
    if share >= _LEAST_SHARE:
        yield (
            f"one and the same regret{_of(same)} in every evaluation from {int(np.median(begins[same])):,} on, "
            f"{(lost / left)[same].mean():.2g} of what a uniform draw costs: {share:.0%} of all its regret"
        )
    elif 2 * none.sum() > n:
        yield f"from evaluation {int(np.median(begins[none])):,} on without regret{_of(none)}"
    else:
        cost = mean_interval((regret[:, -1] - regret[:, middle]) / ((t[-1] - t[middle]) * gaps))
        ends = f" ({max(cost.low, 0):.2f} \N{EN DASH} {cost.high:.2f})" if cost.is_known else ""
        yield f"its second half cost {cost.estimate:.2f}{ends} of uniform draws"


def straight_from(t: np.ndarray, regret: Float[np.ndarray, "n p"]) -> np.ndarray:
    """By repetition, the first kept evaluation from which on cumulative regret grows along a straight line to its end.

    Each point is known to a relative error of `_ROUNDING`: the line through the ends may be off a point between by its
    own error and those of the ends, that of the start with its weight.
    """
    error, found = _ROUNDING * np.abs(regret), np.full(len(regret), len(t) - 1)
    straight = np.arange(len(regret))  # those that are straight so far
    for i in range(len(t) - 2, -1, -1):
        left = (t[-1] - t[i:]) / (t[-1] - t[i])
        R, E = regret[straight, i:], error[straight, i:]
        line = R[:, -1:] - left * (R[:, -1:] - R[:, :1])
        straight = straight[(np.abs(R - line) <= E + left * E[:, :1] + E[:, -1:]).all(axis=1)]
        found[straight] = i
    return found


def _told_wrong(task: Task, needs: Collection[str]) -> str:
    """The part of a misspecification that the agent was told."""
    said = []
    for name, size in task.misspecification.items():
        if ("kernel" if name in _OF_KERNEL else name) not in needs:
            continue
        if name == "sup":
            said.append(f"a kernel that the function is off by up to {size:g}")
        elif name == "corruption":
            said.append(f"nothing of feedback that is off by up to {size:g}")
        else:
            said.append(f"a {'bound on the norm' if name == 'norm' else name} {size:.3g} times the true one")
    return f"told {' and '.join(said)}" if said else ""


def _of(those: np.ndarray) -> str:
    return "" if those.all() else f" in {those.sum()} of {len(those)} repetitions"
