"""Refuses another `agents` in the place of this project's: the name is a common one."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

__all__ = ["check"]


def check() -> None:
    """Look where Python finds `agents`, without running it.

    Raises:
        ImportError: if that is not the package of this project; the message names the file and what to do.
    """
    loaded = sys.modules.get("agents")
    spec = importlib.util.find_spec("agents") if loaded is None else loaded.__spec__
    folders = [] if spec is None else list(spec.submodule_search_locations or [])
    if any((Path(folder) / "core" / "protocol.py").is_file() for folder in folders):
        return
    beside = Path(__file__).resolve().parents[1] / "agents"
    if spec is None:
        raise ImportError(
            f"agents: expected the package of gpbandit-envs, such as {beside}, found none; install it again"
        )
    from importlib.metadata import packages_distributions  # its import takes longer than all the rest

    found = spec.origin or ", ".join(folders)
    owners = packages_distributions().get("agents", [])
    others = sorted(set(owners) - {"gpbandit-envs"})
    remedy = f"uninstall {others[0]}" if others and "site-packages" in found else "rename it"
    raise ImportError(f"agents: expected the package of gpbandit-envs, found {found} first; {remedy}")
