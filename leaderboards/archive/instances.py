"""What is the same for all agents of a suite, found once: the maxima of its drawn functions on boxes."""

from __future__ import annotations

from gpbandit_envs.functions import optima
from leaderboards.play.run import instance_env, one_blas_thread
from leaderboards.play.spec import RunSpec
from leaderboards.play.suite import Suite

__all__ = ["suite_instances", "suite_optima"]


def suite_instances(suite: Suite) -> list[RunSpec]:
    """A run on each instance of a suite, of its first agent."""
    return list(suite.model_copy(update={"agents": suite.agents[:1]}).specs())


def suite_optima(suite: Suite) -> dict[str, optima.Found]:
    """The maxima of those functions of a suite that are searched, by `gpbandit_envs.functions.optima.key_of`."""
    with optima.recording() as found, one_blas_thread():
        for spec in suite_instances(suite):
            if spec.env.kwargs.get("n_arms", 0) == "box":
                with instance_env(spec) as (env, _):
                    _ = env.certificate
        return dict(found)
