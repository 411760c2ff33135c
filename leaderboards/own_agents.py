"""Refuses another `agents` in the place of this project's: the name is a common one."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

_OURS = "Bandit policies behind one protocol"  # what its `__init__.py` begins with


def check() -> None:
    """Look where Python finds `agents`, without running it.

    Two distributions that both hold a folder `agents` write into one: then ours is there in part, or in pieces after
    the other has been uninstalled.

    Raises:
        ImportError: if that is not the package of this project; the message names the file and what to do.
    """
    loaded = sys.modules.get("agents")
    spec = importlib.util.find_spec("agents") if loaded is None else loaded.__spec__
    folders = [] if spec is None else list(spec.submodule_search_locations or [])
    in_pieces = [folder for folder in folders if (Path(folder) / "core" / "protocol.py").is_file()]
    if in_pieces and _is_ours(Path(in_pieces[0]) / "__init__.py"):
        return
    beside = Path(__file__).resolve().parents[1] / "agents"
    expected = "agents: expected the package of gpbandit-envs"
    if spec is None:
        raise ImportError(f"{expected}, such as {beside}, found none; install it again")
    from importlib.metadata import packages_distributions  # its import takes longer than all the rest

    found = spec.origin or ", ".join(folders)
    others = sorted(set(packages_distributions().get("agents", [])) - {"gpbandit-envs"})
    if in_pieces:
        remedy = "".join(f"uninstall {name} and " for name in others[:1]) + "install gpbandit-envs again"
        raise ImportError(f"{expected}, found {found}, which another package has written over; {remedy}")
    remedy = f"uninstall {others[0]}" if others and "site-packages" in found else "rename it"
    raise ImportError(f"{expected}, found {found} first; {remedy}")


def _is_ours(init: Path) -> bool:
    try:
        with init.open(encoding="utf-8") as text:
            return text.readline().lstrip('"').startswith(_OURS)
    except (OSError, UnicodeDecodeError):
        return False
