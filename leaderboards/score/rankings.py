"""Rankings per task and over all tasks.

| symbol | meaning |
|---|---|
| block | one repetition of one task: all agents face the same instance, noise and delays |
| score | regret ratio at the horizon; cumulative regret where the uniform policy did not run |
"""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import dataclass

import numpy as np
import scipy.stats
from jaxtyping import Float

from leaderboards.score.scores import Block
from leaderboards.score.statistics import (
    Interval,
    Ranking,
    holm,
    holm_levels,
    paired_t,
    pairwise_p,
    rank,
    sign_flip,
    stratified_mean,
)
from leaderboards.score.summary import Summary

__all__ = ["OverallRanking", "TaskRanking", "overall_ranking", "task_ranking"]

_SEED = 20_260_101  # of random flips and exchanges: the same folder gives the same page


@dataclass(frozen=True)
class TaskRanking:
    """The ranking on one task.

    Attributes:
        metric: The metric that is ranked.
        agents: Ranked agents, k of them: those that finished all blocks.
        blocks: Blocks, n of them: those that at least half of the agents finished.
        Y: Scores, shape `(n, k)`.
        ranking: Tie groups and rank intervals.
    """

    metric: str
    agents: tuple[str, ...]
    blocks: tuple[Block, ...]
    Y: Float[np.ndarray, "n k"]
    ranking: Ranking

    @functools.cached_property
    def levels(self) -> Float[np.ndarray, "k k"]:
        """Level at which Holm's correction tests each pair, shape `(k, k)`: what a further repetition has to reach."""
        return holm_levels(paired_t(self.Y), self.ranking.alpha)


@dataclass(frozen=True)
class OverallRanking:
    """The ranking over several tasks by mean rank, every task with the same weight.

    Attributes:
        tasks: Tasks that count.
        agents: Ranked agents, k of them: those that are ranked on every task.
        mean_rank: Mean over tasks of the mean rank within blocks, one interval an agent.
        ranking: Tie groups from sign-flip tests of the ranks within blocks.
    """

    tasks: tuple[str, ...]
    agents: tuple[str, ...]
    mean_rank: tuple[Interval, ...]
    ranking: Ranking


def task_ranking(summary: Summary, task: str) -> TaskRanking | None:
    """The ranking on `task`; None where no regret is known or nothing has finished."""
    metric = "regret_ratio" if summary.uniform(task) else "cumulative_regret"
    by_agent = {
        name: scores
        for name, scores in summary.on(task).items()
        if np.isfinite(scores.finals["cumulative_regret"]).all()
    }
    finished = Counter(block for scores in by_agent.values() for block in scores.blocks)
    blocks = tuple(sorted(block for block, n in finished.items() if 2 * n >= len(by_agent)))
    agents = tuple(name for name, scores in by_agent.items() if set(blocks) <= set(scores.blocks))
    if not blocks or not agents:
        return None
    Y = np.stack([by_agent[name].finals[metric][by_agent[name].rows(list(blocks))] for name in agents], axis=1)
    if not np.isfinite(Y).all():
        # The ratio is undefined: the uniform policy has no regret, or has not played every block.
        metric = "cumulative_regret"
        Y = np.stack([by_agent[name].finals[metric][by_agent[name].rows(list(blocks))] for name in agents], axis=1)
    return TaskRanking(metric, agents, blocks, Y, rank(Y, pairwise_p(Y, _generator())))


def overall_ranking(rankings: dict[str, TaskRanking | None]) -> OverallRanking | None:
    """The ranking over all tasks that have one; None if no agent is ranked on all of them."""
    ranked = {task: found for task, found in rankings.items() if found is not None}
    if not ranked:
        return None
    first, *others = ranked.values()
    agents = tuple(name for name in first.agents if all(name in other.agents for other in others))
    if not agents:
        return None
    strata = [
        scipy.stats.rankdata(found.Y[:, [found.agents.index(name) for name in agents]], axis=1)
        for found in ranked.values()
    ]
    total = sum(len(R) for R in strata)
    # Scaled so that the mean over all blocks gives every task the same weight.
    weighted = np.concatenate([R * total / (len(strata) * len(R)) for R in strata])
    return OverallRanking(
        tuple(ranked),
        agents,
        tuple(stratified_mean([R[:, j] for R in strata]) for j in range(len(agents))),
        rank(weighted, holm(sign_flip(weighted, _generator()))),
    )


def _generator() -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(_SEED))
