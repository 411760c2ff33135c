"""What an experiment is set up with: what can be tried, the problem that the policy plays on, and the policy."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from agents.core.protocol import Agent
from agents.core.registry import load_entry_point, make
from agents.experiment.candidates import Candidates, Table, as_frame
from agents.experiment.constraints import Constraint, Forbidden, Linear, as_constraint
from agents.experiment.feasible import hold_to
from agents.experiment.goals import Goal
from agents.experiment.history import STATUS, has_outcomes
from agents.experiment.parameters import Parameters
from agents.experiment.region import Region
from agents.experiment.several import SeveralOutcomes
from agents.learned.gp_bucb import MAPBUCB
from gpbandit_envs.arguments import shown
from gpbandit_envs.problem import Problem

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_AGENT = ("MAP-BUCB", {"width": 2.0})
DEFAULT = f"{DEFAULT_AGENT[0]!r}, the default,"


def as_choices(
    parameters: Mapping[str, Any] | Table,
    outcomes: Sequence[str],
    log: Sequence[str],
    constraints: Sequence[Any],
    sds: Iterable[str] = (),
) -> tuple[Region | Candidates, pd.DataFrame | None]:
    """What can be tried, and the rows of a table of candidates whose outcomes are known already.

    Raises:
        TypeError, ValueError: as of `Experiment`.
    """
    choices: Region | Candidates
    known = None
    if not isinstance(log, Iterable):
        raise TypeError(f"log: expected a list of columns, got {log!r}")
    found = _as_constraints(constraints, outcomes)
    if STATUS in outcomes:
        raise ValueError(f"outcome: expected a name other than {STATUS!r}, which is a column of results()")
    if isinstance(parameters, Mapping):
        if log:
            raise ValueError("log: expected only for a table of candidates; here agents.log(low, high) says it")
        choices = Region.of(Parameters.of(parameters), found)
    else:
        if found:
            raise ValueError(
                "constraints: expected only with ranges; leave out the rows of a table that are not to be tried, as by "
                "table.query('a + b <= 1')"
            )
        frame = as_frame("parameters", parameters)
        there = [name for name in outcomes if has_outcomes(frame, name)]
        if there and len(there) < len(outcomes):
            raise ValueError(
                f"table: expected columns for all of {', '.join(outcomes)} or for none, got {', '.join(there)}"
            )
        if there:
            known = frame[frame[there].notna().any(axis="columns")]
            frame = frame.drop(columns=[*there, *(column for column in sds if column in frame)])
        choices = Candidates.of(frame, (log,) if isinstance(log, str) else tuple(map(str, log)))
    for name in choices.names:
        if name in (*outcomes, *sds, STATUS):
            raise ValueError(
                f"parameters: expected names other than {', '.join(map(repr, outcomes))} and {STATUS!r}, which are "
                f"columns of results(), got {name!r}; outcome= is the name of the outcome"
            )
    return choices, known


def as_name(argument: str, given: Any, outcomes: Sequence[str]) -> str:
    """The name of an outcome; raises if it is none."""
    if not isinstance(given, str) or given not in outcomes:
        raise ValueError(f"{argument}: expected {' or '.join(map(repr, outcomes))}, got {shown(given)}")
    return given


def as_columns(sd: Any, outcomes: Sequence[str]) -> dict[str, str]:
    """What the columns of standard errors are called, by outcome.

    Raises:
        TypeError: if it is neither None, nor text for a single outcome, nor a dict of texts.
        ValueError: if a name is none of an outcome.
    """
    given = {outcomes[0]: sd} if isinstance(sd, str) and len(outcomes) == 1 else {} if sd is None else sd
    if not isinstance(given, Mapping) or not all(isinstance(column, str) for column in given.values()):
        expected = "the name of a column" if len(outcomes) == 1 else "a dict of columns by outcome"
        raise TypeError(f"sd: expected {expected}, got {sd!r}")
    for name in given:
        as_name("sd", name, outcomes)
    return {name: given.get(name, f"{name} sd") for name in outcomes}


def _as_constraints(constraints: Sequence[Any], outcomes: Sequence[str]) -> list[Constraint]:
    if isinstance(constraints, (str, Linear, Forbidden)) or not isinstance(constraints, Iterable):
        raise TypeError(f"constraints: expected a list of them, got {constraints!r}; [...] around it makes it one")
    found = [as_constraint(each) for each in constraints]
    for each in found:
        for name in each.names:
            if name in outcomes:
                raise ValueError(
                    f"constraints: {each.text!r} is about the outcome {name!r}, expected parameters; "
                    f"outcome={{{name!r}: '<= 40'}} gives an outcome a limit"
                )
    return found


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
    raise TypeError(f"agent: expected an id such as {DEFAULT_AGENT[0]!r}, or a pair of id and settings, got {agent!r}")


def begin(
    id: str,
    settings: Mapping[str, Any],
    problems: Sequence[Problem],
    seed: int | Sequence[int],
    choices: Region | Candidates,
    goals: Sequence[Goal],
    prior_mean: float = 0.0,
) -> Agent | SeveralOutcomes:
    """A policy at the start of the experiment; one for each of several outcomes, of which each has a problem.

    Raises:
        ValueError: if there is none of that id, or it cannot play on the problem, or not for several outcomes.
    """
    parts = [_begin(id, settings, problem, seed, choices) for problem in problems]
    first = problems[0]
    for argument, given in (("kernel", first.kernel), ("noise_std", first.noise_std), ("horizon", first.horizon)):
        if given is not None and isinstance(parts[0], MAPBUCB):
            warnings.warn(f"{argument}: {id!r} learns from the outcomes alone and does not use it", stacklevel=3)
    if len(parts) == 1 and goals[0].limit is None:
        return parts[0]
    learned = [part for part in parts if isinstance(part, MAPBUCB) and not part.spread]
    if len(learned) < len(parts):
        raise ValueError(f"agent: {id!r} plays for a single outcome without limit; {DEFAULT} for more")
    return SeveralOutcomes(learned, goals, prior_mean)


def _begin(
    id: str, settings: Mapping[str, Any], problem: Problem, seed: int | Sequence[int], choices: Region | Candidates
) -> Agent:
    if ":" in id:  # a class of one's own, as in suites; nothing else that can be imported is called
        named: object = load_entry_point(id)
        if not (isinstance(named, type) and issubclass(named, Agent)):
            raise ValueError(f"agent: expected {id!r} to be a subclass of agents.Agent, got {named!r}")
        agent = named(**settings)
    else:
        agent = make(id, **settings)
    wanted, kind = ("finite", "tables of candidates") if problem.is_finite else ("box", "ranges of parameters")
    if wanted not in agent.capabilities.domains:
        raise ValueError(f"agent: {id!r} does not play on {kind}; {DEFAULT} does")
    lacking = agent.capabilities.needs - agent.arguments_state()
    stated = {"kernel": problem.kernel, "noise": problem.noise_std, "horizon": problem.horizon}
    for need, argument in (("kernel", "kernel"), ("noise", "noise_std"), ("horizon", "horizon")):
        if need in lacking and stated[need] is None:
            raise ValueError(f"{argument}: {id!r} needs it; {DEFAULT} learns kernel and noise")
    agent.reset(problem, np.random.default_rng(seed))
    if isinstance(choices, Region) and choices.constraints and not hold_to(agent, choices):
        raise ValueError(f"agent: {id!r} cannot be held to constraints; {DEFAULT} can")
    return agent
