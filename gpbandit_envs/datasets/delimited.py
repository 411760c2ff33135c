"""Numbers from delimited text, with what is wrong named by file and line."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from jaxtyping import Float

from gpbandit_envs.datasets.errors import IntegrityError

__all__ = ["read_columns", "read_numbers"]


def read_numbers(path: Path, *, header: tuple[str, ...] | None, delimiter: str = ",") -> Float[np.ndarray, "n k"]:
    """A table of numbers.

    Args:
        path: File.
        header: Names that the first line must hold; None if the file has no header.
        delimiter: Separator of columns.

    Raises:
        IntegrityError: if the header differs or a cell is no number.
    """
    try:
        with path.open(encoding="utf-8") as lines:
            if header is not None:
                found = tuple(next(csv.reader([next(lines)], delimiter=delimiter)))
                if found != header:
                    raise ValueError(f"expected the columns {', '.join(header)}, got {', '.join(found)}")
            return np.loadtxt(lines, delimiter=delimiter, ndmin=2, dtype=np.float64)
    except (ValueError, StopIteration) as fault:
        raise IntegrityError(f"{path.name}: not the expected table ({fault})") from fault


def read_columns(path: Path, names: tuple[str, ...]) -> dict[str, list[str]]:
    """Some columns of a comma-separated file with a header, as text.

    Raises:
        IntegrityError: if a column is missing or a line is too short.
    """
    with path.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines)
        absent = [name for name in names if name not in (rows.fieldnames or ())]
        if absent:
            raise IntegrityError(f"{path.name}: expected the column {absent[0]}, got {rows.fieldnames}")
        columns: dict[str, list[str]] = {name: [] for name in names}
        for row in rows:
            for name in names:
                cell = row[name]
                if cell is None:
                    raise IntegrityError(f"{path.name}: line {rows.line_num} has no {name}")
                columns[name].append(cell)
    return columns
