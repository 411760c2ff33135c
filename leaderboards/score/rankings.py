"""Rankings per task and over the tasks of a class.

Of tasks on arms and on boxes, or with different feedback, few agents play all: a mean rank is over one class.

| symbol | meaning |
|---|---|
| block | one repetition of one task: all agents face the same instance, noise and delays |
| score | regret ratio at the horizon, cumulative regret where uniform sampling did not run; or another of `RANKED_BY` |
| own | agents that somebody compares with those of a board: their pairs with the others are a family of its own |
| class | tasks with the same domain and feedback model; all tasks, if the same agents play them |
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, fields, replace

import numpy as np
import pandas as pd  # ranks by SciPy load `scipy.stats`, a tenth of the time of a short command
from jaxtyping import Float

from gpbandit_envs.channels import as_channel
from leaderboards.play.feedback import words_of
from leaderboards.score.scores import Block
from leaderboards.score.statistics import (
    LEAST_BLOCKS,
    FlipTest,
    Interval,
    Ranking,
    flip_test,
    levelled,
    rank,
    sign_patterns,
    stratified_means,
)
from leaderboards.score.summary import REFERENCES, Summary

__all__ = [
    "RANKED_BY",
    "OverallRanking",
    "TaskClass",
    "TaskRanking",
    "class_rankings",
    "no_better_than_uniform",
    "overall_ranking",
    "ranked_among",
    "ranked_on",
    "ranked_scores",
    "ranking_over",
    "task_classes",
    "task_ranking",
    "tested",
]

RANKED_BY = ("cumulative_regret", "simple_regret", "inference_regret", "best_so_far")
"""Criteria: metrics that agents can be ranked by; cumulative regret as a ratio where that is known."""

_SEED = 20_260_101  # of random flips and exchanges: the same folder gives the same page


@dataclass(frozen=True)
class TaskRanking:
    """The ranking on one task.

    Attributes:
        metric: The metric that is ranked.
        agents: Ranked agents, k of them: those that finished all blocks.
        blocks: Blocks, n of them: those that at least half of the agents finished.
        Y: Scores, shape `(n, k)`.
        ranking: Tie groups and rank intervals; of fewer than `LEAST_BLOCKS` blocks there are none.
        test: What the ranking rests on, with intervals.
    """

    metric: str
    agents: tuple[str, ...]
    blocks: tuple[Block, ...]
    Y: Float[np.ndarray, "n k"]
    ranking: Ranking
    test: FlipTest


@dataclass(frozen=True)
class OverallRanking:
    """The ranking over several tasks by mean rank, every task with the same weight.

    Attributes:
        tasks: Tasks that count.
        agents: Ranked agents, k of them: those that are ranked on every task.
        mean_rank: Mean over tasks of the mean rank within blocks, one interval an agent.
        ranking: Tie groups from tests of the ranks within blocks.
        n_blocks: Blocks of all tasks.
    """

    tasks: tuple[str, ...]
    agents: tuple[str, ...]
    mean_rank: tuple[Interval, ...]
    ranking: Ranking
    n_blocks: int

    @property
    def caveat(self) -> str:
        """Why there are no places; "" where the test could tell two agents apart."""
        if self.ranking.is_told:
            return ""
        n = self.n_blocks
        return (
            f"too few repetitions to tell agents apart: {n} {'has' if n == 1 else 'have'} finished, "
            f"places begin at {LEAST_BLOCKS}"
        )

    @property
    def ordered(self) -> tuple[str, ...]:
        """The ranked agents by mean rank, the best first."""
        means = {agent: rank.estimate for agent, rank in zip(self.agents, self.mean_rank)}
        return tuple(sorted(self.agents, key=means.__getitem__))


@dataclass(frozen=True)
class TaskClass:
    """Tasks over which agents are ranked together.

    Attributes:
        name: Such as "arms", or "arms, batches of 8" where feedback differs; "all environments" if it is alone.
        tasks: Its tasks, in the order of the summary.
    """

    name: str
    tasks: tuple[str, ...]


def task_classes(summary: Summary) -> tuple[TaskClass, ...]:
    """The classes of the tasks of a folder, in the order of their first tasks.

    Tasks of the suite on which the same agents have finished runs in all classes are one class.
    """
    classes: dict[tuple[str, str], list[str]] = {}
    for name, task in summary.tasks.items():
        classes.setdefault((task.domain, task.feedback), []).append(name)
    listed = {name for name, task in summary.tasks.items() if task.in_suite}
    played = {
        kind: {agent for task, agent in summary.scores if task in tasks and task in listed}
        for kind, tasks in classes.items()
    }
    found = [agents for agents in played.values() if agents]
    if all(agents == found[0] for agents in found):
        return (TaskClass("all environments", tuple(summary.tasks)),)
    several = len({feedback for _, feedback in classes}) > 1
    named: dict[str, list[str]] = {}
    for (domain, feedback), tasks in classes.items():
        name = domain or "nothing finished"
        if several and domain:
            name += f", {words_of(as_channel(feedback))}"
        named.setdefault(name, []).extend(tasks)
    return tuple(TaskClass(name, tuple(tasks)) for name, tasks in named.items())


def task_ranking(
    summary: Summary,
    task: str,
    by: str = "cumulative_regret",
    own: Collection[str] | None = None,
    ends: bool = True,
) -> TaskRanking | None:
    """The ranking on `task`; None where no regret is known or nothing has finished.

    Args:
        summary: The folder, reduced.
        task: The task.
        by: One of `RANKED_BY`.
        own: One's own agents; None for those that play in the folder against a board.
        ends: Whether intervals of differences are wanted, see `tested`.

    Raises:
        ValueError: if `by` is none of them.
    """
    found = ranked_on(summary, task, by)
    if found is None:
        return None
    agents, blocks = found
    by_agent = summary.on(task)
    metric = "regret_ratio" if by == "cumulative_regret" and summary.reference(task) else by
    Y = np.stack([by_agent[name].finals[metric][by_agent[name].rows(list(blocks))] for name in agents], axis=1)
    if not np.isfinite(Y).all():
        # The ratio is undefined: uniform sampling has no regret, or has not played every block.
        metric = by
        Y = np.stack([by_agent[name].finals[metric][by_agent[name].rows(list(blocks))] for name in agents], axis=1)
    return _task_ranking(metric, agents, blocks, Y, summary.own if own is None else own, ends)


def ranked_on(
    summary: Summary, task: str, by: str = "cumulative_regret"
) -> tuple[tuple[str, ...], tuple[Block, ...]] | None:
    """The agents that are ranked on a task, and the blocks that their ranks rest on; None if there are none.

    Raises:
        ValueError: if `by` is none of `RANKED_BY`.
    """
    if by not in RANKED_BY:
        raise ValueError(f"by: expected one of {', '.join(RANKED_BY)}, got {by!r}")
    by_agent = {name: scores for name, scores in summary.on(task).items() if np.isfinite(scores.finals[by]).all()}
    finished = Counter(block for scores in by_agent.values() for block in scores.blocks)
    blocks = tuple(sorted(block for block, n in finished.items() if 2 * n >= len(by_agent)))
    agents = tuple(name for name, scores in by_agent.items() if set(blocks) <= set(scores.blocks))
    return (agents, blocks) if blocks and agents else None


def _task_ranking(
    metric: str,
    agents: tuple[str, ...],
    blocks: tuple[Block, ...],
    Y: np.ndarray,
    own: Collection[str],
    ends: bool = True,
) -> TaskRanking:
    test = tested(Y, agents, own, ends)
    return TaskRanking(metric, agents, blocks, Y, rank(Y, test.p), test)


def tested(Y: Float[np.ndarray, "n k"], agents: tuple[str, ...], own: Collection[str], ends: bool) -> FlipTest:
    """The test of all pairs; where some agents are one's own, that of each of them with each other agent in its place.

    Whoever compares one policy with forty of a board asks forty questions, and not the 820 of the board.
    Without `ends` it has p-values alone, in half the time, see `flip_test`.
    """
    of_all = flip_test(Y, _patterns(len(Y)), ends=ends)
    mine = np.array([name in own for name in agents])
    if not mine.any() or mine.all():
        return of_all
    asked = mine[:, None] ^ mine[None, :]
    of_own = flip_test(Y, _patterns(len(Y)), asked, ends=ends)
    return FlipTest(*(np.where(asked, getattr(of_own, f.name), getattr(of_all, f.name)) for f in fields(FlipTest)))


def ranked_scores(summary: Summary, rankings: Mapping[str, TaskRanking | None]) -> Summary:
    """The summary with those scores alone that ranks rest on, where an agent is ranked; others keep all that they have.

    In a folder that is half played, means over all finished repetitions of each agent are of other instances than the
    ranks, and of other ones than those of its rivals.
    """
    scores = {}
    for (task, agent), found in summary.scores.items():
        ranking = rankings[task]
        scores[task, agent] = found if ranking is None or agent not in ranking.agents else found.on(ranking.blocks)
    return replace(summary, scores=scores)


def ranked_among(found: TaskRanking, agents: Collection[str], own: Collection[str] = ()) -> TaskRanking | None:
    """The ranking of some agents among themselves, on the same blocks; None if none of them is ranked."""
    kept = [i for i, name in enumerate(found.agents) if name in agents]
    if not kept:
        return None
    Y = found.Y[:, kept]
    names = tuple(found.agents[i] for i in kept)
    return _task_ranking(found.metric, names, found.blocks, Y, own)


def class_rankings(
    summary: Summary,
    classes: Iterable[TaskClass],
    rankings: Mapping[str, TaskRanking | None],
    own: Collection[str] | None = None,
) -> dict[str, OverallRanking]:
    """By name of the class, the ranking over its tasks, see `ranking_over`; a class without one is left out."""
    found = {one.name: ranking_over(summary, one.tasks, rankings, own=own) for one in classes}
    return {name: over for name, over in found.items() if over is not None}


def ranking_over(
    summary: Summary,
    tasks: Iterable[str],
    rankings: Mapping[str, TaskRanking | None],
    agents: Collection[str] | None = None,
    own: Collection[str] | None = None,
) -> OverallRanking | None:
    """The ranking over those of `tasks` that the suite asks for.

    Args:
        summary: The folder, reduced.
        tasks: Names of tasks.
        rankings: The ranking on each task.
        agents: Agents that are ranked among themselves; None for all.
        own: One's own agents, as in `task_ranking`.

    Returns:
        The ranking; None if no agent is ranked on all of them, or only one of several: it is no winner.
    """
    listed = [task for task in tasks if summary.tasks[task].in_suite]
    own = summary.own if own is None else own
    found = overall_ranking({task: rankings[task] for task in listed}, agents, own)
    alone = len({agent for task in listed for agent in summary.on(task) if agents is None or agent in agents}) == 1
    return None if found is None or (len(found.agents) == 1 and not alone) else found


def overall_ranking(
    rankings: dict[str, TaskRanking | None], among: Collection[str] | None = None, own: Collection[str] = ()
) -> OverallRanking | None:
    """The ranking of the agents `among` over all tasks that have one; None if no agent is ranked on all of them."""
    ranked = {task: found for task, found in rankings.items() if found is not None}
    if not ranked:
        return None
    first, *others = ranked.values()
    agents = tuple(
        name
        for name in first.agents
        if (among is None or name in among) and all(name in other.agents for other in others)
    )
    if not agents:
        return None
    strata = [
        pd.DataFrame(levelled(found.Y[:, [found.agents.index(name) for name in agents]])).rank(axis=1).to_numpy()
        for found in ranked.values()
    ]
    total = sum(len(R) for R in strata)
    # Scaled so that the mean over all blocks gives every task the same weight.
    weighted = np.concatenate([R * total / (len(strata) * len(R)) for R in strata])
    return OverallRanking(
        tuple(ranked),
        agents,
        tuple(stratified_means(strata)),
        rank(weighted, tested(weighted, agents, own, ends=False).p),
        total,
    )


@functools.lru_cache(maxsize=4)
def _patterns(n: int) -> Float[np.ndarray, "n m"]:
    """The signs of n blocks, kept: drawing them takes as long as testing a dozen agents."""
    found = sign_patterns(n, np.random.default_rng(np.random.SeedSequence(_SEED)))
    found.flags.writeable = False
    return found


def no_better_than_uniform(summary: Summary, among: Container[str] | None = None) -> dict[str, dict[str, float]]:
    """Agents whose mean regret ratio is at least 1 on tasks of the suite, with the ratio on each of those.

    The ratio is over the runs of the same repetitions; uniform sampling itself is left out.

    Args:
        summary: The folder, reduced.
        among: Agents that are looked at; None for all.
    """
    found: dict[str, dict[str, float]] = {}
    for agent, ref in summary.agents.items():
        if ref.id in REFERENCES or (among is not None and agent not in among):
            continue
        for task, about in summary.tasks.items():
            scores = summary.scores.get((task, agent))
            if scores is None or not about.in_suite:
                continue
            ratio = scores.finals["regret_ratio"]
            paired = ratio[np.isfinite(ratio)]
            if len(paired) and paired.mean() >= 1:
                found.setdefault(agent, {})[task] = float(paired.mean())
    return found
