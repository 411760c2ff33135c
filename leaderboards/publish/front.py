"""The front page of the site: a short ranking of every board, with links to its pages, its files and the documentation.

A part of a board has no pages here: they would say the same of fewer repetitions. Its whole names it.

SITE/index.html        the front page
SITE/plotly.min.js     the plotting library of all boards
SITE/board/NAME/       the pages of a board; to download scores, papers and all runs
SITE/docs/             the documentation
"""

from __future__ import annotations

import functools
import json
import os
import warnings
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

from gpbandit_envs.version import __version__
from leaderboards.audit.bands import study
from leaderboards.publish.boards import Board, board, board_folder, board_parts, pack_board
from leaderboards.score.answer import legend
from leaderboards.score.summary import score_table
from leaderboards.show.agent_card import bibtex
from leaderboards.show.bands_page import BANDS_FILE, bands_page
from leaderboards.show.build import copy_library, page_templates, whole_site, write_site
from leaderboards.show.paper import latex_table
from leaderboards.show.scores import ScoreTable, class_scores
from leaderboards.show.shared import Site
from leaderboards.show.table import Row
from leaderboards.store.intact import own_folder, write_whole
from leaderboards.work.executors import in_processes

_SHOWN = 10


def build_front(out: str | os.PathLike[str], workers: int = 1) -> Path:
    """Write the pages of all whole boards that come with the package, and the front page.

    Args:
        out: Folder of the site; the documentation is looked for below `docs`, and linked if it is there.
        workers: Processes, each of which writes one board at a time.

    Returns:
        The front page, which a browser opens without a network.

    Raises:
        OSError: if the folder cannot be written.
        StoreError: if a board is damaged.
        ExecutorError: if a worker dies.
    """
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    copy_library(folder)
    templates, documentation = page_templates(), (folder / "docs" / "index.html").is_file()
    bands = study()
    text = templates.get_template("front.html.j2").render(
        cards=_cards(folder, workers), documentation=documentation, bands=bands, bands_file=BANDS_FILE
    )
    about = templates.get_template("bands.html.j2").render(bands_page(bands))
    static = resources.files("leaderboards.show") / "static"
    contents = {name: (static / name).read_text(encoding="utf-8") for name in ("style.css", "page.js")}
    for name, content in {**contents, "index.html": text, BANDS_FILE: about}.items():
        write_whole(folder / name, content)
    return folder / "index.html"


def _cards(front: Path, workers: int) -> list[dict[str, Any]]:
    """Write the pages of all whole boards, the largest first."""
    names = list(board_parts())
    sizes = {name: sum(path.stat().st_size for path in board_folder(name).rglob("*")) for name in names}
    largest_first = sorted(names, key=lambda name: -sizes[name])
    with warnings.catch_warnings():
        # A large board takes more memory than loky lets a worker keep: it starts another, and says so.
        warnings.filterwarnings("ignore", "A worker was restarted", UserWarning)
        found = in_processes(
            functools.partial(_card, front=front), largest_first, workers, "wrote the pages of a board"
        )
        return sorted((card for card in found if card is not None), key=lambda card: names.index(card["name"]))


def _card(name: str, front: Path) -> dict[str, Any] | None:
    """Write the pages and the downloads of a board, or nothing where no run is done; returns its card."""
    found = board(name)
    if not found.done_keys():
        return None
    site, folder = whole_site(found), front / "board" / name
    write_site(site, found, folder, front)
    summary = site.summary
    suite, files = found.suite(), own_folder(folder / "files")
    archive = files / f"{name}.zip"
    sha256 = pack_board(found, archive)
    for path in set(files.iterdir()) - _write_scores(site, files) - {archive}:
        path.unlink()
    basis, table = _scores(site)
    return {
        "name": name,
        "description": suite.description,
        "runs": f"{len(found.done_keys()):,} of {suite.n_runs:,}",
        "agents": len(summary.agents),
        "tasks": len(summary.tasks),
        "basis": basis,
        "tabs": [] if table is None else [(tab, _leaders(tab.rows)) for tab in table.tabs],
        "kernels": () if table is None else table.kernels,
        "batchings": () if table is None else table.batchings,
        "stale": sorted(set(found.stale().values())),
        "parts": board_parts().get(name, ()),
        "sha256": sha256,
        "citation": _citation(found),
    }


def _citation(found: Board) -> str:
    """BibTeX of a board, of the year in which its last run ended."""
    name = found.suite().name
    year = datetime.fromtimestamp(max(run.finished for run in found.entries().values()), UTC).year
    return (
        f"@misc{{gpbandit_{name.replace('-', '_')},\n"
        f"  title = {{{{{name}: a board of Gaussian-process bandits}}}},\n"
        "  author = {{the gpbandit-envs authors}},\n"
        f"  year = {{{year}}},\n"
        f"  howpublished = {{gpbandit-envs {__version__}}},\n"
        f"  note = {{SHA-256 of the index: {found.sha256}}},\n"
        "}"
    )


def _scores(site: Site) -> tuple[str, ScoreTable | None]:
    """On what the scores of the largest class of tasks rest, and these; None if there are none."""
    sized = [(len(one.tasks), i) for i, one in enumerate(site.classes) if site.scores(one.name) is not None]
    if not sized:
        return "no agent has a score on every task yet", None
    # Of classes of one size the last, as of feedback at once and late ones.
    one = site.classes[max(sized)[1]]
    table = class_scores(site, one)
    assert table is not None
    scores = site.scores(one.name, table.tabs[0].by)
    assert scores is not None
    among = "" if len(site.classes) == 1 else f" ({one.name})"
    basis = (
        f"mean score over {len(one.tasks)} tasks{among}, with the 95 % interval {scores.where}; "
        f"{legend(site.ranked_by)[2:-1]}"
    )
    return basis, table


def _leaders(rows: Iterable[Row]) -> list[tuple[Row, str, bool]]:
    """The first of all, and of each class of entrants.

    With each, as JSON, whether it is among the first of those of `Row.places`, and whether it leads all.
    """
    found, seen = [], Counter[tuple[str, str]]()
    for row in rows:
        classes = [("", ""), (row.entrant, ""), ("", row.batching), (row.entrant, row.batching)]  # as `Row.places`
        leads = [seen[one] < _SHOWN for one in classes]
        seen.update(set(classes))
        if any(leads):
            found.append((row, json.dumps([int(one) for one in leads]), leads[0]))
    return found


def _write_scores(site: Site, folder: Path) -> set[Path]:
    """Write the scores and the papers for download."""
    csv, tex, bib = folder / "scores.csv", folder / "scores.tex", folder / "papers.bib"
    score_table(site.shown).to_csv(csv, index=False)
    tex.write_text(latex_table(site), encoding="utf-8")
    papers = bibtex(text for card in site.cards.values() if card for text in card.references)
    bib.write_text(papers + "\n", encoding="utf-8")
    return {csv, tex, bib}
