"""What an environment pays for given actions, and what its instance is: the part of a record that needs no agent.

Noise, costs and means follow from the seeds, the number of the evaluation and the action. The code of the agent, which
may be a stranger's and could change the environment that it plays on, is neither imported nor run.
"""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pandas as pd

from gpbandit_envs.gp.threads import one_blas_thread
from leaderboards.play.build import build_env
from leaderboards.play.oracle import Oracle
from leaderboards.play.protocol_checks import check_step
from leaderboards.play.record import InstanceData
from leaderboards.play.run import instance_data, stated_problem
from leaderboards.play.spec import RunSpec, env_seed

RECOMPUTED = ("t", "reward", "mean", "regret", "cost")
"""Columns of a trace that follow from the actions."""


def recompute(spec: RunSpec, trace: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, float], InstanceData]:
    """Step the environment of `spec`, reset on the run's seed, through the actions of a trace of one row or more.

    Returns:
        The columns `RECOMPUTED`, one row an evaluation; facts about the instance, and where it comes from, as in a
        record.

    Raises:
        KeyError: if the trace lacks a column of actions.
        Exception: whatever building the environment or taking a step raises, as for an action that is none.
    """
    # The environment as it is played, with its wrappers: they may pay something else.
    with one_blas_thread(), closing(build_env(spec.built, spec.horizon)) as env:
        env.reset(seed=env_seed(spec))
        problem = stated_problem(env, spec.horizon, spec.feedback)
        oracle = Oracle(env, problem)
        if problem.is_finite:
            actions = trace["action"].tolist()  # integers of Python: a float among them is no arm
        else:
            actions = list(trace[[f"action_{j}" for j in range(problem.dim)]].to_numpy(np.float64))
        paid = []
        for t, action in enumerate(actions, 1):
            reward, cost, _, mean, regret, _ = check_step(env.step(action), t, action, oracle.known)
            paid.append((t, reward, mean, regret, cost))
        return pd.DataFrame(paid, columns=RECOMPUTED), oracle.facts, instance_data(problem, oracle)
