"""One evaluation, and the outcomes that a table holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from agents.core.protocol import Action
from agents.experiment.parameters import Point, is_number, plain
from gpbandit_envs.arguments import LARGEST, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["STATUS", "Evaluation", "as_outcome", "has_outcomes", "outcomes_in", "row_named"]

STATUS = "status"
"""A column of `Experiment.results`."""

_ALIKE = 0.8  # likeness of names, see difflib: two letters of five exchanged

Status = Literal["open", "done", "failed", "withdrawn"]


@dataclass
class Evaluation:
    """One evaluation.

    Attributes:
        point: What was, or is to be, tried.
        action: It as policies see it: the number of a candidate, or a point of the unit cube.
        status: `"open"` until told.
        outcome: What came of it, unit of the outcome; None unless `"done"`.
        asked: Whether the policy proposed it; False for one that was told without having been asked.
        counts_as: For a failed one, the outcome that the policy was given in place of none, if any.
    """

    point: Point
    action: Action
    status: Status = "open"
    outcome: float | None = None
    asked: bool = True
    counts_as: float | None = None

    @property
    def number(self) -> float | None:
        """What the policy learns of it: its outcome, or what it counts as; None for nothing."""
        return self.counts_as if self.outcome is None else self.outcome


def as_outcome(name: str, value: Any) -> float:
    """A finite number of moderate size.

    Raises:
        ValueError: if it is none.
    """
    value = plain(value)
    if not is_number(value) or not abs(value) <= LARGEST:
        hint = "; an evaluation without outcome is told with failed=True" if name != "prior_mean" else ""
        raise ValueError(f"{name}: expected a finite number, got {value!r}{hint}")
    return float(value)


def has_outcomes(frame: pd.DataFrame, outcome: str) -> bool:
    """Whether a column has the outcome's name.

    Raises:
        ValueError: if one differs from it in spelling alone, or none has it and one is close: it would become a
            parameter.
    """
    wanted, there = outcome.strip().casefold(), outcome in frame.columns
    others = [name for name in frame.columns if name != outcome]
    respelt = [name for name in others if name.strip().casefold() == wanted]
    hint = did_you_mean(wanted, respelt or others, "", cutoff=_ALIKE)
    if respelt or (hint and not there):
        raise ValueError(
            f"outcome: expected the name of a column, got {outcome!r}; {hint} A setting needs a name less like it"
        )
    return there


def outcomes_in(frame: pd.DataFrame, outcome: str, failures: bool) -> Iterator[tuple[int, Point, float | None]]:
    """The rows of `data`: number, point, and outcome; None for one that failed.

    Raises:
        ValueError: if the table has no outcomes, or one is no finite number; or is missing, unless `failures`.
    """
    import pandas as pd

    if not has_outcomes(frame, outcome):
        raise ValueError(
            f"data: expected a column {outcome!r} with the outcomes, got {', '.join(frame.columns)}; outcome= names it"
        )
    for i, row in enumerate(frame.to_dict("records")):
        point = {str(name): plain(value) for name, value in row.items()}
        found = point.pop(outcome)
        missing = bool(pd.isna(found))
        with row_named(i):
            if missing and not failures:
                raise ValueError(
                    f"{outcome}: expected a number, got none; leave out rows not measured yet, or give failures=True "
                    "if each row without one failed"
                )
            number = None if missing else as_outcome(outcome, found)
        yield i, point, number


@contextmanager
def row_named(i: int) -> Iterator[None]:
    """Name the row of `data` in its errors."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"data, row {i} (counted from 0): {error}") from None
