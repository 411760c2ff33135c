"""What is imported when it is first used: public names of a package, and libraries that are not always there."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(
    package: str, modules: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions `__getattr__` and `__dir__` of a package.

    Args:
        package: Its name.
        modules: By module of the package, the names it has.
    """
    homes = {name: f"{package}.{module}" for module, names in modules.items() for name in names}

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(homes[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return load, names


def optional(needs: str, extra: str, *modules: str) -> list[Any]:
    """Modules that an extra of this package brings; what they warn of while they are imported is not ours.

    Args:
        needs: Who needs them, as a sentence.
        extra: Name of the extra.
        *modules: Their names.

    Raises:
        ImportError: if one is not installed.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [importlib.import_module(module) for module in modules]
    except ImportError as error:
        raise ImportError(f'{needs}: pip install "gpbandit-envs[{extra}]"') from error
