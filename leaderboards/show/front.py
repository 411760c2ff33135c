"""The front page of the site: a short ranking of every board, with links to its pages, its files and the documentation.

SITE/index.html        the front page
SITE/plotly.min.js     the plotting library of all boards
SITE/board/NAME/       the pages of a board, and its files to download: scores, papers of the agents, runs
SITE/docs/             the documentation
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from gpbandit_envs.atomic import written_whole
from leaderboards.play.board import Board, board, board_names, pack_board
from leaderboards.play.board_file import INDEX, INSTANCES
from leaderboards.score.summary import score_table, summarise
from leaderboards.show.bibtex import bibtex
from leaderboards.show.page import build_page, page_templates
from leaderboards.show.paper import latex_table
from leaderboards.show.plotting_library import copy_library
from leaderboards.show.site import Site, make_site

__all__ = ["build_front"]

_SHOWN = 10


@dataclass(frozen=True)
class BoardRow:
    """An agent in the short ranking of a board.

    Attributes:
        rank: Rank of its tie group.
        agent: Its label.
        file: Address of its page from that of the board.
        mean_rank: Mean rank with its 95 % interval, as text.
    """

    rank: str
    agent: str
    file: str
    mean_rank: str


@dataclass(frozen=True)
class BoardCard:
    """A board on the front page.

    Attributes:
        name: Its name.
        description: That of its suite.
        runs: How many runs are done, of how many.
        agents: How many agents have runs.
        tasks: How many tasks.
        basis: On what the ranking rests.
        rows: The leaders.
        stale: Agents whose code has changed since.
        sha256: Of the packed board, as `--against` takes it.
    """

    name: str
    description: str
    runs: str
    agents: int
    tasks: int
    basis: str
    rows: tuple[BoardRow, ...]
    stale: tuple[str, ...]
    sha256: str


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
    cards = []
    for name in board_names():
        found = board(name)
        if found.done_keys():
            cards.append(_card(found, name, folder))
    text = (
        page_templates()
        .get_template("front.html.j2")
        .render(cards=cards, documentation=(folder / "docs" / "index.html").is_file())
    )
    style = resources.files("leaderboards.show") / "static" / "style.css"
    for path, content in ((folder / "style.css", style.read_text(encoding="utf-8")), (folder / "index.html", text)):
        with written_whole(path) as temporary:
            temporary.write_text(content, encoding="utf-8")
    return folder / "index.html"


def _card(found: Board, name: str, front: Path) -> BoardCard:
    summary, folder = summarise(found), front / "board" / name
    build_page(found, out=folder, front=front)
    site = make_site(summary)
    sha256 = _downloads(found, site, name, folder)
    suite = found.suite()
    basis, rows = _leaders(site)
    return BoardCard(
        name,
        suite.description,
        f"{len(found.done_keys()):,} of {sum(1 for _ in suite.specs()):,}",
        len(summary.agents),
        len(summary.tasks),
        basis,
        rows,
        tuple(sorted(set(found.stale().values()))),
        sha256,
    )


def _leaders(site: Site) -> tuple[str, tuple[BoardRow, ...]]:
    rankings, overall = site.rankings, site.overall
    if not overall:
        return "no agent has played every task yet", ()
    # Of classes of one size the last, as of feedback at once and late ones.
    name, found = max(reversed(overall.items()), key=lambda item: len(item[1].tasks))
    blocks = [len(ranking.blocks) for task in found.tasks if (ranking := rankings[task]) is not None]
    rows = []
    for agent in found.ordered[:_SHOWN]:
        i = found.agents.index(agent)
        group, mean = found.ranking.group[i], found.mean_rank[i]
        tied = "=" if (found.ranking.group == group).sum() > 1 else ""
        file = f"site/{site.agent_files[agent]}"
        rows.append(BoardRow(f"{group}{tied}", agent, file, f"{mean.estimate:.2f} ({mean.low:.2f} to {mean.high:.2f})"))
    among = "" if len(overall) == 1 else f" ({name})"
    basis = (
        f"mean rank by cumulative regret over {len(found.tasks)} tasks{among}, {min(blocks)} repetitions or more, "
        f"{len(found.agents)} agents that have played all of them"
    )
    return basis, tuple(rows)


def _downloads(found: Board, site: Site, name: str, folder: Path) -> str:
    """Write the scores, the papers and the runs for download; returns the SHA-256 of the packed board."""
    files = folder / "files"
    files.mkdir(parents=True, exist_ok=True)
    score_table(site.summary).to_csv(files / "scores.csv", index=False)
    (files / "scores.tex").write_text(latex_table(site), encoding="utf-8")
    papers = bibtex(text for card in site.cards.values() if card for text in card.references)
    (files / "papers.bib").write_text(papers + "\n", encoding="utf-8")
    for file in (INDEX, INSTANCES, *found.index.files):
        shutil.copyfile(found.directory / file, files / file)
    return pack_board(found, files / f"{name}.zip")
