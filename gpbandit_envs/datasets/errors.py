"""Errors of data sets; their messages say what to do."""

from __future__ import annotations


class DataError(RuntimeError):
    """Data cannot be served."""


class FetchError(DataError):
    """No source of a file could be reached; the message lists each one, its failure and the way by hand.

    Attributes:
        reason: What failed, in one line.
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message, reason)
        self.reason = reason

    def __str__(self) -> str:
        return str(self.args[0])


class IntegrityError(DataError):
    """Bytes differ from the pinned hash, or an archive is malformed."""


class SourceUnavailableError(DataError):
    """One source cannot deliver; others are tried, and if none can, this text becomes a line of a `FetchError`.

    Args:
        reason: Why, in one line.
        again: Whether it may deliver a little later.
    """

    def __init__(self, reason: str, *, again: bool = False) -> None:
        super().__init__(reason)
        self.again = again
