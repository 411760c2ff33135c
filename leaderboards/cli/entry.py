"""The console script: one line for every error a user can make, and an orderly end when it is stopped.

Little is imported here: a signal that comes while the command is still being imported is as clean as a later one.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn

from leaderboards.cli.standard_streams import open_missing_streams, output_error, watched_streams
from leaderboards.text import visible

__all__ = ["Stopped", "main"]

_USER_ERROR = 2
_SIGNALLED = 128  # plus the number of the signal, as shells have it
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
        self.code = _SIGNALLED + number


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit.

    The code is 0 if all is well, 1 if a run crashed, timed out or differs, 2 for what the user can mend, and 128 plus
    the number of the signal if the command was stopped: 130 after Ctrl-C, 143 after SIGTERM. A second signal ends it at
    once. If nobody reads its output any more, as in `gpbandit list | head -1`, it ends without a word, with 141.
    """
    if arguments is None:
        open_missing_streams()
    with _stoppable(), watched_streams():
        code = _code(sys.argv[1:] if arguments is None else arguments)
    if arguments is None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback of what Python tidies up
    sys.exit(code)


def _code(arguments: Sequence[str]) -> int:
    """Play the command and say what went wrong; returns its exit code."""
    try:
        from leaderboards.cli.app import play
        from leaderboards.cli.errors import UserError

        try:
            code = play(arguments)
            sys.stdout.flush()
            return code
        except UserError as error:
            return _say(f"error: {error}", _USER_ERROR)
    except KeyboardInterrupt as stop:
        text = "; ".join([str(stop) or "stopped", *getattr(stop, "__notes__", [])])
        return _say(text, getattr(stop, "code", _SIGNALLED + signal.SIGINT))
    except MemoryError:
        return _say("error: out of memory; what was done before is kept, and the same command goes on", _USER_ERROR)
    except OSError:
        fault = output_error()
        if fault is None:
            raise
        # Python would try once more at its end, and complain.
        nothing = os.open(os.devnull, os.O_WRONLY)
        if getattr(sys.stdout, "error", None) is not None:
            os.dup2(nothing, 1)
        if isinstance(fault, BrokenPipeError):
            return _SIGNALLED + signal.SIGPIPE
        return _say(f"error: cannot write the output ({fault.strerror})", _USER_ERROR)


def _say(text: str, code: int) -> int:
    with suppress(OSError):
        sys.stderr.write(f"{visible(text)}\n")
        sys.stderr.flush()
    return code


@contextmanager
def _stoppable() -> Iterator[None]:
    """Raise `Stopped` in the main thread at the first signal; at the second, end this process without tidying up.

    Batch systems stop their jobs with SIGTERM, a terminal that closes sends SIGHUP: both are as clean as Ctrl-C.
    What is ignored already, as under `nohup`, stays so.
    """
    first: list[float] = []

    def stop(number: int, _frame: FrameType | None) -> None:
        if not first:
            first.append(time.monotonic())
            raise Stopped(number)
        if time.monotonic() - first[0] > _ECHO_SECONDS:
            os.write(2, b"stopped at once\n")
            os._exit(_SIGNALLED + number)

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
