"""Attacks of an agent on whoever plays it: each kind tells by a diagnostic whether it has reached what it is after."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np

from agents import Actions, Capabilities, Pending
from agents.core.finite import FiniteArmAgent


class Attack(FiniteArmAgent):
    """Pulls arms in turn, and attacks at its first choice: in every kind that `kind` names."""

    capabilities = Capabilities(frozenset({"finite"}))

    def __init__(self, kind: str, outside: str) -> None:
        self.kinds, self.outside = kind.split(), Path(outside)
        self.reached = dict.fromkeys(self.kinds, 0.0)

    def select(self, n: int, pending: Pending) -> Actions:
        if self.n_pulls == 0:
            for kind in self.kinds:
                with contextlib.suppress(OSError):
                    self.reached[kind] = float(bool(getattr(self, f"_{kind}")()))
        return np.array([self.n_pulls % self.problem.n_arms])

    def diagnostics(self) -> dict[str, float]:
        if "columns" in self.kinds:  # a column as long as the run for each name
            return {f"{self.n_pulls} {i}": 0.0 for i in range(900)}
        return self.reached

    # Contained: each returns whether it got at something.

    def _reads(self) -> bool:
        """What lies outside, and the user's home."""
        homes = [path for path in Path("/root", "").glob(".*rc")] + list(Path("/home").glob("*/.*"))
        return bool((self.outside / "results.zip").read_text() or homes)

    def _own_record(self) -> bool:
        """The record beside its code."""
        import attackers  # type: ignore[import-not-found]

        beside = Path(str(attackers.__file__)).parents[1]
        return any(path.name == "results.zip" for path in beside.iterdir())

    def _writes(self) -> bool:
        """A file outside, one beside its code, and a `.pth` that every later Python would run."""
        done = 0
        site = [Path(path) for path in sys.path if path.endswith("site-packages")]
        for folder in (self.outside, Path("/code"), Path("/"), *site):
            try:
                (folder / "planted.pth").write_text("import os")
                done += 1
            except OSError:
                pass
        return done > 0

    def _environment(self) -> bool:
        return "GPBANDIT_SECRET" in os.environ

    def _network(self) -> bool:
        """A server on the loopback of whoever plays it; here its own loopback has none, and nothing else is there."""
        names = [name for _, name in socket.if_nameindex()]
        return names != ["lo"] or Path("/run/docker.sock").exists()

    def _processes(self) -> bool:
        """Processes that it has not started: those of the sandbox alone."""
        return len([name for name in os.listdir("/proc") if name.isdigit()]) > 3

    def _terminal(self) -> bool:
        with open("/dev/tty", "w") as terminal:
            terminal.write("3 of 3 runs agree\n")
        return True

    def _boards(self) -> bool:
        """The runs that the package ships, and the optima of its tasks."""
        import leaderboards

        package = Path(str(leaderboards.__file__)).parent
        optima = package.parent / "gpbandit_envs" / "functions" / "optima.json"
        return any((package / "boards").iterdir()) or any((package / "results").iterdir()) or bool(optima.read_text())

    def _raises(self) -> bool:
        """The limits: what it has must not be raised again."""
        import resource

        try:
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        except ValueError:
            return False
        return True

    def _kernel(self) -> bool:
        """A setting of the kernel for all, such as which program is run as root for a process that dies."""
        os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))
        return True

    def _devices(self) -> bool:
        """Memory of the machine without a bound, as files beside the devices."""
        (Path("/dev") / "planted").write_text("")
        (Path("/dev") / "planted").unlink()
        return True

    def _capabilities(self) -> bool:
        """What root may, or whoever is taken for root."""
        status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
        return bool(int(status["CapEff"], 16) or not int(status["NoNewPrivs"]))

    def _unmounts(self) -> bool:
        """What is masked, as it is and as root of a namespace of its own; the child alone moves there."""
        import ctypes

        import leaderboards

        boards = Path(str(leaderboards.__file__)).parent / "boards"
        libc = ctypes.CDLL(None)
        if (child := os.fork()) == 0:
            for namespaces in (0, 0x10000000 | 0x20000):  # CLONE_NEWUSER, CLONE_NEWNS
                libc.unshare(namespaces)
                libc.umount2(os.fsencode(boards), 2)
                libc.mount(None, os.fsencode(boards.parent), None, 32, None)  # MS_REMOUNT
            found = os.access(boards, os.R_OK) and (any(boards.iterdir()) or os.access(boards.parent, os.W_OK))
            os._exit(int(found))
        return os.waitpid(child, 0)[1] != 0

    def _descriptors(self) -> bool:
        """What the process that asks has open: files, sockets, its terminal."""
        told = [os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if _is_open(name)]
        return any(not name.startswith(("pipe:", "/dev/null", "/proc/")) for name in told)

    def _variables(self) -> bool:
        """The variables with which the sandbox was begun."""
        return b"GPBANDIT_SECRET" in Path("/proc/1/environ").read_bytes()

    def _columns(self) -> bool:
        return False

    def _two_answers(self) -> bool:
        """An answer to what nobody has asked yet: those that follow come a question late."""
        return _answer(b'{"found": null}')

    def _other_types(self) -> bool:
        return _answer(b'{"found": {"array": "AAAAAAAA+H8AAAAAAADwfw==", "type": "<f8", "shape": [2, -1, 1]}}')

    def _no_number(self) -> bool:
        return _answer(b'{"found": [NaN, Infinity, true, "1"]}')

    def _raised_lists(self) -> bool:
        return _answer(b'{"raised": ' + b"[" * 900 + b"]" * 900 + b"}")

    def _daemons(self) -> bool:
        for _ in range(20):
            subprocess.Popen(["/bin/sleep", "987654"], start_new_session=True)
        return False

    # Bounded: each costs the run.

    def _memory(self) -> bool:
        return bool(np.ones(1 << 27).sum())  # 1 GiB

    def _file(self) -> bool:
        try:
            (Path.home() / "large").write_bytes(b"0" * (1 << 22))
        except OSError as error:
            raise RuntimeError("no larger file") from error
        return True

    def _no_answer(self) -> bool:
        os.close(_answers())
        os._exit(0)

    def _large_answer(self) -> bool:
        return _answer(b"", 100_000_000)

    def _deep_answer(self) -> bool:
        return _answer(b'{"found": ' + b"[" * 100_000 + b"]" * 100_000 + b"}")

    def _object_answer(self) -> bool:
        return _answer(b'{"found": {"array": "gASVAAAA", "type": "O", "shape": [1]}}')

    def _long_name(self) -> bool:
        return _answer(b'{"found": {"mapping": [["' + b"x" * 100_000 + b'", 1]]}}')

    def _huge_number(self) -> bool:
        return _answer(b'{"found": ' + b"9" * 100_000 + b"}")


def _is_open(name: str) -> bool:
    return Path(f"/proc/self/fd/{name}").is_symlink()


def _answers() -> int:
    """The descriptor of the answers, which it can find: whatever it writes there is its own answer."""
    for number in range(3, 64):
        try:
            if fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY:
                return number
        except OSError:
            continue
    raise RuntimeError("no answers")


def _answer(content: bytes, length: int | None = None) -> bool:
    os.write(_answers(), struct.pack(">Q", len(content) if length is None else length) + content)
    return False
