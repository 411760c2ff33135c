"""A board as a data set: its archive, a table of its runs, Croissant metadata, a datasheet and how to cite it.

All of it follows from the board's index and runs, and the cards of the data sets behind its tasks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from gpbandit_envs.atomic import written_whole
from gpbandit_envs.datasets import Card, cards
from gpbandit_envs.datasets.croissant import CREATOR, column, document, file_object, record_set
from gpbandit_envs.registry import ENVIRONMENTS
from gpbandit_envs.version import __version__
from leaderboards.publish.boards import Board, pack_board
from leaderboards.store.kept import KEPT
from leaderboards.text import wall_time

__all__ = ["citation", "describe_board", "run_table"]

_MIT = "https://spdx.org/licenses/MIT.html"
_COLUMNS = {
    "agent": ("Text", "label of the agent"),
    "agent_id": ("Text", "id of the agent, as agents.make takes it; its settings are in the index"),
    "env": ("Text", "label of the task"),
    "env_id": ("Text", "id of the environment, as gymnasium.make takes it; its arguments are in the index"),
    "repetition": ("Integer", "number of the repetition: agents of one task and repetition face the same function"),
    "horizon": ("Integer", "number of evaluations"),
    "feedback": ("Text", "when feedback comes"),
    "status": ("Text", "done, skipped, crashed, timeout"),
    "standing": ("Text", "verified or submitted"),
    "cumulative_regret": ("Float", "sum of the regrets of all evaluations, unit of the reward"),
    "simple_regret": ("Float", "regret of the best evaluation, unit of the reward"),
    "inference_regret": ("Float", "regret of what the agent recommends at the end, unit of the reward"),
    "batches": ("Float", "number of batches"),
    "policy_seconds": ("Float", "seconds that the agent has computed"),
    "simulated_time": ("Float", "time of the experiment, where feedback is late"),
}
_RESPONSIBLE: dict[str, Any] = {
    "dataCollection": "Computed: `gpbandit board make` played every agent of the suite on every instance.",
    "dataCollectionType": ["Software Collection"],
    "dataCollectionRawData": "Whole traces are not kept; each run can be played again from the index.",
    "dataPreprocessingProtocol": ["Curves are kept at some sixty evaluations a run, with 16 bits of the mantissa."],
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
    pack_board(board, archive)
    runs, faults = folder / "runs.csv", _faults(board)
    with written_whole(runs) as temporary:
        run_table(board).to_csv(temporary, index=False, lineterminator="\n")
    files = [
        _file(archive, "The board, as --against takes it.", "application/zip", url),
        _file(runs, "One row a run.", "text/csv", url),
    ]
    texts = {
        "croissant.json": json.dumps(_croissant(board, files, url, faults), indent=1),
        "datasheet.md": _datasheet(board, faults),
        "citation.bib": citation(board),
    }
    for name, text in texts.items():
        with written_whole(folder / name) as temporary:
            temporary.write_text(f"{text.rstrip()}\n", encoding="utf-8")
    return [archive, runs, *(folder / name for name in texts)]


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
    """One row a run: what was played, how it ended, and the metrics at its end, empty where nothing is kept of it."""
    runs = board.runs()
    kept = {key: board.kept(str(key)) for key in runs.index}
    finals = pd.DataFrame(
        [{} if run is None else run.finals for run in kept.values()], index=runs.index, columns=list(KEPT)
    )
    return runs.join(finals)[list(_COLUMNS)]


def _published(board: Board) -> str:
    """The day on which the last run ended."""
    last = max((run.finished for run in board.entries().values()), default=0.0)
    return datetime.fromtimestamp(last, UTC).date().isoformat()


def _file(path: Path, description: str, encoding: str, url: str) -> dict[str, Any]:
    content = path.read_bytes()
    return file_object(path.name, description, encoding, hashlib.sha256(content).hexdigest(), len(content), url)


def _croissant(board: Board, files: Sequence[dict[str, Any]], url: str, faults: list[str]) -> dict[str, Any]:
    suite, done = board.suite(), len(board.done_keys())
    source = {"fileObject": {"@id": "runs.csv"}}
    fields = [column(name, text, kind, source) for name, (kind, text) in _COLUMNS.items()]
    return document(
        name=f"gpbandit-{suite.name}",
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
            "dataCollectionMissingData": f"{suite.n_runs - done:,} of {suite.n_runs:,} runs are not there: agents that "
            "cannot play a task are skipped, and the index says why.",
            "dataLimitations": faults,
        },
        distribution=files,
        records=[record_set("runs", "One row a run.", fields)],
    )


def _datasheet(board: Board, faults: list[str]) -> str:
    suite, runs, standing = board.suite(), list(board.entries().values()), board.standings()
    tuned = {entry.ref.key: entry.tuned for entry in suite.agents}
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("leaderboards.publish", ""),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # the text is Markdown
    )
    return environment.get_template("datasheet.md.j2").render(
        suite=suite,
        version=__version__,
        sha256=board.sha256,
        published=_published(board),
        done=len(board.done_keys()),
        curves=", ".join(name.replace("_", " ") for name in KEPT),
        agents=[
            (board.index.files[name], standing(run), tuned.get(run.spec.agent.key) or "not declared")
            for name, run in {run.file: run for run in runs}.items()
        ],
        versions=sorted({run.origin.gpbandit_envs for run in runs}),
        pythons=sorted({run.origin.python for run in runs}),
        libraries=sorted({", ".join(f"{k} {v}" for k, v in sorted(run.origin.libraries.items())) for run in runs}),
        locks=sorted({run.origin.lock or "not recorded" for run in runs}),
        spent=wall_time([run.seconds for run in runs]),
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
