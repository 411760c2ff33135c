"""How is it shown? The offline site of a results folder, and figures for papers."""

from leaderboards.show.build import build_page
from leaderboards.show.paper import make_figures

__all__ = ["build_page", "make_figures"]
