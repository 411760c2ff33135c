"""Attacks of an agent on whoever plays it: each kind tells by a diagnostic whether it has reached what it is after."""

from __future__ import annotations

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
    """Pulls arms in turn, and attacks at its first choice."""

    capabilities = Capabilities(frozenset({"finite"}))

    def __init__(self, kind: str, outside: str) -> None:
        self.kind, self.outside = kind, Path(outside)
        self.reached = 0.0

    def select(self, n: int, pending: Pending) -> Actions:
        if self.n_pulls == 0:
            try:
                self.reached = float(bool(getattr(self, f"_{self.kind}")()))
            except OSError:
                self.reached = 0.0
        return np.array([self.n_pulls % self.problem.n_arms])

    def diagnostics(self) -> dict[str, float]:
        return {"reached": self.reached}

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
