"""Where code is: in an installed package, in a module that others can import, or in no file, as in a notebook.

Of code in no file there is a short hash: what was edited is told from what was only run again.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

_LENGTH = 12
_PLAIN = (str, int, float, bool, bytes, type(None))


def is_installed(file: Path) -> bool:
    """Whether a source file is of a package that pip has installed."""
    return bool({"site-packages", "dist-packages"} & set(file.parts))


def is_importable(thing: Any) -> bool:
    """Whether another process can import a class or function by its module and name."""
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", "")
    found: Any = sys.modules.get(module or "")
    if module in (None, "__main__", "__mp_main__") or found is None or not name:
        return False
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is thing


def code_digest(thing: Any) -> str:
    """Hash of the byte code and constants of a function, of a class, or of the class of an object.

    Equal for equal source under one version of Python. Functions that the code calls and values that it closes over
    do not enter, but for plain ones; base classes enter unless they can be imported.
    """
    digest = hashlib.sha256()
    for part in _parts(thing):
        digest.update(part.encode())
    return digest.hexdigest()[:_LENGTH]


def _parts(thing: Any) -> Iterator[str]:
    if isinstance(thing, functools.partial):
        yield from _parts(thing.func)
        yield _plain([*thing.args, *sorted(thing.keywords.items())])
    elif inspect.ismethod(thing):
        yield from _parts(thing.__func__)
    elif isinstance(thing, FunctionType):
        yield from _code(thing.__code__)
        yield _plain([thing.__defaults__, sorted((thing.__kwdefaults__ or {}).items())])
        yield _plain([_content(cell) for cell in thing.__closure__ or ()])
    elif isinstance(thing, type):
        for base in thing.__mro__:
            if not is_importable(base) and base.__module__ != "builtins":
                for name, value in sorted(vars(base).items()):
                    # What Python itself adds, such as the line of the class, changes without an edit.
                    if not name.startswith("__") or isinstance(value, FunctionType):
                        yield name
                        yield from _member(value)
    else:
        yield from _parts(type(thing))


def _member(value: Any) -> Iterator[str]:
    if isinstance(value, staticmethod | classmethod):
        value = value.__func__
    if isinstance(value, property):
        yield from (part for each in (value.fget, value.fset) if each is not None for part in _parts(each))
    elif isinstance(value, FunctionType):
        yield from _parts(value)
    else:
        yield _plain(value)


def _code(code: CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    yield repr(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant)
        else:
            yield _plain(constant)


def _plain(value: Any) -> str:
    """The value if it is a plain one, and its type if not: other texts may differ from process to process."""
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_plain, value))}]"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(_plain, value)))}}}"
    return type(value).__qualname__


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None
