"""The console script: one line for every error a user can make, and an orderly end when it is stopped.

Little is imported here: a signal that comes while the command is still being imported is as clean as a later one.
"""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from leaderboards.cli.stopping import SIGNALLED, OutputError, Stopped, open_missing_streams, stoppable, told_streams
from leaderboards.text import visible

_USER_ERROR = 2


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit.

    The code is 0 if all is well, 1 if a run crashed, timed out or differs, 2 for what the user can mend, and 128 plus
    the number of the signal if the command was stopped: 130 after Ctrl-C, 143 after SIGTERM. A second signal ends it at
    once. If nobody reads its output any more, as in `gpbandit list | head -1`, it ends without a word, with 141.
    """
    if arguments is None:
        open_missing_streams()
        os.environ["PYTHONSAFEPATH"] = "1"  # no process that this one starts imports from the current folder
    with stoppable() as stops, told_streams():
        code = _code(sys.argv[1:] if arguments is None else arguments, stops)
    if arguments is None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback of what Python tidies up
        gc.freeze()  # nor does it look for what nobody refers to, a third of a second after a large page
    sys.exit(code)


def _code(arguments: Sequence[str], stops: Sequence[Stopped] = ()) -> int:
    """Carry out the command and say what went wrong, or which of `stops` ended it; returns its exit code."""
    try:
        from leaderboards.cli.app import execute
        from leaderboards.cli.errors import UserError

        try:
            code = execute(arguments)
            sys.stdout.flush()
            return code
        except UserError as error:
            return _say(f"error: {error}", _USER_ERROR)
    except MemoryError:
        return _say("error: out of memory; what was done before is kept, and the same command goes on", _USER_ERROR)
    except OutputError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python would try once more at its end, and complain
        if error.errno == errno.EPIPE:
            return SIGNALLED + signal.SIGPIPE
        return _say(f"error: cannot write the output ({error.strerror})", _USER_ERROR)
    except (KeyboardInterrupt, Exception) as error:
        stop = error if isinstance(error, KeyboardInterrupt) else next(iter(stops), None)
        if stop is None:
            raise
        text = "; ".join([str(stop) or "stopped", *getattr(stop, "__notes__", [])])
        return _say(text, getattr(stop, "code", SIGNALLED + signal.SIGINT))


def _say(text: str, code: int) -> int:
    with suppress(OSError):
        sys.stderr.write(f"{visible(text)}\n")
        sys.stderr.flush()
    return code
