"""Tables: of candidates that can be tried, and as they are given."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float

from agents.core.protocol import Action
from agents.experiment.parameters import Parameter, Parameters, Point, is_number, nil, nine_digits, plain
from gpbandit_envs.arguments import LARGEST, is_finite, shown
from gpbandit_envs.csv_file import one_header, read_csv
from gpbandit_envs.domain import Dimension
from gpbandit_envs.numerals import PLAIN, numerals

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 5  # rows

Table = Any
"""A pandas DataFrame, the path of a CSV file, a list of dicts, or a dict of columns."""


def as_frame(name: str, table: Table) -> pd.DataFrame:
    """A table as a DataFrame without missing names.

    Raises:
        TypeError: if it is no table.
        ValueError: if it has no rows, two columns have one name, or a file is no table or mixes numbers with text.
        FileNotFoundError: if there is no such file.
    """
    import pandas as pd

    if isinstance(table, (str, Path)):
        table = read_csv(Path(table).read_bytes(), str(table), name)
        _refuse_numerals(name, table, mixed=True)
    if not isinstance(table, pd.DataFrame):
        try:
            table = pd.DataFrame(table)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"{name}: expected a DataFrame, the path of a CSV file or a list of dicts: {error}"
            ) from None
    if len(table) == 0:
        raise ValueError(f"{name}: expected at least one row, got none")
    one_header(name, table)
    table = table.rename(columns=str).reset_index(drop=True)  # rows are counted from 0 wherever they are named
    if not table.columns.is_unique:
        twice = table.columns[table.columns.duplicated()][0]
        raise ValueError(f"{name}: expected different names of columns, got {twice!r} twice")
    return _decimal(table)


def _decimal(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame whose columns of single precision have the decimals that they show."""
    narrow = frame.select_dtypes(["float32", "float16"]).columns
    return frame.assign(**{column: [plain(value) for value in frame[column].to_numpy()] for column in narrow})


def points_in(frame: pd.DataFrame, names: Sequence[str]) -> list[Point]:
    """The points in the rows of a frame, whatever other columns it has.

    Raises:
        ValueError: if a column is missing.
    """
    one_header("points", frame)
    frame = frame.rename(columns=str)
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise ValueError(f"points: expected the columns {', '.join(names)}, got none named {', '.join(missing)}")
    return _decimal(frame[list(names)]).to_dict("records")  # type: ignore[return-value]


def _refuse_numerals(name: str, frame: pd.DataFrame, mixed: bool = False) -> None:
    """Raise where a column of text has numbers, which would be categories: written in a way that is none of Python's.

    With `mixed` also for a single slip, such as `1O` or `n/a` among numbers, as a file may have; columns of a frame
    whose dtype is `category` are meant.
    """
    import pandas as pd

    for column in frame.columns[[dtype.kind not in "biufmMc" and dtype != "category" for dtype in frame.dtypes]]:
        cells = frame[column].dropna()
        if not cells.map(lambda cell: isinstance(cell, str)).all():
            continue  # numbers beside text, of which its parameter says
        written = numerals(cells)
        text = pd.to_numeric(cells, errors="coerce").isna().to_numpy()
        what, such, remedy = "", np.zeros(len(cells), bool), ""
        if mixed and not text.all() and (written is None or written.what == PLAIN):
            what, such = "mixes numbers with text", text
            remedy = "mend it, leave it empty where nothing is known, or give a DataFrame"
        elif written is not None:
            what, such = f"holds {written.what}", cells.isin(written.such).to_numpy()
            remedy = f"{written.remedy}; names are to be of the dtype 'category', as by DataFrame.astype"
        if such.any():
            rows = cells.index[such].tolist()
            where = f"row{'s' if len(rows) > 1 else ''} {', '.join(map(str, rows[:_SHOWN]))}"
            where += f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
            raise ValueError(
                f"{name}: column {column!r} {what}, such as {cells[rows[0]]!r} in {where} (counted from 0); {remedy}"
            )


class Candidates:
    """A table of candidates, one a row; numbers are scaled by their smallest and largest, text is a category.

    A column with a single value belongs to the points and tells policies nothing.

    Attributes:
        points: The candidates.
        log: Names of the columns that are scaled by their logarithm.
        parameters: The columns that vary.
        arms: Their coordinates in the unit cube, shape (A, d).

    Raises:
        TypeError: if a column holds neither numbers nor text.
        ValueError: if a value is missing or too large, two candidates are equal, no column varies, or a text is another
            one in every row; the message names row and column.
    """

    def __init__(self, points: list[Point], log: tuple[str, ...] = ()) -> None:
        self.points, self.log = points, log
        for name in log:
            if name not in self.names:
                raise ValueError(f"log: expected columns among {', '.join(self.names)}, got {name!r}")
        self.parameters = Parameters(tuple(filter(None, map(self._parameter, self.names))))
        if not self.parameters.all:
            raise ValueError(f"table: expected a column that varies, got {len(points)} equal rows")
        columns = [self._numbers(each) for each in self.parameters.all]
        self.arms: Float[np.ndarray, "A d"] = self.parameters.domain.unit(np.column_stack(columns))
        self._nil = {name: nil(point[name] for point in points) for name in self.names}
        self._index: dict[tuple[object, ...], int] = {}
        for i, key in enumerate(zip(*map(self._keys, self.names))):
            first = self._index.setdefault(key, i)
            if first != i:
                raise ValueError(
                    f"table: expected different candidates, got rows {first} and {i} equal (counted from 0); drop one "
                    "(DataFrame.drop_duplicates), and give replicates as data= with repeats=True"
                )

    @classmethod
    def of(cls, frame: pd.DataFrame, log: tuple[str, ...]) -> Candidates:
        """The candidates in the rows of a frame."""
        missing = frame.isna()
        rows = np.flatnonzero(missing.any(axis="columns")).tolist()
        if rows:
            shown = ", ".join(map(str, rows[:12])) + (", ..." if len(rows) > 12 else "")
            columns = [repr(name) for name in frame.columns if missing[name].any()]
            raise ValueError(
                f"table: expected a value in every cell, got none in {len(rows)} of {len(frame)} rows ({shown}, "
                f"counted from 0), in {', '.join(columns)}; fill them in or drop the rows (DataFrame.dropna)"
            )
        _refuse_numerals("table", frame)
        points = [{name: plain(value) for name, value in row.items()} for row in frame.to_dict("records")]
        return cls(points, log)  # type: ignore[arg-type]

    @property
    def names(self) -> list[str]:
        """The columns."""
        return list(self.points[0])

    def _parameter(self, name: str) -> Parameter | None:
        """What policies play on; None for a column with a single value."""
        values = [point[name] for point in self.points]
        if name in self.log and not all(map(is_number, values)):
            raise ValueError(f"log: expected columns of numbers, got {name!r}")
        if all(map(is_number, values)):
            large = next((i for i, value in enumerate(values) if abs(value) > LARGEST), None)
            if large is not None:
                raise ValueError(
                    f"table: expected numbers up to {LARGEST:g} in size, got {shown(values[large])} in column "
                    f"{name!r}, row {large} (counted from 0)"
                )
            low, high = float(min(values)), float(max(values))
            if name in self.log and low <= 0:
                raise ValueError(f"log: expected numbers > 0 in column {name!r}, got {low!r}")
            return Parameter(Dimension(low, high, log=name in self.log, name=name)) if low < high else None
        if not all(isinstance(value, (str, bool)) for value in values):
            odd = next(value for value in values if not isinstance(value, (str, bool)))
            raise TypeError(f"table: expected numbers alone or text alone in column {name!r}, got {odd!r} among them")
        labels = tuple(dict.fromkeys(values))
        if 2 < len(labels) == len(values):
            raise ValueError(
                f"table: column {name!r} has another text in every row, from which nothing can be learnt; leave it out"
            )
        if len(labels) == 1:
            return None
        return Parameter(Dimension(name=name, choices=tuple(map(str, labels))), labels)

    def _numbers(self, each: Parameter) -> Float[np.ndarray, " A"]:
        """The numbers that stand for a column."""
        values = [point[each.name] for point in self.points]
        if each.labels:
            return np.array([each.number(value) for value in values])
        return np.clip(np.array(values, np.float64), each.dimension.low, each.dimension.high)

    def _keys(self, name: str) -> list[object]:
        """`_canonical` of a column."""
        values = [point[name] for point in self.points]
        if not all(map(is_number, values)):
            return [self._canonical(name, value) for value in values]
        return (nine_digits(values) * (np.abs(np.array(values, np.float64)) > self._nil[name])).tolist()

    def _canonical(self, name: str, value: Any) -> object:
        """What is the same for all values of a column that count as one."""
        value = plain(value)
        if isinstance(value, str):
            return str, value
        if not is_number(value) or not is_finite(value):
            return type(value), shown(value)  # what is given may be no key of a dict
        return 0.0 if abs(value) <= self._nil[name] else float(f"{value:.9g}")

    def problem_fields(self) -> dict[str, Any]:
        """What a problem says of them."""
        return {"dim": self.arms.shape[1], "arms": self.arms, "notes": {"categories": self.parameters.groups}}

    def with_level(self, X: Float[np.ndarray, "n d"], columns: tuple[int, ...], level: int) -> Float[np.ndarray, "m d"]:
        """The candidates with the value of a category that has the coordinate `level`; others do not matter."""
        return self.arms[self.arms[:, level] == 1]

    def proposed(self, action: Action) -> tuple[Point, int]:
        """The candidate that an action stands for, and the action."""
        return dict(self.points[int(action)]), int(action)

    def with_values(self, fixed: Mapping[str, Any]) -> Bool[np.ndarray, " A"]:
        """Which candidates have these values.

        Raises:
            ValueError: if there is no such value, or no candidate has all of them.
        """
        found = np.ones(len(self.points), bool)
        for name, value in fixed.items():
            wanted = self._canonical(name, value)
            mine = np.array([self._canonical(name, each[name]) == wanted for each in self.points])
            if not mine.any():
                self._refuse_value(name, value)
            found &= mine
        if not found.any():
            raise ValueError(f"fixed: no candidate of the table has {dict(fixed)!r}, though each value occurs")
        return found

    def cells(self, action: Action) -> tuple[Hashable, ...]:
        """Where an action is kept: itself."""
        return (int(action),)

    def same(self, action: Action, actions: Sequence[Action]) -> list[int]:
        """Which actions are `action`."""
        return [i for i, each in enumerate(actions) if each == action]

    def stated(self, point: Any) -> tuple[Point, int]:
        """The candidate that a point names, and its action.

        Raises:
            TypeError: if `point` is no dict.
            ValueError: if there is no such candidate; the message says which value is in no row.
        """
        names = Parameters(tuple(Parameter(Dimension(name=name)) for name in self.names))
        names.check_names(point)
        found = self._index.get(tuple(self._canonical(name, point[name]) for name in self.names))
        if found is not None:
            return self.proposed(found)
        for name in self.names:
            wanted = self._canonical(name, point[name])
            if not any(self._canonical(name, each[name]) == wanted for each in self.points):
                self._refuse_value(name, point[name])
        raise ValueError(f"point: no candidate of the table has {dict(point)!r}, though each value occurs")

    def _refuse_value(self, name: str, value: Any) -> None:
        """Raise as for a value that no candidate has; the message lists those that there are."""
        values = tuple(dict.fromkeys(each[name] for each in self.points))
        shown = sorted(values) if all(map(is_number, values)) else values
        Parameter(Dimension(name=name), tuple(shown)).number(value)
