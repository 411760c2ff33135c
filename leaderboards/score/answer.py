"""Who leads, by how much and how sure that is, in words for somebody who knows neither the agents nor the tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from leaderboards.play.measures import IN_UNITS
from leaderboards.score.board_scores import BoardScores, points
from leaderboards.score.frames import pooled_difference
from leaderboards.score.statistics import Interval, Ranking, stratified_means


def legend(by: str) -> str:
    """What scores by a criterion mean, in a sentence."""
    zero = "a regret of one unit" if by in IN_UNITS else "as good as one uniform draw"
    return f"A score of 0 is {zero}, 100 is no regret."


def leader(agents: Sequence[str], strata: Sequence[Float[np.ndarray, "_n k"]], ranking: Ranking) -> str:
    """Two sentences on who leads by scores; "" for one agent.

    Args:
        agents: k names.
        strata: What the ranking rests on, as `BoardScores.strata`.
        ranking: Places of the agents; its p-values are over all pairs.
    """
    if len(agents) < 2:
        return ""
    means = np.array([interval.estimate for interval in stratified_means(list(strata))])
    order = np.argsort(-means, kind="stable")
    first = order[0]
    name, scored = agents[first], f"{points(means[first])} of 100"
    if not ranking.is_told:
        return f"{name} has the highest score, {scored}. There are too few repetitions to tell how sure that is."
    ahead = [i for i in order if ranking.group[i] == 1]
    behind = next((i for i in order if ranking.group[i] != 1), None)
    if len(ahead) == len(agents):
        return (
            f"No agent leads: {name} has the highest score, {scored}, and no test tells any other from it. "
            "More environments or repetitions may."
        )
    assert behind is not None
    difference, _ = pooled_difference([Y[:, first] - Y[:, behind] for Y in strata])
    gap = f"{points(difference.estimate)} points{_ends(difference)}"
    if len(ahead) == 1:
        text = f"{name} leads with a score of {scored}, {gap} more than {agents[behind]}."
    else:
        others = "one other" if len(ahead) == 2 else f"{len(ahead) - 1} others"
        text = (
            f"{name} has the highest score, {scored}, but no test tells it from {others}, down to {agents[ahead[-1]]}. "
            f"The first that is behind it, by {gap}, is {agents[behind]}."
        )
    return f"{text} Were all agents alike, so clear a difference would be seen {_chance(ranking.p[first, behind])}."


def standing(found: BoardScores, agent: str) -> str:
    """Where one agent stands among those of a board, in a sentence; "" where it has no place."""
    i = found.row(agent)
    if i is None or len(found.agents) < 2:
        return ""
    first, score = found.row(found.ordered[0]), found.shown[i]
    assert first is not None
    at = f"is in {'group' if found.in_groups else 'place'} {found.place(i)}" if found.ranking.is_told else "is"
    text = f"It {at} among {len(found.agents)} agents, with a score of {points(score.estimate)} of 100{_ends(score)}"
    if i == first:
        return f"{text}, the highest."
    difference, _ = pooled_difference([Y[:, first] - Y[:, i] for Y in found.strata])
    return f"{text}. {found.agents[first]} has {points(difference.estimate)} points more{_ends(difference)}."


def _ends(interval: Interval) -> str:
    return f" (95 %: {points(interval.low)} to {points(interval.high)})" if interval.is_known else ""


def _chance(p: float) -> str:
    return "by chance at most once in 1,000 times" if p <= 1e-3 else f"by chance {p:.1%} of the time"
