"""The front page of the site: a short ranking of every board, with links to its pages, its files and the documentation.

SITE/index.html        the front page
SITE/plotly.min.js     the plotting library of all boards
SITE/board/NAME/       the pages of a board; to download scores, papers, and of whole boards the data set
SITE/docs/             the documentation
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from gpbandit_envs.atomic import written_whole
from leaderboards.archive.describe import citation, describe_board
from leaderboards.archive.read import Board, board, board_names
from leaderboards.score.summary import score_table, summarise
from leaderboards.show.bibtex import bibtex
from leaderboards.show.build import build_page, page_templates
from leaderboards.show.paper import latex_table
from leaderboards.show.plotting_library import copy_library
from leaderboards.show.scores import ScoreTab, class_scores
from leaderboards.show.shared import Site, make_site
from leaderboards.store.intact import own_folder

__all__ = ["build_front"]

_SHOWN = 10


@dataclass(frozen=True)
class BoardCard:
    """A board on the front page.

    Attributes:
        name: Its name.
        description: That of its suite.
        runs: How many runs are done, of how many.
        agents: How many agents have runs.
        tasks: How many tasks.
        basis: On what the scores rest.
        tabs: The leaders by each criterion.
        stale: Agents whose code has changed since.
        whole: The board that holds all its runs, packed: itself, or the one whose suite its own is a part of.
        sha256: Of that packed board, as `--against` takes it.
        citation: BibTeX of that board.
    """

    name: str
    description: str
    runs: str
    agents: int
    tasks: int
    basis: str
    tabs: tuple[ScoreTab, ...]
    stale: tuple[str, ...]
    whole: str
    sha256: str
    citation: str


def build_front(out: str | os.PathLike[str]) -> Path:
    """Write the pages of all boards that come with the package, and the front page.

    Args:
        out: Folder of the site; the documentation is looked for below `docs`, and linked if it is there.

    Returns:
        The front page, which a browser opens without a network.

    Raises:
        OSError: if the folder cannot be written.
        StoreError: if a board is damaged.
    """
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    copy_library(folder)
    cards: list[BoardCard] = []
    packed: dict[str, tuple[str, str]] = {}
    for name in board_names():  # a part comes after its whole
        found = board(name)
        if found.done_keys():
            cards.append(_card(found, name, folder, packed))
    text = (
        page_templates()
        .get_template("front.html.j2")
        .render(cards=cards, documentation=(folder / "docs" / "index.html").is_file())
    )
    static = resources.files("leaderboards.show") / "static"
    contents = {name: (static / name).read_text(encoding="utf-8") for name in ("style.css", "page.js")}
    for name, content in {**contents, "index.html": text}.items():
        with written_whole(folder / name) as temporary:
            temporary.write_text(content, encoding="utf-8")
    return folder / "index.html"


def _card(found: Board, name: str, front: Path, packed: dict[str, tuple[str, str]]) -> BoardCard:
    """Write the pages and the downloads of a board; `packed` gets the hash of its archive and its BibTeX."""
    summary, folder = summarise(found), front / "board" / name
    build_page(found, out=folder, front=front)
    site = make_site(summary)
    suite, files = found.suite(), own_folder(folder / "files")
    stale = set(files.iterdir()) - _write_scores(site, files)
    whole = suite.part_of or name
    if whole == name:
        archive, *described = describe_board(found, files)
        packed[name] = hashlib.sha256(archive.read_bytes()).hexdigest(), citation(found)
        stale -= {archive, *described}
    for path in stale:
        path.unlink()
    basis, tabs = _leaders(site)
    return BoardCard(
        name,
        suite.description,
        f"{len(found.done_keys()):,} of {suite.n_runs:,}",
        len(summary.agents),
        len(summary.tasks),
        basis,
        tabs,
        tuple(sorted(set(found.stale().values()))),
        whole,
        *packed[whole],
    )


def _leaders(site: Site) -> tuple[str, tuple[ScoreTab, ...]]:
    """On what the scores of the largest class of tasks rest, and its leaders by each criterion."""
    sized = [(len(one.tasks), i) for i, one in enumerate(site.classes) if site.scores(one.name) is not None]
    if not sized:
        return "no agent has a score on every task yet", ()
    # Of classes of one size the last, as of feedback at once and late ones.
    one = site.classes[max(sized)[1]]
    table = class_scores(site, one, "leaders", filtered=False)
    assert table is not None
    among = "" if len(site.classes) == 1 else f" ({one.name})"
    basis = (
        f"mean score over {len(one.tasks)} tasks{among}, from 0, as good as uniform draws, to 100, no regret, with the "
        f"95 % interval {'on tasks like these' if table.wide else 'on these tasks'}"
    )
    return basis, tuple(replace(tab, rows=tab.rows[:_SHOWN]) for tab in table.tabs)


def _write_scores(site: Site, folder: Path) -> set[Path]:
    """Write the scores and the papers for download."""
    csv, tex, bib = folder / "scores.csv", folder / "scores.tex", folder / "papers.bib"
    score_table(site.shown).to_csv(csv, index=False)
    tex.write_text(latex_table(site), encoding="utf-8")
    papers = bibtex(text for card in site.cards.values() if card for text in card.references)
    bib.write_text(papers + "\n", encoding="utf-8")
    return {csv, tex, bib}
