"""`gpbandit page`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leaderboards.cli.against import opened
from leaderboards.cli.errors import UserError, results_folder, user_errors
from leaderboards.cli.ranking import check_metric, criteria_help
from leaderboards.cli.terminal import say
from leaderboards.play.build import is_findable, load_class, load_plugins, loaded_agent, named_agents, not_here
from leaderboards.store.store import Store

__all__ = ["page"]


def page(
    directory: Annotated[Path, typer.Argument(help="Results folder.")],
    ranked_by: Annotated[str, typer.Option("--rank-by", help=criteria_help)] = "cumulative_regret",
    against: Annotated[
        str | None,
        typer.Option(
            help="Rank the runs of the folder among those of this board: its name, path or address, or `board` for "
            "the board of the suite. By default the board that the folder was played against."
        ),
    ] = None,
    import_agents: Annotated[
        bool,
        typer.Option(
            "--import-agents",
            help="Import the agents that are named module:Class. Their pages then describe them, and they are ranked "
            "in their class of entrants.",
        ),
    ] = False,
) -> None:
    """Write the pages of a results folder and print where they are."""
    check_metric(ranked_by)
    with user_errors(directory):
        store = Store(results_folder(directory))
        if store.runs().empty:
            raise UserError(f"{directory} holds no readable run: give `gpbandit run SUITE --out {directory}` first")
        agents = named_agents(entry.spec for entry in store.entries().values())
        named = [id for id in agents if is_findable(id.partition(":")[0])]  # of the others `not_here` speaks below
        failed = [id for id in named if not _imported(id)] if import_agents else []
        from leaderboards.show.build import build_page

        found = opened(directory, against)
        index = build_page(found, ranked_by=ranked_by)
        # Asked before plugins are loaded: only what was known then is on the page.
        bare = [id for id in named if loaded_agent(id) is None and id not in failed]
        load_plugins()
        for reason in dict.fromkeys(filter(None, (not_here(entry.spec) for entry in store.entries().values()))):
            say(f"note: {reason}; its runs are shown, without its theory", err=True)
        if bare and not import_agents:
            say(
                f"note: {', '.join(bare)}: shown without description, and in neither class of entrants, since a page "
                "imports nobody's code by itself; --import-agents has it do so",
                err=True,
            )
    say(f"The leaderboard is at {index.resolve()}")


def _imported(id: str) -> bool:
    """Whether the class `id` can be imported; if not, why is said."""
    try:
        load_class(id)
    except Exception as error:  # a module of the user's may raise anything
        say(f"note: {id} could not be imported ({type(error).__name__}: {error})", err=True)
        return False
    return True
