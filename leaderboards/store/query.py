"""SQL over a results folder, by DuckDB (the extra `query`)."""

from __future__ import annotations

import glob

import pandas as pd

from leaderboards.store.store import Store

__all__ = ["QueryError", "query"]

_TRACES = """
CREATE VIEW traces AS
SELECT runs.* EXCLUDE (path, first, last), rows.* EXCLUDE (filename, file_row_number)
FROM read_parquet({paths}, union_by_name = true, filename = true, file_row_number = true) AS rows
JOIN runs ON rows.filename = runs.path AND rows.file_row_number BETWEEN runs.first AND runs.last
"""


class QueryError(ValueError):
    """A query cannot be answered; the text says why."""


def query(store: Store, sql: str) -> pd.DataFrame:
    """The answer to `sql` over two tables.

    `runs` has one row per run: `key` and the columns of `Store.runs`. `traces` has one row per evaluation: the columns
    of `runs` and those of the trace, NULL where a run lacks one. `seed` is text if one has more than 64 bits.

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
    runs["first"] = [entry.start for entry in entries]
    runs["last"] = [entry.stop - 1 for entry in entries]
    # Names of files are patterns to DuckDB, and in a stranger's folder they may be chosen to match others.
    paths = sorted({glob.escape(str(store.path(entry))) for entry in entries if entry.rows})
    if not paths:
        raise QueryError(f"{store.directory} holds no trace to ask about")
    with duckdb.connect(":memory:") as connection:
        connection.register("runs", runs)
        try:
            listed = "[" + ", ".join("'" + path.replace("'", "''") + "'" for path in paths) + "]"
            connection.execute(_TRACES.format(paths=listed))
            answer: pd.DataFrame = connection.execute(sql).df()
        except duckdb.Error as error:
            raise QueryError(f"query: {str(error).splitlines()[0]}; the tables are runs and traces") from None
    return answer
