"""Feedback models: when feedback arrives, in sequential play, batches, with delays or from parallel workers.

| text | feedback of an evaluation arrives | who can play |
|---|---|---|
| `on_request` | when the agent closes its batch, after each evaluation if it does not batch | everyone |
| `batch:q` | with that of its whole batch, once q are open or the agent closes the batch | fixed, adaptive |
| `delay:d` | after d further evaluations have started | delayed |
| `geometric:m` | after a geometric number (mean m, from 0) of further evaluations | delayed |
| `poisson:m` | after a Poisson number (mean m) of further evaluations | delayed |
| `workers:W` | when its worker is done: W run in parallel, each for the cost of its evaluation | delayed |

With `batch:1`, `workers:1` or a delay of 0 feedback is immediate, and everyone can play.

An agent that selects no action lets time pass until the next arrival. Delays are drawn in the order of the tickets, so
the t-th evaluation has the same delay for every agent. What a policy may know of them is stated by the problem that it
plays on, as `Problem.delay`.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from agents import Capabilities
from gpbandit_envs.delays import ConstantLaw, DelayLaw, GeometricLaw, PoissonLaw, StepClock, WorkerClock
from gpbandit_envs.problem import Problem

__all__ = ["IMMEDIATE", "Channel", "FeedbackRule", "parse_feedback"]

IMMEDIATE = {"delay": 0.0, "geometric": 0.0, "poisson": 0.0, "batch": 1.0, "workers": 1.0}
"""The number of each model at which feedback is immediate: after every evaluation, so that everyone can play."""

_NO_VALUE = ("on_request",)
_WITH_VALUE = ("batch", "delay", "geometric", "poisson", "workers")
_RANDOM = ("geometric", "poisson")
_EXPECTED = "'on_request', 'batch:q', 'delay:d', 'geometric:m', 'poisson:m' or 'workers:W'"


class Channel(ABC):
    """Decides when the feedback of each pending evaluation (ticket) arrives; it holds no rewards."""

    @abstractmethod
    def room(self) -> int:
        """Number of evaluations that may start now; 0 if feedback must arrive first."""

    @abstractmethod
    def start(self, ticket: int, cost: float) -> None:
        """Start the evaluation `ticket`, which costs `cost`."""

    @abstractmethod
    def arrived(self) -> list[int]:
        """Tickets whose feedback has arrived since the last call, in order of arrival."""

    @abstractmethod
    def wait(self) -> list[int]:
        """Advance time to the next arrival and return its tickets; empty if no evaluation is pending."""


class BatchChannel(Channel):
    """All pending feedback arrives at once, when `size` evaluations are pending or the agent waits."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._open: list[int] = []

    def room(self) -> int:
        return self.size - len(self._open)

    def start(self, ticket: int, cost: float) -> None:
        self._open.append(ticket)

    def arrived(self) -> list[int]:
        return self.wait() if len(self._open) >= self.size else []

    def wait(self) -> list[int]:
        found, self._open = self._open, []
        return found


class _TimedChannel(Channel):
    """Feedback arrives at a time that is known when its evaluation starts."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int]] = []  # heap of time and ticket

    def _until(self, now: float) -> list[int]:
        """Tickets whose feedback is due by now."""
        found = []
        while self._due and self._due[0][0] <= now:
            found.append(heapq.heappop(self._due)[1])
        return found


class DelayChannel(_TimedChannel):
    """One evaluation starts per step; its feedback arrives after a fixed or random number of further evaluations.

    Args:
        law: How the number is drawn.
        rng: Draws it.
    """

    def __init__(self, law: DelayLaw, rng: np.random.Generator) -> None:
        super().__init__()
        self.law, self.rng, self.clock = law, rng, StepClock()

    def room(self) -> int:
        return 1

    def start(self, ticket: int, cost: float) -> None:
        self.clock.step()
        heapq.heappush(self._due, (self.clock.start(self.law.draw(self.rng)), ticket))

    def arrived(self) -> list[int]:
        return self._until(self.clock.now)

    def wait(self) -> list[int]:
        return self._until(self.clock.wait(self._due[0][0])) if self._due else []


class WorkerChannel(_TimedChannel):
    """`workers` evaluations run in parallel in simulated time; the cost of each is how long it takes."""

    def __init__(self, workers: int) -> None:
        super().__init__()
        self.clock = WorkerClock(workers)

    def room(self) -> int:
        return self.clock.free

    def start(self, ticket: int, cost: float) -> None:
        heapq.heappush(self._due, (self.clock.start(cost), ticket))

    def arrived(self) -> list[int]:
        # Time stands still while a worker is free: there is work for it until the agent says otherwise.
        return self.wait() if not self.room() else []

    def wait(self) -> list[int]:
        return self._until(self.clock.wait())


@dataclass(frozen=True)
class FeedbackRule:
    """A feedback model, as parsed from its text."""

    name: Literal["on_request", "batch", "delay", "geometric", "poisson", "workers"]
    value: float = 0.0

    @property
    def text(self) -> str:
        """The text that parses to this rule."""
        return self.name if self.name in _NO_VALUE else f"{self.name}:{self._number}"

    @property
    def words(self) -> str:
        """The same for readers, such as "batches of 10"."""
        if self.name == "on_request":
            return "feedback on request"
        if self.name == "batch":
            return f"batches of {self._number}" if self.value > 1 else "feedback after each evaluation"
        if self.name == "workers":
            return f"{self._number} workers" if self.value > 1 else "one worker"
        if self.name == "delay":
            return f"delay {self._number}"
        return f"{'Poisson' if self.name == 'poisson' else self.name} delay of mean {self._number}"

    @property
    def _number(self) -> str:
        # Part of the key of a run: no digit may be lost, and 5 must stay "5".
        return str(int(self.value)) if float(self.value).is_integer() else repr(float(self.value))

    def incompatibility(self, capabilities: Capabilities) -> str | None:
        """Why an agent cannot play under this rule; None if it can."""
        if self.value == IMMEDIATE.get(self.name):
            return None
        if self.name == "batch" and capabilities.batch == "sequential":
            return f"the agent is sequential and feedback comes in batches of {self._number}"
        if self.name in ("delay", *_RANDOM, "workers") and not capabilities.delayed:
            return f"the agent cannot act under delayed feedback ({self.text})"
        return None

    def channel(self, capabilities: Capabilities, horizon: int, rng: np.random.Generator) -> Channel:
        """A fresh channel for one run of `horizon` evaluations; `rng` draws the delays."""
        if self.name == "on_request":
            return BatchChannel(horizon if capabilities.batch == "adaptive" else 1)
        if self.name == "batch":
            return BatchChannel(int(self.value))
        if self.name == "workers":
            return WorkerChannel(int(self.value))
        assert self._law is not None
        return DelayChannel(self._law, rng)

    @property
    def _law(self) -> DelayLaw | None:
        """The law of the delay, in further evaluations; None if that is not how feedback is late."""
        if self.name == "delay":
            return ConstantLaw(int(self.value))
        if self.name == "geometric":
            return GeometricLaw(self.value)
        return PoissonLaw(self.value) if self.name == "poisson" else None

    def stated(self, problem: Problem) -> Problem:
        """`problem` with what a policy may know of the delay; one that states a delay of its own keeps it."""
        if self._law is None or problem.delay is not None:
            return problem
        return replace(problem, delay=self._law.stated)


def parse_feedback(text: str) -> FeedbackRule:
    """The rule that `text` names.

    Raises:
        ValueError: if there is no such rule or its number is out of range.
    """
    name, colon, number = str(text).partition(":")
    if name in _NO_VALUE and not colon:
        return FeedbackRule("on_request")
    if name not in _WITH_VALUE or not colon:
        raise ValueError(f"feedback: expected {_EXPECTED}, got {text!r}")
    least = 1 if name in ("batch", "workers") else 0
    try:
        value = float(number)
    except ValueError:
        value = np.nan
    if not (np.isfinite(value) and value >= least and (name in _RANDOM or value.is_integer())):
        kind = "number" if name in _RANDOM else "whole number"
        raise ValueError(f"feedback: expected a {kind} >= {least} after {name!r}, got {text!r}")
    return FeedbackRule(name, value)  # type: ignore[arg-type]
