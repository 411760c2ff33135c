"""Rows of many runs below each other in one frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leaderboards.play.files import FileError, read_columns

__all__ = ["gather"]


def gather(
    directory: Path,
    runs: Mapping[str, Mapping[str, Any]],
    columns: Sequence[str],
    set_aside: Callable[[str, str], None],
) -> pd.DataFrame:
    """A categorical column `key`, then `columns`, NaN where a run lacks one, run by run in the order of `runs`.

    Args:
        directory: Where the files are.
        runs: Entry of each run, by key: its `file`, `start`, `stop` and `columns`.
        columns: Which columns.
        set_aside: Is told the name of a file that turns out to be damaged, and why. Its runs are left out, as are those
            of a file that has gone.
    """
    by_file: dict[str, list[str]] = {}
    for key, run in runs.items():
        by_file.setdefault(run["file"], []).append(key)
    rows: dict[str, dict[str, np.ndarray]] = {}
    for file, members in by_file.items():
        there = [name for name in columns if any(name in runs[key]["columns"] for key in members)]
        try:
            table = read_columns(directory / file, there)
        except FileNotFoundError:
            continue
        except FileError as error:
            set_aside(file, str(error))
            continue
        arrays = {name: table.column(name).to_numpy() for name in there}
        for key in members:
            start, stop, known = runs[key]["start"], runs[key]["stop"], runs[key]["columns"]
            rows[key] = {
                name: arrays[name][start:stop] if name in known else np.full(stop - start, np.nan) for name in columns
            }
    keys = [key for key in runs if key in rows]
    lengths = [runs[key]["stop"] - runs[key]["start"] for key in keys]
    code = np.repeat(np.arange(len(keys), dtype=np.int32), lengths)
    data = {name: np.concatenate([rows[key][name] for key in keys]) if keys else np.zeros(0) for name in columns}
    return pd.DataFrame({"key": pd.Categorical.from_codes(code, categories=pd.Index(keys)), **data})
