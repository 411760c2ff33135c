"""What an experiment is set up with: what can be tried, the problem that the policy plays on, and the policy."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from agents.core.protocol import Agent
from agents.core.registry import load_entry_point, make
from agents.experiment.candidates import Candidates, Table, as_frame
from agents.experiment.evaluations import STATUS, has_outcomes
from agents.experiment.parameters import Parameters
from gpbandit_envs.problem import Problem

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DEFAULT_AGENT", "as_agent", "as_choices", "begin"]

DEFAULT_AGENT = "MAP-BUCB"


def as_choices(
    parameters: Mapping[str, Any] | Table, outcome: str, log: Sequence[str]
) -> tuple[Parameters | Candidates, pd.DataFrame | None]:
    """What can be tried, and the rows of a table of candidates whose outcome is known already.

    Raises:
        TypeError, ValueError: as of `Experiment`.
    """
    choices: Parameters | Candidates
    known = None
    if isinstance(parameters, Mapping):
        if log:
            raise ValueError("log: expected only for a table of candidates; here agents.log(low, high) says it")
        choices = Parameters.of(parameters)
    else:
        frame = as_frame("parameters", parameters)
        if has_outcomes(frame, outcome):
            known = frame[frame[outcome].notna()]
            frame = frame.drop(columns=outcome)
        choices = Candidates.of(frame, (log,) if isinstance(log, str) else tuple(log))
    for name in choices.names:
        if name in (outcome, STATUS):
            raise ValueError(
                f"parameters: expected names other than {outcome!r} and {STATUS!r}, which are columns of results(), "
                f"got {name!r}; outcome= is the name of the outcome"
            )
    return choices, known


def as_agent(agent: Any) -> tuple[str, dict[str, Any]]:
    """The id and the settings of a policy, given as an id or as both.

    Raises:
        TypeError: if it is neither.
    """
    if isinstance(agent, str):
        return agent, {}
    if (
        isinstance(agent, (tuple, list))
        and len(agent) == 2
        and isinstance(agent[0], str)
        and isinstance(agent[1], Mapping)
    ):
        return agent[0], copy.deepcopy(dict(agent[1]))
    raise TypeError(f"agent: expected an id such as {DEFAULT_AGENT!r}, or a pair of id and settings, got {agent!r}")


def begin(id: str, settings: Mapping[str, Any], problem: Problem, seed: int) -> Agent:
    """A policy at the start of the experiment.

    Raises:
        ValueError: if there is none of that id, or it cannot play on the problem.
    """
    # A class of one's own is 'module:Class', as in suites.
    agent = load_entry_point(id)(**settings) if ":" in id else make(id, **settings)
    wanted, kind = ("finite", "tables of candidates") if problem.is_finite else ("box", "ranges of parameters")
    if wanted not in agent.capabilities.domains:
        raise ValueError(f"agent: {id!r} does not play on {kind}; {DEFAULT_AGENT!r}, the default, does")
    lacking = agent.capabilities.needs - agent.arguments_state()
    stated = {"kernel": problem.kernel, "noise": problem.noise_std, "horizon": problem.horizon}
    for need, argument in (("kernel", "kernel"), ("noise", "noise_std"), ("horizon", "horizon")):
        if need in lacking and stated[need] is None:
            raise ValueError(f"{argument}: {id!r} needs it; {DEFAULT_AGENT!r}, the default, learns kernel and noise")
    agent.reset(problem, np.random.default_rng(seed))
    return agent
