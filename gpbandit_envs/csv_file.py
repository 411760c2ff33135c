"""Tables of one's own in CSV files, read strictly: a column that is misread shifts every number of an experiment."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

EMPTY = ["", "nan", "NaN"]  # all else is text: "None" may well be the name of a ligand
_LINES = 20  # of which each has the same marks where columns are separated by them


def one_header(argument: str, frame: pd.DataFrame) -> None:
    """Raise where the columns of a frame have names of several parts, as of two header rows.

    Warns where the index has a name that no column has, as after `groupby`: it is left out.

    Raises:
        ValueError: naming the first.
    """
    index = [str(name) for name in frame.index.names if name is not None and name not in frame.columns]
    if index:
        warnings.warn(
            f"{argument}: the index, {', '.join(index)}, is no column and left out; frame.reset_index() makes it one",
            stacklevel=4,
        )
    names: list[Any] = list(frame.columns)
    several = [name for name in names if isinstance(name, tuple)]
    if several:
        raise ValueError(
            f"{argument}: expected one row of column names, got names of several parts such as {several[0]!r}; drop "
            "the others, as by frame.droplevel(0, axis=1), or join them, as by frame.columns = ['_'.join(map(str, "
            "name)) for name in frame.columns]"
        )


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

    if b"\0" in content:
        raise ValueError(
            f"{argument}: expected {file} to be UTF-8 text of columns separated by commas, got bytes of zero, as "
            "spreadsheets, text in UTF-16 and damaged files have; save it as UTF-8 text"
        )

    def read(**kwargs: Any) -> pd.DataFrame:
        return pd.read_csv(
            io.BytesIO(content),
            encoding="utf-8-sig",
            skipinitialspace=True,
            keep_default_na=False,
            na_values=EMPTY,
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
        _refuse_other_marks(content, file, argument)
        reason = " ".join(str(error).split())
        if isinstance(error, UnicodeDecodeError):
            reason += "; save it as UTF-8, or read it with pandas.read_csv(file, encoding=...) and give the frame"
        raise ValueError(
            f"{argument}: expected {file} to be UTF-8 text of columns separated by commas ({reason})"
        ) from None
    plain = [name.strip() for name in names]
    for name in plain:
        if plain.count(name) > 1:
            raise ValueError(f"{argument}: expected different names of columns, got {name!r} twice in {file}")
    _refuse_other_marks(content, file, argument)
    return frame


def _refuse_other_marks(content: bytes, file: str, argument: str) -> None:
    """Raise where columns are separated by something else than commas: each line has as many of it."""
    lines = [line for line in content.decode("utf-8-sig", errors="replace").splitlines() if line.strip()][:_LINES]
    said = lines and re.fullmatch(r'"?sep=(.)"?', lines[0].strip())  # what spreadsheets write above the names
    if said:
        lines = lines[1:]
    commas = any("," in line for line in lines)
    for mark, written in ((";", ";"), ("\t", "\\t"), ("|", "|"), (" ", " "), (" +", " +"), (",", ",")):
        parts = re.escape(mark) if mark != " +" else mark
        counts = [len(re.findall(parts, line.strip())) for line in lines]
        same = len(set(counts)) == 1 or (not commas and mark in ";\t|")  # some lines may be shorter
        alone = bool(said) if mark == "," else not commas or " " not in mark
        if len(lines) > 1 and counts[0] > 0 and same and alone:
            decimal = ", decimal=','" if mark != "," and any(re.search(r"\d,\d", line) for line in lines[1:]) else ""
            skipped = ", skiprows=1" if said else ""
            raise ValueError(
                f"{argument}: expected columns separated by commas, got {lines[0]!r} as the line of names in {file}; "
                f"read it with pandas.read_csv(file, sep='{written}'{decimal}{skipped}), and give the frame"
            )
