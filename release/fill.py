"""Writes the public address of the project wherever it is stated, and copies what belongs at the top of the repository.

python release/fill.py https://code.example.org/gpbandit-envs
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[1]
TOP = ("CITATION.cff", ".zenodo.json", "codemeta.json", ".readthedocs.yaml")


def stated_in(root: Path) -> list[Path]:
    """The files that state the address."""
    here = root / "release"
    kinds = {".cff", ".json", ".md", ".yaml"}
    return [root / "gpbandit_envs" / "version.py", *sorted(path for path in here.rglob("*") if path.suffix in kinds)]


def fill(address: str, root: Path = ROOT) -> list[Path]:
    """Replace the address that `gpbandit_envs/version.py` states by another; returns the files that had it.

    Raises:
        ValueError: if it is no address of a repository.
    """
    parts = urlsplit(address)
    if parts.scheme != "https" or not parts.netloc or address.endswith("/") or not parts.path.strip("/"):
        raise ValueError(f"address: expected one such as https://code.example.org/gpbandit-envs, got {address!r}")
    version: dict[str, str] = {}
    exec((root / "gpbandit_envs" / "version.py").read_text(encoding="utf-8"), version)
    changed = []
    for path in stated_in(root):
        text = path.read_text(encoding="utf-8")
        if version["ADDRESS"] in text:
            path.write_text(text.replace(version["ADDRESS"], address), encoding="utf-8")
            changed.append(path)
    for name in TOP:
        shutil.copy(root / "release" / name, root / name)
    return changed


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for each in fill(sys.argv[1]):
        sys.stdout.write(f"{each.relative_to(ROOT)}\n")
