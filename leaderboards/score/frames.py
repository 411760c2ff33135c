"""Rankings of plain scores: of arrays with a row a block and a column an agent, and of anybody's frame.

Nothing here knows how scores were made or where they are kept.

| symbol | meaning |
|---|---|
| block | one repetition of one task: all agents face the same instance, noise and delays |
| own | agents that somebody compares with those of a board: their pairs with the others are a family of its own |
| n, k | blocks, agents |
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd  # ranks by SciPy load `scipy.stats`, a tenth of the time of a short command
from jaxtyping import Float

from leaderboards.score import statistics
from leaderboards.score.statistics import Interval, Ranking, flip_test, levelled, sign_patterns, stratified_means

_SEED = 20_260_101  # of random flips and exchanges: the same scores give the same ranking
_COLUMNS = ("env", "agent", "repetition", "value")


@dataclass(frozen=True)
class TaskRanking:
    """The ranking on one task.

    Attributes:
        metric: The metric that is ranked.
        agents: Ranked agents, k of them: those that finished all blocks.
        blocks: Blocks, n of them: those that at least half of the agents finished.
        Y: Scores, shape `(n, k)`.
        ranking: Tie groups and rank intervals, with the p-values that they rest on; of fewer than `LEAST_BLOCKS` blocks
            there are none.
    """

    metric: str
    agents: tuple[str, ...]
    blocks: tuple[Any, ...]
    Y: Float[np.ndarray, "n k"]
    ranking: Ranking


@dataclass(frozen=True)
class OverallRanking:
    """The ranking over several tasks by mean rank, every task with the same weight.

    Attributes:
        tasks: Tasks that count.
        agents: Ranked agents, k of them: those that are ranked on every task.
        mean_rank: Mean over tasks of the mean rank within blocks, one interval an agent.
        ranking: Tie groups from tests of the ranks within blocks.
    """

    tasks: tuple[str, ...]
    agents: tuple[str, ...]
    mean_rank: tuple[Interval, ...]
    ranking: Ranking

    @property
    def ordered(self) -> tuple[str, ...]:
        """The ranked agents by mean rank, the best first."""
        means = {agent: rank.estimate for agent, rank in zip(self.agents, self.mean_rank)}
        return tuple(sorted(self.agents, key=means.__getitem__))

    def place(self, i: int) -> str:
        """The place of agent i, such as "2="."""
        return self.ranking.marked(int(self.ranking.group[i]))


def rank(frame: pd.DataFrame, own: Collection[str] = (), larger_is_better: bool = False) -> pd.DataFrame:
    """Rank agents by the scores of a frame, on each environment and over all of them.

    >>> import leaderboards
    >>> import pandas as pd
    >>> regret = {"mine": [3.0, 2.0, 4.0, 2.5, 3.5, 3.1], "theirs": [5.0, 4.5, 6.0, 4.0, 5.5, 5.2]}
    >>> rows = [("bowl", agent, r, value) for agent, values in regret.items() for r, value in enumerate(values)]
    >>> frame = pd.DataFrame(rows, columns=["env", "agent", "repetition", "value"])
    >>> leaderboards.rank(frame).index.tolist()
    ['mine', 'theirs']

    Scores of one environment and repetition are paired: all agents met the same instance and noise there. The ranking
    on an environment rests on the repetitions that at least half of its agents have. It is of the agents that have all
    of these.

    Args:
        frame: One row a score, with the columns `env`, `agent`, `repetition` and `value`; others are not looked at.
        own: Agents that are compared with all others: p-values are then adjusted for these pairs alone.
        larger_is_better: Whether large values win.

    Returns:
        One row an agent, which is the index, the best first. `rank` is that of its tie group, `best` and `worst` the
        ranks that the tests leave open. `mean_rank` with its 95 % interval `low` to `high` gives every environment the
        same weight. Then comes the mean value on each environment. An agent that is not ranked on every environment
        comes last, without a rank. Fewer than six repetitions give no ranks.

    Raises:
        ValueError: if a column is missing, a value is not finite, or an agent has two scores of one repetition.
    """
    missing = [name for name in _COLUMNS if name not in frame.columns]
    if missing:
        raise ValueError(f"frame: expected the columns {', '.join(_COLUMNS)}, got none named {missing[0]!r}")
    if not np.isfinite(frame["value"].to_numpy(np.float64)).all():
        raise ValueError("frame: expected finite values, got NaN or infinity: leave out what is not known")
    if frame.duplicated([*_COLUMNS[:3]]).any():
        twice = frame[frame.duplicated([*_COLUMNS[:3]])].iloc[0]
        where = f"{twice['agent']!r} on {twice['env']!r} in repetition {twice['repetition']}"
        raise ValueError(f"frame: expected one score an agent, environment and repetition, got two of {where}")
    sign = -1.0 if larger_is_better else 1.0
    rankings: dict[str, TaskRanking | None] = {}
    for env, part in frame.groupby("env", sort=False):
        wide = sign * part.pivot(index="repetition", columns="agent", values="value")
        found = complete({str(name): tuple(scores.dropna().index) for name, scores in wide.items()})
        if found is not None:
            agents, blocks = found
            Y = np.ascontiguousarray(wide.loc[list(blocks), list(agents)].to_numpy(np.float64))
            rankings[str(env)] = rank_task("value", agents, blocks, Y, own)
    over = overall_ranking(rankings, own=own)
    means = frame.groupby(["agent", "env"], sort=False)["value"].mean().unstack()[list(dict.fromkeys(frame["env"]))]
    return (overall_frame(over).join(means, how="right") if over is not None else means).sort_values(
        "mean_rank" if over is not None else list(means.columns), kind="stable"
    )


def overall_frame(found: OverallRanking) -> pd.DataFrame:
    """A ranking over several tasks as a frame: one row an agent, with its rank, open ranks and mean rank."""
    index = pd.Index(list(found.agents), name="agent")
    ranks = ranks_frame(found.ranking, found.agents)
    ends = [(mean.estimate, mean.low, mean.high) for mean in found.mean_rank]
    return ranks.join(pd.DataFrame(ends, index=index, columns=["mean_rank", "low", "high"]))


def ranks_frame(ranking: Ranking, agents: Collection[str]) -> pd.DataFrame:
    """Rank of the tie group and open ranks, one row an agent; missing where too few blocks tell nobody apart."""
    columns = {"rank": ranking.group, "best": ranking.best, "worst": ranking.worst}
    frame = pd.DataFrame(columns, index=pd.Index(list(agents), name="agent")).astype("Int64")
    if not ranking.is_told:
        frame[:] = pd.NA
    return frame


def complete(finished: Mapping[str, tuple[Any, ...]]) -> tuple[tuple[str, ...], tuple[Any, ...]] | None:
    """The blocks that at least half of the agents have finished, and the agents that have finished all of these.

    Returns:
        Agents and blocks; None if there are none.
    """
    counts = Counter(block for blocks in finished.values() for block in blocks)
    blocks = tuple(sorted(block for block, n in counts.items() if 2 * n >= len(finished)))
    agents = tuple(name for name, theirs in finished.items() if set(blocks) <= set(theirs))
    return (agents, blocks) if blocks and agents else None


def rank_task(
    metric: str,
    agents: tuple[str, ...],
    blocks: tuple[Any, ...],
    Y: Float[np.ndarray, "n k"],
    own: Collection[str] = (),
) -> TaskRanking:
    """The ranking of agents by their scores on the same blocks; for `own` see `tested`."""
    return TaskRanking(metric, agents, blocks, Y, statistics.rank(Y, tested(Y, agents, own, np.ones(len(Y)))))


def tested(
    Y: Float[np.ndarray, "n k"],
    agents: tuple[str, ...],
    own: Collection[str],
    weights: Float[np.ndarray, " n"],
) -> Float[np.ndarray, "k k"]:
    """P-values, adjusted for all pairs; or where some agents are one's own, for each of them with each other agent.

    Whoever compares one policy with forty of a board asks forty questions, and not the 820 of the board.
    """
    of_all = flip_test(Y, patterns(len(Y)), ends=False, weights=weights).p
    mine = np.array([name in own for name in agents])
    if not mine.any() or mine.all():
        return of_all
    asked = mine[:, None] ^ mine[None, :]
    return np.where(asked, flip_test(Y, patterns(len(Y)), asked, ends=False, weights=weights).p, of_all)


def pooled_ranking(strata: list[Float[np.ndarray, "_n k"]], agents: tuple[str, ...], own: Collection[str]) -> Ranking:
    """The ranking of agents by the mean over strata of their mean scores, by tests of all blocks; see `tested`."""
    Y, weights = np.concatenate(strata), even_weights([len(x) for x in strata])
    return statistics.rank(Y * weights[:, None], tested(Y, agents, own, weights))


def pooled_difference(strata: list[Float[np.ndarray, " _n"]]) -> tuple[Interval, float]:
    """Mean over strata of the mean differences of a pair, and p, by the flip test of this pair alone on all blocks."""
    D = np.concatenate(strata)
    columns, weights = np.column_stack([D, np.zeros(len(D))]), even_weights([len(x) for x in strata])
    test = flip_test(columns, patterns(len(D)), weights=weights)
    mean = float(np.mean([x.mean() for x in strata]))
    return Interval(mean, float(test.low[0, 1]), float(test.high[0, 1]), len(D)), float(test.p_single[0, 1])


def even_weights(sizes: list[int]) -> Float[np.ndarray, " n"]:
    """Weights of the blocks of all strata, of mean 1, with which every stratum counts as much."""
    return np.repeat([sum(sizes) / (len(sizes) * n) for n in sizes], sizes)


def ranked_among(found: TaskRanking, agents: Collection[str], own: Collection[str] = ()) -> TaskRanking | None:
    """The ranking of some agents among themselves, on the same blocks; None if none of them is ranked."""
    kept = [i for i, name in enumerate(found.agents) if name in agents]
    if not kept:
        return None
    return rank_task(found.metric, tuple(found.agents[i] for i in kept), found.blocks, found.Y[:, kept], own)


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
    return OverallRanking(
        tuple(ranked),
        agents,
        tuple(stratified_means(strata)),
        pooled_ranking(strata, agents, own),
    )


@functools.lru_cache(maxsize=4)
def patterns(n: int) -> Float[np.ndarray, "n m"]:
    """The signs of n blocks, kept: drawing them takes as long as testing a dozen agents."""
    found = sign_patterns(n, np.random.default_rng(np.random.SeedSequence(_SEED)))
    found.flags.writeable = False
    return found
