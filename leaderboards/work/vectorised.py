"""Many repetitions of one pair in one go: a vector environment, a vectorised agent, and the records of single runs.

The same streams, keyed by repetition, seed both sides, so repetition r has the function, the noise and the draws of
its single run.

| part of a record | compared with the single run |
|---|---|
| `action`, `reward`, `mean`, `regret`, `batch`, `cost`, `inference_regret`; facts and data | equal bit for bit |
| diagnostics | equal bit for bit |
| `policy_seconds`, `seconds` | equal shares of the group's |
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any

import gymnasium as gym
import numpy as np

from agents import make_vec
from agents.vector.lockstep import Lockstep
from agents.vector.protocol import VectorAgent, VectorFeedback
from gpbandit_envs.arguments import moderate
from gpbandit_envs.envs.vector import FiniteArmVectorEnv
from gpbandit_envs.problem import Problem
from leaderboards.play.build import build_agent, env_spec, to_plain_dict
from leaderboards.play.protocol_checks import EnvError, incompatibility
from leaderboards.play.record import RunRecord, Trace
from leaderboards.play.run import Oracle, instance_data, one_blas_thread, policy_clock, run_spec, with_horizon
from leaderboards.play.spec import RunSpec
from leaderboards.play.streams import env_seed, generator

__all__ = ["GROUP", "can_vectorise", "play_group", "play_together"]

GROUP = 32  # repetitions at a time: enough to make the interpreter's share small
# With A = 1,000 and T = 300, 32 repetitions of GP-UCB go through 80 MB, and take 1.5 times as long as 13, each.
_CACHE_BYTES, _GROUP_BYTES = 2**25, 2**28
_FEWEST = 4
_log = logging.getLogger(__name__)


def play_together(specs: Iterable[RunSpec], group: int | None = None) -> Iterator[RunRecord]:
    """Play runs, the repetitions of a pair of environment and agent together, and yield the records of single runs.

    Pairs without a vectorised implementation (an agent of another package, a box, feedback other than on request) are
    played one run after the other, and so is a group in which an error occurs.

    Args:
        specs: The runs; records come pair by pair, in the order of the specs within each.
        group: Repetitions to play at a time; None to choose by the size of the problem.

    Raises:
        ValueError: if the group is empty.
    """
    if group is not None and group < 1:
        raise ValueError(f"group: expected at least 1 repetition, got {group}")
    pairs: dict[str, list[RunSpec]] = {}
    for spec in specs:
        pairs.setdefault(spec.pair, []).append(spec)
    for repetitions in pairs.values():
        with one_blas_thread():
            yield from _play_pair(repetitions, group)


def can_vectorise(spec: RunSpec) -> bool:
    """Whether environment and agent have a vectorised implementation, or gain without, and feedback comes on request.

    Whether the environment has finite arms shows when it is built. What cannot be found or built has no such form:
    single runs meet the same error, and record it.
    """
    try:
        if not _may_vectorise(spec):
            return False
        agent = _make_vec(spec)
        return agent.pays if isinstance(agent, Lockstep) else True
    except Exception:
        _log.debug("the agent of %r cannot be built for many repetitions", spec, exc_info=True)
        return False


def play_group(specs: Sequence[RunSpec]) -> list[RunRecord] | None:
    """The records of runs that differ in their repetition alone; None if they cannot be played together."""
    pair = _pair_or_none(specs[0])
    if pair is None:
        return None
    records: list[RunRecord] = []
    with one_blas_thread():
        for part in _parts(specs, pair.group_size()):
            played = pair.play_or_none(part)
            if played is None:
                return None
            records += played
    return records


def _play_pair(specs: list[RunSpec], group: int | None) -> Iterator[RunRecord]:
    pair = _pair_or_none(specs[0]) if len(specs) > 1 else None
    if pair is None:
        yield from map(run_spec, specs)
        return
    size = group or pair.group_size()
    for part in _parts(specs, size):
        records = pair.play_or_none(part)
        yield from map(run_spec, part) if records is None else records


def _parts(specs: Sequence[RunSpec], size: int) -> list[Sequence[RunSpec]]:
    return [specs[start : start + size] for start in range(0, len(specs), size)]


def _pair_or_none(spec: RunSpec) -> _Pair | None:
    try:
        return _Pair.of(spec)
    except Exception:  # the single runs raise the same error and record it
        _log.debug("%r cannot be built for many repetitions", spec, exc_info=True)
        return None


class _Pair:
    """An environment and an agent, both built for many repetitions.

    Args:
        spec: One of the runs.
        problem: What agents know of it.
        agent: Plays all of them.
    """

    def __init__(self, spec: RunSpec, problem: Problem, agent: VectorAgent) -> None:
        self.spec, self.problem, self.agent = spec, problem, agent
        self._envs: dict[int, FiniteArmVectorEnv] = {}

    @classmethod
    def of(cls, spec: RunSpec) -> _Pair | None:
        """The pair that `spec` names; None if one of the two is made for single runs only, or they do not fit."""
        if not _may_vectorise(spec):
            return None
        envs = _make_envs(spec, 1)
        if not isinstance(envs, FiniteArmVectorEnv):
            return None
        problem = with_horizon(envs.problem, spec.horizon)
        if envs.regret_changes:
            return None  # vectorised policies choose among all arms, and regret is counted once for an episode
        if incompatibility(build_agent(spec.agent), problem, spec.feedback) is not None:
            return None
        return cls(spec, problem, _make_vec(spec))

    def group_size(self) -> int:
        """How many repetitions to play at a time: as many as fit the cache, a few in any case if there is memory."""
        each = self.agent.working_bytes(self.problem, self.spec.horizon)
        return max(1, min(GROUP, max(_CACHE_BYTES // each, _FEWEST), _GROUP_BYTES // each))

    def play_or_none(self, specs: Sequence[RunSpec]) -> list[RunRecord] | None:
        """The records of a group of repetitions; None after an error, which single runs will report better."""
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
        loop = _VectorLoop(R, self.spec.horizon)
        loop.run(envs, self.agent, np.stack([f.certificate.optimum - f.mean for f in functions]))
        records = []
        for i, (spec, function) in enumerate(zip(specs, functions)):
            oracle = Oracle(self.problem, function.certificate.optimum, function.mean, function.certificate)
            data = instance_data(self.problem, oracle)
            trace = loop.trace(i, self.problem).frame(spec.horizon)
            records.append(RunRecord(spec, "done", trace, facts=oracle.facts(), data=data))
        for record in records:
            record.seconds = (perf_counter() - started) / R
        return records


class _VectorLoop:
    """The interaction of R parallel runs, evaluation by evaluation, and their traces as arrays of shape `(T, R)`.

    Args:
        R: Number of repetitions.
        horizon: Number of evaluations `T`.
    """

    def __init__(self, R: int, horizon: int) -> None:
        shape = (horizon, R)
        self.actions, self.batches = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        self.rewards, self.costs, self.policy_seconds = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self.means, self.regrets = np.full(shape, np.nan), np.full(shape, np.nan)
        self.stated = np.zeros(shape, bool)
        self.states: dict[str, np.ndarray] = {"inference_regret": np.full(shape, np.nan)}
        self._every = np.arange(R)

    def run(self, envs: FiniteArmVectorEnv, agent: VectorAgent, regret: np.ndarray) -> None:
        """Let the agent play to the horizon; `regret` `(R, A)` is that of every arm.

        Raises:
            EnvError: if a reward is not finite or too large, or a cost is that, negative or missing.
        """
        T, R = self.actions.shape
        first, batch = np.zeros(R, np.int64), np.ones(R, np.int64)
        for t in range(T):
            begun = policy_clock()
            choice = agent.select(T - t)
            seconds = policy_clock() - begun
            self.actions[t], self.batches[t] = choice.arms, batch
            _, self.rewards[t], _, _, info = envs.step(choice.arms)
            self.costs[t] = info["cost"]
            if not moderate(self.rewards[t]):
                raise EnvError("step: expected finite rewards, got NaN, infinity or one that is too large")
            if "oracle" in info:
                self.means[t], self.regrets[t] = info["oracle"]["mean"], info["oracle"]["regret"]
            closed = choice.closes if t + 1 < T else np.ones(R, bool)
            feedback = self._feedback(t, first, closed)
            begun = policy_clock()
            agent.observe(feedback)
            self.policy_seconds[t] = (seconds + policy_clock() - begun) / R
            first[closed] = t + 1
            batch += closed
            self._state(t, closed, regret[self._every, agent.recommend()], agent.diagnostics())
        if not (moderate(self.costs) and (self.costs >= 0).all()):
            raise EnvError("step: expected finite info['cost'] >= 0, got a negative, infinite or missing one")

    def _feedback(self, t: int, first: np.ndarray, closed: np.ndarray) -> VectorFeedback:
        """Feedback of all pending evaluations in the repetitions `closed`, pending since evaluation `first`."""
        who = np.flatnonzero(closed)
        lengths = t + 1 - first[who]
        repetitions = np.repeat(who, lengths)
        # Numbers count up to t within each repetition.
        tickets = np.arange(len(repetitions)) + np.repeat(t + 1 - np.cumsum(lengths), lengths)
        at = tickets, repetitions
        return VectorFeedback(repetitions, tickets, self.actions[at], self.rewards[at], self.costs[at])

    def _state(self, t: int, closed: np.ndarray, regret: np.ndarray, diagnostics: Mapping[str, np.ndarray]) -> None:
        self.stated[t] = closed
        for name, values in {"inference_regret": regret, **diagnostics}.items():
            if name not in self.states:
                self.states[name] = np.full(self.stated.shape, np.nan)
            np.copyto(self.states[name][t], values, where=closed)

    def trace(self, i: int, problem: Problem) -> Trace:
        """The trace of repetition `i`."""
        trace = Trace(len(self.actions), problem)
        for name in ("actions", "rewards", "costs", "means", "regrets", "batches", "policy_seconds", "stated"):
            setattr(trace, name, getattr(self, name)[:, i].copy())
        trace.states = {name: column[:, i].copy() for name, column in self.states.items()}
        return trace


def _may_vectorise(spec: RunSpec) -> bool:
    """A check by the spec alone: feedback on request, a registered agent, a vector entry point of the environment."""
    on_request = spec.feedback == "on_request" and ":" not in spec.agent.id
    return on_request and env_spec(spec.env.id).vector_entry_point is not None


def _make_vec(spec: RunSpec) -> VectorAgent:
    return make_vec(spec.agent.id, **to_plain_dict(spec.agent.kwargs))


def _make_envs(spec: RunSpec, R: int) -> Any:
    kwargs = {**to_plain_dict(spec.env.kwargs), "max_episode_steps": spec.horizon}
    return gym.make_vec(spec.env.id, num_envs=R, vectorization_mode="vector_entry_point", **kwargs)
