"""Small agents and environments that behave, or misbehave, in one way each; worker processes import them by name."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any, ClassVar, Literal

import gymnasium as gym
import numpy as np

from agents import Action, Actions, Agent, Capabilities, Feedback, Pending
from agents.core.finite import FiniteArmAgent
from gpbandit_envs.datasets import FetchError
from gpbandit_envs.problem import Certificate, Problem

FINITE: frozenset[Literal["finite", "box"]] = frozenset({"finite"})


class Counter(Agent):
    """Pulls arms 0, 1, 2, ... in turn and keeps what it is told."""

    capabilities: ClassVar[Capabilities] = Capabilities(frozenset({"finite", "box"}), "fixed", delayed=True)

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        self.problem = problem
        self.rng = rng
        self.asked: list[tuple[int, list[int]]] = []
        self.told: list[list[int]] = []
        self.pulled = 0

    def select(self, n: int, pending: Pending) -> Actions:
        self.asked.append((n, pending.tickets.tolist()))
        first, self.pulled = self.pulled, self.pulled + n
        if self.problem.is_finite:
            return np.arange(first, self.pulled) % self.problem.n_arms
        return self.rng.random((n, self.problem.dim))

    def observe(self, feedback: Feedback) -> None:
        self.told.append(feedback.tickets.tolist())

    def recommend(self) -> Action:
        return 0 if self.problem.is_finite else np.zeros(self.problem.dim)

    def diagnostics(self) -> dict[str, float]:
        return {"told": float(sum(map(len, self.told)))}

    def state_dict(self) -> dict[str, Any]:
        rng = self.rng.bit_generator.state
        return {"asked": self.asked, "told": self.told, "pulled": self.pulled, "rng": rng}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.asked, self.told, self.pulled = state["asked"], state["told"], state["pulled"]
        self.rng.bit_generator.state = state["rng"]


class Worst(FiniteArmAgent):
    """Every arm once, then always the one that looks worst."""

    capabilities = Capabilities(frozenset({"finite"}))

    def select(self, n: int, pending: Pending) -> Actions:
        if len(pending):
            return np.zeros(0, np.int64)
        unseen = np.flatnonzero(self.counts == 0)
        return unseen[:1] if len(unseen) else np.array([(self.sums / self.counts).argmin()])


class DiesWhenLookedAt(Counter):
    """Plays like others, but takes its process with it when it is asked for its band."""

    def predict(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        os.kill(os.getpid(), signal.SIGKILL)
        return None


class Sequential(Counter):
    capabilities = Capabilities(FINITE, "sequential")


class Unstated(Counter):
    """States no capabilities."""

    capabilities = None  # type: ignore[assignment]


class Adaptive(Counter):
    """Closes its k-th batch after k actions."""

    capabilities = Capabilities(FINITE, "adaptive")

    def select(self, n: int, pending: Pending) -> Actions:
        size = min(len(self.told) + 1, n + len(pending)) - len(pending)
        if size <= 0:
            self.asked.append((n, pending.tickets.tolist()))
            return np.zeros(0, np.int64)
        return super().select(size, pending)


class Needy(Counter):
    capabilities = Capabilities(FINITE, "fixed", needs=frozenset({"kernel"}))


class Replies(Counter):
    """Answers the third `select` with a fixed reply."""

    def __init__(self, reply: object) -> None:
        self.reply = reply

    def select(self, n: int, pending: Pending) -> Actions:
        return self.reply if self.pulled == 2 else super().select(n, pending)  # type: ignore[return-value]


class Raises(Counter):
    """Raises at evaluation `at`; with a folder, only on the first `times` tries."""

    def __init__(self, at: int = 5, folder: str | None = None, times: int = 1_000) -> None:
        self.at, self.folder, self.times = at, folder, times

    def select(self, n: int, pending: Pending) -> Actions:
        if self.pulled == self.at and attempt(self.folder) <= self.times:
            raise RuntimeError("no idea what to pull")
        return super().select(n, pending)


class Dies(Counter):
    """Kills its own process at evaluation 3, on the first `times` tries of every run."""

    def __init__(self, folder: str | None = None, times: int = 1_000) -> None:
        self.folder, self.times = folder, times

    def select(self, n: int, pending: Pending) -> Actions:
        if self.pulled == 3 and attempt(self.folder) <= self.times:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().select(n, pending)


class DiesLate(Counter):
    """Kills its own process once, at evaluation `at`."""

    def __init__(self, folder: str, at: int) -> None:
        self.folder, self.at = folder, at

    def select(self, n: int, pending: Pending) -> Actions:
        time.sleep(0.001)
        if self.pulled == self.at and attempt(self.folder) == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().select(n, pending)


class Unsaveable(Counter):
    """Has a state that no pickle can hold."""

    def state_dict(self) -> dict[str, Any]:
        return {"function": lambda: None}


class Wanders(Counter):
    """Makes another folder the working folder, as simulators do."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        super().reset(problem, rng)
        os.chdir(self.folder)


class Exits(Counter):
    def select(self, n: int, pending: Pending) -> Actions:
        raise SystemExit(3)


class Hangs(Counter):
    """Never answers; a deaf one does not listen to being asked to stop either. It touches `file` when it begins."""

    def __init__(self, deaf: bool = False, file: str | None = None) -> None:
        self.deaf, self.file = deaf, file

    def select(self, n: int, pending: Pending) -> Actions:
        if self.file is not None:
            Path(self.file).touch()
        while True:
            try:
                while True:
                    time.sleep(0.01)
            except BaseException:
                if not self.deaf:
                    raise


class Mutates(Counter):
    def observe(self, feedback: Feedback) -> None:
        feedback.rewards[:] = 0.0


class Greedy(Counter):
    """Allocates without end."""

    def select(self, n: int, pending: Pending) -> Actions:
        hoard = []
        while True:
            hoard.append(np.ones(1 << 22))


class Slow(Counter):
    """Draws its arms at random and takes some time for each."""

    def __init__(self, seconds: float = 0.001) -> None:
        self.seconds = seconds

    def select(self, n: int, pending: Pending) -> Actions:
        time.sleep(self.seconds)
        self.pulled += n
        return self.rng.integers(self.problem.n_arms, size=n)


class Paused(Slow):
    """As slow as the environment variable GPBANDIT_TEST_PAUSE says, in seconds an evaluation.

    And until there is a file that GPBANDIT_TEST_UNTIL names, if it does: what a test does meanwhile is done before the
    last run is, on however fast a machine.
    """

    def __init__(self) -> None:
        super().__init__(float(os.environ.get("GPBANDIT_TEST_PAUSE", "0")))
        self._until = os.environ.get("GPBANDIT_TEST_UNTIL", "")

    def select(self, n: int, pending: Pending) -> Actions:
        if self._until and Path(self._until).exists():
            self.seconds = 0.0
        return super().select(n, pending)


def attempt(folder: str | None) -> int:
    """Which try this is, counted by files that outlive the process."""
    if folder is None:
        return 1
    number = len(list(Path(folder).iterdir())) + 1
    (Path(folder) / f"{number}-{os.getpid()}").touch()
    return number


class Plain(gym.Env[Any, Any]):
    """Arm `a` of `n` has mean `a / n`; rewards may be spoilt at one evaluation."""

    def __init__(self, n_arms: int = 10, spoil: str | None = None, fail: bool = False, end: bool = False) -> None:
        self.n_arms, self.spoil, self.fail, self.end = n_arms, spoil, fail, end
        self.observation_space = gym.spaces.Discrete(1)
        self.action_space: gym.Space[Any] = gym.spaces.Discrete(n_arms)
        self.problem = Problem(name="Plain", dim=1, arms=np.arange(n_arms)[:, None] / n_arms, knowledge="learned")
        self.optimum = (n_arms - 1) / n_arms
        self.certificate = Certificate(optimum=self.optimum, optimal_action=n_arms - 1, gap=1 / n_arms)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.t = 0
        return 0, {}

    def mean(self, actions: Any) -> np.ndarray:
        return np.asarray(actions) / self.n_arms

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.t += 1
        mean = float(action) / self.n_arms
        info: dict[str, Any] = {"cost": 1.0 + action % 3, "oracle": {"mean": mean, "regret": self.optimum - mean}}
        reward = mean + 0.1 * float(self.np_random.standard_normal())
        if self.t == 4 and self.spoil is not None:
            reward = float(self.spoil)
        if self.t == 4 and self.fail:
            info["failed"] = True
        return 0, reward, self.end and self.t == 4, False, info


class Fetched(Plain):
    """Cannot be built until its file is there, like an environment whose data set cannot be fetched."""

    def __init__(self, file: str) -> None:
        if not Path(file).exists():
            raise FetchError("could not get it. Tried:\n  - everything", "could not get it: everything failed")
        super().__init__()


class Box(gym.Env[Any, Any]):
    """A box of two dimensions whose noise-free mean nobody knows."""

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Discrete(1)
        self.action_space: gym.Space[Any] = gym.spaces.Box(0.0, 1.0, (2,), np.float64)
        self.problem = Problem(name="Box", dim=2, horizon=100)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        return 0, {}

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        return 0, float(action.sum()), False, False, {}


def path(player: type) -> str:
    """The id under which a worker finds a class of this module."""
    return f"{player.__module__}:{player.__qualname__}"


if "Test/Plain-v0" not in gym.registry:
    gym.register("Test/Plain-v0", entry_point=path(Plain), max_episode_steps=50)
    gym.register("Test/Fetched-v0", entry_point=path(Fetched), max_episode_steps=50)
    gym.register("Test/Box-v0", entry_point=path(Box), max_episode_steps=50)
