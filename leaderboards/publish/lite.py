"""Choose the part of a suite that ranks most like the rest of it, from the runs on its board.

| symbol | meaning |
|---|---|
| `rho[t, r, a]` | rank of agent `a` among all in repetition `r` of task `t` |
| `m(S, n)[a]` | mean of `rho` over the tasks in `S` and their first `n` repetitions |
| `rest` | the tasks that are not in `S`, with all their repetitions |
| `tau(S, n)` | Kendall's tau-b between `m(S, n)` and the mean of `rho` over the rest |

A part agrees with a whole that it is in because it is in it; what counts is the rest. Of all sets of `k` tasks the one
is chosen with the largest mean of `tau(S, n)` among all agents and among the twelve best of the rest, over bootstrap
resamples of the agents: so that one swap of two neighbours does not decide.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import scipy  # SciPy loads `scipy.stats` when it is first asked for, which few commands do
from jaxtyping import Float

from gpbandit_envs.registry import WITH_DATA
from leaderboards.score.statistics import Interval
from leaderboards.score.summary import Summary

__all__ = ["TOP", "Agreement", "LiteChoice", "agreement", "block_ranks", "choose_lite", "lite_choice", "without_data"]

TOP = 12
"""How many agents lead: to tell these apart is harder than to tell good ones from bad ones."""

_RESAMPLES = 200
_SEED = 20_260_102


@dataclass(frozen=True)
class Agreement:
    """How a part of a board ranks beside the rest.

    Attributes:
        whole: Kendall's tau-b with the ranking over the rest, and its 95 % interval: bootstrap over the repetitions of
            every task and over agents.
        top: Kendall's tau-b among the `TOP` agents that are best over the rest.
    """

    whole: Interval
    top: float


@dataclass(frozen=True)
class LiteChoice:
    """A part of a suite.

    Attributes:
        tasks: Its tasks.
        repetitions: How many of their first repetitions.
        agrees: How it ranks beside the rest.
        held_out: Mean of tau among all agents and among the best, where the tasks were chosen on every other repetition
            and the rankings are of those between; NaN with fewer than two repetitions. It owes nothing to the choice.
        random: Mean of tau of random sets of as many tasks, among all agents and among the best.
        agents: On how many agents it rests.
        whole: How many repetitions of each task the whole has.
    """

    tasks: tuple[str, ...]
    repetitions: int
    agrees: Agreement
    held_out: tuple[float, float]
    random: tuple[float, float]
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
    return [task for task, about in summary.tasks.items() if about.env.id not in WITH_DATA]


def choose_lite(summary: Summary, n_tasks: int, repetitions: int, among: Collection[str] | None = None) -> LiteChoice:
    """The set of `n_tasks` tasks whose first repetitions rank most like the rest.

    Args:
        summary: The board.
        n_tasks: How many tasks.
        repetitions: How many repetitions of each; as many as all agents have played, where that is less.
        among: Tasks to choose from; None for all.

    Raises:
        ValueError: if there are not so many tasks, none would be left, or there are fewer than three agents to rank.
    """
    tasks, agents, ranks = block_ranks(summary)
    candidates = [i for i, task in enumerate(tasks) if among is None or task in among]
    most = min(len(candidates), len(tasks) - 1)
    if not 1 <= n_tasks <= most or len(agents) < 3:
        raise ValueError(f"n_tasks: expected at most {most} and three agents or more, got {n_tasks} and {len(agents)}")
    n = min(repetitions, ranks.shape[1])
    return _described(tasks, ranks, _best_set(ranks, candidates, n_tasks, n), n, candidates)


def lite_choice(summary: Summary, chosen: Collection[str], repetitions: int) -> LiteChoice:
    """The same of a set of tasks that was chosen before.

    Args:
        summary: The board.
        chosen: Its tasks.
        repetitions: How many repetitions of each.

    Raises:
        ValueError: if one of them is not among the tasks that agents are ranked on, or there are no others.
    """
    tasks, _, ranks = block_ranks(summary)
    if not set(chosen) < set(tasks):
        raise ValueError(f"chosen: expected some of {', '.join(tasks)}, got {', '.join(chosen)}")
    part = [tasks.index(task) for task in chosen]
    return _described(tasks, ranks, part, min(repetitions, ranks.shape[1]))


def _described(
    tasks: list[str], ranks: np.ndarray, chosen: list[int], n: int, candidates: list[int] | None = None
) -> LiteChoice:
    held_out = np.full(2, np.nan)
    if candidates is not None and ranks.shape[1] > 1:
        halves = ranks[:, ::2], ranks[:, 1::2]
        taus = [
            _taus(other, _best_set(one, candidates, len(chosen), min(n, one.shape[1])), min(n, other.shape[1]))
            for one, other in (halves, halves[::-1])
        ]
        held_out = np.mean(taus, axis=0)
    rng = np.random.default_rng(_SEED)
    drawn = [_taus(ranks, rng.permutation(len(tasks))[: len(chosen)].tolist(), n) for _ in range(_RESAMPLES)]
    random = np.mean(drawn, axis=0)
    return LiteChoice(
        tuple(tasks[i] for i in chosen),
        n,
        agreement(ranks, chosen, n),
        (float(held_out[0]), float(held_out[1])),
        (float(random[0]), float(random[1])),
        ranks.shape[2],
        ranks.shape[1],
    )


def _best_set(ranks: np.ndarray, candidates: list[int], n_tasks: int, n: int) -> list[int]:
    """The set of tasks whose first `n` repetitions agree best with the rest, on average over resampled agents."""
    over_all, parts = ranks.mean(axis=1), ranks[:, :n].mean(axis=1)
    sets = list(itertools.combinations(candidates, n_tasks))
    E, _, A = ranks.shape
    # Agreement of a pair of agents, of which tau-b without ties is the mean: one table serves all resamples.
    first, second = np.triu_indices(A, 1)
    agree, best = (np.empty((len(sets), len(first)), np.float32) for _ in range(2))
    for i, chosen in enumerate(sets):
        part = parts[list(chosen)].mean(axis=0)
        rest = over_all[[task for task in range(E) if task not in chosen]].mean(axis=0)
        agree[i] = np.sign(part[first] - part[second]) * np.sign(rest[first] - rest[second])
        leads = np.zeros(A, bool)
        leads[np.argsort(rest, kind="stable")[:TOP]] = True
        best[i] = leads[first] & leads[second]
    counts = np.random.default_rng(_SEED).multinomial(A, np.full(A, 1 / A), size=_RESAMPLES)
    weights = (counts[:, first] * counts[:, second]).astype(np.float32)
    weights = weights[weights.any(axis=1)]  # not those of one agent alone
    whole = (agree @ (weights / weights.sum(axis=1, keepdims=True)).T).mean(axis=1)
    among_best = best @ weights.T
    top = np.divide((agree * best) @ weights.T, among_best, out=np.zeros_like(among_best), where=among_best > 0)
    return [int(i) for i in sets[int(np.argmax(whole + top.mean(axis=1)))]]


def agreement(ranks: Float[np.ndarray, "tasks reps agents"], part: Collection[int], n: int) -> Agreement:
    """How the first `n` repetitions of some tasks rank beside the other tasks."""
    chosen = list(part)
    tau, top = _taus(ranks, chosen, n)
    rng = np.random.default_rng(_SEED)
    E, R, A = ranks.shape
    draws = []
    for _ in range(_RESAMPLES):
        agents = rng.integers(A, size=A)
        # The first n repetitions stay the part's own, as they are of the tasks alone that the rest has not.
        within = rng.integers(n, size=(E, n))
        beyond = rng.integers(n, R, size=(E, R - n)) if n < R else np.empty((E, 0), int)
        again = np.take_along_axis(ranks, np.concatenate([within, beyond], axis=1)[:, :, None], axis=1)[:, :, agents]
        draws.append(_taus(again, chosen, n)[0])
    finite = np.array(draws)[np.isfinite(draws)]
    low, high = np.quantile(finite, [0.025, 0.975])
    return Agreement(Interval(tau, float(low), float(high), A, 0.95), top)


def _taus(ranks: np.ndarray, chosen: list[int], n: int) -> tuple[float, float]:
    """Kendall's tau-b of a part with the rest, among all agents and among those that are best over the rest."""
    part = ranks[chosen, :n].mean(axis=(0, 1))
    rest = np.delete(ranks, chosen, axis=0).mean(axis=(0, 1))
    best = np.argsort(rest, kind="stable")[:TOP]
    return _tau(part, rest), _tau(part[best], rest[best])


def _tau(x: np.ndarray, y: np.ndarray) -> float:
    return float(scipy.stats.kendalltau(x, y).statistic)
