"""Candidates and their measurements from a table of one's own: a CSV file or a DataFrame.

A row is one measurement: the settings of a candidate and the measured target. Rows with equal settings are replicates
of one candidate. Numbers stay as they are; a column of text becomes one column of zeros and ones for each of its words.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float

from gpbandit_envs.arguments import LARGEST, did_you_mean, is_finite, shown
from gpbandit_envs.csv_file import read_csv
from gpbandit_envs.datasets.card import Card
from gpbandit_envs.datasets.table import Table, one_hot_columns, padded
from gpbandit_envs.numerals import PLAIN, Numerals, numerals

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 5
_MANY_NAMES = 20  # different texts from which a column with another in every row is taken for names of the rows


@dataclass(frozen=True)
class Measured:
    """Candidates with their replicates, and how their columns came about.

    Attributes:
        table: Raw features, target to be maximised.
        n_columns: Number of columns that the features came from.
    """

    table: Table
    n_columns: int

    @property
    def one_hot(self) -> Bool[np.ndarray, " d"]:
        """Which features are the zeros and ones of a text column, shape `(d,)`."""
        categories: Any = self.table.notes["categories"]
        return np.isin(np.arange(len(self.table.feature_names)), list(chain.from_iterable(categories)))


def read(card: Card, paths: Mapping[str, Path], _options: Mapping[str, object]) -> Table:
    """The table in the CSV file of a card, whose `measured` says which column is the target."""
    (path,) = paths.values()
    frame = read_csv(path.read_bytes(), path.name, words=card.measured.get("categorical", ()))
    found = measured(frame, **card.measured).table
    return card.table(found.features, found.values, names=found.feature_names, notes=found.notes)


def file_content(file: str | os.PathLike[str]) -> bytes:
    """The bytes of a file.

    Raises:
        FileNotFoundError: if there is no such file; the message says where it was looked for.
    """
    path = Path(file)
    if path.is_dir():
        raise FileNotFoundError(f"file: expected a file, got the folder {os.fspath(file)!r}")
    if not path.is_file():
        raise FileNotFoundError(f"file: there is no file {os.fspath(file)!r} in {Path.cwd()}")
    return path.read_bytes()


def as_columns(argument: str, names: Iterable[object]) -> tuple[str, ...]:
    """The names of columns, as text: those of a frame may be numbers, dates or truth values.

    Raises:
        TypeError: if `names` is no list of names.
    """
    if isinstance(names, str) or not isinstance(names, Iterable) or getattr(names, "shape", None) == ():
        what = "the text " if isinstance(names, str) else ""
        hint = "" if names is None else f"; write [{shown(names)}]"
        raise TypeError(f"{argument}: expected a list of columns, got {what}{shown(names)}{hint}")
    found = list(names)
    for name in found:
        if name is None or isinstance(name, tuple) or not isinstance(name, Hashable):
            raise TypeError(f"{argument}: expected the name of a column, got {shown(name)}")
    return tuple(map(str, found))


def content_digest(content: bytes) -> str:
    """SHA-256 of a file's content, hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def frame_digest(frame: pd.DataFrame) -> str:
    """SHA-256 of the values and column names of a frame, hexadecimal; its index does not enter.

    Raises:
        TypeError: if a column holds lists or the like, which are neither numbers nor text.
    """
    import pandas as pd

    for name, column in frame.items():
        if column.dtype == object:
            several = column.map(lambda value: not isinstance(value, Hashable)).to_numpy(bool)
            if several.any():
                value = shown(column.iloc[int(np.argmax(several))])
                raise TypeError(f"table: column {name!r} should hold numbers or text, got {value} in {_rows(several)}")
    digest = hashlib.sha256(repr([str(name) for name in frame.columns]).encode())
    digest.update(pd.util.hash_pandas_object(frame, index=False).to_numpy().tobytes())
    return digest.hexdigest()


def measured(
    frame: pd.DataFrame,
    target: str,
    *,
    minimise: bool = False,
    categorical: Sequence[str] = (),
    ignore: Sequence[str] = (),
    name: str = "table",
) -> Measured:
    """The candidates of a table, in the order in which they first appear, with their replicates.

    Args:
        frame: One measurement a row.
        target: Column that was measured.
        minimise: Whether small values of the target are good; the values are then negated.
        categorical: Columns of numbers that are names, such as the number of a catalyst.
        ignore: Columns to leave out.
        name: Name of the table.

    Raises:
        TypeError: if there is no frame, or a column is neither of numbers nor of text.
        ValueError: if a column does not exist or is no setting, a value is missing, or there are fewer than two
            different candidates; rows are counted from 1 below the line of column names.
    """
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"table: expected the path of a CSV file or a pandas.DataFrame, got {frame!r}")
    if len(frame) == 0:
        raise ValueError("table: expected at least one row, got none")
    frame = frame.apply(lambda column: _plain(column) if column.name not in categorical else column)
    frame = frame.rename(columns=lambda column: str(column).strip())
    columns = list(frame.columns)
    _check_columns(columns, target, categorical, ignore)
    settings = [column for column in columns if column != target and column not in ignore]
    if not settings:
        raise ValueError(f"table: expected at least one column besides {target!r}, got none that is not ignored")
    for column in (*settings, target):
        _check_whole(frame[column], column)
    y = _numbers(frame[target], target, "the target")
    blocks: list[np.ndarray] = []
    names: list[str] = []
    categories: list[list[int]] = []
    for column in settings:
        block, words = _features(frame[column], column, column in categorical)
        blocks.append(block)
        categories += one_hot_columns([len(words)], len(names)) if words else []
        names += [f"{column}={word}" for word in words] if words else [column]
    features, values = _replicates(np.column_stack(blocks), -y if minimise else y)
    if len(features) < 2:
        raise ValueError(f"table: expected at least two different candidates, got {len(features)} in {len(frame)} rows")
    notes = {"categories": categories}
    table = Table(name=name, features=features, feature_names=tuple(names), values=values, notes=notes)
    return Measured(table, len(settings))


def _check_columns(columns: list[str], target: str, categorical: Sequence[str], ignore: Sequence[str]) -> None:
    for argument, wanted in (("target", [target]), ("categorical", categorical), ("ignore", ignore)):
        for column in wanted:
            if column not in columns:
                hint = did_you_mean(column, columns, f"the columns are {_list(columns)}")
                raise ValueError(f"{argument}: there is no column {column!r}; {hint}")
    twice = sorted({column for column in columns if columns.count(column) > 1})
    if twice:
        raise ValueError(f"table: expected different names of columns, got {twice[0]!r} twice")
    for column in columns:
        if column.startswith("Unnamed: ") and column not in ignore:
            raise ValueError(
                f"table: a column has no name, as the index that DataFrame.to_csv writes; write the file with "
                f"index=False, or leave the column out with ignore=[{column!r}]"
            )


def _plain(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column of objects that are all numbers, `Decimal` among them, as numbers; any other as it is."""
    if column.dtype == object and column.map(lambda x: isinstance(x, Real | Decimal)).all():
        large = (~column.map(is_finite) & ~column.isna()).to_numpy(bool)
        if large.any():
            value = shown(column.iloc[int(np.argmax(large))])
            raise ValueError(f"table: column {column.name!r} should hold finite numbers, got {value} in {_rows(large)}")
        return column.astype(np.float64)
    return column


def _check_whole(column: pd.Series[Any], name: str) -> None:
    missing = column.isna().to_numpy()
    if column.dtype.kind == "f":
        missing = missing | np.isinf(column.to_numpy(np.float64))
    if missing.any():
        raise ValueError(
            f"table: column {name!r} has no finite value in {_rows(missing)}; fill these rows or drop them"
        )
    if column.dtype.kind in "iuf":
        large = ~(np.abs(column.to_numpy(np.float64)) <= LARGEST)
        if large.any():
            value = column.iloc[int(np.argmax(large))]
            raise ValueError(
                f"table: column {name!r} should hold numbers up to {LARGEST:g} in size, got {value:g} in {_rows(large)}"
            )


def _numbers(column: pd.Series[Any], name: str, what: str) -> Float[np.ndarray, " n"]:
    """A column of numbers."""
    if column.dtype.kind not in "biuf":
        wrong = _not_numbers(column)
        written = numerals(column) if column.map(lambda cell: isinstance(cell, str)).all() else None
        if written is not None and written.what != PLAIN:
            raise ValueError(f"table: {what} {name!r} {_said(written, column)}")
        at = int(np.argmax(wrong))
        raise ValueError(
            f"table: {what} {name!r} should be numbers, got {column.iloc[at]!r} in {_rows(wrong)}"
            if wrong.any()
            else f"table: {what} {name!r} should be numbers, got {column.dtype}"
        )
    return column.to_numpy(np.float64)


def _features(column: pd.Series[Any], name: str, is_category: bool) -> tuple[Float[np.ndarray, "n k"], list[str]]:
    """The features of a column, and its words if it is a category."""
    import pandas as pd

    if column.dtype.kind in "biuf" and not is_category:
        return column.to_numpy(np.float64)[:, None], []
    if isinstance(column.dtype, pd.CategoricalDtype):
        is_category = True
    elif column.dtype.kind in "mMc":
        raise TypeError(f"table: column {name!r} should be numbers or text, got {column.dtype}; of dates give days")
    words = column.astype(str).str.strip()
    wrong = _not_numbers(column)
    written = None if is_category else numerals(words)
    if written is not None and (written.what != PLAIN or wrong.all() or not wrong.any()):
        raise ValueError(
            f"table: column {name!r} {_said(written, words)}; or say that they are names with categorical=[{name!r}]"
        )
    if not is_category and not wrong.all():
        at = int(np.argmax(wrong)) if wrong.any() else 0
        raise ValueError(
            f"table: column {name!r} mixes numbers with text, such as {words.iloc[at]!r} in {_rows(wrong)}; mend it, "
            f"or say that it holds names with categorical=[{name!r}]"
        )
    neither = column.map(lambda cell: not isinstance(cell, str | Real | Decimal)).to_numpy(bool)
    if not is_category and neither.any():
        value = shown(column.iloc[int(np.argmax(neither))])
        raise TypeError(f"table: column {name!r} should hold numbers or text, got {value} in {_rows(neither)}")
    levels = sorted(set(words))
    if not is_category and len(levels) == len(words) > _MANY_NAMES:
        raise ValueError(
            f"table: column {name!r} has another text in each of {len(words)} rows, as the name of a row has; leave it "
            f"out with ignore=[{name!r}], or say that it is a setting with categorical=[{name!r}]"
        )
    return (words.to_numpy()[:, None] == np.array(levels, dtype=object)).astype(np.float64), levels


def _said(written: Numerals, column: pd.Series[Any]) -> str:
    such = column.isin(written.such).to_numpy()
    first = column.iloc[int(np.argmax(such))]
    return f"holds {written.what}, such as {first!r} in {_rows(such)}: {written.remedy}"


def _not_numbers(column: pd.Series[Any]) -> Bool[np.ndarray, " n"]:
    import pandas as pd

    missing: np.ndarray = pd.to_numeric(column.astype(str).str.strip(), errors="coerce").isna().to_numpy()
    return missing


def _replicates(
    features: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, "A d"], Float[np.ndarray, "A R"]]:
    """Distinct rows in the order of their first appearance, and the measurements of each, padded with NaN."""
    _, first, group = np.unique(features, axis=0, return_index=True, return_inverse=True)
    number = np.argsort(np.argsort(first))[group.ravel()]
    in_order = y[np.argsort(number, kind="stable")]
    return features[np.sort(first)], padded(np.split(in_order, np.cumsum(np.bincount(number))[:-1]), np.nan)


def _rows(mask: Bool[np.ndarray, " n"]) -> str:
    """Rows as text: "row 3 (counted from 1)", or "rows 3, 4 and 9 more (counted from 1)"."""
    rows = (np.flatnonzero(mask) + 1).tolist()
    named = ", ".join(map(str, rows[:_SHOWN])) + (f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else "")
    return f"row{'s' if len(rows) > 1 else ''} {named} (counted from 1)"


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)
