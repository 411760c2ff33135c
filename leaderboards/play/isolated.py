"""An agent in a process of its own, which holds the problem description and the feedback, and no environment.

What an agent finds through the interpreter, as by `gc.get_objects` or `sys._getframe`, is not there. Questions go to
that process as pickles; its answers are JSON, since whoever wrote the agent may write them. Its generator is the
agent's own stream, of whose entropy, a hash, nothing can be told of other streams.

What lies in folders that are hidden from it, such as seeds in results, it cannot open, change or remove on Linux, by
Landlock (kernel 5.13; `man 7 landlock`), which needs no rights and can never be taken back. Landlock knows only what is
allowed: everything beside the folders on the way to them. So nothing new can be written *right in* one of those either,
such as `/tmp`; the process gets a folder of its own for temporary files. That is all: it may still draw an instance of
public seeds again by itself.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import json
import os
import pickle
import signal
import stat
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from agents import Actions, Agent, Capabilities, Feedback, Pending
from gpbandit_envs.problem import Problem
from leaderboards.play.build import build_agent, load_plugins
from leaderboards.play.processor import ONE_THREAD
from leaderboards.play.spec import Ref

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # system calls, of one number on every architecture
_VERSION, _BENEATH, _NO_NEW_PRIVS = 1, 1, 38
# Reading a folder's list of names is not among the rights that are taken away: an import does so.
_WRITE, _READ, _TRUNCATE, _REFER = 1 << 1, 1 << 2, 1 << 14, 1 << 13
_MAKE_AND_REMOVE = sum(1 << bit for bit in range(4, 13))
_OTHERS_SIGNALS = 1 << 1


class _Ruleset(ctypes.Structure):
    _fields_ = [("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32)]


def can_confine() -> bool:
    """Whether this system has Landlock."""
    return _version() > 0


def confine(hidden: Iterable[Path]) -> bool:
    """Take from this process, for good, what is in the folders `hidden`; returns whether the system could.

    Other processes, but those that it starts, cannot be looked into either, through `/proc` or otherwise; from Linux
    6.12 on no signal can be sent to them.
    """
    version = _version()
    if not version:
        return False
    rights = _WRITE | _READ | _MAKE_AND_REMOVE
    rights |= (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    libc = ctypes.CDLL(None, use_errno=True)
    rules = _Ruleset(rights, 0, _OTHERS_SIGNALS)
    size = ctypes.sizeof(rules) if version >= 6 else 8
    ruleset = _checked(libc.syscall(_CREATE, ctypes.byref(rules), size, 0))
    for path in _beside([folder.resolve() for folder in hidden]):
        try:
            there = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        kind = os.fstat(there).st_mode
        if not stat.S_ISLNK(kind):  # what it leads to has a rule of its own
            allowed = rights if stat.S_ISDIR(kind) else rights & (_WRITE | _READ | _TRUNCATE)
            rule = _Beneath(allowed, there)
            libc.syscall(_ADD, ruleset, _BENEATH, ctypes.byref(rule), 0)  # where it fails there is less, never more
        os.close(there)
    _checked(libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0))
    _checked(libc.syscall(_RESTRICT, ruleset, 0))
    os.close(ruleset)
    return True


def _version() -> int:
    if sys.platform != "linux":
        return 0
    return max(int(ctypes.CDLL(None, use_errno=True).syscall(_CREATE, None, 0, _VERSION)), 0)


def _beside(hidden: list[Path]) -> Iterator[Path]:
    """Everything that is in no folder of `hidden`, each folder of which none is inside as a whole."""
    above = {parent for folder in hidden for parent in folder.parents}
    if not above:
        yield Path("/")
    for folder in above:
        try:
            inside = list(folder.iterdir())
        except OSError:
            continue
        yield from (path for path in inside if path not in above and path not in hidden)


def _checked(answer: int) -> int:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer


_LENGTH = struct.Struct(">Q")
_LARGEST = 1 << 30  # bytes of an answer
_NUMBERS = "biuf"


class IsolatedAgent(Agent):
    """The agent of a ref, in a process that this one starts; `close` ends it.

    Args:
        ref: The agent. Nothing of its code is loaded here.
        hidden: Folders of which its process can open no file.

    Raises:
        RuntimeError: if it cannot be built; the methods raise it for whatever the agent raises.
    """

    def __init__(self, ref: Ref, hidden: Sequence[Path] = ()) -> None:
        # What this process imports from, a submission's code too, is where that one does.
        where = os.pathsep.join(path or os.getcwd() for path in sys.path)
        self._temporary = tempfile.TemporaryDirectory(prefix="gpbandit-agent-", ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [sys.executable, *(["-B"] if sys.dont_write_bytecode else []), "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": where, "TMPDIR": self._temporary.name},
            start_new_session=True,
        )
        try:
            self._ask("confine", [folder.absolute() for folder in hidden])
            about = self._ask("build", ref)
            sets: dict[str, Any] = {name: frozenset(about.pop(name)) for name in ("domains", "needs", "stated")}
            self._stated = sets.pop("stated")
            self.__dict__["capabilities"] = Capabilities(**about, **sets)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End its process, with those that it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        for end in (self._process.stdin, self._process.stdout):
            if end is not None:
                with contextlib.suppress(BrokenPipeError):  # half of a question may wait in it
                    end.close()
        self._process.wait()
        self._temporary.cleanup()

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        self._ask("reset", problem, rng)

    def select(self, n: int, pending: Pending) -> Actions:
        return self._ask("select", n, pending)

    def observe(self, feedback: Feedback) -> None:
        self._ask("observe", feedback)

    def recommend(self) -> Any:
        return self._ask("recommend")

    def offer(self, arms: np.ndarray) -> None:
        self._ask("offer", arms)

    def diagnostics(self) -> Mapping[str, float]:
        found: Mapping[str, float] = self._ask("diagnostics")
        return found

    def arguments_state(self) -> frozenset[Any]:
        return self._stated

    def _ask(self, name: str, *arguments: Any) -> Any:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            _write(process.stdin, pickle.dumps((name, arguments)))
            answer = _read(process.stdout)
        except BrokenPipeError:
            answer = None
        if answer is None:
            raise RuntimeError(f"its process ended with code {process.wait()}")
        told = json.loads(answer)
        if "raised" in told:
            raise RuntimeError(str(told["raised"]))
        return _decoded(told["found"])


def _write(to: IO[bytes], content: bytes) -> None:
    to.write(_LENGTH.pack(len(content)) + content)
    to.flush()


def _read(from_: IO[bytes]) -> bytes | None:
    """The next message; None where there is none, or no whole one."""
    head = from_.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    length = _LENGTH.unpack(head)[0]
    if length > _LARGEST:
        raise RuntimeError(f"expected an answer of at most {_LARGEST} bytes, got {length}")
    content = from_.read(length)
    return content if len(content) == length else None


def _encoded(found: Any) -> Any:
    """What JSON has words for, lists of such values, and `{"array": ...}` or `{"mapping": ...}`."""
    if isinstance(found, np.ndarray) and found.dtype.kind in _NUMBERS:
        content = base64.b64encode(np.ascontiguousarray(found).tobytes()).decode("ascii")
        return {"array": content, "type": found.dtype.str, "shape": list(found.shape)}
    if isinstance(found, np.generic):
        return found.item()
    if isinstance(found, Mapping):
        return {"mapping": [[_encoded(name), _encoded(value)] for name, value in found.items()]}
    return [_encoded(value) for value in found] if isinstance(found, list | tuple | frozenset) else found


def _decoded(told: Any) -> Any:
    if isinstance(told, list):
        return [_decoded(value) for value in told]
    if not isinstance(told, dict):
        return told
    if "mapping" in told:
        return {_decoded(name): _decoded(value) for name, value in told["mapping"]}
    dtype = np.dtype(str(told["type"]))
    if dtype.kind not in _NUMBERS:
        raise RuntimeError(f"expected an array of numbers, got one of {dtype}")
    return np.frombuffer(base64.b64decode(told["array"]), dtype).reshape(told["shape"]).copy()


# ---- in the process of the agent ----


def _about(agent: Agent) -> dict[str, Any]:
    capabilities: object = getattr(agent, "capabilities", None)
    if not isinstance(capabilities, Capabilities):
        raise TypeError(f"capabilities: expected an agents.Capabilities, got {capabilities!r}")
    return {**vars(capabilities), "stated": agent.arguments_state()}


def _serve() -> None:
    """Answer questions until there are none; what the agent prints goes to the standard error stream."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: it never outlives the process that asks
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    agent: Any = None
    while (question := _read(questions)) is not None:
        name, arguments = pickle.loads(question)
        try:
            found: Any = None
            if name == "confine":  # before any code that is not ours is loaded
                confine(*arguments)
            elif name == "build":
                load_plugins()
                agent = build_agent(*arguments)
                found = _about(agent)
            else:
                found = getattr(agent, name)(*arguments)
            answer = json.dumps({"found": _encoded(found)})
        except Exception as error:
            answer = json.dumps({"raised": f"{type(error).__name__}: {error}"})
        _write(answers, answer.encode())


if __name__ == "__main__":
    _serve()
