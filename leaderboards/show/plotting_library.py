"""The one file of the plotting library that all pages share."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable

__all__ = ["plotting_library"]

_NAME = "plotly.min.js"
_OURS = resources.files("leaderboards.show") / "static" / _NAME


def plotting_library() -> Traversable:
    """`plotly.min.js`: put into this package when it was built, else that of an installed Plotly.

    Raises:
        ImportError: if there is neither, as in a checkout on the path that was never installed.
    """
    if _OURS.is_file():
        return _OURS
    try:
        return resources.files("plotly") / "package_data" / _NAME
    except ModuleNotFoundError:
        raise ImportError(
            "pages draw with plotly.min.js, which is in neither this package nor an installed Plotly: pip install -e . "
            "in the checkout, or pip install plotly"
        ) from None
