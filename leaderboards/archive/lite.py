"""Choose the part of a suite that ranks most like the whole, from the runs on its board.

| symbol | meaning |
|---|---|
| `rho[t, r, a]` | rank of agent `a` among all in repetition `r` of task `t` |
| `m(S, n)[a]` | mean of `rho` over the tasks in `S` and their first `n` repetitions |
| `tau(S, n)` | Kendall's tau-b between `m(S, n)` and `m` over everything |

Of all sets of `k` tasks the one with the largest mean of `tau(S, n)` over bootstrap resamples of the agents is chosen.
The mean, and not the value itself, so that one swap of two neighbours does not decide.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import scipy.stats
from jaxtyping import Float

from gpbandit_envs.registry import ENVIRONMENTS
from leaderboards.score.statistics import Interval
from leaderboards.score.summary import Summary

__all__ = ["LiteChoice", "agreement", "block_ranks", "choose_lite", "without_data"]

_WITH_DATA = {row.id for row in ENVIRONMENTS if row.data is not None}
_RESAMPLES = 200
_SEED = 20_260_102


@dataclass(frozen=True)
class LiteChoice:
    """A part of a suite.

    Attributes:
        tasks: Its tasks.
        repetitions: How many of their first repetitions.
        tau: Kendall's tau-b with the ranking over the whole, and its 95 % interval: bootstrap over the repetitions of
            every task, which resamples the part and the whole alike, and over agents.
        held_out: Mean of Kendall's tau-b where the tasks were chosen on every other repetition and the rankings are of
            those between; NaN with fewer than two repetitions. Unlike `tau` it owes nothing to the choice.
        agents: On how many agents it rests.
        whole: How many repetitions of each task the whole has.
    """

    tasks: tuple[str, ...]
    repetitions: int
    tau: Interval
    held_out: float
    agents: int
    whole: int


def block_ranks(summary: Summary) -> tuple[list[str], list[str], Float[np.ndarray, "tasks reps agents"]]:
    """Tasks, agents and the ranks of the agents in each repetition that all of them have played, by final regret.

    Agents that lack a task, or have played it less often than most do on the task that is played least, are left out.

    Raises:
        ValueError: if no task is played, or no two agents have a repetition of all of them in common.
    """
    tasks = [task for task in summary.tasks if summary.on(task)]
    if not tasks:
        raise ValueError("summary: expected finished runs of one task or more, got none")
    fewest = min(int(np.median([len(scores) for scores in summary.on(task).values()])) for task in tasks)
    agents = [
        agent
        for agent in summary.agents
        if all((task, agent) in summary.scores and len(summary.scores[task, agent]) >= fewest for task in tasks)
    ]
    played = [
        {repetition for _, repetition in summary.scores[task, agent].blocks} for task in tasks for agent in agents
    ]
    common = set.intersection(*played) if played else set()
    if not common or len(agents) < 2:
        raise ValueError(
            f"summary: expected two agents or more with a repetition of every task in common, got {len(agents)} agents "
            f"with {len(common)}"
        )
    order = sorted(common)
    ranks = np.empty((len(tasks), len(order), len(agents)))
    for i, task in enumerate(tasks):
        for j, agent in enumerate(agents):
            scores = summary.scores[task, agent]
            finals = dict(zip((repetition for _, repetition in scores.blocks), scores.finals["cumulative_regret"]))
            ranks[i, :, j] = [finals[repetition] for repetition in order]
        ranks[i] = scipy.stats.rankdata(ranks[i], axis=-1)
    return tasks, agents, ranks


def without_data(summary: Summary) -> list[str]:
    """The tasks whose environments need no data beside the package."""
    return [task for task, about in summary.tasks.items() if about.env.id not in _WITH_DATA]


def choose_lite(summary: Summary, n_tasks: int, repetitions: int, among: Collection[str] | None = None) -> LiteChoice:
    """The set of `n_tasks` tasks whose first repetitions rank most like the whole.

    Args:
        summary: The board.
        n_tasks: How many tasks.
        repetitions: How many repetitions of each; as many as all agents have played, where that is less.
        among: Tasks to choose from; None for all.

    Raises:
        ValueError: if there are not so many tasks, or fewer than three agents to rank.
    """
    tasks, agents, ranks = block_ranks(summary)
    candidates = [i for i, task in enumerate(tasks) if among is None or task in among]
    if not 1 <= n_tasks <= len(candidates) or len(agents) < 3:
        raise ValueError(
            f"n_tasks: expected at most {len(candidates)} and three agents or more, got {n_tasks} and {len(agents)}"
        )
    n = min(repetitions, ranks.shape[1])
    chosen = _best_set(ranks, candidates, n_tasks, n)
    held_out = np.nan
    if ranks.shape[1] > 1:
        halves = ranks[:, ::2], ranks[:, 1::2]
        held_out = float(
            np.mean(
                [
                    _tau(other, other[_best_set(one, candidates, n_tasks, min(n, one.shape[1])), :n])
                    for one, other in (halves, halves[::-1])
                ]
            )
        )
    return LiteChoice(
        tuple(tasks[i] for i in chosen), n, agreement(ranks, chosen, n), held_out, len(agents), ranks.shape[1]
    )


def _best_set(ranks: np.ndarray, candidates: list[int], n_tasks: int, n: int) -> list[int]:
    """The set of tasks whose first `n` repetitions agree best with the whole, on average over resampled agents."""
    whole, parts = ranks.mean(axis=(0, 1)), ranks[:, :n].mean(axis=1)
    sets = np.array(list(itertools.combinations(candidates, n_tasks)))
    A = ranks.shape[2]
    # Agreement of a pair of agents, of which tau-b without ties is the mean: one table serves all resamples.
    first, second = np.triu_indices(A, 1)
    want = np.sign(whole[first] - whole[second])
    agree = np.empty((len(sets), len(want)), np.float32)
    for i, chosen in enumerate(sets):
        mean = parts[chosen].mean(axis=0)
        agree[i] = np.sign(mean[first] - mean[second]) * want
    counts = np.random.default_rng(_SEED).multinomial(A, np.full(A, 1 / A), size=_RESAMPLES)
    weights = (counts[:, first] * counts[:, second]).astype(np.float32)
    weights = weights[weights.any(axis=1)]  # not those of one agent alone
    score = (agree @ (weights / weights.sum(axis=1, keepdims=True)).T).mean(axis=1)
    return [int(i) for i in sets[int(np.argmax(score))]]


def agreement(ranks: Float[np.ndarray, "tasks reps agents"], part: Collection[int], n: int) -> Interval:
    """Kendall's tau-b between the mean ranks over some tasks' first `n` repetitions and over everything."""
    chosen = list(part)
    tau = _tau(ranks, ranks[chosen, :n])
    rng = np.random.default_rng(_SEED)
    T, R, A = ranks.shape
    draws = []
    for _ in range(_RESAMPLES):
        agents = rng.integers(A, size=A)
        # The first n repetitions stay the part's own: a repetition of the part is never compared with itself alone.
        within = rng.integers(n, size=(T, n))
        beyond = rng.integers(n, R, size=(T, R - n)) if n < R else np.empty((T, 0), int)
        again = np.take_along_axis(ranks, np.concatenate([within, beyond], axis=1)[:, :, None], axis=1)[:, :, agents]
        draws.append(_tau(again, again[chosen, :n]))
    finite = np.array(draws)[np.isfinite(draws)]
    low, high = np.quantile(finite, [0.025, 0.975])
    return Interval(tau, float(low), float(high), A, 0.95)


def _tau(whole: np.ndarray, part: np.ndarray) -> float:
    return float(scipy.stats.kendalltau(part.mean(axis=(0, 1)), whole.mean(axis=(0, 1))).statistic)
