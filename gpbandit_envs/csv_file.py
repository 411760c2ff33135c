"""Tables of one's own in CSV files, read strictly: a column that is misread shifts every number of an experiment."""

from __future__ import annotations

import io
import warnings
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

_EMPTY = ["", "nan", "NaN"]  # all else is text: "None" may well be the name of a ligand


def read_csv(content: bytes, file: str, argument: str = "file", words: Collection[str] = ()) -> pd.DataFrame:
    """The table in a CSV file with a line of column names; only empty cells and the word nan count as missing.

    Args:
        content: What the file holds.
        file: Its name, for errors.
        argument: The argument that named it, for errors.
        words: Columns that are read as the file has them, where 1.1 and 1.10 are two names and not one number.

    Raises:
        ValueError: if it is no UTF-8 text of columns separated by commas, or two columns have one name.
    """
    import pandas as pd

    def read(**kwargs: Any) -> pd.DataFrame:
        return pd.read_csv(
            io.BytesIO(content),
            encoding="utf-8-sig",
            skipinitialspace=True,
            keep_default_na=False,
            na_values=_EMPTY,
            index_col=False,
            **kwargs,
        )

    try:
        with warnings.catch_warnings():
            # Rows that are longer than the line of names would be cut: decimal commas make such rows.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            # By itself: pandas calls the second of two columns "x" "x.1", and says nothing.
            names = [str(name) for name in read(header=None, nrows=1, dtype=str).iloc[0].dropna()]
            frame = read(dtype={name: str for name in names if name.strip() in words})
    except (UnicodeDecodeError, pd.errors.EmptyDataError, pd.errors.ParserError, pd.errors.ParserWarning) as error:
        reason = " ".join(str(error).split())
        raise ValueError(
            f"{argument}: expected {file} to be UTF-8 text of columns separated by commas ({reason})"
        ) from None
    plain = [name.strip() for name in names]
    for name in plain:
        if plain.count(name) > 1:
            raise ValueError(f"{argument}: expected different names of columns, got {name!r} twice in {file}")
    first = str(frame.columns[0])
    if frame.shape[1] == 1 and any(mark in first for mark in ";\t"):
        raise ValueError(
            f"{argument}: expected columns separated by commas, got the one column {first!r} in {file}; "
            "read it with pandas.read_csv(file, sep=';', decimal=',') or the like, and give the frame"
        )
    return frame
