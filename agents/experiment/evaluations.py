"""One evaluation, and the outcomes that a table holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from agents.core.protocol import Action
from agents.experiment.parameters import Point, is_number, plain
from gpbandit_envs.arguments import LARGEST, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["STATUS", "Evaluation", "Outcomes", "as_outcome", "as_outcomes", "has_outcomes", "outcomes_in", "row_named"]

STATUS = "status"
"""A column of `Experiment.results`."""

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
        outcomes: What came of it, by the names of the outcomes, each in its unit; None unless `"done"`.
        asked: Whether the policy proposed it; False for one that was told without having been asked.
        counts_as: For a failed one, the outcomes that the policy was given in place of none, if any.
    """

    point: Point
    action: Action
    status: Status = "open"
    outcomes: Outcomes | None = None
    asked: bool = True
    counts_as: Outcomes | None = None

    @property
    def numbers(self) -> Outcomes | None:
        """What the policy learns of it: its outcomes, or what it counts as; None for nothing."""
        return self.counts_as if self.outcomes is None else self.outcomes


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


def as_outcomes(names: Sequence[str], given: Any) -> Outcomes:
    """A number for every outcome: of a single one the number alone, else a dict.

    Raises:
        TypeError: if there are several and it is no dict.
        ValueError: if one is missing, unknown, or no finite number.
    """
    if not isinstance(given, Mapping):
        if len(names) > 1:
            raise TypeError(f"outcome: expected a dict with a number for each of {', '.join(names)}, got {given!r}")
        given = {names[0]: given}
    for name in given:
        if name not in names:
            raise ValueError(f"outcome: no outcome {name!r}; {did_you_mean(str(name), list(names), cutoff=0.5)}")
    missing = [name for name in names if name not in given]
    if missing:
        raise ValueError(f"outcome: expected a number for each of {', '.join(names)}, missing {', '.join(missing)}")
    return {name: as_outcome(name, given[name]) for name in names}


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


def outcomes_in(
    frame: pd.DataFrame, names: Sequence[str], failures: bool, table: str
) -> Iterator[tuple[int, Point, Outcomes | None]]:
    """The rows of a table: number, point, and outcomes; None for one that failed.

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
        yield i, point, outcomes


@contextmanager
def row_named(i: int, table: str = "data") -> Iterator[None]:
    """Name the row of a table in its errors."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"{table}, row {i} (counted from 0): {error}") from None
