"""What it costs to compute with loops that every x86-64-v3 processor has, in place of this processor's own.

python -m benchmarks.run --only portable
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator

from benchmarks.measure import Row, against
from leaderboards.play.processor import portable_environment

_EPISODE = """
import time, warnings
import leaderboards
from gpbandit_envs.gp.threads import one_blas_thread
warnings.simplefilter("ignore")
env = ("GPBandit/GPSample-v0", {{"n_arms": {n_arms}, "dim": 2}})
with one_blas_thread():
    start = time.process_time()
    record = leaderboards.run(env, ({agent!r}, {{}}), horizon={horizon})
    assert record.status == "done", record.reason
print(time.process_time() - start)
"""


def episode_seconds(agent: str, n_arms: int, horizon: int, variables: dict[str, str]) -> float:
    """Processor seconds of an episode in a fresh interpreter, with no other variables of loops than these."""
    rest = {name: value for name, value in os.environ.items() if name not in portable_environment()}
    code = _EPISODE.format(agent=agent, n_arms=n_arms, horizon=horizon)
    done = subprocess.run(
        [sys.executable, "-c", code], env=rest | variables, check=True, capture_output=True, text=True
    )
    return float(done.stdout)


def cases() -> Iterator[tuple[str, Callable[[], Row]]]:
    """What goes into the table of `benchmarks.run`."""
    for name, agent, n_arms, horizon in (("gp-ucb", "GP-UCB", 2_000, 600), ("map-ucb", "MAP-UCB", 500, 60)):
        yield (
            name,
            lambda agent=agent, n_arms=n_arms, horizon=horizon: against(  # type: ignore[misc]
                f"{agent}, A = {n_arms:,}, T = {horizon}, with loops of every x86-64-v3 processor",
                "with this processor's own",
                lambda: episode_seconds(agent, n_arms, horizon, portable_environment()),
                lambda: episode_seconds(agent, n_arms, horizon, {}),
                rounds=5,
            ),
        )
