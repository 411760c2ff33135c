"""Scores from 0 to 100 by four criteria, and the ranking over tasks by them.

| criterion | score of a run |
|---|---|
| `cumulative_regret` | `100 (1 - R_T / (T gap))` |
| `simple_regret` | `100 (1 - r_T / gap)`, r_T being the regret of the best evaluation |
| `inference_regret` | `100 (1 - i_T / gap)`, i_T being the regret of what the agent recommends at the end |
| one of `IN_UNITS` | `100 (1 - i)`, i being what it is the mean of: 0 is a regret of one unit of the reward |
| `best_so_far` | `-100 / 3` times the mean over log t of `log10 max(r_t / gap, 0.001)` |

`gap` is the mean gap of the run's own instance, the mean regret of one uniform draw: by the first three 0 is as good as
one such draw, and 100 is no regret. The best of many draws is better than 0 by simple regret, and what is recommended
after them by inference regret. The score of an agent depends on no other agent.

| symbol | meaning |
|---|---|
| E | tasks that have a score |
| k | agents, aliases being one |
| S | mean score of each agent on each task, shape `(E, k)` |
| narrow | on these tasks: other repetitions of them would have given other scores |
| wide | on tasks like these: other tasks would have |
| F | different functions of these tasks: those that differ in feedback or noise alone have the same, and count as one |
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from gpbandit_envs.channels import as_channel
from leaderboards.play.measures import IN_UNITS
from leaderboards.score.frames import pooled_difference, pooled_ranking
from leaderboards.score.metrics import BEST_SO_FAR, METRICS
from leaderboards.score.rankings import ranked_on
from leaderboards.score.reliability import Reliability, reliability
from leaderboards.score.scores import AgentScores, Block
from leaderboards.score.statistics import Interval, Ranking, levelled, mean_intervals, stratified_means
from leaderboards.score.summary import Summary

LEAST_TASKS = 15
"""Tasks below which places are those on these tasks: `docs/robustness.md` has what intervals of fewer cover."""


@dataclass(frozen=True)
class BoardScores:
    """Scores over tasks, every task with the same weight, and the ranking by them.

    Attributes:
        by: The criterion.
        tasks: Tasks that have a score, E of them.
        left_out: Why other tasks have none, in words, by task.
        agents: Agents with a score on all of them, k of them; of those that played alike only the first.
        aliases: By such an agent, the others that played like it.
        S: Mean score by task and agent, shape `(E, k)`.
        own: Agents that play in the folder, among those of a board.
        narrow: Mean score of each agent with its interval on these tasks.
        wide: The same with its interval on tasks like these.
        ranking: Places and tie groups.
        wins: Mean share of tasks won against each other policy, shape `(k,)`, see `wins`; NaN without another policy.
        unplaced: Agents that are not among these, by why not, in words.
        each: The scores on the blocks of each task, shape `(n, k)`.
        functions: The same for each of F functions, whose mean over them is that over tasks.
        families: Id of the environment of each task.
        reference: What uniform sampling is called; None if it has not played.
    """

    by: str
    tasks: tuple[str, ...]
    left_out: Mapping[str, str]
    agents: tuple[str, ...]
    aliases: Mapping[str, tuple[str, ...]]
    S: Float[np.ndarray, "E k"]
    own: Collection[str]
    narrow: tuple[Interval, ...]
    wide: tuple[Interval, ...]
    ranking: Ranking
    wins: Float[np.ndarray, " k"]
    unplaced: Mapping[str, tuple[str, ...]]
    each: Sequence[Float[np.ndarray, "_n k"]]
    functions: Sequence[Float[np.ndarray, "_n k"]]
    families: Sequence[str]
    reference: str | None

    @functools.cached_property
    def reliability(self) -> tuple[Reliability, ...]:
        """Whether the order of the agents that are better than uniform sampling would come again, and that of all.

        The first decides whether agents have places: agents that are worse than uniform sampling would buy any.
        """
        k, means = len(self.agents), self.S.mean(axis=0)
        asked = {f"all {k} agents": np.ones(k, bool)}
        uniform = None if self.reference is None else self.row(self.reference)
        if uniform is not None:
            better = means > means[uniform]
            asked = {f"the {better.sum()} agents better than {self.agents[uniform]}": better, **asked}
        found = (reliability([S[:, rows] for S in self.each], self.families, of) for of, rows in asked.items())
        return tuple(one for one in found if one is not None)

    @property
    def in_groups(self) -> bool:
        """Whether agents have groups in place of places, as their order would not come again."""
        return self.ranking.is_told and bool(self.reliability) and not self.reliability[0].is_enough

    def place(self, i: int) -> str:
        """The place of agent i, such as "2=", or the letter of its group."""
        return self.ranking.marked(int(self.ranking.group[i]), self.in_groups)

    @property
    def strata(self) -> Sequence[Float[np.ndarray, "_n k"]]:
        """What the ranking rests on: the scores on the blocks of each function, shape `(n, k)`, or their means."""
        return _rests_on(self.functions)

    @property
    def is_wide(self) -> bool:
        """Whether places are on tasks like these, of F >= `LEAST_TASKS` functions."""
        return len(self.functions) >= LEAST_TASKS

    @functools.cached_property
    def ordered(self) -> tuple[str, ...]:
        """The agents by mean score, the best first."""
        order = np.argsort(-self.S.mean(axis=0), kind="stable")
        return tuple(self.agents[i] for i in order)

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The agents by mean score, each with those that played like it."""
        return tuple((agent, *self.aliases.get(agent, ())) for agent in self.ordered)

    @property
    def where(self) -> str:
        """On what places and `shown` rest, in words."""
        return "on tasks like these" if self.is_wide else "on these tasks"

    @property
    def shown(self) -> tuple[Interval, ...]:
        """Mean score of each agent with the interval that goes with its place."""
        return self.wide if self.is_wide else self.narrow

    def row(self, agent: str) -> int | None:
        """Position of an agent, or of the one that it played like; None if it has no score on all tasks."""
        first = next((name for name, others in self.aliases.items() if agent in others), agent)
        return self.agents.index(first) if first in self.agents else None

    def sentence(self, a: str, b: str) -> str:
        """What can be said of two agents, in a sentence that can be pasted; "" where one has no score, or both are one.

        The interval is that of the flip test of this pair alone, on what the ranking rests on; p is the ranking's.
        """
        rows = {row for row in (self.row(a), self.row(b)) if row is not None}
        if len(rows) < 2:
            return ""
        i, j = sorted(rows, key=lambda row: -self.S[:, row].mean())
        difference, _ = pooled_difference([Y[:, i] - Y[:, j] for Y in self.strata])
        of, scores = len(self.S), levelled(self.S)
        text = (
            f"By {METRICS[self.by].title.lower()}, {self.agents[i]} has a higher score than {self.agents[j]} on "
            f"{int((scores[:, i] > scores[:, j]).sum())} of {of} environment{'s' if of > 1 else ''}; "
            f"the difference of the mean scores is {points(difference.estimate)}"
        )
        if not self.ranking.is_told:
            return f"{text}, of too few repetitions for an interval or a p-value."
        p, among = self.ranking.p[i, j], self._pairs(i, j)
        ends = f"{points(difference.low)} to {points(difference.high)}"
        return f"{text} (95 %: {ends}, {self.where}), p {'< 0.001' if p < 0.001 else f'= {p:.3f}'} over {among}."

    def _pairs(self, i: int, j: int) -> str:
        """The pairs that the p-value of two agents is adjusted for, in words."""
        k, n = len(self.agents), len(self.own)
        if n in (0, k) or (self.agents[i] in self.own) == (self.agents[j] in self.own):
            return f"all {k * (k - 1) // 2} pairs of {k} agents" if k > 2 else "this pair alone"
        return f"the {n * (k - n)} pairs of {n} own agent{'s' if n > 1 else ''} with {k - n} others"


def run_scores(scores: AgentScores, by: str) -> Float[np.ndarray, " n"]:
    """Score of each run by one of `leaderboards.score.rankings.CRITERIA`; NaN where regret or mean gap is unknown."""
    if by in IN_UNITS:
        return np.asarray(100 * (1 - scores.finals[by]))
    if by == "best_so_far":
        return np.asarray(100 * scores.finals[by] / np.log10(BEST_SO_FAR))
    evaluations = scores.t[-1] if by == "cumulative_regret" else 1
    return np.asarray(100 * (1 - scores.finals[by] / (evaluations * scores.mean_gaps)))


TaskScores = tuple[tuple[str, ...], tuple[Block, ...], Float[np.ndarray, "n k"]]
"""Agents, blocks, and the score of each agent on each block, shape `(n, k)`."""


def task_scores(summary: Summary, task: str, by: str) -> TaskScores | None:
    """Agents, blocks and the score of each agent on each block; None where no score is known.

    Agents and blocks are those that are ranked on the task, see `leaderboards.score.rankings`.
    """
    found = ranked_on(summary, task, by)
    if found is None:
        return None
    agents, blocks = found
    S = np.stack([run_scores(summary.scores[task, name].on(blocks), by) for name in agents], axis=1)
    return (agents, blocks, S) if np.isfinite(S).all() else None


def _means(strata: Sequence[Float[np.ndarray, "_n k"]]) -> Float[np.ndarray, "n_strata k"]:
    return np.array([Y.mean(axis=0) for Y in strata])


def _rests_on(functions: Sequence[Float[np.ndarray, "_n k"]]) -> list[Float[np.ndarray, "_n k"]]:
    return [_means(functions)] if len(functions) >= LEAST_TASKS else list(functions)


def _by_function(
    each: list[Float[np.ndarray, "_n k"]], drawn: Sequence[tuple[str, tuple[Block, ...]]]
) -> list[Float[np.ndarray, "_n k"]]:
    """Scores of tasks of one function, in the same repetitions, as one stratum: they share functions and noise.

    `drawn` has of each task what its functions are drawn by, and its repetitions.

    How much of a stratum's deviation from the mean counts grows with its tasks, so that each task weighs alike.
    """
    groups: dict[tuple[str, tuple[Block, ...]], list[Float[np.ndarray, "_n k"]]] = {}
    for Y, key in zip(each, drawn):
        groups.setdefault(key, []).append(Y)
    if len(groups) == len(each):
        return each
    mean, share = _means(each).mean(axis=0), len(groups) / len(each)
    return [mean + share * np.sum([Y - mean for Y in group], axis=0) for group in groups.values()]


def points(x: float) -> str:
    """A score, or a difference of scores, as text: one decimal, and no minus before a zero."""
    return f"{round(x, 1) + 0.0:.1f}".replace("-", "\N{MINUS SIGN}")


def board_scores(
    summary: Summary,
    tasks: Iterable[str] | None = None,
    by: str = "cumulative_regret",
    among: Collection[str] | None = None,
    aliases: Mapping[str, tuple[str, ...]] | None = None,
    known_scores: Callable[[str, str], TaskScores | None] | None = None,
) -> BoardScores | None:
    """The scores of agents over those of some tasks that the suite asks for.

    Args:
        summary: The folder, reduced.
        tasks: Names of tasks; None for all.
        by: The criterion.
        among: Agents that are ranked among themselves; None for all.
        aliases: Agents that played alike, see `leaderboards.score.board_scores`; None for no look at that.
        known_scores: What gives the `task_scores` of a task by a criterion; by default they are worked out.

    Returns:
        The scores; None if there is no task with a score, or no agent that has one on each.
    """
    scores_on = known_scores or functools.partial(task_scores, summary)
    listed = [task for task in (summary.tasks if tasks is None else tasks) if summary.tasks[task].in_suite]
    found = {task: scores_on(task, by) for task in listed}
    scored = {task: one for task, one in found.items() if one is not None}
    if not scored:
        return None
    known = dict(aliases or {})
    others = {name for group in known.values() for name in group}
    agents = tuple(
        name
        for name in summary.agents
        if name not in others
        and (among is None or {name, *known.get(name, ())} & set(among))
        and all(name in names for names, _, _ in scored.values())
    )
    if not agents:
        return None
    each = [Y[:, [names.index(name) for name in agents]] for names, _, Y in scored.values()]
    S = _means(each)
    drawn = [(summary.tasks[task].env.drawn, blocks) for task, (_, blocks, _) in scored.items()]
    functions = _by_function(each, drawn)
    own = {name for name in agents if {name, *known.get(name, ())} & set(summary.own)}
    return BoardScores(
        by,
        tuple(scored),
        {task: why_no_score(summary, task) for task in listed if task not in scored},
        agents,
        {name: known[name] for name in agents if name in known},
        S,
        own,
        tuple(map(at_most_100, stratified_means(functions))),
        tuple(map(at_most_100, mean_intervals(_means(functions).T))),
        pooled_ranking([-Y for Y in _rests_on(functions)], agents, own),
        wins(S, [summary.agents[name].id for name in agents]),
        _unplaced(summary, {task: names for task, (names, _, _) in scored.items()}, others | set(agents), among),
        each,
        functions,
        [summary.tasks[task].env.id for task in scored],
        summary.reference(next(iter(scored))),
    )


def _unplaced(
    summary: Summary, ranked: Mapping[str, Collection[str]], placed: Collection[str], among: Collection[str] | None
) -> dict[str, tuple[str, ...]]:
    """Agents without a place, by why: on some task they have no score, or of too few repetitions."""
    found: dict[str, list[str]] = {}
    for name in summary.agents:
        if name in placed or (among is not None and name not in among):
            continue
        tasks = [task for task, names in ranked.items() if name not in names]
        where = "all environments" if len(tasks) == len(ranked) else ", ".join(tasks[:3])
        where += f" and {len(tasks) - 3} more" if 3 < len(tasks) < len(ranked) else ""
        begun = any((task, name) in summary.scores for task in tasks)
        why = f"with fewer repetitions than others on {where}" if begun else f"no finished run on {where}"
        found.setdefault(why, []).append(name)
    return {why: tuple(names) for why, names in found.items()}


def wins(S: Float[np.ndarray, "E k"], policies: Sequence[str]) -> Float[np.ndarray, " k"]:
    """Mean share of tasks on which each agent is better than those of each other policy, ties counting half.

    The settings of a policy share its weight of 1, and those of the agent's own policy do not count: however many
    settings of one policy there are, no other policy gains by it.
    """
    S = levelled(S)
    better = (S[:, :, None] > S[:, None, :]).mean(axis=0) + 0.5 * (S[:, :, None] == S[:, None, :]).mean(axis=0)
    names = np.array(policies)
    against = np.array([better[:, names == one].mean(axis=1) for one in dict.fromkeys(policies)]).T
    other = np.array([[one != mine for one in dict.fromkeys(policies)] for mine in policies])
    found = np.full(len(policies), np.nan)
    np.divide((against * other).sum(axis=1), other.sum(axis=1), out=found, where=other.any(axis=1))
    return found


def at_most_100(interval: Interval) -> Interval:
    """An interval of scores, of which none is above 100."""
    return replace(interval, high=min(interval.high, 100.0)) if interval.is_known else interval


def why_no_score(summary: Summary, task: str) -> str:
    """Why a task that has no score has none, in words."""
    by_agent = summary.on(task)
    if not by_agent:
        return "no run is done"
    if task in summary.best_found:
        return "the optimum is unknown"
    if all(np.isnan(scores.mean_gaps).any() for scores in by_agent.values()):
        return "the mean gap of an instance is unknown, or 0 as where all arms are equally good"
    return "no two agents have finished the same repetitions"


SEQUENTIAL, BATCHES = "one at a time", "in batches"
"""Agents that wait for the result of every evaluation before the next one, and agents that do not."""

STATED = {
    "oracle": "true kernel",
    "misspecified": "wrong kernel",
    "certified": "assumed kernel at a proven distance",
    "learned": "assumed kernel",
}
"""What a task states, by its knowledge level."""


def batching(summary: Summary, agent: str) -> str:
    """`SEQUENTIAL` or `BATCHES`: how an agent played where it could wait as it liked; "" if it has not played so."""
    lengths = [
        float(scores.t[-1] / scores.finals["batches"].min())
        for task, about in summary.tasks.items()
        if as_channel(about.feedback).name == "on_request"
        and (scores := summary.scores.get((task, agent))) is not None
        and np.isfinite(scores.finals["batches"]).all()
    ]
    if not lengths:
        return ""
    return BATCHES if max(lengths) > 1 else SEQUENTIAL


_COMPARED = ("cumulative_regret", "simple_regret", "inference_regret", "batches")


def alike(summary: Summary) -> dict[str, tuple[str, ...]]:
    """By the first agent of those that played alike, the others.

    Agents play alike if they have finished the same repetitions of the same tasks, and in each of them ended with the
    same numbers, bit for bit: a sum of regrets is the same only where the actions were, and came in the same order.
    """
    by_run: dict[tuple[object, ...], list[str]] = {}
    for agent in summary.agents:
        runs = {task: scores for task in summary.tasks if (scores := summary.scores.get((task, agent))) is not None}
        known = any(np.isfinite(scores.finals["cumulative_regret"]).any() for scores in runs.values())
        if known:
            by_run.setdefault(tuple((task, *_numbers(scores)) for task, scores in runs.items()), []).append(agent)
    return {first: tuple(others) for first, *others in by_run.values() if others}


def _numbers(scores: AgentScores) -> tuple[object, ...]:
    finals = (scores.finals[name] for name in _COMPARED)
    return scores.blocks, *(np.where(np.isnan(x), np.nan, x).tobytes() for x in finals)
