"""Tables of one's own in CSV files, read strictly: a column that is misread shifts every number of an experiment."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_csv"]

_EMPTY = ["", "nan", "NaN"]  # all else is text: "None" may well be the name of a ligand


def read_csv(content: bytes, file: str, argument: str = "file") -> pd.DataFrame:
    """The table in a CSV file with a line of column names; only empty cells and the word nan count as missing.

    Args:
        content: What the file holds.
        file: Its name, for errors.
        argument: The argument that named it, for errors.

    Raises:
        ValueError: if it is no UTF-8 text of columns separated by commas.
    """
    import pandas as pd

    try:
        with warnings.catch_warnings():
            # Rows that are longer than the line of names would be cut: decimal commas make such rows.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                io.BytesIO(content),
                encoding="utf-8-sig",
                skipinitialspace=True,
                keep_default_na=False,
                na_values=_EMPTY,
                index_col=False,
            )
    except (UnicodeDecodeError, pd.errors.EmptyDataError, pd.errors.ParserError, pd.errors.ParserWarning) as error:
        reason = " ".join(str(error).split())
        raise ValueError(
            f"{argument}: expected {file} to be UTF-8 text of columns separated by commas ({reason})"
        ) from None
    first = str(frame.columns[0])
    if frame.shape[1] == 1 and any(mark in first for mark in ";\t"):
        raise ValueError(
            f"{argument}: expected columns separated by commas, got the one column {first!r} in {file}; "
            "read it with pandas.read_csv(file, sep=';', decimal=',') or the like, and give the frame"
        )
    return frame
