"""`gpbandit data`."""

from __future__ import annotations

import typer

app = typer.Typer(help="Fetch and list the real data sets.", no_args_is_help=True, rich_markup_mode=None)
