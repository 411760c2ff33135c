"""Errors of data sets; their messages say what to do."""

from __future__ import annotations

__all__ = ["DataError", "FetchError", "IntegrityError", "SourceUnavailableError"]


class DataError(RuntimeError):
    """Data cannot be served."""


class FetchError(DataError):
    """No source of a file could be reached; the message lists each one, its failure and the way by hand."""


class IntegrityError(DataError):
    """Bytes differ from the pinned hash, or an archive is malformed."""


class SourceUnavailableError(DataError):
    """One source cannot deliver; others are tried, and if none can, this text becomes a line of a `FetchError`."""
