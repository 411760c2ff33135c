"""How is it shown? The offline site of a results folder, figures for papers and a live view."""

from leaderboards.show.build import build_page
from leaderboards.show.paper import make_figures
from leaderboards.show.watch import watch

__all__ = ["build_page", "make_figures", "watch"]
