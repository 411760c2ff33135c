"""Channels: when the feedback of an evaluation arrives, in sequential play, batches, with delays or from workers.

| text | JSON | feedback of an evaluation arrives |
|---|---|---|
| `on_request` | `{"name": "on_request"}` | when the agent closes its batch, or it has none: after the evaluation |
| `batch:q` | `{"name": "batch", "size": q}` | with its whole batch, once q are open or the agent closes it |
| `delay:d` | `{"name": "delay", "steps": d}` | after d further evaluations have started |
| `geometric:m` | `{"name": "geometric", "mean": m}` | after a geometric number of them, of mean m and from 0 on |
| `poisson:m` | `{"name": "poisson", "mean": m}` | after a Poisson number of them, of mean m |
| `pareto:a,s` | `{"name": "pareto", "shape": a, "scale": s}` | after a heavy-tailed number of them |
| `workers:W` | `{"name": "workers", "workers": W}` | when its worker is done: W at once, each as long as its cost |

Delays are drawn in the order of the evaluations, so that the t-th has the same delay for every agent. What a policy may
know of them is stated by the problem that it plays on, as `Problem.delay`.
"""

from __future__ import annotations

import functools
import heapq
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import numpy as np

from gpbandit_envs.arguments import as_count, shown
from gpbandit_envs.delays import ConstantLaw, Delay, DelayLaw, GeometricLaw, ParetoLaw, PoissonLaw

ChannelName = Literal["on_request", "batch", "delay", "geometric", "poisson", "pareto", "workers"]
_LAWS: Mapping[str, type[DelayLaw]] = {
    "delay": ConstantLaw,
    "geometric": GeometricLaw,
    "poisson": PoissonLaw,
    "pareto": ParetoLaw,
}
_NUMBERS: Mapping[str, tuple[str, ...]] = {
    "on_request": (),
    "batch": ("size",),
    "delay": ("steps",),
    "geometric": ("mean",),
    "poisson": ("mean",),
    "pareto": ("shape", "scale"),
    "workers": ("workers",),
}
IMMEDIATE: Mapping[str, int] = {"delay": 0, "geometric": 0, "poisson": 0, "batch": 1, "workers": 1}
"""The first number of each kind at which feedback arrives after every evaluation, so that every agent can play."""
_EXPECTED = "'on_request', 'batch:q', 'delay:d', 'geometric:m', 'poisson:m', 'pareto:a,s' or 'workers:W'"


@dataclass(frozen=True)
class Channel:
    """When feedback arrives, see this module; `as_channel` reads one from text or JSON.

    Attributes:
        name: Its kind.
        numbers: The numbers of the kind, in the order of the text.

    Raises:
        TypeError: if they are not as many as the kind has, or one is no number.
        ValueError: if a number is out of range.
    """

    name: ChannelName
    numbers: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        names = _NUMBERS[self.name]
        if self.name == "pareto" and len(self.numbers) == 1:
            object.__setattr__(self, "numbers", (*self.numbers, 1.0))
        if len(self.numbers) != len(names):
            raise TypeError(f"{self.name}: expected {' and '.join(names) or 'no number'}, got {self.numbers!r}")
        law = self.law
        if law is not None:  # which has checked the numbers
            object.__setattr__(self, "numbers", tuple(vars(law).values()))
        else:
            object.__setattr__(self, "numbers", tuple(map(as_count, names, self.numbers)))

    @property
    def text(self) -> str:
        """The text that stands for this channel. It is part of the key of a run: no digit is lost, and 5 stays "5"."""
        return ":".join((self.name, ",".join(map(_written, self.numbers)))) if self.numbers else self.name

    @property
    def value(self) -> float:
        """Its first number; 0 if it has none."""
        return float(self.numbers[0]) if self.numbers else 0.0

    @property
    def is_immediate(self) -> bool:
        """Whether feedback arrives after every evaluation, by the numbers alone."""
        return self.value == IMMEDIATE.get(self.name)

    @property
    def law(self) -> DelayLaw | None:
        """The law of the delay in further evaluations; None if feedback is not late in this way."""
        return _LAWS[self.name](*self.numbers) if self.name in _LAWS else None

    @property
    def stated(self) -> Delay | None:
        """What a policy may know of the delay; None if it has no such form."""
        return None if self.law is None else self.law.stated

    def queue(self, rng: np.random.Generator, most: int) -> Queue:
        """An empty queue for one episode.

        Args:
            rng: Draws the delays.
            most: How many evaluations may be open on request.
        """
        law = self.law
        if law is not None:
            return DelayQueue(law, rng)
        if self.name == "workers":
            return WorkerQueue(int(self.value))
        return BatchQueue(most if self.name == "on_request" else int(self.value))


def as_channel(given: object, argument: str = "feedback") -> Channel:
    """The channel that a text or a mapping stands for, as `"geometric:5"` and `{"name": "geometric", "mean": 5}`.

    Raises:
        TypeError: if it is neither, or a number of the mapping is unknown, missing or no number.
        ValueError: if there is no such channel, or a number is out of range.
    """
    if isinstance(given, Channel):
        return given
    if isinstance(given, str):
        return _of_text(given, argument)
    if not isinstance(given, Mapping):
        raise TypeError(f"{argument}: expected {_EXPECTED}, or the same as a mapping, got {shown(given)}")
    values: dict[str, Any] = dict(given)
    name = values.pop("name", None)
    if name not in _NUMBERS:
        raise ValueError(f"{argument}: expected one of {', '.join(get_args(ChannelName))} as name, got {name!r}")
    numbers_of = _NUMBERS[name]
    if unknown := [key for key in values if key not in numbers_of]:
        raise TypeError(f"{argument}: {name} has no {unknown[0]!r}; expected {' and '.join(numbers_of) or 'no number'}")
    return Channel(name, tuple(values[key] for key in numbers_of if key in values))


@functools.cache
def _of_text(text: str, argument: str) -> Channel:
    """The channel of a text, which thousands of runs share."""
    name, colon, numbers = text.partition(":")
    why = ""
    if name in _NUMBERS and bool(colon) == bool(_NUMBERS[name]):
        try:
            return Channel(cast(ChannelName, name), tuple(map(float, numbers.split(","))) if colon else ())
        except (TypeError, ValueError) as error:
            why = f"; {error}"
    raise ValueError(f"{argument}: expected {_EXPECTED}, got {text!r}{why}")


def _written(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else repr(float(number))


class Queue(ABC):
    """The evaluations, as tickets, whose feedback has not arrived; it holds no rewards."""

    @abstractmethod
    def room(self) -> int:
        """Number of evaluations that may start now; 0 if feedback must arrive first."""

    @abstractmethod
    def start(self, ticket: int, cost: float) -> None:
        """Start the evaluation `ticket`, which costs `cost`."""

    @abstractmethod
    def arrived(self) -> list[int]:
        """End a step; the tickets whose feedback has arrived in it, in order of arrival."""

    @abstractmethod
    def wait(self) -> list[int]:
        """Advance time to the next arrival and return its tickets; empty if no evaluation is open."""


class BatchQueue(Queue):
    """All open feedback arrives at once, when `size` evaluations are open or someone waits."""

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


class _TimedQueue(Queue):
    """Feedback arrives at a time that is known when its evaluation starts."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int]] = []  # heap of time and ticket

    def _until(self, now: float) -> list[int]:
        """Tickets whose feedback is due by now."""
        found = []
        while self._due and self._due[0][0] <= now:
            found.append(heapq.heappop(self._due)[1])
        return found


class DelayQueue(_TimedQueue):
    """Feedback arrives a number of steps after the step of its evaluation.

    Args:
        law: How the number is drawn.
        rng: Draws it.
    """

    def __init__(self, law: DelayLaw, rng: np.random.Generator) -> None:
        super().__init__()
        self.law, self.rng = law, rng
        self._now: float = 0  # the coming step

    def room(self) -> int:
        return 1

    def start(self, ticket: int, cost: float) -> None:
        heapq.heappush(self._due, (self._now + self.law.draw(self.rng), ticket))

    def arrived(self) -> list[int]:
        self._now += 1
        return self._until(self._now - 1)

    def wait(self) -> list[int]:
        if self._due:
            self._now = max(self._now, self._due[0][0] + 1)
        return self._until(self._now - 1)


class WorkerQueue(_TimedQueue):
    """`workers` evaluations run in parallel in simulated time; the cost of each is how long it takes.

    Attributes:
        clock: Says what time it is.
    """

    def __init__(self, workers: int) -> None:
        super().__init__()
        self.clock = WorkerClock(workers)

    def room(self) -> int:
        return self.clock.free

    def start(self, ticket: int, cost: float) -> None:
        heapq.heappush(self._due, (self.clock.start(cost), ticket))

    def arrived(self) -> list[int]:
        # Time stands still while a worker is free: there is work for it until someone says otherwise.
        return self.wait() if not self.room() else []

    def wait(self) -> list[int]:
        return self._until(self.clock.wait())


class WorkerClock:
    """Simulated time of workers that evaluate in parallel, in the unit of the cost; feedback is due when one is done.

    Args:
        workers: Number of workers, >= 1.

    Attributes:
        now: The time, from 0.
    """

    def __init__(self, workers: int) -> None:
        self.now = 0.0
        self._workers = workers
        self._ends: list[float] = []  # heap, of the evaluations that run

    @property
    def free(self) -> int:
        """Number of workers without work; one that has just finished has some until `wait` says so."""
        return self._workers - len(self._ends)

    def start(self, cost: float) -> float:
        """Start an evaluation now, or as soon as a worker is free; the time at which it is done."""
        if self.free:
            end = self.now + cost
            heapq.heappush(self._ends, end)
        else:
            self.now = self._ends[0]
            end = self.now + cost
            heapq.heapreplace(self._ends, end)
        return end

    def wait(self) -> float:
        """Let time pass until the next evaluation is done, if any runs; the time it is then."""
        if self._ends:
            self.now = self._ends[0]
        while self._ends and self._ends[0] <= self.now:
            heapq.heappop(self._ends)
        return self.now
