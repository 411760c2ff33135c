"""Refuses another `agents` or `gpbandit_envs` in the place of this project's: the first name is a common one."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from itertools import pairwise
from pathlib import Path

# A file of each package, and what its `__init__.py` begins with.
_OURS = {
    "agents": ("core/protocol.py", "Bandit policies behind one protocol"),
    "gpbandit_envs": ("registry.py", "Gymnasium environments"),
}
_USER_ERROR = 2


def check_first() -> None:
    """`check` when this project is imported; for a command it ends in one line, as its other errors do.

    Raises:
        ImportError: as `check`.
        SystemExit: in place of it, for the console script and `python -m leaderboards.cli`.
    """
    try:
        check()
    except ImportError as error:
        command = Path(sys.argv[0] if sys.argv else "").name.partition(".")[0].removesuffix("-script") == "gpbandit"
        if not command and not any(pair == ("-m", "leaderboards.cli") for pair in pairwise(sys.orig_argv)):
            raise
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(_USER_ERROR) from None


def check(here: str | None = None) -> None:
    """Look where Python finds `agents` and `gpbandit_envs`, or whether the folder `here` has others; none is run.

    Two distributions that both hold a folder `agents` write into one: then ours is there in part, or in pieces after
    the other has been uninstalled.

    Raises:
        ImportError: if that is not the package of this project; the message names the file and what to do.
    """
    for name, (file, begins) in _OURS.items():
        _check(name, file, begins, here)


def _check(name: str, file: str, begins: str, here: str | None = None) -> None:
    loaded = sys.modules.get(name)
    if here is not None:
        spec = importlib.machinery.PathFinder.find_spec(name, [here])
        if spec is None or spec.origin is None:
            return
    else:
        spec = importlib.util.find_spec(name) if loaded is None else loaded.__spec__
    folders = [] if spec is None else list(dict.fromkeys(spec.submodule_search_locations or []))
    in_pieces = [folder for folder in folders if (Path(folder) / file).is_file()]
    if in_pieces and _begins(Path(in_pieces[0]) / "__init__.py", begins):
        return
    beside = Path(__file__).resolve().parents[1] / name
    expected = f"{name}: expected the package of gpbandit-envs"
    if spec is None:
        raise ImportError(f"{expected}, such as {beside}, found none; install it again")
    from importlib.metadata import packages_distributions  # its import takes longer than all the rest

    found = spec.origin or ", ".join(folders)
    others = sorted(set(packages_distributions().get(name, [])) - {"gpbandit-envs"})
    if in_pieces:
        remedy = "".join(f"uninstall {other} and " for other in others[:1]) + "install gpbandit-envs again"
        raise ImportError(f"{expected}, found {found}, which another package has written over; {remedy}")
    remedy = f"uninstall {others[0]}" if others and "site-packages" in found else "rename it"
    raise ImportError(f"{expected}, found {found} first; {remedy}")


def _begins(init: Path, begins: str) -> bool:
    try:
        with init.open(encoding="utf-8") as text:
            return text.readline().lstrip('"').startswith(begins)
    except (OSError, UnicodeDecodeError):
        return False
