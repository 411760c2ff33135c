"""Signals that ask a command to stop, each as clean as Ctrl-C."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

__all__ = ["SIGNALLED", "Stopped", "raise_if_stopped", "stoppable"]

SIGNALLED = 128
"""What is added to the number of a signal in the exit code of the process that it ends, as shells have it."""

_STOPPING = ("SIGINT", "SIGTERM", "SIGHUP")
# A wrapper, such as `timeout` or `uv run`, forwards to the command what the terminal has sent it already.
_ECHO_SECONDS = 0.1


class Stopped(KeyboardInterrupt):
    """A signal asks the command to stop; notes that are added to it say what was kept.

    Attributes:
        code: Exit code of the command.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.code = SIGNALLED + number


_heard: list[tuple[int, float]] = []
"""The first signal and when it came."""


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise `Stopped` in the main thread at the first signal; at the second, end this process without tidying up.

    Batch systems stop their jobs with SIGTERM, a terminal that closes sends SIGHUP: both are as clean as Ctrl-C.
    What is ignored already, as under `nohup`, stays so.
    """

    def stop(number: int, _frame: FrameType | None) -> None:
        if not _heard:
            _heard.append((number, time.monotonic()))
            raise Stopped(number)
        if time.monotonic() - _heard[0][1] > _ECHO_SECONDS:
            os.write(2, b"stopped at once\n")
            os._exit(SIGNALLED + number)

    before: dict[int, Any] = {}
    for name in _STOPPING:
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _heard.clear()


def raise_if_stopped() -> None:
    """Raise `Stopped` again for a signal that has come already.

    Called where imports end: what a module raises while it is imported, others may swallow, as those that try whether
    an optional one is there, or compiled ones.
    """
    if _heard:
        raise Stopped(_heard[0][0])
