"""Tables of scores from 0 to 100, one tab a criterion: of a class of tasks, and of one task."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from leaderboards.play.measures import IN_UNITS, RANKED_BY
from leaderboards.score.answer import leader
from leaderboards.score.board_scores import (
    BATCHES,
    LEAST_TASKS,
    SEQUENTIAL,
    STATED,
    BoardScores,
    at_most_100,
    batching,
    board_scores,
    points,
    task_scores,
)
from leaderboards.score.factors import ACCELERATION, ENHANCEMENT, factors
from leaderboards.score.metrics import METRICS
from leaderboards.score.rankings import TaskClass
from leaderboards.score.reliability import LEAST_RELIABILITY
from leaderboards.score.statistics import Interval, Ranking, stratified_means
from leaderboards.show import palette
from leaderboards.show.format import NONE
from leaderboards.show.shared import NOT_TOLD, TOLD, Site
from leaderboards.show.table import Row, TableCell, agent_row, place_cell

CRITERIA = {
    "cumulative_regret": "regret of all evaluations: what learning costs",
    "simple_regret": "regret of the best evaluation at the end",
    "inference_regret": "regret of what the agent recommends at the end",
    "best_so_far": "how soon the best evaluation is how good: log10 of its regret, as a mean over log t",
    "recommended": "regret of what the agent recommends, in units: the mean after 1/4, 1/2 and all evaluations",
    "recommended_quarter": "regret of what the agent recommends after 1/4 of the evaluations, in units",
    "recommended_half": "regret of what the agent recommends after 1/2 of the evaluations, in units",
    "recommended_end": "regret of what the agent recommends at the end, in units",
    "best_measured": "regret of the best candidate that was measured, by its mean, in units: after 1/4, 1/2 and "
    "all evaluations, averaged",
}
"""What each criterion says, in the order of the tabs."""

_FACTORS = {"acceleration": ACCELERATION, "enhancement": ENHANCEMENT}
_HALVES = ("held out", "tuning")


class ScoreTab(NamedTuple):
    """The scores by one criterion.

    Attributes:
        by: The criterion.
        title: Its name in words.
        meaning: What it says.
        notes: On what the places rest.
        details: What the tasks tell of agents, for who asks.
        sentence: What can be said of the first two agents of a class, or who leads on a task.
        rows: One an agent, the best first: its mean score. Over a class of tasks follow the mean share of tasks won
            against each other policy, the mean score on some of the tasks, and acceleration and enhancement.
        in_groups: Whether agents have groups in place of places.
    """

    by: str
    title: str
    meaning: str
    notes: list[str]
    details: list[str]
    rows: list[Row]
    sentence: str = ""
    in_groups: bool = False


class ScoreTable(NamedTuple):
    """The scores over the tasks of a class, or on one task.

    Attributes:
        key: Text for ids, unique on the page.
        name: Name of the class of tasks; "" if it is alone.
        tabs: One a criterion that has scores.
        wide: Whether the places are those on tasks like these.
        columns: Heads and hints of the columns of some of the tasks, by level of knowledge and by half of the suite,
            and of acceleration and enhancement where agents are ranked by what they recommend.
        kernels: Classes of what agents are told, if there are several.
        batchings: Ways of playing, if there are several.
    """

    key: str
    name: str
    tabs: list[ScoreTab]
    wide: bool = False
    columns: Sequence[tuple[str, str]] = ()
    kernels: Sequence[str] = ()
    batchings: Sequence[str] = ()


def class_scores(site: Site, one: TaskClass) -> ScoreTable | None:
    """The table of scores over a class of tasks; None if no criterion has any."""
    return site.once(("score table", one.name), lambda: _class_scores(site, one))


def _class_scores(site: Site, one: TaskClass) -> ScoreTable | None:
    found = {by: scores for by in _ordered(site, one.tasks) if (scores := site.scores(one.name, by)) is not None}
    if not found:
        return None
    first = next(iter(found.values()))
    parts = _parts(site, first)
    heads = [(head, f"mean score on {len(on)}: {', '.join(on)}") for head, on in parts.items()]
    factored: Mapping[str, tuple[float, float]] = {}
    if site.ranked_by in IN_UNITS and site.summary.reference(first.tasks[0]) is not None:
        heads += [(head, f"{means}; median over environments") for head, means in _FACTORS.items()]
        factored = {agent: factors(site.shown, agent, first.tasks) for agent in site.summary.agents}
    kinds = {agent: (site.entrant(agent), batching(site.summary, agent)) for agent in site.summary.agents}
    kernels, batchings = (several(kind[i] for kind in kinds.values()) for i in (0, 1))
    tabs = []
    for by, scores in found.items():
        places = _filtered_places(site, one.tasks, scores, kinds) if kernels or batchings else {}
        rows = [
            _row(site, scores, agent, parts, factored.get(agent, ()), kinds[agent][1], places.get(agent, ""))
            for agent in scores.ordered
        ]
        sentence = scores.sentence(*scores.ordered[:2]) if len(rows) > 1 else ""
        details = [line for one_of in scores.reliability for line in one_of.lines(scores.tasks)]
        notes, title = _notes(scores), METRICS[by].title
        if parts.keys() & {*_HALVES}:
            notes.append("defaults may have been chosen on the half called tuning, and are judged on what is held out")
        if factored and by == "recommended":
            notes += [f"{head}: {means}, as a median over environments" for head, means in _FACTORS.items()]
        tabs.append(ScoreTab(by, title, CRITERIA[by], notes, details, rows, sentence, scores.in_groups))
    return ScoreTable(
        f"scores-{site.classes.index(one)}",
        one.name if len(site.classes) > 1 else "",
        tabs,
        first.is_wide,
        heads,
        kernels,
        batchings,
    )


def of_task(site: Site, task: str) -> ScoreTable | None:
    """The table of scores on one task; None if no criterion has any."""
    tabs = []
    for by in _ordered(site, [task]):
        found = task_scores(site.summary, task, by)
        ranked = None if found is None else site.task_ranking(task, by)
        if found is None or ranked is None:
            continue
        names, blocks, S = found
        cells = [_score_cell(at_most_100(mean)) for mean in stratified_means([S])]
        lead = leader(ranked.agents, [S[:, [names.index(agent) for agent in ranked.agents]]], ranked.ranking)
        places = [place_cell(ranked.ranking, ranked.agents.index(agent)) for agent in names]
        order = np.argsort(-S.mean(axis=0), kind="stable")
        rows = [agent_row(site, names[i], [cells[i]], place=places[i]) for i in order]
        notes = [f"{len(blocks)} repetition{'s' if len(blocks) != 1 else ''} of this environment"]
        if ranked.ranking.is_told:
            notes.append(_first(ranked.ranking))
        tabs.append(ScoreTab(by, METRICS[by].title, CRITERIA[by], notes, [], rows, lead))
    return ScoreTable("task", "", tabs) if tabs else None


def _ordered(site: Site, tasks: Sequence[str]) -> list[str]:
    """The criteria: first what was recommended on boxes, all that was evaluated on arms, or what the site ranks by."""
    first = site.ranked_by
    if first == RANKED_BY[0] and all(site.summary.tasks[task].domain == "boxes" for task in tasks):
        first = "inference_regret"
    return [first, *(by for by in (IN_UNITS if first in IN_UNITS else RANKED_BY) if by != first)]


def _row(
    site: Site,
    scores: BoardScores,
    agent: str,
    parts: Mapping[str, Sequence[str]],
    factored: Sequence[float],
    batching: str,
    places: str,
) -> Row:
    i, also = scores.agents.index(agent), scores.aliases.get(agent, ())
    shown, other = scores.shown[i], (scores.narrow if scores.is_wide else scores.wide)[i]
    hint = "on these tasks alone" if scores.is_wide else "on tasks like these"
    on_parts = [scores.S[[scores.tasks.index(task) for task in on], i].mean() for on in parts.values()]
    # The drawing is on an axis from 0: the text beside it says how far below it a score is.
    drawn = Interval(max(shown.estimate, 0.0), max(shown.low, 0.0), max(shown.high, 0.0), shown.n)
    score = _score_cell(shown, f"{hint}: {_ends(other)}" if other.is_known else "")
    wins = scores.wins[i]
    cells = [
        replace(score, drawing=palette.forest(drawn, 0, 100, site.styles[agent]), css="rank"),
        TableCell(f"{wins:.0%}", float(wins)) if np.isfinite(wins) else TableCell(NONE),
        *(TableCell(points(mean), float(mean)) for mean in on_parts),
        *(TableCell(f"{x:.1f}", x) if np.isfinite(x) else TableCell(NONE) for x in factored),
    ]
    place = replace(place_cell(scores.ranking, i), text=scores.place(i))
    own = not {agent, *also}.isdisjoint(site.summary.own)
    return agent_row(site, agent, cells, place=place, own=own, also=also, batching=batching, places=places)


def _score_cell(score: Interval, why: str = "") -> TableCell:
    return TableCell(points(score.estimate), score.estimate, _ends(score) if score.is_known else "", why)


def _ends(interval: Interval) -> str:
    return f"{points(interval.low)} – {points(interval.high)}"


def _parts(site: Site, scores: BoardScores) -> dict[str, list[str]]:
    """Some of the tasks by the head of their column: of each level of knowledge, and of each half of the suite."""
    halves, found = site.summary.halves, {}
    for level, head in STATED.items():
        found[head] = [task for task in scores.tasks if site.summary.tasks[task].knowledge == level]
    for half in _HALVES:
        found[half] = [task for task in scores.tasks if halves.get(task) == half]
    return {head: tasks for head, tasks in found.items() if len(tasks) not in (0, len(scores.tasks))}


def several(values: Iterable[str]) -> list[str]:
    """The classes of entrants and ways of playing that are among the values, if there are several."""
    there = set(values)
    found = [value for value in (TOLD, NOT_TOLD, SEQUENTIAL, BATCHES) if value in there]
    return found if len(found) > 1 else []


def _filtered_places(
    site: Site, tasks: Sequence[str], scores: BoardScores, kinds: Mapping[str, tuple[str, str]]
) -> dict[str, str]:
    """By agent, its places as `Row.places` has them."""
    known = functools.cache(functools.partial(task_scores, site.summary))

    @functools.cache
    def among(*asked: str) -> BoardScores | None:
        agents = {
            agent for agent in scores.agents if all(kind in ("", mine) for kind, mine in zip(asked, kinds[agent]))
        }
        if len(agents) == len(scores.agents):
            return scores
        return board_scores(site.summary, tasks, scores.by, agents, site.aliases, known)

    def mark(agent: str, *asked: str) -> str:
        part = among(*asked)
        i = None if part is None else part.row(agent)
        return "" if part is None or i is None else part.ranking.marked(int(part.ranking.group[i]), scores.in_groups)

    found = {}
    for agent in scores.agents:
        kernel, how = kinds[agent]
        marks = [mark(agent, *asked) for asked in (("", ""), (kernel, ""), ("", how), (kernel, how))]
        found[agent] = json.dumps(marks, ensure_ascii=False)
    return found


def _notes(scores: BoardScores) -> list[str]:
    n, of = len(scores.tasks), len(scores.functions)
    what = f"{n} environment{'s' * (n > 1)}{f' of {of} functions' if of < n else ''}"
    places = f"places on these {what} alone, since fewer than {LEAST_TASKS} say little of others"
    if not scores.ranking.is_told:
        places = "too few repetitions for places"
    elif scores.is_wide:
        places = f"places on tasks like these {what}; where scores of tasks are very skewed the intervals cover less"
    if scores.in_groups:
        one = scores.reliability[0]
        places = (
            f"groups and no places: of {one.of} the order on an environment would correlate at only "
            f"{one.full.estimate:.2f} with that of other repetitions; places need "
            f"{LEAST_RELIABILITY:g}, and {one.advice}"
        )
    notes = [places]
    if scores.ranking.is_told and not scores.in_groups:
        notes.append(_first(scores.ranking))
    notes += [f"without a score: {task}, as {why}" for task, why in scores.left_out.items()]
    return notes


def _first(ranking: Ranking) -> str:
    n = int((ranking.group == 1).sum())
    return "one agent first" if n == 1 else f"{n} agents tied first"
