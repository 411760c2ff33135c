"""Signals that ask a command to stop, each as clean as Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from types import FrameType
from typing import Any

SIGNALLED = 128
"""What is added to the number of a signal in the exit code of the process that it ends, as shells have it."""

_STOPPING = ("SIGINT", "SIGTERM", "SIGHUP")
# A wrapper, such as `timeout` or `uv run`, forwards to the command what the terminal has sent it already.
_ECHO_SECONDS = 0.1


class Stopped(KeyboardInterrupt):
    """A signal asks the command to stop; notes that are added to it say what was kept.

    Attributes:
        code: Exit code of the command.
        heard: When it came.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.code, self.heard = SIGNALLED + number, time.monotonic()


@contextmanager
def stoppable() -> Iterator[list[Stopped]]:
    """Raise `Stopped` in the main thread at the first signal; at the second, end this process without tidying up.

    What is yielded holds it then: code that is interrupted, such as an import, may raise another error in its place.

    Batch systems stop their jobs with SIGTERM, a terminal that closes sends SIGHUP: both are as clean as Ctrl-C.
    What is ignored already, as under `nohup`, stays so.
    """
    stops: list[Stopped] = []

    def stop(number: int, _frame: FrameType | None) -> None:
        if not stops:
            stops.append(Stopped(number))
            raise stops[0]
        if time.monotonic() - stops[0].heard > _ECHO_SECONDS:
            os.write(2, b"stopped at once\n")
            os._exit(SIGNALLED + number)

    before: dict[int, Any] = {}
    for name in _STOPPING:
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, stop)
    try:
        yield stops
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class OutputError(OSError):
    """Standard output or standard error cannot be written; a results folder raises errors of the other classes."""


class _Output:
    """A standard stream that raises `OutputError`."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        return self._told(self._stream.write, text)

    def flush(self) -> None:
        self._told(self._stream.flush)

    def _told(self, act: Callable[..., Any], *arguments: str) -> Any:
        try:
            return act(*arguments)
        except OSError as error:
            raise OutputError(*error.args) from error


@contextmanager
def told_streams() -> Iterator[None]:
    """Standard output and standard error raise `OutputError`."""
    output: Any = _Output(sys.stdout)
    errors: Any = _Output(sys.stderr)
    with redirect_stdout(output), redirect_stderr(errors):
        yield


def open_missing_streams() -> None:
    """Put empty streams in place of those that were closed, as with `>&-`.

    Libraries flush them without looking, and the next file to be opened must not take their numbers.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            nothing = os.open(os.devnull, os.O_RDWR)
            if nothing != number:
                os.dup2(nothing, number)
                os.close(nothing)
            os.set_inheritable(number, True)
            setattr(sys, name, os.fdopen(number, mode))
