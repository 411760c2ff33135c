"""What commands say of the screen, which looks at the first choices of agents."""

from __future__ import annotations

from leaderboards.cli.terminal import say
from leaderboards.store.store import StoreView
from leaderboards.verify.screen import screen

__all__ = ["say_screen"]


def say_screen(results: StoreView, *, every: bool = True, err: bool = False) -> bool:
    """Print what the screen finds of the agents of results; returns whether it flags one.

    Args:
        results: Of a submission, or a board.
        every: Whether to print a line for each agent, or for those alone that are flagged.
        err: Whether to print to the standard error stream.
    """
    found = screen(results)
    for one in found:
        if every or one.flagged:
            say(f"{'NOT' if one.flagged else 'ok '} screen: {one}", err=err)
    flagged = any(one.flagged for one in found)
    if not every and not flagged:
        told = sum(one.runs > 0 for one in found)
        if told:
            say(f"screen: none of {told} agents pulls the best arm first more often than chance allows")
        else:
            say("screen: no run is on drawn functions of finite arms, of whose first choice something can be told")
    return flagged
