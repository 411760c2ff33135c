"""Modules that are found by their file and not by the path, as scripts of the documentation are."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any


def module_at(path: Path) -> Any:
    """The module in a file."""
    spec: Any = importlib.util.spec_from_file_location(path.stem, path)
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
