"""Searches the maxima of all drawn functions on boxes of a suite, and keeps them for whoever plays it.

    python -m benchmarks.optima boxes-v2

They are written into the package's own file, as a checkout has it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from gpbandit_envs.atomic import written_whole
from gpbandit_envs.functions import optima
from gpbandit_envs.gp.threads import one_blas_thread
from leaderboards.play.run import instance_env
from leaderboards.play.suite import Suite, load_suite


def suite_optima(suite: Suite) -> dict[str, optima.Found]:
    """The maxima of those functions of a suite that were not known, by `gpbandit_envs.functions.optima.key_of`."""
    before = set(optima.FOUND)
    with one_blas_thread():
        for spec in suite.model_copy(update={"agents": suite.agents[:1]}).specs():
            if spec.env.kwargs.get("n_arms", 0) == "box":
                with instance_env(spec) as (env, _):
                    _ = env.certificate
    return {key: found for key, found in optima.FOUND.items() if key not in before}


def write(found: dict[str, optima.Found], path: Path = optima.FILE) -> None:
    """Add to a file of maxima what was found, one line each, whole or not at all."""
    known = optima.shipped(path) | found
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(known[key])}" for key in sorted(known))
    with written_whole(path) as temporary:
        temporary.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    optima.shipped.cache_clear()


if __name__ == "__main__":
    found = suite_optima(load_suite(sys.argv[1]))
    write(found)
    print(f"{len(found)} maxima written to {optima.FILE}")
