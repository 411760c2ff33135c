"""`gpbandit report`: one page on an agent for a paper's appendix."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from leaderboards.cli.against import board_or_folder
from leaderboards.cli.errors import UserError, user_errors
from leaderboards.cli.terminal import say

__all__ = ["report"]


def report(
    agent: Annotated[str, typer.Argument(help="Name of the agent, as on the page.")],
    results: Annotated[str, typer.Argument(help="Results folder, or name of a board such as core-v2.")],
    against: Annotated[
        str | None,
        typer.Option(help="Rank the folder's runs among those of a board; by default as it was played."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the PDF and the LaTeX.")] = Path(),
) -> None:
    """Write one page on an agent, as PDF and LaTeX: rivals, profile, targets, guarantee, how it was run."""
    from leaderboards.show.report import agent_report
    from leaderboards.show.report_latex import write_latex
    from leaderboards.show.report_page import write_pdf

    store = board_or_folder(results, against)
    with user_errors(Path(results)):
        try:
            found = agent_report(store, agent)
        except ValueError as error:
            raise UserError(str(error).replace("agent:", "AGENT:", 1)) from None
    stem = re.sub(r"[^a-z0-9.+]+", "-", f"{found.agent}-{found.suite}".lower()).strip("-")
    with user_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        for write, path in ((write_pdf, out / f"{stem}.pdf"), (write_latex, out / f"{stem}.tex")):
            write(found, path)
            say(str(path))
