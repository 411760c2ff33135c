"""Many repetitions of one pair in one go: a vector environment, a vectorised agent, and the records of single runs.

The same streams, keyed by repetition, seed both sides, so repetition r meets the function, the noise and the draws of
its single run.

| of a record | against the single run |
|---|---|
| `action`, `reward`, `mean`, `regret`, `batch`, `cost`, `inference_regret`; facts and data | equal bit for bit |
| `width`, `information_gain`, `d_eff` of GP-UCB and GP-AUCB | equal up to rounding; `data["rounded"]` names them |
| all other diagnostics | equal bit for bit |
| `policy_seconds`, `seconds` | those of the group, in equal shares |
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import gymnasium as gym
import numpy as np

from agents import make_vec
from agents.vector.lockstep import Lockstep
from agents.vector.protocol import VectorAgent
from gpbandit_envs.envs.vector import FiniteArmVectorEnv
from gpbandit_envs.functions.base import ArmFunction
from gpbandit_envs.problem import Problem
from leaderboards.play.build import env_spec, make_agent, thawed
from leaderboards.play.columns import Columns
from leaderboards.play.faults import misfit
from leaderboards.play.oracle import Oracle
from leaderboards.play.record import RunRecord
from leaderboards.play.runner import run_spec
from leaderboards.play.spec import RunSpec, canonical_json, describe
from leaderboards.play.streams import env_seed, generator
from leaderboards.play.threads import one_blas_thread

__all__ = ["GROUP", "play", "play_group", "suits"]

GROUP = 32  # repetitions at a time: enough to make the interpreter's share small, few enough for the cache
_GROUP_BYTES = 2**28
_log = logging.getLogger(__name__)


def play(specs: Iterable[RunSpec], group: int | None = None) -> Iterator[RunRecord]:
    """Play runs, the repetitions of a pair of environment and agent together, and yield the records of single runs.

    What has no vectorised form (an agent of another package, a box, feedback other than on request) is played one run
    after the other, and so is a group in which something goes wrong.

    Args:
        specs: The runs; records come pair by pair, in the order of the specs within each.
        group: Repetitions to play at a time; None to choose by the size of the problem.

    Raises:
        ValueError: if the group is empty.
    """
    if group is not None and group < 1:
        raise ValueError(f"group: expected at least 1 repetition, got {group}")
    cells: dict[str, list[RunSpec]] = {}
    for spec in specs:
        key = canonical_json([spec.env.identity, spec.agent.identity, spec.horizon, spec.feedback])
        cells.setdefault(key, []).append(spec)
    for cell in cells.values():
        with one_blas_thread():
            yield from _play_cell(cell, group)


def suits(spec: RunSpec) -> bool:
    """Whether playing repetitions together is likely to pay: the agent has a form for it, the feedback is on request.

    Looks at names only; whether the environment has finite arms shows when it is built. What cannot be named or built
    does not suit: single runs meet the same error, and record it.
    """
    try:
        return _has_form(spec) and not isinstance(make_vec(spec.agent.id, **thawed(spec.agent.kwargs)), Lockstep)
    except Exception:
        _log.debug("%r cannot be looked at for many repetitions", spec, exc_info=True)
        return False


def play_group(specs: Sequence[RunSpec]) -> list[RunRecord] | None:
    """The records of runs that differ in their repetition alone; None if they cannot be played together."""
    pair = _pair_or_none(specs[0])
    if pair is None:
        return None
    with one_blas_thread():
        return pair.play_or_none(specs)


def _play_cell(specs: list[RunSpec], group: int | None) -> Iterator[RunRecord]:
    pair = _pair_or_none(specs[0]) if len(specs) > 1 else None
    if pair is None:
        yield from map(run_spec, specs)
        return
    size = group or pair.group_size()
    for start in range(0, len(specs), size):
        part = specs[start : start + size]
        records = pair.play_or_none(part)
        yield from map(run_spec, part) if records is None else records


def _pair_or_none(spec: RunSpec) -> _Pair | None:
    try:
        return _Pair.of(spec)
    except Exception:  # the single runs meet the same, and record it
        _log.debug("%r cannot be built for many repetitions", spec, exc_info=True)
        return None


class _Pair:
    """An environment and an agent, both built for many repetitions.

    Args:
        spec: One of the runs.
        problem: Its card.
        agent: Plays all of them.
    """

    def __init__(self, spec: RunSpec, problem: Problem, agent: VectorAgent) -> None:
        self.spec, self.problem, self.agent = spec, problem, agent
        self._envs: dict[int, FiniteArmVectorEnv] = {}

    @classmethod
    def of(cls, spec: RunSpec) -> _Pair | None:
        """The pair that `spec` names; None if one of the two is made for single runs only, or they do not fit."""
        if not _has_form(spec):
            return None
        envs = _make_envs(spec, 1)
        if not isinstance(envs, FiniteArmVectorEnv):
            return None
        problem = envs.problem
        if problem.horizon not in (None, spec.horizon):
            problem = replace(problem, horizon=spec.horizon)
        if misfit(make_agent((spec.agent.id, spec.agent.kwargs)), problem, spec.feedback) is not None:
            return None
        return cls(spec, problem, make_vec(spec.agent.id, **thawed(spec.agent.kwargs)))

    def group_size(self) -> int:
        """How many repetitions to play at a time."""
        rows = 8 * self.problem.n_arms * (self.spec.horizon + 16)
        return int(np.clip(_GROUP_BYTES // rows, 1, GROUP))

    def play_or_none(self, specs: Sequence[RunSpec]) -> list[RunRecord] | None:
        """The records of a group of repetitions; None if something goes wrong, which single runs will tell better."""
        try:
            return self._play(specs)
        except Exception:
            _log.warning("%d repetitions of %r are played one by one", len(specs), specs[0], exc_info=True)
            return None

    def _play(self, specs: Sequence[RunSpec]) -> list[RunRecord]:
        started, R = perf_counter(), len(specs)
        if R not in self._envs:
            self._envs[R] = _make_envs(self.spec, R)
        envs = self._envs[R]
        envs.reset(seed=[env_seed(spec) for spec in specs])
        self.agent.reset(self.problem, [generator(spec, "agent") for spec in specs])
        functions = envs.functions
        columns = Columns(R, self.spec.horizon)
        columns.play(envs, self.agent, np.stack([f.certificate.optimum - f.mean for f in functions]))
        records = []
        for i, (spec, function) in enumerate(zip(specs, functions)):
            instance: Any = _Instance(function)
            oracle = Oracle(instance, self.problem)
            data: dict[str, Any] = {
                "instance": oracle.fingerprint(),
                "sources": describe(self.problem.notes.get("data")),
                "knowledge": self.problem.knowledge,
                "misspecification": dict(self.problem.misspecification),
            }
            if self.agent.rounded:
                data["rounded"] = list(self.agent.rounded)
            trace = columns.trace(i, self.problem).frame(spec.horizon)
            records.append(RunRecord(spec, "done", trace, facts=oracle.facts(), data=data))
        for record in records:
            record.seconds = (perf_counter() - started) / R
        return records


class _Instance:
    """One mean function in the place of the environment that would play it, for the scorer."""

    def __init__(self, function: ArmFunction) -> None:
        self.unwrapped = self
        self.certificate = function.certificate
        self.optimum = function.certificate.optimum
        self._mean = function.mean

    def mean(self, arms: np.ndarray) -> np.ndarray:
        return self._mean[arms]


def _has_form(spec: RunSpec) -> bool:
    on_request = spec.feedback == "on_request" and ":" not in spec.agent.id
    return on_request and env_spec(spec.env.id).vector_entry_point is not None


def _make_envs(spec: RunSpec, R: int) -> Any:
    kwargs = {**thawed(spec.env.kwargs), "max_episode_steps": spec.horizon}
    return gym.make_vec(spec.env.id, num_envs=R, vectorization_mode="vector_entry_point", **kwargs)
