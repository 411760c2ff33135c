"""Hold-out: does a submitted agent do as well on instances that nobody could know as its record says?

A root seed is drawn when the runs are to be played, and named only after them. The agent plays in a sandbox, which it
never enters; rows of the board play the same instances afterwards, beside no code of a stranger.

The score of a run is its cumulative regret as a share of the mean of these rows' on the same instance, so that hard
instances count no more than easy ones; of several tasks on one instance, as under several feedback models, it is their
mean. Where an agent learns from its feedback alone, scores on record and on hold-out are drawn alike, environment by
environment. The test is that of exchangeability within environments against scores that are worse on hold-out: the
statistic is the sum over environments of the difference of the two means over the deviation of all their scores, under
`_PERMUTATIONS` permutations; an agent whose p-value is below `LEVEL` does worse than its record. The board's rows pass
through the same test, as a check of the instrument.

Where the function is the same under every seed, as in a table, hold-out draws other noise and nothing else.

Of a board alone its leading rows play, those of the least mean rank: their order on record and on hold-out says how far
it is one of the public instances.
"""

from __future__ import annotations

import functools
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from leaderboards.play.build import build_agent, missing_extra
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.play.suite import Suite
from leaderboards.publish.boards import Board
from leaderboards.publish.submission import Submission
from leaderboards.score.rankings import class_rankings, task_classes, task_ranking
from leaderboards.score.summary import REFERENCES, summarise
from leaderboards.store.intact import StoreError
from leaderboards.store.store import Store
from leaderboards.verify.fingerprint import fingerprint
from leaderboards.work.executors import LocalExecutor
from leaderboards.work.jobs import DEFAULT_LIMITS, Limits
from leaderboards.work.schedule import run_missing

if TYPE_CHECKING:
    from leaderboards.play.isolated import Sandbox

LEVEL = 0.01
"""Probability with which an agent that learns from feedback alone is said to do worse, at most."""

LEADERS = 3
"""Rows of a board that are played beside a submitted agent."""

_BITS = 128  # of the seed: nobody tries all of them
_PERMUTATIONS = 9_999
_FEWEST = 3  # scores on an environment on either side

Scores = Mapping[str, np.ndarray]
"""Scores by environment, each of shape `(n,)` with an n of its own."""


@dataclass(frozen=True)
class HoldoutRow:
    """An agent on record and on hold-out.

    Attributes:
        agent: Its label.
        submitted: Whether it is the submitted one, or a row of the board.
        recorded: Mean over environments of its mean score on record.
        anew: The same on hold-out.
        environments: Number of environments.
        p: One-sided p-value of "scores on hold-out are no worse".
    """

    agent: str
    submitted: bool
    recorded: float
    anew: float
    environments: int
    p: float

    @property
    def worse(self) -> bool:
        """Whether it does worse than its record."""
        return self.p < LEVEL

    def __str__(self) -> str:
        verdict = "does worse than its record" if self.worse else "agrees with its record"
        return (
            f"{self.agent}: {self.anew:.3f} of the rows' mean regret on hold-out, {self.recorded:.3f} on record, over "
            f"{self.environments} environments; p = {self.p:.2g}: {verdict}"
        )


@dataclass(frozen=True)
class Holdout:
    """What a hold-out found.

    Attributes:
        seed: The root seed that was drawn, known from now on.
        rows: The submitted agents, then the rows of the board.
        failed: How runs of the submitted agents ended that are not done, in words.
    """

    seed: int
    rows: tuple[HoldoutRow, ...]
    failed: tuple[str, ...]


def _drawn(suite: Suite, tasks: Mapping[str, RunSpec], seed: int, repetitions: int) -> list[RunSpec]:
    """A run on each instance of the tasks; of a family, on the member whose turn it is by the suite's rule."""
    listed = {task.key: task for task in suite.tasks}
    return [
        replace(spec, seed=seed, repetition=r, member=listed[key].member(seed, r) if key in listed else {})
        for r in range(repetitions)
        for key, spec in tasks.items()
    ]


def play_holdout(
    board: Board,
    scratch: Path,
    submission: Submission | None = None,
    *,
    repetitions: int = 10,
    workers: int = 1,
    leaders: int = LEADERS,
    sandbox: Sandbox | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Holdout:
    """Play submitted agents, and leading rows of their board, on instances of a root seed that is drawn now.

    Args:
        board: The board.
        scratch: An empty folder.
        submission: The agents with their record; None to play rows of the board alone.
        repetitions: How many instances of each task.
        workers: Runs at a time.
        leaders: How many rows of the board lead; the uniform one plays too.
        sandbox: Where the submitted agents play.
        limits: What their runs may use.

    Raises:
        StoreError: if no row of the board can be played here, or nothing can be compared.
        OSError: if the folder cannot be written.
    """
    seed = secrets.randbits(_BITS)
    on_record = board if submission is None else submission.store
    recorded = [on_record.spec(key) for key in on_record.done_keys()]
    tasks = {spec.task: spec for spec in recorded}
    own = {} if submission is None else {spec.agent.key: spec.agent for spec in recorded}
    rows = _rows(board, set(tasks), leaders)
    drawn = _drawn(board.suite(), tasks, seed, repetitions)

    def specs(agents: Iterable[Ref]) -> list[RunSpec]:
        return [replace(spec, agent=agent) for spec in drawn for agent in agents]

    anew, failed = Store(scratch), list[str]()
    if submission is not None:
        # The submitted agents first: no result on the same instances is there yet.
        with closing(LocalExecutor(workers, limits, portable=True)) as executor:
            failed += run_missing(specs(own.values()), anew, executor, sandbox=sandbox).failure_lines()
    with closing(LocalExecutor(workers, portable=True)) as executor:
        run_missing(specs(rows), anew, executor)
    agents = [*own.values(), *rows]
    before, now = _regrets(dict.fromkeys((on_record, board)), agents), _regrets([anew], agents)
    found = []
    for agent in agents:
        one, other = (_shares(regrets, agent, rows) for regrets in (before, now))
        there = [env for env in one if min(len(one[env]), len(other.get(env, ()))) >= _FEWEST]
        if there:
            one, other = ({env: shares[env] for env in there} for shares in (one, other))
            means = [float(np.mean([shares.mean() for shares in side.values()])) for side in (one, other)]
            found.append(HoldoutRow(agent.label, agent.key in own, means[0], means[1], len(there), worse(one, other)))
        elif agent.key in own and not failed:
            raise StoreError(f"{agent.label}: no environment with {_FEWEST} or more scores on record and on hold-out")
    return Holdout(seed, tuple(found), tuple(failed))


def worse(recorded: Scores, anew: Scores) -> float:
    """One-sided p-value, by permutations within environments, of "scores anew are no larger than those on record"."""
    rng = np.random.default_rng(0)
    observed, permuted = 0.0, np.zeros(_PERMUTATIONS)
    for env, one in recorded.items():
        both, n = np.concatenate([one, anew[env]]), len(one)
        deviation = both.std()
        if deviation <= 1e-12 * abs(both.mean()):
            continue
        z = (both - both.mean()) / deviation
        # With both sums fixed together, the mean of one side says the difference.
        weight = 1.0 / n + 1.0 / (len(both) - n)
        observed += weight * z[n:].sum()
        order = rng.permuted(np.broadcast_to(z, (_PERMUTATIONS, len(z))), axis=1)
        permuted += weight * order[:, n:].sum(axis=1)
    return float((1 + np.count_nonzero(permuted >= observed - 1e-9)) / (1 + _PERMUTATIONS))


def _rows(board: Board, tasks: set[str], n: int) -> list[Ref]:
    """The first `n` rows of a board and the uniform policy, as far as they have all tasks and can be played here.

    Raises:
        StoreError: if there is none.
    """
    played: dict[str, set[str]] = {}
    refs: dict[str, Ref] = {}
    for key in board.done_keys():
        spec = board.spec(key)
        refs[spec.agent.label] = spec.agent
        played.setdefault(spec.agent.label, set()).add(spec.task)
    summary = summarise(board, n_points=2)
    rankings = {task: task_ranking(summary, task) for task in summary.tasks}
    orders = [found.ordered for found in class_rankings(summary, task_classes(summary), rankings).values()]
    ordered = [label for order in orders for label in order if label in refs]
    able = [
        refs[label]
        for label in dict.fromkeys(ordered)
        if tasks <= played[label]
        and fingerprint(refs[label]) is not None
        and missing_extra(functools.partial(build_agent, refs[label])) is None
    ]
    uniform = [ref for id in REFERENCES for ref in able if ref.id == id and not ref.kwargs]
    leaders = [ref for ref in able if ref not in uniform][:n]
    if not leaders and not uniform:
        raise StoreError(
            f"{board.directory}: no row of the board has all tasks that are asked for and can be played here"
        )
    return [*leaders, *uniform[:1]]


_Regrets = Mapping[tuple[str, str, str, int], float]
"""Cumulative regret at the horizon by agent, environment, task and repetition."""


def _regrets(views: Collection[Store], agents: Sequence[Ref]) -> _Regrets:
    wanted, found = {agent.key for agent in agents}, dict[tuple[str, str, str, int], float]()
    for view in views:
        for key in view.done_keys():
            run = view.entry(key)
            if run.spec.agent.key not in wanted:
                continue
            kept = view.kept(key)
            if kept is not None and np.isnan(kept.best_mean):  # else the optimum is unknown
                where = run.spec.agent.key, run.spec.env.key, run.spec.task, run.spec.repetition
                found[where] = kept.finals["cumulative_regret"]
    return found


def _shares(regrets: _Regrets, agent: Ref, rows: Sequence[Ref]) -> Scores:
    """The scores of an agent: on each instance that it and all rows have played, its share of their mean regret."""
    by_instance: dict[tuple[str, int], list[float]] = {}
    for (key, env, task, repetition), regret in regrets.items():
        theirs = float(np.mean([regrets.get((row.key, env, task, repetition), np.nan) for row in rows]))
        if key == agent.key and theirs > 0:
            by_instance.setdefault((env, repetition), []).append(regret / theirs)
    found: dict[str, list[float]] = {}
    for (env, _), shares in sorted(by_instance.items()):
        found.setdefault(env, []).append(float(np.mean(shares)))
    return {env: np.array(shares) for env, shares in found.items()}
