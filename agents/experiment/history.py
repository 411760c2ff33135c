"""What was tried and what came of it, in order: points are told, found again, counted, and written as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from agents.core.protocol import Action
from agents.experiment.candidates import Candidates
from agents.experiment.evaluations import STATUS, Evaluation, as_outcome, outcomes_in, row_named
from agents.experiment.file import Event
from agents.experiment.parameters import Parameters, Point

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["History"]


class History:
    """The evaluations of an experiment.

    Args:
        choices: What can be tried.
        outcome: Name of the outcome.
        minimise: Whether small outcomes are good.
        prior_mean: What to expect of an outcome.
        repeats: Whether a point may be told more than once.

    Attributes:
        before: Those from before, of which all have an outcome.
        own: Those of the experiment; their places are their numbers.
        untold: Numbers of those that were told since the policy learnt last.
        events: What happened, in order.
    """

    def __init__(
        self, choices: Parameters | Candidates, outcome: str, *, minimise: bool, prior_mean: float, repeats: bool
    ) -> None:
        self.before: list[Evaluation] = []
        self.own: list[Evaluation] = []
        self.untold: list[int] = []
        self.events: list[Event] = []
        self._choices, self._outcome, self._repeats = choices, outcome, repeats
        self._sign, self._prior_mean = -1.0 if minimise else 1.0, prior_mean

    @property
    def all(self) -> list[Evaluation]:
        """Those from before, and those of the experiment."""
        return [*self.before, *self.own]

    @property
    def open(self) -> list[Evaluation]:
        """Those that have been asked and not told, oldest first."""
        return [each for each in self.own if each.status == "open"]

    # What happens.

    def take_over(self, frame: pd.DataFrame, failures: bool) -> list[tuple[int, Point]]:
        """Take over the outcomes in a table; returns the rows that have none, with their numbers.

        Raises:
            ValueError: if a row is wrong or a point is there twice.
        """
        failed = []
        for i, point, outcome in outcomes_in(frame, self._outcome, failures):
            if outcome is None:
                failed.append((i, point))
                continue
            with row_named(i):
                new = self.stated(point)
                self._refuse_repeat(new)
            new.outcome, new.status = outcome, "done"
            self.before.append(new)
        return failed

    def ask(self, new: Sequence[Evaluation]) -> None:
        """These were proposed, by a policy that knows all that has been told."""
        self.untold = []
        self.own += new
        self.events.append({"ask": [each.point for each in new]})

    def tell(self, point: Mapping[str, Any], outcome: float | None, failed: bool) -> None:
        """What came of a point; raises as `Experiment.tell`."""
        if failed and outcome is not None:
            raise ValueError(f"outcome: expected none with failed=True, got {outcome!r}")
        came: dict[str, Any] = {"failed": True} if failed else {"outcome": as_outcome(self._outcome, outcome)}
        found = self._find(point)
        if found is None:
            new = self.stated(point)
            self._refuse_repeat(new)
            self.note({"tell": len(self.own), **came, "point": new.point})
        else:
            self.note({"tell": found, **came})

    def withdraw(self, point: Mapping[str, Any]) -> None:
        """An open point will not be tried; raises as `Experiment.withdraw`."""
        found = self._find(point)
        if found is None:
            raise ValueError(f"point: expected one of the {len(self.open)} open points, got {dict(point)!r}")
        self.note({"withdraw": found})

    def note(self, event: Event) -> None:
        """A point was told or withdrawn, just now or as a file has it."""
        if "withdraw" in event:
            self.own[event["withdraw"]].status = "withdrawn"
        else:
            if "point" in event:
                self.own.append(self.stated(event["point"]))
            told = self.own[event["tell"]]
            told.outcome, told.status = event.get("outcome"), "failed" if event.get("failed") else "done"
            self.untold.append(event["tell"])
        self.events.append(event)

    # Points and evaluations.

    def proposed(self, action: Action) -> Evaluation:
        """A new evaluation of what a policy chose."""
        return Evaluation(*self._choices.proposed(action))

    def stated(self, point: Any, asked: bool = False) -> Evaluation:
        """A new evaluation of a point that is given; raises if there is no such point."""
        point, action = self._choices.stated(point)
        return Evaluation(point, action, asked=asked)

    def same(self, action: Action, evaluations: Sequence[Evaluation]) -> list[int]:
        """Which evaluations are of an action."""
        return self._choices.same(action, [each.action for each in evaluations])

    def _find(self, point: Any) -> int | None:
        """The number of the oldest open evaluation of a point."""
        wanted = self.stated(point).action
        numbers = [i for i, each in enumerate(self.own) if each.status == "open"]
        same = self.same(wanted, [self.own[i] for i in numbers])
        return numbers[same[0]] if same else None

    def _refuse_repeat(self, new: Evaluation) -> None:
        if self._repeats:
            return
        known = [each for each in self.all if each.status in ("done", "failed")]
        same = self.same(new.action, known)
        if same:
            each = known[same[0]]
            was = "failed" if each.outcome is None else f"{self._outcome} {each.outcome:g}"
            raise ValueError(f"point: {new.point!r} has been told already ({was}); repeats=True allows it twice")

    # Numbers.

    def reward(self, evaluation: Evaluation) -> float:
        """What the policy learns of an evaluation that has a number: larger is better, and 0 is to be expected."""
        assert evaluation.number is not None
        return self._sign * (evaluation.number - self._prior_mean)

    def outcomes(self, rewards: np.ndarray) -> np.ndarray:
        """Rewards in the unit of the outcome."""
        return self._sign * rewards + self._prior_mean

    def best(self) -> tuple[Point, float]:
        """The point of best outcome; see `Experiment.best`."""
        groups: list[list[Evaluation]] = []
        for each in self.all:
            if each.status == "done":
                same = self.same(each.action, [group[0] for group in groups])
                if same:
                    groups[same[0]].append(each)
                else:
                    groups.append([each])
        if not groups:
            raise ValueError("best: expected at least one outcome, got none yet")
        top = max(groups, key=lambda group: float(np.mean([self.reward(each) for each in group])))
        return dict(top[0].point), float(np.mean([each.outcome for each in top if each.outcome is not None]))

    def table(self) -> pd.DataFrame:
        """One row per evaluation: the parameters, the outcome and its status; data from before come first."""
        import pandas as pd

        rows = [(each, "before") for each in self.before] + [(each, each.status) for each in self.own]
        return pd.DataFrame([{**each.point, self._outcome: each.outcome, STATUS: status} for each, status in rows])

    def __repr__(self) -> str:
        counts = {"before": len(self.before)}
        for each in self.own:
            counts[each.status] = counts.get(each.status, 0) + 1
        return ", ".join(f"{n} {status}" for status, n in counts.items() if n) or "nothing told"
