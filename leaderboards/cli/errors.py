"""Errors that the user can fix, and the conversion of other errors to them."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leaderboards.cli.stopping import OutputError

_SHOWN = 5
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
_IN_THE_WAY = (errno.ENOTDIR, errno.EEXIST, errno.EISDIR)


class UserError(Exception):
    """An error in one line: what was expected, what was given, and what to do."""


@contextmanager
def user_errors(directory: Path) -> Iterator[None]:
    """Turn errors of suites and of the results folder `directory` into a `UserError`."""
    # Here, not above: `gpbandit --help` and `gpbandit list` need no pandas.
    from leaderboards.play.suite import SuiteError
    from leaderboards.store.intact import StoreError
    from leaderboards.work.executors import ExecutorError

    try:
        yield
    except (SuiteError, StoreError, ExecutorError) as error:
        raise UserError(" ".join(str(error).splitlines())) from None  # a name in it may hold lines of its own
    except UnicodeEncodeError as error:
        if error.encoding != "utf-8":
            raise  # the terminal's
        raise UserError(
            f"{str(directory)!r} cannot be written as UTF-8 ({error.reason}): give another folder, or set a locale "
            "such as LC_ALL=C.UTF-8"
        ) from None
    except OutputError:
        raise  # not the folder's fault: nobody reads the output, or its disk is full
    except OSError as error:
        raise UserError(_explained(error, directory)) from None


@contextmanager
def refusing(*kinds: type[Exception]) -> Iterator[None]:
    """Turn errors of these kinds, whose text is for the user as it is, into a `UserError`."""
    try:
        yield
    except kinds as error:
        raise UserError(str(error)) from None


@contextmanager
def option_errors(*same: str, **options: str) -> Iterator[None]:
    """Turn a `ValueError` whose text begins with one of these arguments into a `UserError` that names its option.

    Args:
        same: Arguments that are called as their options.
        options: The options of others, by argument.
    """
    try:
        yield
    except ValueError as error:
        argument, _, text = str(error).partition(": ")
        option = {name: name for name in same} | options
        if argument not in option:
            raise
        raise UserError(f"--{option[argument]}: {text}") from None


def _explained(error: OSError, directory: Path) -> str:
    """The text of an operating-system error, with advice."""
    what = error.strerror or str(error)
    file = next((Path(os.fsdecode(name)) for name in (error.filename2, error.filename) if name is not None), None)
    if file is not None and file.is_relative_to(directory.absolute()):
        file = directory / file.relative_to(directory.absolute())
    kept = "what was done before is kept"
    if error.errno in _FULL:
        return f"cannot write to {directory} ({what}): {kept}; make room, then give the same command again"
    if error.errno in _FORBIDDEN:
        if file is not None and os.path.exists(file) and not os.access(file, os.R_OK):
            return f"cannot read {file} ({what}): {kept}; make it readable, then give the same command again"
        where = file if file is not None else directory
        return f"cannot write to {where} ({what}): {kept}; make it writable, or give another folder"
    if file is not None and not os.path.exists(directory) and (file == directory or directory in file.parents):
        return f"cannot write to {directory}, which cannot be made ({what}): give another folder with --out"
    if error.errno in _IN_THE_WAY and file is not None:
        obstacle = directory if directory.is_file() else file
        return (
            f"cannot write to {directory}: {obstacle} is in the way ({what}); {kept}; move it, or give another folder"
        )
    return (
        f"{type(error).__name__}: {what}{'' if file is None else f' ({file})'}; {kept} in {directory}, and the same "
        "command goes on from there"
    )


def results_folder(directory: Path) -> Path:
    """`directory`, which must hold results.

    Raises:
        UserError: if it does not.
    """
    if (directory / "runs").is_dir():
        return directory
    # The usual slips: the parent folder of all results, and the name of a suite.
    near = [directory, Path("results"), Path("results") / directory]
    found = sorted(
        {runs.parent for folder in near for runs in [folder / "runs", *folder.glob("*/runs")] if runs.is_dir()}
    )
    hint = f"; there are results in {', '.join(map(str, found[:_SHOWN]))}" if found else ""
    if not directory.is_dir():
        raise UserError(f"no folder {directory}: make one with `gpbandit run SUITE --out {directory}`{hint}")
    raise UserError(
        f"{directory} holds no results: expected the folder that `gpbandit run SUITE --out` was given{hint}"
    )
