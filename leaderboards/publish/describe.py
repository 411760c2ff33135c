"""A board as a data set: its archive, a table of its runs, Croissant metadata, a datasheet and how to cite it.

All of it follows from the board's index and runs, the cards of the data sets, the known faults of frozen boards, in a
file beside this one, and the rows that authors have confirmed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from gpbandit_envs.atomic import written_whole
from gpbandit_envs.datasets import Card, cards
from gpbandit_envs.datasets.croissant import CREATOR, column, document, file_object, record_set
from gpbandit_envs.registry import ENVIRONMENTS
from gpbandit_envs.version import __version__
from leaderboards.archive.read import Board, pack_board
from leaderboards.play.spec import Ref
from leaderboards.publish.sign_offs import sign_off
from leaderboards.store.kept import KEPT
from leaderboards.text import wall_time

__all__ = ["DESCRIPTION_FILES", "citation", "curve_table", "describe_board", "run_table"]

CROISSANT, DATASHEET, CITATION = "croissant.json", "datasheet.md", "citation.bib"
RUNS, CURVES = "runs.csv", "curves.parquet"
DESCRIPTION_FILES = (CROISSANT, DATASHEET, CITATION, RUNS, CURVES)
"""Names of what `describe_board` writes beside the archive."""

_MIT = "https://spdx.org/licenses/MIT.html"
_MEANING = {
    "cumulative_regret": "sum of the regrets so far, unit of the reward",
    "simple_regret": "regret of the best action so far, unit of the reward",
    "inference_regret": "regret of the action that the agent would recommend, unit of the reward",
    "batches": "number of batches so far",
    "policy_seconds": "seconds that the agent has computed so far",
    "simulated_time": "time of the experiment so far, where feedback is late",
}
_COLUMNS = {
    "agent": ("Text", "label of the agent"),
    "agent_id": ("Text", "id of the agent, as agents.make takes it"),
    "settings": ("Text", "its settings, as JSON"),
    "task": ("Text", "label of the task"),
    "environment": ("Text", "id of the environment, as gymnasium.make takes it"),
    "arguments": ("Text", "its arguments, as JSON"),
    "repetition": ("Integer", "number of the repetition: agents of one task and repetition face the same function"),
    "horizon": ("Integer", "number of evaluations"),
    "feedback": ("Text", "when feedback comes"),
    "status": ("Text", "done, skipped, crashed, timeout"),
    "standing": ("Text", "verified or submitted"),
    "optimum": ("Float", "largest mean of the instance; empty where it is unknown"),
    "file": ("Text", "name of the file that has the run's curves"),
    "run": ("Integer", "number of the run in that file; empty where nothing is kept of it"),
}
_RESPONSIBLE: dict[str, Any] = {
    "dataCollection": "Computed: `gpbandit board make` played every agent of the suite on every instance.",
    "dataCollectionType": ["Software Collection"],
    "dataCollectionRawData": "Whole traces are not kept; each run can be played again from the index.",
    "dataPreprocessingProtocol": [
        "Curves are kept at sixty evaluations a run at most, in single precision with 16 bits of the mantissa; the "
        "last value of each is in double precision."
    ],
    "dataUseCases": ["Ranking a new policy among those of the literature; studying regret curves."],
    "dataBiases": [
        "Tasks were chosen by those who implemented the policies. What rows were tuned on is in the datasheet."
    ],
    "dataSocialImpact": "None is known: it ranks algorithms on functions and published tables.",
    "personalSensitiveInformation": ["None."],
    "dataReleaseMaintenancePlan": "Frozen. Rows are added and taken back by the rules of GOVERNANCE.md; faults are "
    "mended in the next generation.",
}


def describe_board(board: Board, folder: Path, url: str = "") -> list[Path]:
    """Write a whole board as a data set.

    Args:
        board: The board, not a part of one.
        folder: Where to write; made if it does not exist.
        url: Public address of the folder; "" for none yet, and then files are named relative to the description.

    Returns:
        The files, the archive first.

    Raises:
        StoreError: if the board is damaged.
        OSError: if the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / f"{board.suite().name}.zip"
    sha256 = pack_board(board, archive)
    table = run_table(board).to_csv(index=False, lineterminator="\n").encode()
    curves = _parquet(curve_table(board))
    faults = _faults(board)
    described = _croissant(board, table, curves, (archive.name, sha256, archive.stat().st_size), url, faults)
    texts = {
        CROISSANT: (json.dumps(described, indent=1) + "\n").encode(),
        DATASHEET: _datasheet(board, faults).encode(),
        CITATION: (citation(board) + "\n").encode(),
        RUNS: table,
        CURVES: curves,
    }
    for name, text in texts.items():
        with written_whole(folder / name) as temporary:
            temporary.write_bytes(text)
    return [archive, *(folder / name for name in texts)]


def citation(board: Board) -> str:
    """BibTeX of a board, with the version of the package and the SHA-256 of the index."""
    name = board.suite().name
    return (
        f"@misc{{gpbandit_{name.replace('-', '_')},\n"
        f"  title = {{{{{name}: a board of Gaussian-process bandits}}}},\n"
        f"  author = {{{{{CREATOR['name']}}}}},\n"
        f"  year = {{{_published(board)[:4]}}},\n"
        f"  howpublished = {{gpbandit-envs {__version__}}},\n"
        f"  version = {{{__version__}}},\n"
        f"  note = {{SHA-256 of the index: {board.sha256}}},\n"
        "}"
    )


def run_table(board: Board) -> pd.DataFrame:
    """One row a run: what was played, how it ended, and the finals of what is kept."""
    standing, numbers, rows = board.standings(), _numbers(board), []
    texts: dict[str, str] = {}  # of what thousands of runs share

    def settings(ref: Ref) -> str:
        if ref.key not in texts:
            texts[ref.key] = json.dumps(dict(ref.kwargs), sort_keys=True)
        return texts[ref.key]

    for key, run in board.entries().items():
        spec, kept = run.spec, board.kept(key)
        values = (
            *(spec.agent.label, spec.agent.id, settings(spec.agent)),
            *(spec.env.label, spec.env.id, settings(spec.built)),
            *(spec.repetition, spec.horizon, spec.feedback, run.status, standing(run), run.facts.get("optimum")),
            *(run.file, None if kept is None else numbers[key]),
        )
        finals: dict[str, object] = {} if kept is None else {name: kept.finals[name] for name in KEPT}
        rows.append({**dict(zip(_COLUMNS, values, strict=True)), **finals})
    frame = pd.DataFrame(rows, columns=[*_COLUMNS, *KEPT]).astype({"run": "Int64"})
    return frame.sort_values(["file", "task", "repetition"], kind="stable", ignore_index=True)


def curve_table(board: Board) -> pa.Table:
    """One row for each evaluation that is kept of a run: its file and number there, `t` and the curves of `KEPT`."""
    numbers = _numbers(board)
    runs = [(run, kept) for key, run in board.entries().items() if (kept := board.kept(key)) is not None]
    lengths = [len(kept.t) for _, kept in runs]
    names = list(board.index.files)
    places = np.repeat(np.array([names.index(run.file) for run, _ in runs], np.int32), lengths)
    columns: dict[str, Any] = {
        "file": pa.DictionaryArray.from_arrays(pa.array(places), pa.array(names)),
        "run": np.repeat(np.array([numbers[run.key] for run, _ in runs], np.int32), lengths),
        "t": np.concatenate([kept.t for _, kept in runs] or [np.zeros(0)]).astype(np.int32),
    }
    for name in KEPT:
        columns[name] = np.concatenate([kept.curves[name] for _, kept in runs] or [np.zeros(0)]).astype(np.float32)
    return pa.table(columns)


def _parquet(table: pa.Table) -> bytes:
    content = pa.BufferOutputStream()
    pq.write_table(
        table,
        content,
        compression="zstd",
        compression_level=6,  # 19 saves 8 % and takes thirty times as long, for every site that is built
        use_byte_stream_split=list(KEPT),
        use_dictionary=["file", "run", "t"],
    )
    return bytes(content.getvalue().to_pybytes())


def _numbers(board: Board) -> dict[str, int]:
    """The number of each run in its file, in which the runs of an agent stand in the order of entries."""
    counts: dict[str, int] = {}
    numbers: dict[str, int] = {}
    for key, run in board.entries().items():
        numbers[key] = counts[run.file] = counts.get(run.file, -1) + 1
    return numbers


def _published(board: Board) -> str:
    """The day on which the last run ended."""
    last = max((run.finished for run in board.entries().values()), default=0.0)
    return datetime.fromtimestamp(last, UTC).date().isoformat()


def _hashed(content: bytes) -> tuple[str, int]:
    return hashlib.sha256(content).hexdigest(), len(content)


def _croissant(
    board: Board, table: bytes, curves: bytes, archive: tuple[str, str, int], url: str, faults: list[str]
) -> dict[str, Any]:
    name, suite = board.suite().name, board.suite()
    zipped = file_object(
        archive[0], "The board, as --against takes it.", "application/zip", archive[1], archive[2], url
    )
    runs = file_object(RUNS, "One row a run.", "text/csv", *_hashed(table), url)
    curve_file = file_object(CURVES, "The curves of all runs.", "application/x-parquet", *_hashed(curves), url)
    of_runs = {"fileObject": {"@id": RUNS}}
    of_curves = {"fileObject": {"@id": CURVES}}
    meaning = {kept: f"{_MEANING.get(kept, kept)}, at the end" for kept in KEPT}
    run_fields = [column(key, text, kind, of_runs) for key, (kind, text) in _COLUMNS.items()]
    run_fields += [column(key, text, "Float", of_runs) for key, text in meaning.items()]
    curve_fields = [
        column("file", "name of the agent's file: with run, the key of a run", "Text", of_curves),
        column("run", "number of the run in that file", "Integer", of_curves),
        column("t", "number of evaluations so far", "Integer", of_curves),
        *(column(kept, _MEANING.get(kept, kept), "Float", of_curves) for kept in KEPT),
    ]
    done, wanted = len(board.done_keys()), suite.n_runs
    return document(
        name=f"gpbandit-{name}",
        description=f"{suite.description} {done:,} runs of {len(board.index.files)} agents.",
        licence=_MIT,
        creator=CREATOR,
        published=_published(board),
        cite=citation(board),
        url=url or None,
        keywords=["bandits", "Gaussian processes", "Bayesian optimisation", "regret", "leaderboard"],
        extra={"identifier": f"sha256:{board.sha256}", "isBasedOn": [_attributed(card) for card in _tables(board)]},
        responsible=_RESPONSIBLE
        | {
            "dataCollectionMissingData": f"{wanted - done:,} of {wanted:,} runs are not there: agents that cannot play "
            "a task are skipped, and the index says why.",
            "dataLimitations": faults,
        },
        distribution=[zipped, runs, curve_file],
        records=[
            record_set("runs", "One row a run.", run_fields),
            record_set("curves", "Curves of the runs, at the evaluations that are kept.", curve_fields),
        ],
    )


def _datasheet(board: Board, faults: list[str]) -> str:
    suite = board.suite()
    runs = list(board.entries().values())
    origins = [run.origin for run in runs]
    tuned = {entry.ref.key: entry.tuned for entry in suite.agents}
    first = {run.file: run for run in reversed(runs)}
    template = jinja2.Environment(
        loader=jinja2.PackageLoader("leaderboards.publish", ""),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # the text is Markdown
    ).get_template("datasheet.md.j2")
    standings = board.standings()
    return template.render(
        name=suite.name,
        stable_name=f"gpbandit-{suite.name}",
        description=suite.description,
        version=__version__,
        sha256=board.sha256,
        published=_published(board),
        runs=f"{len(board.done_keys()):,}",
        wanted=f"{suite.n_runs:,}",
        tasks=suite.tasks,
        curves=", ".join(name.replace("_", " ") for name in KEPT),
        agents=[
            {
                "label": file.agent,
                "runs": file.runs,
                "standing": standings(first[name]),
                "by": file.source.by,
                "tuned": tuned.get(first[name].spec.agent.key, ""),
                "signed": _signed(suite.name, file.agent),
            }
            for name, file in board.index.files.items()
        ],
        versions=sorted({origin.gpbandit_envs for origin in origins}),
        pythons=sorted({origin.python for origin in origins}),
        libraries=sorted({", ".join(f"{k} {v}" for k, v in sorted(origin.libraries.items())) for origin in origins}),
        locks=sorted({origin.lock or "not recorded" for origin in origins}),
        spent=wall_time([run.seconds for run in runs]),
        seed=suite.seed,
        sources=[_attributed(card) for card in _tables(board)],
        faults=faults,
        bibtex=citation(board),
    )


def _faults(board: Board) -> list[str]:
    """What is known to be wrong, from the index."""
    found = []
    if any(file.source.seconds != "alone" for file in board.index.files.values()):
        found.append("Runs were played while others ran, so that the seconds of policies cannot be compared.")
    if stale := board.stale():
        which = "all agents" if len(stale) == len(board.index.files) else ", ".join(sorted(set(stale.values())))
        found.append(f"The code of {which} has changed since their runs were played.")
    if missing := board.missing():
        found.append(f"Runs of {', '.join(missing)} are missing on some tasks.")
    return found or ["None is known."]


def _tables(board: Board) -> Sequence[Card]:
    """The cards of the data sets behind the tasks of a board."""
    data, known = {row.id: row.data for row in ENVIRONMENTS}, cards()
    names = (data.get(task.env.id) for task in board.suite().tasks)
    return [known[name] for name in dict.fromkeys(names) if name is not None]


def _attributed(card: Card) -> str:
    return f"{card.name}: {card.citation} ({card.licence})"


def _signed(board: str, agent: str) -> str:
    found = sign_off(board, agent)
    return "" if found is None else f"{found.by}: {found.link}"
