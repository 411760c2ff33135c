"""What all agents of a suite meet alike: the maxima of its drawn functions on boxes."""

from __future__ import annotations

from gpbandit_envs.functions import optima
from gpbandit_envs.gp.threads import one_blas_thread
from leaderboards.play.run import instance_env
from leaderboards.play.suite import Suite


def suite_optima(suite: Suite) -> dict[str, optima.Found]:
    """The maxima of those functions of a suite that are searched, by `gpbandit_envs.functions.optima.key_of`."""
    with optima.recording() as found, one_blas_thread():
        for spec in suite.model_copy(update={"agents": suite.agents[:1]}).specs():
            if spec.env.kwargs.get("n_arms", 0) == "box":
                with instance_env(spec) as (env, _):
                    _ = env.certificate
        return dict(found)
