"""Where a result comes from: versions, commit and machine."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from gpbandit_envs.version import __version__

__all__ = ["origin"]

_LIBRARIES = ("numpy", "scipy", "gymnasium", "pandas", "pyarrow")


@functools.cache
def origin() -> dict[str, Any]:
    """Versions, commit and machine of this process; found once."""
    return {
        "gpbandit_envs": __version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "libraries": {name: importlib.metadata.version(name) for name in _LIBRARIES},
        "machine": {"system": platform.system(), "arch": platform.machine(), "cpu": _cpu(), "cores": os.cpu_count()},
    }


def _commit() -> str | None:
    """Commit of the checkout this package runs from, with `+` if files differ from it; None for an installed wheel."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    try:
        head = _git(root, "rev-parse", "--short=12", "HEAD")
        return head + ("+" if _git(root, "status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return None  # git is no dependency: a machine without it has no commit to state


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=10, check=True)
    return done.stdout.strip()


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"
