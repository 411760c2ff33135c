"""Where code is: in an installed package, in a module that others can import, or in no file, as in a notebook.

Of code in no file there is a short hash: what was edited is told from what was only run again.
"""

from __future__ import annotations

import copyreg
import functools
import hashlib
import inspect
import sys
from collections.abc import Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from types import CodeType, FunctionType, MappingProxyType, MethodType
from typing import Any

import numpy as np

_LENGTH = 12
_NO_MODULES = {None, "__main__", "__mp_main__"}
_PLAIN = (str, int, float, complex, bool, bytes, type(None), type(...))


def is_installed(file: Path) -> bool:
    """Whether a source file is of a package that pip has installed."""
    return bool({"site-packages", "dist-packages"} & set(file.parts))


def is_importable(thing: Any) -> bool:
    """Whether another process can import a class or function by its module and name."""
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", "")
    found: Any = sys.modules.get(module or "")
    if module in _NO_MODULES or found is None or not name:
        return False
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is thing


def code_digest(thing: Any, state: bool = True) -> str:
    """Hash of what a function, a class or an object does: its byte code, and the values that this goes by.

    Values are those that code closes over, globals that it names, defaults, what an object or a class holds, arrays and
    frames among them. What can be imported enters by its name. Equal for equal source under one version of Python.

    Args:
        thing: What is hashed.
        state: Whether values enter, or code alone.
    """
    return _digest(thing, state, {})


def _digest(thing: Any, state: bool, met: Mapping[int, tuple[int, Any]]) -> str:
    """`code_digest` inside of what was `met`: things by id, each with its number; what is gone leaves its id to others.

    By a stack of its own, as Python's would end somewhere else for every caller.
    """
    digest, met, waiting = hashlib.sha256(), dict(met), [thing]
    while waiting:
        each = waiting.pop()
        if isinstance(each, _Word):
            text = str(each)
        elif isinstance(each, _PLAIN):
            text = repr(each)
        elif inspect.ismodule(each):
            text = each.__name__
        elif is_importable(each):
            text = f"{each.__module__}:{each.__qualname__}"
        elif id(each) in met:
            text = f"number {met[id(each)][0]}"
        else:
            met[id(each)] = len(met), each
            text = type(each).__qualname__
            waiting += reversed([*_inside(each, state, met), _Word("end")])
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()[:_LENGTH]


class _Word(str):
    """A text that enters as it is, beside the things of which others are made."""


def _inside(thing: Any, state: bool, met: Mapping[int, tuple[int, Any]]) -> Iterator[Any]:
    """What a thing is made of, in an order of its own."""
    if isinstance(thing, CodeType | FunctionType | functools.partial | MethodType):
        yield from _function(thing, state)
    elif isinstance(thing, staticmethod | classmethod):
        yield thing.__func__
    elif isinstance(thing, property):
        yield from (thing.fget, thing.fset, thing.fdel)
    elif isinstance(thing, type):
        for base in thing.__mro__:
            if is_importable(base):
                yield base
            else:
                # What Python itself adds, such as the line of the class, changes without an edit.
                own = {k: v for k, v in vars(base).items() if not k.startswith("__") or isinstance(v, FunctionType)}
                yield from _items(own, state)
    elif isinstance(thing, tuple):
        yield from thing
    elif callable(getattr(thing, "__wrapped__", None)) and (not state or is_importable(type(thing))):
        # A cache, whose content is no part of what it does.
        yield thing.__wrapped__
    elif state:
        yield from _state(thing, met)
    else:
        yield type(thing)


def _function(thing: Any, state: bool) -> Iterator[Any]:
    """What a function goes by."""
    if isinstance(thing, CodeType):
        yield from (_Word(thing.co_code.hex()), thing.co_names)
        yield from (_Word(_digest(each, True, {})) for each in thing.co_consts)
    elif isinstance(thing, functools.partial):
        yield from (thing.func, thing.args, *_items(thing.keywords, True))
    elif isinstance(thing, MethodType):
        yield from (thing.__func__, thing.__self__)
    else:
        yield thing.__code__
        closed = {f"({name})": _content(c) for name, c in zip(thing.__code__.co_freevars, thing.__closure__ or ())}
        given = {"defaults": thing.__defaults__, "keywords": thing.__kwdefaults__}
        yield from _items({**given, **_named_globals(thing), **closed}, state)


def _state(thing: Any, met: Mapping[int, tuple[int, Any]]) -> Iterator[Any]:
    """What a container, an array or an object holds."""
    if isinstance(thing, list):
        yield from thing
    elif isinstance(thing, memoryview | MappingProxyType):  # which cannot be pickled
        yield bytes(thing) if isinstance(thing, memoryview) else dict(thing)
    elif isinstance(thing, np.ma.MaskedArray):
        yield from (np.asarray(thing.data), np.asarray(thing.mask))
    elif isinstance(thing, set | frozenset):  # in another order in every process
        yield from map(_Word, sorted(_digest(each, True, met) for each in thing))
    elif isinstance(thing, dict):
        for name, key in sorted(((_digest(key, True, met), key) for key in thing), key=itemgetter(0)):
            yield from (_Word(name), thing[key])
    elif isinstance(thing, np.ndarray) and thing.dtype != object:
        content = hashlib.sha256(np.ascontiguousarray(thing).tobytes()).hexdigest()
        yield _Word(f"{thing.dtype} {thing.shape} {content}")
    elif isinstance(thing, np.ndarray):
        yield thing.tolist()
    else:
        yield type(thing)
        try:
            # Some, such as regular expressions, are pickled by a function that their module has registered.
            registered: Any = copyreg.dispatch_table.get(type(thing))
            reduced = registered(thing) if registered else thing.__reduce_ex__(4)
        except Exception:  # such as a lock or an open file: it has no state that could be compared
            return
        parts = (reduced,) if isinstance(reduced, str) else reduced
        yield from (list(each) if isinstance(each, Iterator) else each for each in parts)


def _items(named: Mapping[str, Any], state: bool) -> Iterator[Any]:
    """Names and values in order; without `state` those alone that hold code."""
    for name, value in sorted(named.items()):
        if state or callable(value) or isinstance(value, tuple | property | staticmethod | classmethod):
            yield from (_Word(name), value)


def _named_globals(function: FunctionType) -> dict[str, Any]:
    """The globals that a function's code names, and that of functions in it; those of a module go by its name."""
    found: dict[str, Any] = {}
    if function.__globals__.get("__name__") in sys.modules.keys() - _NO_MODULES:
        return found
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        found |= {name: function.__globals__[name] for name in code.co_names if name in function.__globals__}
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return found


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None
