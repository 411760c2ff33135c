"""Searches the maxima of all drawn functions on boxes of a suite, and keeps them for whoever plays it.

    python -m benchmarks.optima boxes-v2

They are written into the package's own file, as a checkout has it.
"""

from __future__ import annotations

import sys

from gpbandit_envs.functions import optima
from gpbandit_envs.gp.threads import one_blas_thread
from leaderboards.play.run import instance_env
from leaderboards.play.suite import Suite, load_suite


def suite_optima(suite: Suite) -> dict[str, optima.Found]:
    """The maxima of those functions of a suite that are searched, by `gpbandit_envs.functions.optima.key_of`."""
    with optima.recording() as found, one_blas_thread():
        for spec in suite.model_copy(update={"agents": suite.agents[:1]}).specs():
            if spec.env.kwargs.get("n_arms", 0) == "box":
                with instance_env(spec) as (env, _):
                    _ = env.certificate
        return dict(found)


if __name__ == "__main__":
    found = suite_optima(load_suite(sys.argv[1]))
    optima.write(found)
    print(f"{len(found)} maxima written to {optima.FILE}")
