"""Plates as tables: points to try are written to a file, and read again with what came of them."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

from agents.experiment.candidates import Table, as_frame
from agents.experiment.history import STATUS, has_outcomes, row_named
from agents.experiment.parameters import Point, plain
from gpbandit_envs.atomic import written_whole
from gpbandit_envs.csv_file import EMPTY, read_csv
from gpbandit_envs.lazy import optional

if TYPE_CHECKING:
    import pandas as pd

_EXCEL = (".xlsx", ".xlsm")
_OPENPYXL = ("Excel files need openpyxl", "excel", "openpyxl")


class Plate(list[Point]):
    """Points to try: a list of dicts, which can be written as a table with columns to fill in.

    The table has a column for each parameter, an empty one for each outcome, and `status`, which is "open"; "failed" in
    its place says that an evaluation gave no outcome. `Experiment.tell` takes the file.
    """

    def __init__(self, points: Iterable[Point], outcomes: Sequence[str]) -> None:
        super().__init__(points)
        self._outcomes = tuple(outcomes)

    def to_frame(self) -> pd.DataFrame:
        """The table."""
        import pandas as pd

        return pd.DataFrame([{**point, **dict.fromkeys(self._outcomes), STATUS: "open"} for point in self])

    def to_csv(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the table as UTF-8 text, columns separated by commas, with the mark by which Excel knows it.

        Raises:
            FileExistsError: if there is such a file, in which outcomes may have been filled in, and not `overwrite`.
            ValueError: if the file's name ends otherwise.
        """
        _refuse_other(path, ".csv")
        return self._written(path, overwrite, lambda to: self.to_frame().to_csv(to, index=False, encoding="utf-8-sig"))

    def to_excel(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the table as the only sheet of an .xlsx file; raises as `to_csv`.

        Raises:
            ImportError: if openpyxl is not installed (extra `excel`).
        """
        optional(*_OPENPYXL)
        _refuse_other(path, ".xlsx")
        return self._written(path, overwrite, lambda to: self.to_frame().to_excel(to, index=False, engine="openpyxl"))

    def _written(self, path: str | Path, overwrite: bool, write: Any) -> Path:
        path = Path(path)
        if path.exists() and not overwrite:
            raise FileExistsError(
                f"path: expected a new file, got {str(path)!r}, in which outcomes may be; overwrite=True replaces it"
            )
        with written_whole(path) as temporary, temporary.open("wb") as to:
            write(to)
        return path


def _refuse_other(path: str | Path, suffix: str) -> None:
    if Path(path).suffix.lower() != suffix:
        raise ValueError(f"path: expected a name that ends with {suffix}, got {str(path)!r}")


def read_sheet(
    table: Table,
    names: Sequence[str],
    words: Collection[str],
    outcomes: Sequence[str],
    sds: Sequence[str],
) -> pd.DataFrame:
    """The columns of a table that are parameters, outcomes or the status; a warning names the others.

    Args:
        table: The path of a .csv or .xlsx file, or a DataFrame.
        names: The parameters, of which all have to be there.
        words: Those of them that are text.
        outcomes: The outcomes, of which at least one has to be there.
        sds: The columns of their standard errors.

    Raises:
        FileNotFoundError: if there is no such file.
        ImportError: if it is one of Excel and openpyxl is not installed.
        ValueError: if it is another kind of file or none that can be read, or a column is missing or nearly called so.
    """
    where = "point"
    if isinstance(table, (str, Path)):
        where = Path(table).name
        table = _read(Path(table), words)
    bare = {name.strip(): name for name in [*names, *outcomes, *sds]}  # blanks around a name are lost in a file
    frame = table.rename(columns=lambda name: bare.get(str(name).strip(), str(name)))
    missing = [name for name in names if name not in frame.columns]
    there = [name for name in outcomes if has_outcomes(frame, name)]
    if missing or not there:
        lacking = f"named {', '.join(missing)}" if missing else "with an outcome"
        raise ValueError(
            f"{where}: expected the columns {', '.join([*names, *outcomes])}, got none {lacking} among "
            f"{', '.join(frame.columns)}"
        )
    there += [name for name in sds if name in frame.columns]
    columns = [*names, *there, *[STATUS] * (STATUS in frame.columns)]
    others = [name for name in frame.columns if name not in columns and not name.startswith("Unnamed: ")]
    if others:
        warnings.warn(
            f"{where}: {', '.join(map(repr, others))} left out, no parameter and no outcome of the experiment",
            stacklevel=3,
        )
    return as_frame(where, frame[columns])


def _read(path: Path, words: Collection[str]) -> pd.DataFrame:
    import pandas as pd

    suffix = path.suffix.lower()
    if suffix == ".csv":
        frame = read_csv(path.read_bytes(), str(path), "point", words)
        for name in frame.columns.difference([*words, STATUS]):  # one word makes texts of all numbers of its column
            numbers = pd.to_numeric(frame[name], errors="coerce")
            frame[name] = numbers.astype(object).where(numbers.notna(), frame[name])
        return frame
    if suffix not in _EXCEL:
        raise ValueError(f"point: expected a dict, or a .csv or .xlsx file, got {str(path)!r}; save it as one of these")
    optional(*_OPENPYXL)
    types = dict.fromkeys(words, str)
    try:
        return pd.read_excel(path, engine="openpyxl", keep_default_na=False, na_values=EMPTY, dtype=types)
    except (BadZipFile, KeyError) as error:  # KeyError: an archive of something else
        raise ValueError(f"point: expected {str(path)!r} to be a file of Excel, got another kind ({error})") from None


Row = tuple[int, Point, Mapping[str, Any] | None, Mapping[str, Any]]
"""Number, point, the outcomes that are there, or None if it failed, and their standard errors, by outcome."""


def rows_of(frame: pd.DataFrame, names: Sequence[str], sds: Mapping[str, str], table: str) -> Iterator[Row]:
    """The rows in which an outcome was filled in, or a failure; messages call it `table`.

    Raises:
        ValueError: if a row has outcomes and no point, or its status is none, or stands beside outcomes.
    """
    import pandas as pd

    for i, row in enumerate(frame.to_dict("records")):
        blank = {
            name for name, value in row.items() if pd.isna(value) or (isinstance(value, str) and not value.strip())
        }
        known = {str(name): plain(value) for name, value in row.items() if name not in blank}
        status = known.pop(STATUS, "open")
        point = {name: known.pop(name) for name in names if name in known}
        errors = {name: known.pop(column) for name, column in sds.items() if column in known}
        if not known and status in ("open", "withdrawn"):
            continue
        with row_named(i, table):
            if status not in ("open", "withdrawn", "done", "before", "failed"):
                raise ValueError(f"{STATUS}: expected 'failed' where nothing came of it, or 'open', got {status!r}")
            if (status == "failed") == bool(known):
                raise ValueError(f"{STATUS}: expected an outcome or 'failed', got {status!r} beside {known or 'none'}")
            if len(point) < len(names):
                raise ValueError(
                    f"{', '.join(name for name in names if name not in point)}: expected a value, got none"
                )
        yield i, point, known or None, errors
