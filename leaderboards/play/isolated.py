"""An agent in a process of its own, which holds the problem description and the feedback, and no environment.

What an agent finds through the interpreter, as by `gc.get_objects` or `sys._getframe`, is not there. Questions go to
that process as pickles; its answers are JSON of at most `_LARGEST` bytes, parsed by a schema, since whoever wrote the
agent may write them. Its generator is the agent's own stream, of whose entropy, a hash, nothing can be told of others.

Files, network, processes, terminal and environment variables are kept from it by bubblewrap (`man 1 bwrap`), where that
can be used; `SECURITY.md` says what that leaves. Its limits are set before any code that is not ours is loaded.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import json
import os
import pickle
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from agents import Actions, Agent, Capabilities, Feedback, Pending
from gpbandit_envs.problem import Problem
from leaderboards.play.build import build_agent, load_plugins, site_folders
from leaderboards.play.processor import ONE_THREAD
from leaderboards.play.spec import Ref
from leaderboards.text import visible

_ROOT = Path(__file__).resolve().parents[2]
_OWN = ("agents", "gpbandit_envs", "leaderboards")
_MASKED = ("leaderboards/boards", "leaderboards/results", "gpbandit_envs/functions/optima.json")
"""What of this project tells of boards: an agent has no use for it."""
_SYSTEM = ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/etc/alternatives", "/etc/ld.so.cache")
_NUMERICS = ("OPENBLAS_", "NPY_", "MKL_", "ONEDNN_", "DNNL_", "ATEN_")
"""Beginnings of variables that choose the loops of numerical libraries: the same in both processes."""
_HOME = "/tmp/home"
_CODE = "/code"
_BEGIN = "import sys; sys.path += sys.argv[2:]; from leaderboards.play.isolated import serve; serve(sys.argv[1])"
_NOBODY = 65534
_CAPABILITIES = ("CAP_SETUID", "CAP_SETGID")  # with which root becomes nobody; whoever is nobody has none

_LENGTH = struct.Struct(">Q")
_LARGEST = 1 << 22  # bytes of an answer; 10,000 points in 20 dimensions take half of it
_DEEPEST, _LONGEST, _MOST_NAMES = 4, 1000, 1000
_NUMBERS = "biuf"
_LINES, _LINE = 5, 200  # what is shown of the prints of a run
_READS = 5.0  # seconds at most for the last of them: a busy machine reads late, a process left behind never closes


@dataclass(frozen=True)
class Sandbox:
    """Where a stranger's agent plays.

    Attributes:
        code: The folder of its source files; None if what is installed has all of them.
        bubblewrap: Whether it is confined; without, it has a process of its own with the limits, and no more.
        memory: Bytes of address space that each of its processes may use beyond an idle one.
        files: Bytes of a file; confined, of all its temporary files together.
        processes: How many it may have where it is confined; this binds no root.
        seconds: Of processor time that each may use.
    """

    code: Path | None = None
    bubblewrap: bool = True
    memory: int = 8 << 30
    files: int = 1 << 28
    processes: int = 128
    seconds: int = 3600

    def command(self) -> list[str]:
        """The words that start the process."""
        inside = [str(_ROOT), *site_folders()]
        python = [os.path.abspath(sys.executable), "-I", "-B", "-c", _BEGIN]
        if not self.bubblewrap:
            return [*python, "", *inside] + ([] if self.code is None else [str(self.code)])
        # A user namespace gives what this user may read to nobody else. But root in one is root for the settings of the
        # kernel in /proc/sys, and for limits: it becomes nobody instead, see `serve`.
        spaces = "ipc pid net uts cgroup-try" if (leaves := _can_leave_root()) else "all"
        words = [_BWRAP, *(f"--unshare-{space}" for space in spaces.split()), "--cap-drop", "ALL"]
        words += [word for name in _CAPABILITIES if leaves for word in ("--cap-add", name)]
        words += ["--die-with-parent", "--new-session", "--clearenv", "--proc", "/proc", "--dev", "/dev"]
        words += ["--size", str(self.files), "--tmpfs", "/tmp", "--size", str(1 << 26), "--tmpfs", "/dev/shm"]
        words += ["--remount-ro", "/dev"]  # of itself it has no size
        environment = [sys.prefix, sys.base_prefix, *site_folders()]
        bound = dict.fromkeys([*_SYSTEM, *environment, *(str(_ROOT / name) for name in _OWN)])
        above = {str(folder) for path in bound for folder in Path(path).parents[:-1]}  # bubblewrap's own are root's
        words += [word for folder in sorted(above) for word in ("--perms", "0755", "--dir", folder)]
        words += [word for path in bound for word in ("--ro-bind-try", path, path)]
        for masked in (Path(folder, name) for folder in dict.fromkeys(inside) for name in _MASKED):
            if masked.is_dir():
                words += ["--tmpfs", str(masked), "--remount-ro", str(masked)]
            elif masked.exists():
                words += ["--ro-bind", os.devnull, str(masked)]
        if self.code is not None and self.code.is_dir():
            words += ["--ro-bind", str(self.code), _CODE]
        for name, value in self.environment(_HOME).items():
            words += ["--setenv", name, value]
        return [*words, "--dir", _HOME, "--remount-ro", "/", "--chdir", _HOME, *python, "confined", *inside, _CODE]

    def environment(self, home: str) -> dict[str, str]:
        """The only variables that the process has."""
        kept = {name: value for name, value in os.environ.items() if name.startswith(_NUMERICS)}
        own = {"HOME": home, "TMPDIR": home, "USER": "nobody", "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
        return {**kept, **ONE_THREAD, **own}


_BWRAP = shutil.which("bwrap") or "bwrap"


def _can_leave_root() -> bool:
    """Whether this process is root where nobody is somebody else: root of a small namespace is none to the kernel."""
    with contextlib.suppress(OSError, AttributeError):
        ids = Path("/proc/self/uid_map").read_text().split()
        return os.geteuid() == 0 and int(ids[0]) + int(ids[2]) > _NOBODY
    return False


@functools.cache
def not_isolated() -> str | None:
    """Why bubblewrap confines nothing here, in words; None if it does.

    It is tried with the very words of a run: an older one has not all of them (0.8.0 has), and nobody may not be let
    read an interpreter of root's. A sandbox that does not begin must not look like an agent that fails.
    """
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed (Debian: apt-get install bubblewrap)"
    words = Sandbox().command()
    done = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    said = " ".join(done.stderr.split())[-_LINE:]
    return None if done.returncode == 0 else f"bubblewrap cannot be used on this system ({said})"


class IsolatedAgent(Agent):
    """The agent of a ref, in a process that this one starts; `close` ends it, and says what it has printed.

    Args:
        ref: The agent. Nothing of its code is loaded here.
        sandbox: Where it plays.

    Raises:
        RuntimeError: if it cannot be built; the methods raise it for whatever the agent raises.
    """

    def __init__(self, ref: Ref, sandbox: Sandbox) -> None:
        self._label = ref.label
        self._home = tempfile.TemporaryDirectory(prefix="gpbandit-agent-", ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            sandbox.command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=sandbox.environment(self._home.name),
            cwd=self._home.name,
            start_new_session=True,
        )
        self._printed: list[str] = []
        self._lines = 0
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()
        try:
            processes = sandbox.processes if sandbox.bubblewrap else None  # elsewhere all of a user's count
            limits = sandbox.memory, sandbox.files, processes, sandbox.seconds
            about = self._ask("build", ref, limits)
            sets: dict[str, Any] = {name: frozenset(about.pop(name)) for name in ("domains", "needs", "stated")}
            self._stated = sets.pop("stated")
            self.__dict__["capabilities"] = Capabilities(**about, **sets)
        except (TypeError, KeyError, AttributeError, ValueError) as error:
            self.close()
            raise RuntimeError(f"it does not say what it can do: {error}") from None
        except BaseException:
            self.close()
            raise

    def _listen(self) -> None:
        """Keep the first lines that the agent prints, and throw the others away."""
        stream = self._process.stderr
        assert stream is not None
        with contextlib.suppress(OSError, ValueError):
            while line := stream.readline(_LINE):
                self._lines += 1
                if len(self._printed) < _LINES:
                    self._printed.append(line.decode(errors="replace").rstrip("\n"))

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
        self._reader.join(_READS)
        if not self._reader.is_alive() and self._process.stderr is not None:  # else some other process holds the pipe
            self._process.stderr.close()
        self._home.cleanup()
        for line in self._printed:
            sys.stderr.write(f"  {self._label} prints: {visible(line)}\n")
        if self._lines > len(self._printed):
            sys.stderr.write(f"  {self._label} prints {self._lines - len(self._printed)} more lines\n")
        self._printed, self._lines = [], 0

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
            answer = _read(process.stdout, _LARGEST)
        except BrokenPipeError:
            answer = None
        if answer is None:
            raise RuntimeError(f"its process ended with code {process.wait()}")
        try:
            told = json.loads(answer)
            raised, found = told.get("raised"), told.get("found")
            if raised is None:
                return _decoded(found)
            if not isinstance(raised, str):
                raise TypeError(f"expected what was raised as text, got {type(raised).__name__}")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, MemoryError) as error:
            raise RuntimeError(
                f"its answer is none of an agent: {type(error).__name__}: {str(error)[:_LINE]}"
            ) from None
        raise RuntimeError(visible(raised[:_LONGEST]))


def _write(to: IO[bytes], content: bytes) -> None:
    to.write(_LENGTH.pack(len(content)) + content)
    to.flush()


def _read(from_: IO[bytes], largest: int | None = None) -> bytes | None:
    """The next message; None where there is none, or no whole one."""
    head = from_.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    length = _LENGTH.unpack(head)[0]
    if largest is not None and length > largest:
        raise RuntimeError(f"expected an answer of at most {largest:,} bytes, got {length:,}")
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


def _decoded(told: Any, depth: int = 0) -> Any:
    """A number, a word, arrays of numbers, and a few lists and mappings of them: nothing else is an answer."""
    if depth > _DEEPEST:
        raise ValueError(f"expected at most {_DEEPEST} lists in one another")
    if isinstance(told, list):
        return [_decoded(value, depth + 1) for value in told]
    if isinstance(told, str) and len(told) > _LONGEST:
        raise ValueError(f"expected text of at most {_LONGEST} characters, got {len(told):,}")
    if not isinstance(told, dict):
        return told
    if "mapping" in told:
        if len(told["mapping"]) > _MOST_NAMES:
            raise ValueError(f"expected at most {_MOST_NAMES} names, got {len(told['mapping']):,}")
        return {_name(name): _decoded(value, depth + 1) for name, value in told["mapping"]}
    dtype = np.dtype(str(told["type"]))
    if dtype.kind not in _NUMBERS:
        raise ValueError(f"expected an array of numbers, got one of {dtype}")
    return np.frombuffer(base64.b64decode(told["array"]), dtype).reshape(told["shape"]).copy()


def _name(told: Any) -> str:
    if not isinstance(told, str) or len(told) > _LONGEST:
        raise ValueError(f"expected names, got {str(told)[:_LINE]!r}")
    return told


# ---- in the process of the agent ----


def _about(agent: Agent) -> dict[str, Any]:
    capabilities: object = getattr(agent, "capabilities", None)
    if not isinstance(capabilities, Capabilities):
        raise TypeError(f"capabilities: expected an agents.Capabilities, got {capabilities!r}")
    return {**vars(capabilities), "stated": agent.arguments_state()}


def _limit(memory: int, files: int, processes: int | None, seconds: int) -> None:
    """Bound this process and those that it starts, for good: none can raise what is bounded here again."""
    import resource

    with contextlib.suppress(OSError):
        memory += int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    bounds: dict[str, int | None] = {"AS": memory, "FSIZE": files, "NPROC": processes, "CPU": seconds, "CORE": 0}
    for name, most in bounds.items():
        if most is None:
            continue
        number = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(number)[1]
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with contextlib.suppress(OSError, ValueError):  # a system may not know it
            resource.setrlimit(number, (least, least))


def _leave_root() -> None:
    """Become nobody, for good, with the folders for temporary files to write to."""
    for folder in ("/tmp", _HOME, "/dev/shm"):
        os.chmod(folder, 0o1777)
    os.setgroups([])
    os.setresgid(_NOBODY, _NOBODY, _NOBODY)
    os.setresuid(_NOBODY, _NOBODY, _NOBODY)


def serve(confined: str = "") -> None:
    """Answer questions until there are none; what the agent prints goes to the standard error stream."""
    if confined and _can_leave_root():
        _leave_root()
    if sys.platform == "linux":
        import ctypes

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
            if name == "build":
                ref, limits = arguments
                if sys.platform != "win32":
                    _limit(*limits)
                load_plugins()
                agent = build_agent(ref)
                found = _about(agent)
            else:
                found = getattr(agent, name)(*arguments)
            answer = json.dumps({"found": _encoded(found)})
        except Exception as error:
            answer = json.dumps({"raised": f"{type(error).__name__}: {error}"})
        with contextlib.suppress(Exception):  # it may be the agent's by now
            sys.stdout.flush()  # it is a pipe, and whoever asks ends this process without a word
        _write(answers, answer.encode())
