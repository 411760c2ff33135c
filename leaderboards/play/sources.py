"""The sources of what a run is made of, beside this project's own packages and the libraries.

A module is the user's if its file lies outside the standard library and site-packages. Any of those that are loaded may
decide what an agent does, so all count. Of what is installed only the packages count that define the agent or the
environment, such as plugins.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym

__all__ = ["SourceError", "edited", "note", "sources"]

_KNOWN = frozenset({"agents", "gpbandit_envs", "leaderboards", "gymnasium"}) | sys.stdlib_module_names
_SCRIPTS = ("__main__", "__mp_main__")
_HUGE = 300  # modules: of a larger installed package only those count that define a class themselves


class SourceError(Exception):
    """Nobody can tell whether a class is still the same; the text says which."""


_users: dict[str, Path] = {}
_seen: set[str] = set()


def note() -> None:
    """Remember the sources of the user's modules as they are now, before a run: they may be edited while it plays."""
    if len(sys.modules) == len(_seen):
        return
    for name, module in list(sys.modules.items()):
        if name not in _seen:
            file = _stated(module)
            if file is not None and _package(name) not in _KNOWN and not _installed(Path(file)):
                _users[name] = Path(file).resolve()
                _digest(_users[name])
    _seen.clear()
    _seen.update(sys.modules)


def sources(env: gym.Env[Any, Any], agent: object) -> dict[str, str]:
    """Hash of every module that may decide what the two do, by its name.

    Raises:
        SourceError: if one of their classes is in no file, such as one that was typed into a notebook.
    """
    note()
    files = {name: file for name, file in _users.items() if name not in _SCRIPTS}
    for name in _defining(env, agent):
        file = _file(name)
        assert file is not None  # `_defining` has made sure
        files[name] = file
        package = [other for other in sys.modules if _package(other) == _package(name)]
        if name not in _SCRIPTS and len(package) <= _HUGE:
            files |= {other: file for other in package if (file := _file(other)) is not None}
    return {name: _digest(file) for name, file in files.items()}


def edited(then: Mapping[str, str]) -> str | None:
    """The first module whose source is another than `then`, when `sources` looked; None if there is none."""
    for name, digest in then.items():
        file = _file(name)
        if file is None or _digest(file) != digest:
            return name
    return None


def _defining(env: gym.Env[Any, Any], agent: object) -> Iterator[str]:
    """Modules that define the classes of the two, of wrappers, and the function that built the environment."""
    things: list[Any] = [*type(agent).__mro__, *type(env).__mro__]
    while isinstance(env, gym.Wrapper):
        env = env.env
        things += type(env).__mro__
    if env.spec is not None:
        things.append(env.spec.entry_point)
    for thing in things:
        name = thing.partition(":")[0] if isinstance(thing, str) else getattr(thing, "__module__", None)
        if name is None or (_package(name) in _KNOWN and name not in _SCRIPTS):
            continue
        # A worker may have another main module than the script that sent it a class.
        root = getattr(thing, "__qualname__", "").partition(".")[0]
        if _file(name) is None or (name in _SCRIPTS and not hasattr(sys.modules[name], root)):
            raise SourceError(f"{thing!r} is defined in no file, so nobody could tell whether it is still the same")
        yield name


def _package(name: str) -> str:
    return name.partition(".")[0]


def _file(name: str) -> Path | None:
    """Where a module is, or would be imported from."""
    if name in _users:
        return _users[name]
    file = _stated(sys.modules.get(name))
    if name not in sys.modules:
        try:
            spec = importlib.util.find_spec(name)
        except Exception:  # it imports the package around it, and that may raise anything
            return None
        file = None if spec is None else spec.origin
    return Path(file).resolve() if file is not None and Path(file).is_file() else None


def _stated(module: object) -> str | None:
    """A module's `__file__`, without waking those that load themselves when an attribute is asked for."""
    try:
        file = object.__getattribute__(module, "__dict__").get("__file__")
    except AttributeError:  # anything may be in sys.modules
        return None
    return file if isinstance(file, str) else None


@functools.cache
def _digest(file: Path) -> str:
    """Hash of a file when this process first looked, which is what it has loaded."""
    try:
        return hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest()
    except OSError:
        return "gone"


def _installed(file: Path) -> bool:
    if not {"site-packages", "dist-packages"}.isdisjoint(file.parts):
        return True
    resolved = file.resolve()
    return any(resolved.is_relative_to(place) for place in _standard())


@functools.cache
def _standard() -> tuple[Path, ...]:
    return tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib"))
