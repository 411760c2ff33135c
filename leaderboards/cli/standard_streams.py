"""The streams of a command: whether they could be written, and empty ones in place of those that are closed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["open_missing_streams", "output_error", "watched_streams"]


class _Output:
    """A standard stream that remembers why it could not be written.

    The errors of an output that nobody reads and of a results folder are of the same classes.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.error: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        return self._remember(self._stream.write, text)

    def flush(self) -> None:
        self._remember(self._stream.flush)

    def _remember(self, act: Callable[..., Any], *arguments: str) -> Any:
        try:
            return act(*arguments)
        except OSError as error:
            self.error = error
            raise


def output_error() -> OSError | None:
    """Why standard output or standard error could not be written; None if they could."""
    return next((error for stream in (sys.stdout, sys.stderr) if (error := getattr(stream, "error", None))), None)


@contextmanager
def watched_streams() -> Iterator[None]:
    """Standard output and standard error remember why they could not be written, see `output_error`."""
    before = sys.stdout, sys.stderr
    output: Any = _Output(sys.stdout)
    errors: Any = _Output(sys.stderr)
    sys.stdout, sys.stderr = output, errors
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


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
