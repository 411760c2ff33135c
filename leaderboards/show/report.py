"""What one page on an agent for a paper's appendix says.

Its score among its rivals, its score in groups of tasks, the share of targets that it reaches, what is proven of its
regret beside what was measured, and how it was run. `report_page` draws it, `report_latex` sets it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gpbandit_envs.arguments import did_you_mean
from leaderboards.archive.read import Board, Joined
from leaderboards.audit.report import audit_reports
from leaderboards.play.build import build_agent, loaded_agent
from leaderboards.score.criteria import BoardScores
from leaderboards.score.metrics import METRICS
from leaderboards.score.profile import GROUPS
from leaderboards.score.rankings import TaskClass
from leaderboards.score.statistics import Interval
from leaderboards.score.summary import summarise
from leaderboards.score.targets import evaluation_grid, share_solved, targets, times_to_targets
from leaderboards.score.theory import TheoryReport
from leaderboards.show.agent import best_in_group, checked_by, tuned_on
from leaderboards.show.scores import first_by
from leaderboards.show.shared import Site, make_site
from leaderboards.store.run_file import RunEntry
from leaderboards.store.store import StoreView

__all__ = ["AgentReport", "agent_report"]

_LEADERS = 8  # rivals that are shown whatever the agent's place
_BESIDE = 2  # and so many on either side of it
_CURVES = 3  # rivals whose share of targets is shown
_ALIKE = " = "  # between the names of agents that played alike


@dataclass(frozen=True)
class RivalRow:
    """A line of the ranking.

    Attributes:
        place: Place of its tie group, such as "2=".
        agent: Name.
        score: Mean score from 0, as good as one uniform draw, to 100, no regret, with its interval.
        wins: Mean share of tasks won against each other policy; NaN without another.
    """

    place: str
    agent: str
    score: Interval
    wins: float


@dataclass(frozen=True)
class ProvenRow:
    """Measured and proven regret on a task.

    Attributes:
        task: Name.
        t: Evaluations after which they are compared.
        measured: Mean cumulative regret, unit of the reward.
        bound: What is proven; None where the policy states no number.
        theorem: Source of the bound; "" without one.
    """

    task: str
    t: int
    measured: float
    bound: float | None
    theorem: str


@dataclass(frozen=True)
class AgentReport:
    """What the page says.

    Attributes:
        agent: Name of the agent.
        suite: Name of the suite.
        basis: On what the scores rest.
        of: How many agents are ranked.
        rivals: The lines of the ranking that are shown, by score; empty where the agent has no score.
        profile: Title of each group of tasks, the agent's score there, the best one and whose that is.
        evaluations: Numbers of evaluations at which `targets` is known.
        targets: The share of targets reached at these, of the agent and leading rivals; empty where it is unknown.
        band: What its confidence width is, and the theorem behind it; "" where it states no band or is not loaded.
        proven: Regret beside the bound of its theorem, on the tasks that state the true kernel and noise.
        facts: How it was run: name and text.
    """

    agent: str
    suite: str
    basis: str
    of: int
    rivals: tuple[RivalRow, ...]
    profile: tuple[tuple[str, float, float, str], ...]
    evaluations: np.ndarray
    targets: dict[str, np.ndarray]
    band: str
    proven: tuple[ProvenRow, ...]
    facts: tuple[tuple[str, str], ...]

    @property
    def guarantee(self) -> str:
        """What its band is, and what the numbers of `proven` amount to."""
        band = f"Confidence {self.band}. " if self.band else "It states no confidence width. "
        stated = [row for row in self.proven if row.bound is not None]
        if not stated:
            return f"{band}No regret bound is stated as a number on the {len(self.proven)} tasks with the true model."
        kept = sum(row.measured <= row.bound for row in stated if row.bound is not None)
        theorems = "; ".join(dict.fromkeys(row.theorem for row in stated if row.theorem))
        return (
            f"{band}Bounds are those of {theorems} with the theorem's own width, on the {len(stated)} tasks with the "
            f"true model that have one; the mean regret is below them on {kept}."
        )

    def is_own(self, row: RivalRow) -> bool:
        """Whether a line of the ranking is the agent's, alone or with those that played alike."""
        return self.agent in row.agent.split(_ALIKE)


def agent_report(store: StoreView, agent: str) -> AgentReport:
    """Everything that the page of an agent says.

    Args:
        store: A results folder, alone or among the runs of a board; or a board.
        agent: Name of the agent in it.

    Raises:
        ValueError: if it has no finished run there.
    """
    summary = summarise(store)
    played = dict.fromkeys(name for _, name in summary.scores)
    if agent not in played:
        raise ValueError(f"agent: no finished run of {agent!r}; {did_you_mean(agent, played, cutoff=0.5)}")
    site = make_site(summary, theory=True, audits=audit_reports(store, summary))
    one = max(site.classes, key=lambda one: sum((task, agent) in summary.scores for task in one.tasks))
    scores = site.scores(one.name, first_by(site, one.tasks))
    row = None if scores is None else scores.row(agent)
    return AgentReport(
        agent,
        site.title,
        _basis(one, scores),
        0 if scores is None else len(scores.agents),
        () if scores is None or row is None else tuple(_rivals(scores, row)),
        tuple(_profile(site, agent)),
        _grid(site, one),
        _targets(site, one, agent, scores),
        _band(site, agent),
        tuple(_proven(site, agent)),
        tuple(_facts(site, store, agent)),
    )


def _basis(one: TaskClass, scores: BoardScores | None) -> str:
    if scores is None:
        return "no agent has a score on every task"
    return f"{METRICS[scores.by].title.lower()}, {len(scores.tasks)} tasks ({one.name}), 95 % intervals {scores.where}"


def _rivals(scores: BoardScores, row: int) -> Iterator[RivalRow]:
    """The leaders, the agent, and those beside it; of agents that played alike one."""
    order = [scores.agents.index(name) for name in scores.ordered]
    at = order.index(row)
    for position, i in enumerate(order):
        if position < _LEADERS or abs(position - at) <= _BESIDE:
            place = scores.ranking.marked(int(scores.ranking.group[i]))
            names = _ALIKE.join((scores.agents[i], *scores.aliases.get(scores.agents[i], ())))
            yield RivalRow(place, names, scores.shown[i], float(scores.wins[i]))


def _profile(site: Site, agent: str) -> Iterator[tuple[str, float, float, str]]:
    for group in GROUPS:
        own = site.profile.get(agent, {}).get(group.name)
        if own is None:
            continue
        best = best_in_group(site, group.name)
        yield group.title, own.score, site.profile[best][group.name].score, best


def _targets(site: Site, one: TaskClass, agent: str, scores: BoardScores | None) -> dict[str, np.ndarray]:
    """Share of targets reached along `_grid`, of the agent and the leading rivals, every task with the same weight.

    Targets of the simple regret of an instance lie evenly on a logarithmic scale below its mean gap, which boards keep.
    """
    rivals = [name for name in (() if scores is None else scores.ordered) if name != agent][:_CURVES]
    x, found = _grid(site, one), {}
    for name in (agent, *rivals):
        shares = []
        for task in one.tasks:
            cell = site.shown.scores.get((task, name))
            known = np.zeros(0, np.int64) if cell is None else np.flatnonzero(cell.gaps > 0)  # NaN is not
            if cell is not None and len(known):
                tau = times_to_targets(cell.t, cell.curves["simple_regret"][known], targets(cell.gaps[known]))
                if not np.isnan(tau).any():
                    shares.append(share_solved(tau, x).mean(axis=0))
        if shares:
            found[name] = np.mean(shares, axis=0)
    return found if agent in found else {}


def _grid(site: Site, one: TaskClass) -> np.ndarray:
    return evaluation_grid(max(site.summary.tasks[task].horizon for task in one.tasks))


def _band(site: Site, agent: str) -> str:
    """What a policy states of its confidence band, on the first task whose model is the true one."""
    ref = site.summary.agents[agent]
    tasks = sorted(site.instances.items(), key=lambda item: item[1].problem.knowledge != "oracle")
    if not tasks or loaded_agent(ref.id) is None:
        return ""
    try:
        built = build_agent(ref)
        built.reset(tasks[0][1].problem, np.random.default_rng(0))
        band = built.band_guarantee()
    except Exception:  # a stranger's agent may raise anything
        return ""
    if not band.width:
        return ""
    source = f", {band.theorem}" if band.theorem else ""
    return f"width {band.width}: {band.kind}{source}{f'; {band.unmet}' if band.unmet else ''}"


def _proven(site: Site, agent: str) -> Iterator[ProvenRow]:
    for task, report in site.theory.items():
        if not isinstance(report, TheoryReport) or report.knowledge != "oracle" or report.unmet:
            continue  # bounds say something only where what is stated is true
        for found in report.comparisons:
            if found.agent == agent:
                proven = found.proven
                yield ProvenRow(task, report.t, found.measured.estimate, proven.bound, proven.theorem)


def _facts(site: Site, store: StoreView, agent: str) -> Iterator[tuple[str, str]]:
    summary, ref, card = site.summary, site.summary.agents[agent], site.cards.get(agent)
    runs = [run for run in store.entries().values() if run.spec.agent.key == ref.key]
    yield "settings", json.dumps(dict(ref.kwargs)) if ref.kwargs else "defaults"
    yield "tuned on", tuned_on(site, ref) or "not declared"
    if (checked := checked_by(site, agent)) is not None:
        yield "checked by", f"{checked.by}, {checked.link}"
    yield "told", site.entrant(agent) or "unknown, as its class is not loaded"
    if card is not None and card.references:
        yield "source", "; ".join(card.references)
    yield "runs", _ended(runs)
    yield "suite", _suite(site, store)
    for text in dict.fromkeys(_origin(run) for run in runs):
        yield "played with", text
    standing = store.standings()
    yield "standing", ", ".join(sorted({standing(run) for run in runs}))
    if summary.against is not None:
        yield "beside", f"the runs of {summary.against}"


def _ended(runs: Sequence[RunEntry]) -> str:
    statuses = [run.status for run in runs]
    return ", ".join(f"{statuses.count(status):,} {status}" for status in dict.fromkeys(statuses))


def _suite(site: Site, store: StoreView) -> str:
    suite = site.summary.suite
    board = store if isinstance(store, Board) else store.board if isinstance(store, Joined) else None
    index = "" if board is None else f"; SHA-256 of the board's index {board.sha256}"
    return f"{site.title}{'' if suite is None else f', root seed {suite.seed}'}{index}"


def _origin(run: RunEntry) -> str:
    origin = run.origin
    libraries = ", ".join(f"{name} {version}" for name, version in sorted(origin.libraries.items()))
    machine = f"{origin.machine.system} {origin.machine.arch}, {origin.machine.cpu}"
    loops = f", loops {' '.join(origin.machine.loops)}" if origin.machine.loops else ""
    lock = f"; {origin.lock}" if origin.lock else ""
    return f"gpbandit-envs {origin.gpbandit_envs}, Python {origin.python}, {libraries}{lock}; {machine}{loops}"
