"""The one file of the plotting library that all pages share."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from gpbandit_envs.atomic import written_whole

__all__ = ["LIBRARY", "copy_library", "plotting_library"]

LIBRARY = "plotly.min.js"
_OURS = resources.files("leaderboards.show") / "static" / LIBRARY


def plotting_library() -> Traversable:
    """`plotly.min.js`: put into this package when it was built, else that of an installed Plotly.

    Raises:
        ImportError: if there is neither, as in a checkout on the path that was never installed.
    """
    if _OURS.is_file():
        return _OURS
    try:
        return resources.files("plotly") / "package_data" / LIBRARY
    except ModuleNotFoundError:
        raise ImportError(
            "pages draw with plotly.min.js, which is in neither this package nor an installed Plotly: pip install -e . "
            "in the checkout, or pip install plotly"
        ) from None


def copy_library(folder: Path) -> Path:
    """Write `plotly.min.js`, 4.8 MB, into a folder that is there; returns the copy.

    Raises:
        ImportError: if there is none to copy.
        OSError: if it cannot be written.
    """
    path = folder / LIBRARY
    with written_whole(path) as temporary:
        temporary.write_bytes(plotting_library().read_bytes())
    return path
