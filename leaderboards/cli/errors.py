"""Errors that the user can mend, and how other errors become one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leaderboards.play.executors import ExecutorError
from leaderboards.play.store import StoreError
from leaderboards.play.suite import SuiteError

__all__ = ["UserError", "results_folder", "user_errors"]


_SHOWN = 5


class UserError(Exception):
    """One line that says what was expected, what came, and what to do."""


@contextmanager
def user_errors(directory: Path) -> Iterator[None]:
    """Turn errors of suites and of the results folder `directory` into a `UserError`."""
    try:
        yield
    except (SuiteError, StoreError, ExecutorError) as error:
        raise UserError(str(error)) from None
    except OSError as error:
        raise UserError(
            f"cannot write to {directory} ({error.strerror or error}): what was done before is kept; "
            "make room or give another folder with --out, then give the same command again"
        ) from None


def results_folder(directory: Path) -> Path:
    """`directory`, which must hold results.

    Raises:
        UserError: if it does not.
    """
    if (directory / "runs").is_dir():
        return directory
    # The usual slips: the folder that holds those of all suites, and the name of a suite.
    near = [directory, Path("results"), Path("results") / directory]
    found = sorted({runs.parent for place in near for runs in [place / "runs", *place.glob("*/runs")] if runs.is_dir()})
    hint = f"; there are results in {', '.join(map(str, found[:_SHOWN]))}" if found else ""
    if not directory.is_dir():
        raise UserError(f"no folder {directory}: make one with `gpbandit run SUITE --out {directory}`{hint}")
    raise UserError(
        f"{directory} holds no results: expected the folder that `gpbandit run SUITE --out` was given{hint}"
    )
