"""What was tried and what came of it, in order: points are told, found again, counted, and written as a table."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isclose
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Float

from agents.core.protocol import Action
from agents.experiment.candidates import Candidates
from agents.experiment.file import Event
from agents.experiment.goals import Goal
from agents.experiment.hypervolume import is_dominated
from agents.experiment.parameters import SAME, Point, is_number, plain
from agents.experiment.region import Region
from gpbandit_envs.arguments import LARGEST, as_truth, did_you_mean, shown
from gpbandit_envs.numerals import hint

if TYPE_CHECKING:
    import pandas as pd

STATUS = "status"
"""A column of `Experiment.results`."""

_WEIGHED = 1e-3  # of every range, by which what was weighed may miss what was asked
_WITHOUT = (
    "; an evaluation without outcome is told with failed=True, in a table with 'failed' as its status; a cell stays "
    "empty until its outcome is there"
)
_ALIKE = 0.8  # likeness of names, see difflib: two letters of five exchanged

Status = Literal["open", "done", "failed", "withdrawn"]


Outcomes = Mapping[str, float]
"""A number for every outcome, by name."""


@dataclass
class Evaluation:
    """One evaluation.

    Attributes:
        point: What was, or is to be, tried.
        action: It as policies see it: the number of a candidate, or a point of the unit cube.
        status: `"open"` until told.
        outcomes: What came of it, by the names of the outcomes, each in its unit: all of them of one that is `"done"`,
            of one that is open those that are there before the others.
        asked: Whether the policy proposed it; False for one that was told without having been asked.
        counts_as: For a failed one, the outcomes that the policy was given in place of none, if any.
        sds: Standard errors of the outcomes, of those of which they are known.
    """

    point: Point
    action: Action
    status: Status = "open"
    outcomes: Outcomes = field(default_factory=dict)
    asked: bool = True
    counts_as: Outcomes | None = None
    sds: Outcomes = field(default_factory=dict)

    @property
    def numbers(self) -> Outcomes:
        """What the policy learns of it: the outcomes that were told, or what it counts as."""
        return self.outcomes or self.counts_as or {}


def as_outcome(name: str, value: Any, otherwise: str = "") -> float:
    """A finite number of moderate size.

    Raises:
        ValueError: if it is none, saying what to do `otherwise`.
    """
    value = plain(value)
    if not is_number(value) or not abs(value) <= LARGEST:
        raise ValueError(f"{name}: expected a finite number, got {shown(value)}{hint(value) or otherwise}")
    return float(value)


def as_outcomes(names: Sequence[str], given: Any, early: bool = False, what: str = "outcome") -> Outcomes:
    """A number for every outcome: of a single one the number alone, else a dict; if `early`, for at least one.

    Raises:
        TypeError: if there are several and it is no dict.
        ValueError: if one is missing, unknown, or no finite number.
    """
    if not isinstance(given, Mapping):
        if len(names) > 1:
            raise TypeError(f"{what}: expected a dict with a number for each of {', '.join(names)}, got {given!r}")
        given = {names[0]: given}
    for name in given:
        if name not in names:
            raise ValueError(f"{what}: no outcome {name!r}; {did_you_mean(str(name), list(names), cutoff=0.5)}")
    missing = [name for name in names if name not in given]
    if missing and not (early and given):
        raise ValueError(f"{what}: expected a number for each of {', '.join(names)}, missing {', '.join(missing)}")
    prefix, otherwise = ("sd of ", "") if what == "sd" else ("", _WITHOUT)
    return {name: as_outcome(prefix + name, given[name], otherwise) for name in names if name in given}


def as_sds(names: Sequence[str], given: Any, outcomes: Collection[str]) -> Outcomes:
    """Standard errors, each > 0, of those of the outcomes of which they are given: of a single one the number alone.

    Raises:
        TypeError: if there are several outcomes and it is no dict.
        ValueError: if one is unknown, no finite number > 0, or of an outcome that is not told.
    """
    found = as_outcomes(names, given, early=True, what="sd")
    for name, sd in found.items():
        if not sd > 0:
            raise ValueError(f"sd: expected a number > 0, got {sd!r}; leave it out where it is not known")
        if name not in outcomes:
            raise ValueError(f"sd: expected that of an outcome that is told, got {name!r}")
    return found


def has_outcomes(frame: pd.DataFrame, outcome: str) -> bool:
    """Whether a column has the outcome's name.

    Raises:
        ValueError: if one differs from it in spelling alone, or none has it and one is close: it would become a
            parameter.
    """
    wanted, there = outcome.strip().casefold(), outcome in frame.columns
    others = [name for name in frame.columns if name != outcome]
    respelt = [name for name in others if name.strip().casefold() == wanted]
    meant = did_you_mean(wanted, respelt or others, "", cutoff=_ALIKE)
    if respelt or (meant and not there):
        raise ValueError(
            f"outcome: expected the name of a column, got {outcome!r}; {meant} A setting needs a name less like it"
        )
    return there


def outcomes_in(
    frame: pd.DataFrame, names: Sequence[str], failures: bool, table: str, sds: Mapping[str, str]
) -> Iterator[tuple[int, Point, Outcomes | None, Outcomes]]:
    """The rows of a table: number, point, outcomes, None for one that failed, and their standard errors.

    With `failures`, rows without any outcome failed. Where the table has the column `status` of `Experiment.results`,
    that says it: rows that are open or withdrawn are left out, unless they have outcomes. Messages call it `table`.

    Raises:
        ValueError: if the table has no column for an outcome, or one is no finite number, or stands in a row that
            failed; or is missing, unless all of its row are, and `failures`.
    """
    import pandas as pd

    for name in names:
        if not has_outcomes(frame, name):
            raise ValueError(
                f"{table}: expected a column {name!r} with the outcomes, got {', '.join(frame.columns)}; outcome= "
                "names it"
            )
    for i, row in zip(frame.index.tolist(), frame.to_dict("records"), strict=True):
        point = {str(name): plain(value) for name, value in row.items()}
        status = point.pop(STATUS, "")
        found = {name: point.pop(name) for name in names}
        errors = {name: point.pop(sds[name]) for name in names if sds[name] in point}
        errors = {name: sd for name, sd in errors.items() if not pd.isna(sd)}
        missing = [name for name in names if pd.isna(found[name])]
        if status in ("open", "withdrawn") and len(missing) == len(names):
            continue
        outcomes = None
        with row_named(i, table):
            if status == "failed" and len(missing) < len(names):
                there = ", ".join(f"{name} {y!r}" for name, y in found.items() if name not in missing)
                raise ValueError(f"{STATUS}: expected 'done' beside outcomes, got 'failed' beside {there}")
            if missing and len(missing) < len(names):
                raise ValueError(
                    f"{', '.join(missing)}: expected a number beside those of the other outcomes, got none"
                )
            if missing and not failures and status != "failed":
                raise ValueError(
                    f"{missing[0]}: expected a number, got none; leave out rows not measured yet, or give "
                    "failures=True if each row without one failed"
                )
            if not missing:
                outcomes = as_outcomes(names, found)
            known = as_sds(names, errors, names) if errors and not missing else {}
        yield i, point, outcomes, known


def _says(evaluation: Evaluation, outcomes: Outcomes | None, sds: Mapping[str, Any]) -> bool:
    """Whether these outcomes, or None for a failure, have been told of an evaluation, up to the digits of a file."""
    if outcomes is None:
        return evaluation.status == "failed"
    there = [(evaluation.outcomes, outcomes), (evaluation.sds, sds)]
    return all(name in old and isclose(old[name], y, rel_tol=SAME) for old, new in there for name, y in new.items())


@contextmanager
def row_named(i: int, table: str = "data") -> Iterator[None]:
    """Name the row of a table in its errors."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"{table}, row {i} (counted from 0): {error}") from None


class History:
    """The evaluations of an experiment.

    Args:
        choices: What can be tried.
        goals: What is wanted of each outcome.
        prior_mean: What to expect of an outcome.
        repeats: Whether a point may be told more than once.
        sds: What the columns of the standard errors are called, by outcome.

    Attributes:
        before: Those from before, of which all have an outcome.
        own: Those of the experiment; their places are their numbers.
        untold: Numbers of those that were told since the policy learnt last, and which outcomes were, all of a failure.
        corrected: Whether one was corrected since, of which it had learnt.
        events: What happened, in order.
    """

    def __init__(
        self,
        choices: Region | Candidates,
        goals: Sequence[Goal],
        *,
        prior_mean: float,
        repeats: bool,
        sds: Mapping[str, str],
    ) -> None:
        self.before: list[Evaluation] = []
        self.own: list[Evaluation] = []
        self.untold: list[tuple[int, tuple[str, ...]]] = []
        self.corrected = False
        self.events: list[Event] = []
        self._choices, self._repeats, self.sds = choices, repeats, sds
        self.goals, self._prior_mean = tuple(goals), prior_mean
        self._names = [goal.name for goal in self.goals]
        self._met: dict[Hashable, list[tuple[int, Evaluation]]] = {}  # by `choices.cells`, with places in `all`

    @property
    def all(self) -> list[Evaluation]:
        """Those from before, and those of the experiment."""
        return [*self.before, *self.own]

    @property
    def done(self) -> list[Evaluation]:
        """Those of which all outcomes are there."""
        return [each for each in self.all if each.status == "done"]

    @property
    def open(self) -> list[Evaluation]:
        """Those that have been asked and not told, oldest first."""
        return [each for each in self.own if each.status == "open"]

    # What happens.

    def take_over(self, frame: pd.DataFrame, table: str, failures: bool) -> list[tuple[int, Point]]:
        """Take over the outcomes in a table; returns the rows that have none, with their numbers.

        Raises:
            ValueError: if a row is wrong or a point is there twice.
        """
        failed = []
        for i, point, outcomes, sds in outcomes_in(frame, self._names, failures, table, self.sds):
            if outcomes is None:
                failed.append((i, point))
                continue
            with row_named(i, table):
                new = self.stated(point)
                self._refuse_repeat(new)
            new.outcomes, new.status, new.sds = outcomes, "done", sds
            self.before.append(new)
            self._meet(new)
        return failed

    def ask(self, new: Sequence[Evaluation], fixed: Mapping[str, Any]) -> None:
        """These were proposed, with values held fixed or none, by a policy that knows all that has been told."""
        self.untold, self.corrected = [], False
        for each in new:
            self.own.append(each)
            self._meet(each)
        self.events.append({"ask": [each.point for each in new], **({"fixed": dict(fixed)} if fixed else {})})

    def tell(
        self,
        point: Mapping[str, Any],
        outcome: float | Outcomes | None,
        failed: bool,
        correct: bool = False,
        sd: float | Outcomes | None = None,
    ) -> None:
        """What came of a point; raises as `Experiment.tell`."""
        correct = as_truth("correct", correct)
        if as_truth("failed", failed) and outcome is not None:
            raise ValueError(f"outcome: expected none with failed=True, got {outcome!r}")
        came: dict[str, Any] = {"failed": True}
        if not failed:
            outcomes = as_outcomes(self._names, outcome, early=True)
            came = {"outcome": outcomes if len(self._names) > 1 else outcomes[self._names[0]]}
        if sd is not None:
            sds = as_sds(self._names, sd, () if failed else outcomes)
            came["sd"] = sds if len(self._names) > 1 else sds[self._names[0]]
        new = self.stated(point)
        if correct:
            self.note({"tell": self._told(new), **came, "correct": True})
            return
        found = self._find(new)
        if found is not None:
            early = {n: y for n, y in self.own[found].outcomes.items() if failed or outcomes.get(n, y) != y}
            if early:
                was = ", ".join(f"{name} {y:g}" for name, y in early.items())
                raise ValueError(f"point: {new.point!r} has been told already ({was}); correct=True replaces it")
            self.note({"tell": found, **came})
            return
        found = self._weighed(new)
        self.note({"tell": len(self.own) if found is None else found, **came, "point": new.point})

    def tell_rows(
        self, rows: Iterable[tuple[int, Point, Mapping[str, Any] | None, Mapping[str, Any]]], correct: bool, table: str
    ) -> None:
        """What came of many points, see `sheets.rows_of`; what was told already, and is the same, is no news.

        With repeats each row stands for another evaluation of its point. Messages call the table `table`.
        """
        taken: dict[int, int] = {}  # rows by the place of the evaluation
        for i, point, outcomes, sds in rows:
            with row_named(i, table):
                new = self.stated(point)
                came = None if outcomes is None else as_outcomes(self._names, outcomes, early=True)
                known = self.met(new.action, "done", "failed", "open")
                same = next((place for place, each in known if place not in taken and _says(each, came, sds)), None)
                if same is not None:
                    taken[same] = i
                    continue
                row = next((taken[place] for place, _ in known if place in taken), None)
                if row is not None and not self._repeats:
                    raise ValueError(f"expected another point than that of row {row}, got {new.point!r}")
                again = correct and any(each.status != "open" or each.outcomes for _, each in known)
                self.tell(point, came, came is None, again, sds or None)
                told = self.met(new.action, "done", "failed", "open")
                taken |= {place: i for place, each in told if _says(each, came, sds)}

    def withdraw(self, point: Mapping[str, Any]) -> None:
        """An open point will not be tried; raises as `Experiment.withdraw`."""
        found = self._find(self.stated(point))
        if found is None:
            raise ValueError(f"point: expected one of the {len(self.open)} open points, got {dict(point)!r}")
        self.note({"withdraw": found})

    def note(self, event: Event) -> None:
        """A point was told or withdrawn, just now or as a file has it.

        Raises:
            TypeError, ValueError: if an event of a file says what cannot have happened.
        """
        number = event["withdraw"] if "withdraw" in event else event["tell"]
        new = self.stated(event["point"]) if "point" in event else None
        if new is not None:
            self._refuse_repeat(new)
        correct = event.get("correct") is True
        statuses = ("open", "done", "failed") if correct else ("open",)
        expected = [i for i, each in enumerate(self.own) if each.status in statuses]
        if new is not None:
            expected = [i for i in expected if self._is_near(new, self.own[i])] + [len(self.own)]
        if type(number) is not int or number not in expected:
            raise ValueError(f"expected the number of a point that is open, among {expected}, got {number!r}")
        if "withdraw" in event:
            self.own[number].status = "withdrawn"
        else:
            failed = event.get("failed", False)
            if failed not in (True, False) or (failed and "outcome" in event):
                raise ValueError(f"expected an outcome or 'failed': true, got {event!r}")
            outcomes = None if failed else as_outcomes(self._names, event.get("outcome"), early=True)
            if new is not None and number < len(self.own):  # weighed
                self.own[number].point, self.own[number].action = new.point, new.action
                self._meet(self.own[number], number)
            elif new is not None:
                self.own.append(new)
                self._meet(new)
            each, news = self.own[number], {*self._names} if outcomes is None else {*outcomes}
            before = {*self._names} if each.status == "failed" else {*each.outcomes}
            each.outcomes = {} if outcomes is None else {**each.outcomes, **outcomes}
            if each.status == "failed" or before & news:  # what the policy may have learnt is no longer so
                waiting = {name for place, names in self.untold if place == number for name in names}
                self.corrected = self.corrected or bool(before - waiting)
                self.untold = [pair for pair in self.untold if pair[0] != number]
                news = {*each.outcomes} or news
            self.untold.append((number, tuple(name for name in self._names if name in news)))
            kept: dict[str, float] = {name: sd for name, sd in each.sds.items() if name not in (outcomes or each.sds)}
            each.sds = {**kept, **(as_sds(self._names, event["sd"], outcomes or ()) if "sd" in event else {})}
            each.status = "failed" if outcomes is None else "open"
            if len(each.outcomes) == len(self._names):  # else others are awaited
                each.status = "done"
        self.events.append(event)

    # Points and evaluations.

    def proposed(self, action: Action, region: Region | None = None) -> Evaluation:
        """A new evaluation of what a policy chose, on ranges rounded within a region."""
        return Evaluation(*(region or self._choices).proposed(action))

    def stated(self, point: Any, asked: bool = False) -> Evaluation:
        """A new evaluation of a point that is given; raises if there is no such point."""
        point, action = self._choices.stated(point)
        return Evaluation(point, action, asked=asked)

    def same(self, action: Action, evaluations: Sequence[Evaluation]) -> list[int]:
        """Which evaluations are of an action."""
        return self._choices.same(action, [each.action for each in evaluations])

    def _find(self, new: Evaluation) -> int | None:
        """The number of the oldest open evaluation of a point."""
        found = self.met(new.action, "open")
        return found[0][0] - len(self.before) if found else None

    def _weighed(self, new: Evaluation) -> int | None:
        """The number of the only open evaluation that a point is near, and that was weighed so."""
        near = [i for i, each in enumerate(self.own) if each.status == "open" and self._is_near(new, each)]
        return near[0] if len(near) == 1 and not self.met(new.action, "done", "failed") else None

    def _is_near(self, new: Evaluation, asked: Evaluation) -> bool:
        """Whether numbers of ranges differ by a thousandth of these at most, and all else is the same."""
        if isinstance(self._choices, Candidates):
            return False
        levels = [each.name for each in self._choices.parameters.all if each.dimension.levels is not None]
        same = all(new.point[name] == asked.point[name] for name in levels)
        return same and bool(np.abs(np.asarray(new.action) - asked.action).max() <= _WEIGHED)

    def _told(self, new: Evaluation) -> int:
        """The number of the evaluation of a point of which something was told, to be corrected."""
        found = [
            (place, each)
            for place, each in self.met(new.action, "open", "done", "failed")
            if each.status != "open" or each.outcomes
        ]
        before = [place for place, each in found if place < len(self.before)]
        if before:
            raise ValueError(
                f"correct: {new.point!r} is in row {before[0]} of the data given at the start; mend it there, and give "
                "results() as data= of a new experiment"
            )
        if len(found) != 1:
            told = f"in rows {', '.join(str(place) for place, _ in found)} of results()" if found else "not at all"
            raise ValueError(f"correct: expected a point that has been told once, got {new.point!r}, told {told}")
        return found[0][0] - len(self.before)

    def _meet(self, new: Evaluation, number: int | None = None) -> None:
        place = len(self.before) + (len(self.own) - 1 if number is None else number)
        self._met.setdefault(self._choices.cells(new.action)[0], []).append((place, new))

    def met(self, action: Action, *statuses: Status) -> list[tuple[int, Evaluation]]:
        """The evaluations of an action that have one of these statuses, with their places in `all`, in order.

        In a time that does not grow with the others.
        """
        near = [pair for cell in self._choices.cells(action) for pair in self._met.get(cell, ())]
        near = sorted((pair for pair in near if pair[1].status in statuses), key=itemgetter(0))
        return [near[i] for i in self.same(action, [each for _, each in near])]

    def _refuse_repeat(self, new: Evaluation) -> None:
        if self._repeats:
            return
        told = self.met(new.action, "done", "failed")
        if told:
            place, each = told[0]
            way = "correct=True replaces it, " if place >= len(self.before) else ""
            was = ", ".join(f"{name} {value:g}" for name, value in each.outcomes.items()) or "failed"
            raise ValueError(
                f"point: {new.point!r} has been told already ({was}); {way}repeats=True allows it twice, as with "
                "replicates"
            )

    # Numbers.

    def reward(self, evaluation: Evaluation, goal: Goal) -> float:
        """What the policy learns of an evaluation: larger is better, 0 is to be expected, NaN is nothing."""
        return goal.sign * (goal.measure(evaluation.numbers.get(goal.name, np.nan)) - self.expected(goal))

    def in_units(self, rewards: np.ndarray, goal: Goal) -> np.ndarray:
        """Rewards in the unit of the outcome, or distances from its target."""
        return goal.sign * rewards + self.expected(goal)

    def expected(self, goal: Goal) -> float:
        """What to expect of `Goal.measure`."""
        return self._prior_mean if goal.target is None else 0.0

    def points(self, evaluations: Sequence[Evaluation]) -> list[int]:
        """The number of the point of each evaluation, counted in the order in which points are first met."""
        firsts: dict[Hashable, list[tuple[int, Evaluation]]] = {}
        numbers: list[int] = []
        n = 0
        for each in evaluations:
            cells = self._choices.cells(each.action)
            near = sorted((pair for cell in cells for pair in firsts.get(cell, ())), key=itemgetter(0))
            same = self.same(each.action, [first for _, first in near])
            if not same:
                firsts.setdefault(cells[0], []).append((n, each))
                n += 1
            numbers.append(near[same[0]][0] if same else n - 1)
        return numbers

    def averages(self) -> list[tuple[Point, Outcomes, int]]:
        """Every point with outcomes, these averaged over its repeats, and the row in which it is first."""
        done = [(i, each) for i, each in enumerate(self.all) if each.status == "done"]
        groups: dict[int, list[tuple[int, Evaluation]]] = {}
        for number, pair in zip(self.points([each for _, each in done]), done, strict=True):
            groups.setdefault(number, []).append(pair)
        out: list[tuple[Point, Outcomes, int]] = []
        for group in groups.values():
            means = {name: float(np.mean([each.outcomes[name] for _, each in group])) for name in self._names}
            out.append((dict(group[0][1].point), means, group[0][0]))
        return out

    def best(self) -> tuple[Point, Outcomes]:
        """The point of best outcome among those that keep to all limits; see `Experiment.best`."""
        objectives = [goal for goal in self.goals if goal.direction is not None]
        if len(objectives) > 1:
            named = " and ".join(goal.name for goal in objectives)
            raise ValueError(
                f"best: expected a single outcome with a direction, got {named}; pareto() has all that are best"
            )
        found = self.averages()
        if not found:
            raise ValueError("best: expected at least one outcome, got none yet")
        kept = [each for each in found if all(goal.met(each[1][goal.name]) for goal in self.goals)]
        if not kept:
            limits = ", ".join(str(goal) for goal in self.goals if goal.limit is not None)
            raise ValueError(f"best: expected an evaluation that keeps to {limits}, got none among {len(found)}")
        goal = objectives[0]
        point, outcomes, _ = max(kept, key=lambda each: goal.sign * goal.measure(each[1][goal.name]))
        return point, outcomes

    def front(self) -> pd.DataFrame:
        """The points that no other beats; see `Experiment.pareto`."""
        import pandas as pd

        kept = [each for each in self.averages() if all(goal.met(each[1][goal.name]) for goal in self.goals)]
        objectives = [goal for goal in self.goals if goal.direction is not None]
        Y = np.array([[goal.sign * goal.measure(each[goal.name]) for goal in objectives] for _, each, _ in kept])
        best = np.flatnonzero(~is_dominated(Y)) if len(kept) else np.zeros(0, int)
        order = sorted(best.tolist(), key=lambda i: tuple(-Y[i]))
        rows = [{**kept[i][0], **kept[i][1]} for i in order]
        columns = [*self._choices.names, *self._names]
        return pd.DataFrame(rows, columns=columns, index=[kept[i][2] for i in order])

    def best_so_far(self) -> dict[str, Float[np.ndarray, " n"]]:
        """Of each outcome with a direction, what `best` would have said after each evaluation that has outcomes."""
        done = self.done
        Y = np.array([[each.outcomes[name] for name in self._names] for each in done])
        sums, counts = np.zeros((len(done), len(self.goals))), np.zeros((len(done), 1))
        best = np.full((len(done), len(self.goals)), np.nan)
        for i, point in enumerate(self.points(done)):
            sums[point] += Y[i]
            counts[point] += 1
            seen = counts[:, 0] > 0
            means = sums[seen] / counts[seen]
            kept = means[np.all([goal.met(y) for goal, y in zip(self.goals, means.T, strict=True)], axis=0)]
            for j, goal in enumerate(self.goals if len(kept) else ()):
                best[i, j] = kept[np.argmax(goal.sign * goal.measure(kept[:, j])), j]
        return {goal.name: best[:, j] for j, goal in enumerate(self.goals) if goal.direction is not None}

    def table(self) -> pd.DataFrame:
        """One row per evaluation: the parameters, the outcomes and its status; data from before come first."""
        import pandas as pd

        rows = [(each, "before") for each in self.before] + [(each, each.status) for each in self.own]
        nothing = dict.fromkeys(self._names)
        there = [self.sds[name] for name in self._names if any(name in each.sds for each, _ in rows)]
        columns = [*self._choices.names, *self._names, *there, STATUS]
        found = [
            {**each.point, **nothing, **each.outcomes, **self.errors(each), STATUS: status} for each, status in rows
        ]
        return pd.DataFrame(found, columns=columns)

    def errors(self, evaluation: Evaluation) -> dict[str, float]:
        """Its standard errors, by column."""
        return {self.sds[name]: sd for name, sd in evaluation.sds.items()}

    def __repr__(self) -> str:
        counts = {"before": len(self.before)}
        for each in self.own:
            counts[each.status] = counts.get(each.status, 0) + 1
        return ", ".join(f"{n} {status}" for status, n in counts.items() if n) or "nothing told"
