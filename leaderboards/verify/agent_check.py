"""`agents.check_agent` for a class that is named `module:Class`, before its first run.

It is played in a process of its own, since an agent may hang, or end its process.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator

from agents import AgentCheckError, check_agent
from leaderboards.play.build import build_agent
from leaderboards.play.spec import Ref, RunSpec

_SECONDS = 5.0  # of which one is for imports; what takes longer is told by its runs


def protocol_breaches(ids: Iterable[str], todo: Iterable[RunSpec]) -> Iterator[tuple[str, str]]:
    """Agents named `module:Class` among `ids` that are to play and break the protocol, and what is to be said of each.

    They may play all the same: a run says itself what is wrong, and some clauses, such as that of failed evaluations,
    may not matter to the suite.
    """
    playing = {spec.agent.id for spec in todo}
    for id in dict.fromkeys(ids):
        if ":" in id and id in playing and (breach := protocol_breach(id)) is not None:
            yield id, breach


def protocol_breach(id: str, seconds: float = _SECONDS) -> str | None:
    """What is to be said of an agent after `agents.check_agent`, in one line; None for nothing.

    Args:
        id: The agent, as `module:Class`, with its default settings.
        seconds: How long it may take.
    """
    where = os.pathsep.join(path or os.getcwd() for path in sys.path)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", __name__, id],
            env={**os.environ, "PYTHONPATH": where},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return f"was not checked within {seconds:g} s; agents.check_agent shows where it is when stopped (Ctrl-C)"
    try:
        found = json.loads(done.stdout)
    except ValueError:
        found = f"the process that checks it ended with code {done.returncode}"
    return None if found is None else f"breaks the protocol of agents: {' '.join(found.split())} (agents.check_agent)"


def _found(id: str) -> str | None:
    try:
        check_agent(lambda: build_agent(Ref(id)), show=None)
    except AgentCheckError as error:
        return str(error)
    except (Exception, SystemExit) as error:
        return f"{type(error).__name__}: {error}"
    return None


if __name__ == "__main__":
    with contextlib.redirect_stdout(sys.stderr):  # what the agent prints
        told = _found(sys.argv[1])
    sys.stdout.write(json.dumps(told))
    gc.freeze()  # looking for what nobody refers to is a fifth of this process, whose end the command waits for
