"""Honest agents of odd habits, and one that searches for whatever would tell it the function."""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from agents import Action, Actions, Agent, Capabilities, Feedback, Pending
from agents.core.finite import FiniteArmAgent
from gpbandit_envs.problem import Problem

print("printed while it is imported")  # noqa: T201


class Habits(FiniteArmAgent):
    """Prints on every stream, reads the input, warns, starts processes, writes files, spawns generators."""

    capabilities = Capabilities(frozenset({"finite"}), batch="fixed")
    shared: ClassVar[list[int]] = []

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        super().reset(problem, rng)
        self.own = rng.spawn(2)[1]
        assert problem.arms is not None
        self.favourite = int(np.argmax(problem.arms[:, 0])) + 0 * len(problem.notes)

    def select(self, n: int, pending: Pending) -> Actions:
        print("out", flush=True)  # noqa: T201
        os.write(1, b"straight to the descriptor\n")
        print("err", file=sys.stderr)  # noqa: T201
        with contextlib.suppress(OSError):
            sys.stdin.readline()
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.warn("look", stacklevel=1)
        with tempfile.TemporaryFile() as file:
            file.write(b"notes")
        if not self.shared:
            self.shared.append(subprocess.run(["/bin/echo", "from a process"], check=True).returncode)
            subprocess.Popen(["/bin/sleep", "3600"], start_new_session=False)
        pulled = self.own.integers(self.problem.n_arms, size=n, dtype=np.uint16)
        pulled[0] = self.favourite if self.n_pulls % 7 == 0 else pulled[0]
        return pulled

    def recommend(self) -> Action:
        return np.uint8(self.favourite)  # type: ignore[return-value]

    def diagnostics(self) -> dict[str, Any]:
        return {"array": np.float32(0.1), "mapping": np.array(self.n_pulls), "nothing": float("nan"), "found": True}


class OnBox(Agent):
    """Answers with arrays of other types and orders than usual."""

    capabilities = Capabilities(frozenset({"box"}), batch="fixed")

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        self.problem, self.rng = problem, rng
        self.best = np.full(problem.dim, 0.5, np.float16)
        self.highest = -np.inf

    def select(self, n: int, pending: Pending) -> Actions:
        return np.asfortranarray(self.rng.random((n, self.problem.dim), dtype=np.float32))[:, ::-1]

    def observe(self, feedback: Feedback) -> None:
        best = int(np.argmax(feedback.rewards))
        if feedback.rewards[best] > self.highest:
            self.highest, self.best = float(feedback.rewards[best]), feedback.actions[best]

    def recommend(self) -> Action:
        return list(self.best)  # type: ignore[return-value]


class Searches(FiniteArmAgent):
    """Tells by its diagnostics what it found: environments, seeds, results, the memory of the process that asks."""

    capabilities = Capabilities(frozenset({"finite"}))

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def select(self, n: int, pending: Pending) -> Actions:
        return np.array([self.n_pulls % self.problem.n_arms])

    def diagnostics(self) -> dict[str, float]:
        modules = {str(type(one).__module__) for one in gc.get_objects()}
        frame: Any = sys._getframe()
        callers = []
        while frame is not None:
            callers.append(frame.f_code.co_name)
            frame = frame.f_back
        parent = Path(f"/proc/{os.getppid()}")
        generator: Any = self.rng.bit_generator
        found = {
            "environment": any(module.startswith(_HARNESS) for module in modules),
            "harness": bool({"turn", "run_spec", "begin"} & set(callers)),
            "results": _readable(Path(self.folder) / "file"),
            "by_proc": _readable(parent / "root" / self.folder.lstrip("/") / "file"),
            "forged": _writable(Path(self.folder) / "forged"),
            "overwritten": _writable(Path(self.folder) / "file"),
            "memory": _readable(parent / "mem"),
            "descriptors": any(_target(path) for path in _listed(parent / "fd")),
            "children": bool(generator.seed_seq.n_children_spawned) or bool(generator.seed_seq.spawn_key),
            "told": any(b"seed" in word.lower() for word in (parent / "cmdline").read_bytes().split(b"\0")[-3:]),
        }
        return {name: float(value) for name, value in found.items()}


_HARNESS = ("gpbandit_envs.envs", "gymnasium.wrappers", "leaderboards.play.run", "leaderboards.store")


def _readable(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.readable()
    except OSError:
        return False


def _writable(path: Path) -> bool:
    try:
        path.write_text("forged")
    except OSError:
        return False
    return True


def _listed(path: Path) -> list[Path]:
    try:
        return list(path.iterdir())
    except OSError:
        return []


def _target(path: Path) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
