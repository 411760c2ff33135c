"""SQL over a results folder, by DuckDB (the extra `query`)."""

from __future__ import annotations

import glob

import pandas as pd

from leaderboards.store.kept import KEPT
from leaderboards.store.run_file import TRACE
from leaderboards.store.store import Store

_LISTS = """
CREATE VIEW {view} AS
SELECT runs.* EXCLUDE (path), {lists}
FROM read_parquet({paths}, union_by_name = true, filename = true) AS rows
JOIN runs ON rows.key = runs.key AND rows.filename = runs.path
"""


class QueryError(ValueError):
    """A query cannot be answered; the text says why."""


def query(store: Store, sql: str) -> pd.DataFrame:
    """The answer to `sql` over three tables.

    `runs` has one row per run: `key` and the columns of `Store.runs`. `traces` has one row per evaluation: the columns
    of `runs` and those of the trace, NULL where a run lacks one. `curves` has one row per evaluation at which a run is
    kept, sixty at most: the columns of `runs`, `t` and the metrics of `leaderboards.store.kept.KEPT`; a board has these
    too. `seed` is text if one has more than 64 bits.

    Raises:
        QueryError: if DuckDB is not installed or cannot answer.
    """
    try:
        import duckdb
    except ImportError:
        raise QueryError("query needs DuckDB: pip install 'gpbandit-envs[query]'") from None
    for _ in store.traces([], store.keys()):
        pass  # DuckDB knows nothing of digests: damaged files are set aside before it reads
    runs = store.runs().reset_index()
    if runs["seed"].dtype == object:  # DuckDB has numbers of 128 bits, and pandas takes none of them
        runs["seed"] = runs["seed"].astype(str)
    entries = [store.entry(key) for key in runs["key"]]
    runs["path"] = [str(store.path(entry)) for entry in entries]
    # Names of files are patterns to DuckDB, and in a stranger's folder they may be chosen to match others.
    paths = sorted({glob.escape(str(store.path(entry))) for entry in entries if entry.rows})
    if not paths:
        raise QueryError(f"{store.directory} holds no trace to ask about")
    columns = dict.fromkeys(name for entry in entries if entry.traced and entry.rows for name in entry.columns)
    views = {"curves": {name: name for name in ("t", *KEPT)}, "traces": {TRACE + name: name for name in columns}}
    with duckdb.connect(":memory:") as connection:
        connection.register("runs", runs)
        try:
            listed = "[" + ", ".join("'" + path.replace("'", "''") + "'" for path in paths) + "]"
            for view, lists in views.items():
                parts = ", ".join(f"unnest(rows.{_quoted(name)}) AS {_quoted(shown)}" for name, shown in lists.items())
                if parts:
                    connection.execute(_LISTS.format(view=view, lists=parts, paths=listed))
            answer: pd.DataFrame = connection.execute(sql).df()
        except duckdb.Error as error:
            text = str(error).splitlines()[0]
            raise QueryError(f"query: {text}; the tables are runs, traces and curves") from None
    return answer


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
