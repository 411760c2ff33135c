"""Checkpoints: a long run saves its state every few minutes and resumes from it, bit for bit, after an interruption.

A checkpoint is a pickle of the environment, the agent's `state_dict` and the loop, behind the signature of the user who
wrote it: an HMAC with a key of 32 random bytes that lies in the user's own state folder. Those of others, which could
run anything, are never loaded. Checkpoints are local, not part of the results. A checkpoint written by
other versions or other sources is deleted, since resuming could change numbers.

Sources are compared by hash: those of this project, of all loaded modules of the user, and of the modules that define
the agent and the environment, such as plugins. A module is the user's if its file lies outside the standard library and
site-packages.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import hmac
import logging
import os
import pickle
import secrets
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, cast

import gymnasium as gym
import platformdirs

from agents import Agent
from gpbandit_envs.code_digest import is_installed
from leaderboards.play.record import Saved
from leaderboards.store.intact import write_whole
from leaderboards.store.origin import Origin, origin

DEFAULT_EVERY = 120.0
_LEAST_RATIO = 20.0  # seconds of play for a second of saving, so that large states cost 5 % at most
_KNOWN = frozenset({"agents", "gpbandit_envs", "leaderboards", "gymnasium"}) | sys.stdlib_module_names
_SCRIPTS = ("__main__", "__mp_main__")
_STANDARD = [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")]
_KEY_SIZE = 32
_log = logging.getLogger("gpbandit")


@dataclass
class Checkpoint:
    """The saved state of one run in a file; a `leaderboards.play.record.Saving`.

    Args:
        path: Its file, whose name without the ending is the key of the run.
        every: Seconds between two of them; infinity for none.

    Attributes:
        resumed: How often the run resumed from a checkpoint.
        before: Seconds that the run had taken when it was saved.
        on_resume: Is told of `before` when a state has been loaded; None for nobody.
    """

    path: Path
    every: float = DEFAULT_EVERY
    resumed: int = 0
    before: float = 0.0
    on_resume: Callable[[float], None] | None = None

    def __post_init__(self) -> None:
        self._started = self._last = perf_counter()
        self._pause = self.every
        self._failed = False

    def load(self) -> Saved | None:
        """The saved state; None without a usable checkpoint.

        Call it before a run plays, even if nothing is saved: it hashes the sources as they are now.
        """
        snapshot_modules()
        made_by = _identity()
        try:
            run, by, made_of, resumed, seconds, state = pickle.loads(unsign(self.path.read_bytes()))
            if run != self.path.stem:
                raise ValueError(f"it is that of run {run}")
            if by != made_by:
                raise ValueError("it was written by another version")
            changed = first_changed_file(made_of)
            if changed is not None:
                raise ValueError(f"{changed} has been edited since, so the run starts over")
        except FileNotFoundError:
            return None
        except Exception as error:  # the user's classes may raise anything; the run then starts over
            _log.warning("checkpoint %s is not used: %s", self.path, error)
            with contextlib.suppress(OSError):  # the next one replaces it
                self.remove()
            return None
        self.resumed, self.before = resumed + 1, seconds
        if self.on_resume is not None:
            self.on_resume(self.before)
        return cast(Saved, state)

    def due(self) -> bool:
        """Whether it is time to save."""
        return perf_counter() - self._last > self._pause

    def save(self, env: gym.Env[Any, Any], agent: Agent, loop: object) -> None:
        """Write the state of a run between two turns, with a snapshot of its loop.

        A state that cannot be written costs one warning and not the run, which tries again after the usual time.
        """
        started = perf_counter()
        try:
            state: Saved = (env, agent.state_dict(), loop)
            seconds = self.before + started - self._started
            content = (self.path.stem, _identity(), sources(env, agent), self.resumed, seconds, state)
            pickled = pickle.dumps(content, protocol=pickle.HIGHEST_PROTOCOL)
        except Exception as error:  # a `SourceError`, or whatever a user's class raises when it is pickled
            _log.warning("this run cannot be saved while it runs: %s", error)
            self._pause = float("inf")
            return
        if not self.path.parents[1].is_dir():
            return  # the results folder has been moved, and is not to be made anew
        try:
            write_whole(self.path, sign(pickled))
        except OSError as error:
            if not self._failed:
                _log.warning("a run could not be saved and goes on (%s)", error)
            self._failed = True
        self._last = perf_counter()
        self._pause = max(self.every, _LEAST_RATIO * (self._last - started))

    def remove(self) -> None:
        """Delete the saved state."""
        self.path.unlink(missing_ok=True)


def _identity() -> tuple[object, ...]:
    """Versions that must be equal for a run to resume bit for bit."""
    here: Origin = origin()
    return _code(), here.python, here.libraries, here.machine


@functools.cache
def _code() -> str:
    """Hash of the sources of the three packages; a commit alone would miss files that were edited since."""
    digest = hashlib.blake2b(digest_size=16)
    root = Path(__file__).resolve().parents[2]
    for package in ("agents", "gpbandit_envs", "leaderboards/play", "leaderboards/work"):
        for path in sorted((root / package).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


# ---- sources of a run ----


class SourceError(Exception):
    """A class has no source file to compare; the text names it."""


_users: set[Path] = set()
_seen: set[str] = set()


def snapshot_modules() -> None:
    """Hash the sources of the user's modules now, before a run: they may be edited while it plays."""
    if len(sys.modules) == len(_seen):
        return
    for name, module in list(sys.modules.items()):
        if name not in _seen and name.partition(".")[0] not in (*_KNOWN, *_SCRIPTS):
            file = _file(module)
            if file is not None and not is_installed(file):
                file = file.resolve()
                if not any(file.is_relative_to(folder) for folder in _STANDARD):
                    _users.add(file)
                    _digest(file)
    _seen.clear()
    _seen.update(sys.modules)


def sources(env: gym.Env[Any, Any], agent: object) -> dict[Path, str]:
    """Hash of every source file that may affect the environment or the agent.

    Raises:
        SourceError: if one of their classes is in no file, such as one that was typed into a notebook.
    """
    snapshot_modules()
    return {file: _digest(file) for file in (*_users, *_defining(env, agent))}


def first_changed_file(then: Mapping[Path, str]) -> Path | None:
    """The first file that differs from the hashes `then`, which `sources` returned; None if none does."""
    return next((file for file, digest in then.items() if _digest(file) != digest), None)


def _defining(env: gym.Env[Any, Any], agent: object) -> Iterator[Path]:
    """Files that define the classes of the two, of wrappers, and the function that built the environment."""
    things: list[Any] = [*type(agent).__mro__, *type(env).__mro__]
    while isinstance(env, gym.Wrapper):
        env = env.env
        things += type(env).__mro__
    if env.spec is not None:
        things.append(env.spec.entry_point)
    for thing in things:
        name = thing.partition(":")[0] if isinstance(thing, str) else getattr(thing, "__module__", None)
        if name is None or (name.partition(".")[0] in _KNOWN and name not in _SCRIPTS):
            continue
        # A worker may have another main module than the script that sent it a class.
        root = getattr(thing, "__qualname__", "").partition(".")[0]
        file = _file(sys.modules.get(name))
        if file is None or not file.is_file() or (name in _SCRIPTS and not hasattr(sys.modules[name], root)):
            raise SourceError(f"{thing!r} is defined in no file, so nobody could tell whether it is still the same")
        yield file.resolve()


def _file(module: object) -> Path | None:
    """A module's `__file__`, read without triggering modules that load lazily at the first attribute access."""
    try:
        file = object.__getattribute__(module, "__dict__").get("__file__")
    except AttributeError:  # anything may be in sys.modules
        return None
    return Path(file) if isinstance(file, str) else None


@functools.cache
def _digest(file: Path) -> str:
    """Hash of a file when this process first looked, which is what it has loaded."""
    try:
        return hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest()
    except OSError:
        return "gone"


# ---- signatures ----


def key_file() -> Path:
    """Where the key of this user is."""
    return platformdirs.user_state_path("gpbandit-envs") / "checkpoints.key"


def sign(content: bytes) -> bytes:
    """`content` behind its signature.

    Raises:
        OSError: if the key can neither be read nor made, or is none.
    """
    return hmac.digest(_user_key(key_file()), content, "sha256") + content


def unsign(signed: bytes) -> bytes:
    """What `sign` was given.

    Raises:
        ValueError: if the signature is not this user's, or the content has changed.
        OSError: if the key can neither be read nor made, or is none.
    """
    content = signed[_KEY_SIZE:]
    if not hmac.compare_digest(signed, sign(content)):
        raise ValueError("this user has not written it, or it has changed since")
    return content


@functools.cache
def _user_key(path: Path) -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Another process may make it at the same time: a link puts one whole key there, and all read that one.
    new = path.with_name(f"{path.name}.{secrets.token_hex(6)}")
    if not path.exists():
        try:
            with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(secrets.token_bytes(_KEY_SIZE))
            os.link(new, path)
        except FileExistsError:
            pass
        finally:
            new.unlink(missing_ok=True)
    key = path.read_bytes()
    if len(key) != _KEY_SIZE:  # with an empty key anyone could sign
        raise OSError(f"{path}: expected a key of {_KEY_SIZE} bytes, got {len(key)}; delete it, and another is made")
    return key
