"""One run, from its spec to its record: build and reset environment and agent, let them interact, record the trace.

Every run starts in `begin`: `run` and `run_spec` play it to the end, and audits replay it to measure the agent.
Pages and theory need the environment alone (`instance_env`).
"""

from __future__ import annotations

import logging
import sysconfig
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pandas as pd

import agents
from agents import Actions, Agent, Feedback, Pending
from agents.core.turns import AgentError, Turns, check_actions, check_recommendation
from gpbandit_envs.channels import Queue, as_channel
from gpbandit_envs.code_digest import is_installed
from gpbandit_envs.datasets import DataError
from gpbandit_envs.gp.threads import one_blas_thread
from gpbandit_envs.problem import Problem
from gpbandit_envs.wrappers import BatchFeedback, DelayedFeedback
from leaderboards.play.build import (
    AgentLike,
    EnvLike,
    build_agent,
    build_env,
    check_env_ref,
    describe_agent,
    describe_env,
    horizon_of,
    layers,
    load_plugins,
    pinned,
)
from leaderboards.play.oracle import Oracle
from leaderboards.play.protocol_checks import (
    AGENT,
    ENVIRONMENT,
    EnvError,
    IncompatibleError,
    RunTimeout,
    check_offer,
    check_step,
    incompatibility,
    inside_feedback,
    raised_by,
    stated_with,
)
from leaderboards.play.record import InstanceData, RunRecord, Saved, Saving, Trace, Watch, data_reason
from leaderboards.play.spec import RunSpec, describe, env_seed, generator

if TYPE_CHECKING:
    from leaderboards.play.isolated import Sandbox

NO_REGRET = (
    "no regret can be computed, only rewards are known: the environment tells neither its `optimum` and "
    '`mean(actions)` nor info["oracle"] with "mean" and "regret"'
)
NO_OPTIMUM = "the optimum is unknown: scores measure regret from the best mean that any run of the folder has found"
_ROOT = Path(agents.__file__).parents[1]
_NOT_OWN = (*(_ROOT / name for name in ("agents", "gpbandit_envs", "leaderboards")), Path(sysconfig.get_path("stdlib")))
_STOPS = (KeyboardInterrupt, GeneratorExit)  # end the command and not the run
_log = logging.getLogger("gpbandit")


# ---- from a spec to both sides, ready to play ----


def begin(
    spec: RunSpec, env: gym.Env[Any, Any] | None = None, agent: Agent | None = None, saved: Saved | None = None
) -> Loop:
    """Environment and agent of the run `spec` in a `Loop`, reset on its random streams or restored from `saved`.

    Args:
        spec: The run.
        env: Its environment, if it is built already. The caller closes `loop.env` at the end of the run.
        agent: Its agent, if it is built already.
        saved: Saved state to resume from; it has its own environment.

    Raises:
        IncompatibleError: if the agent cannot play on the environment under the spec's feedback.
        EnvError: if the environment does not describe its problem.
        Exception: whatever building or resetting either side raises; an environment that was built here is closed.
    """
    given = env if saved is None else saved[0]
    with ENVIRONMENT:
        played = build_env(spec.built, spec.horizon) if given is None else given
    try:
        with ENVIRONMENT:
            info = played.reset(seed=env_seed(spec))[1] if saved is None else {}
            problem = stated_problem(played, spec.horizon, spec.feedback)
        with AGENT:
            agent = build_agent(spec.agent) if agent is None else agent
            reason = incompatibility(agent, problem, spec.feedback)
            if reason is not None:
                raise IncompatibleError(reason)
            agent.reset(told(problem, agent), generator(spec, "agent"))
        most = spec.horizon if agent.capabilities.batch == "adaptive" else 1
        channel = as_channel(spec.feedback).queue(generator(spec, "delay"), most)
        loop = Loop(played, agent, problem, channel, spec.horizon)
        if saved is not None:
            agent.load_state_dict(saved[1])
            loop.load_state_dict(saved[2])
        elif problem.contexts:
            loop.offer(loop.offered(info))
    except BaseException:
        if given is None:
            played.close()
        raise
    return loop


@contextmanager
def instance_env(spec: RunSpec) -> Iterator[tuple[Any, Problem]]:
    """The environment of the instance of `spec`, reset and without its wrappers, with its problem description.

    No agent is built. The environment is closed at the end of the block.

    Raises:
        Exception: whatever building the environment raises.
    """
    with closing(build_env(spec.built, spec.horizon)) as env:
        env.reset(seed=env_seed(spec))
        yield env.unwrapped, stated_problem(env, spec.horizon, spec.feedback)


def stated_problem(env: gym.Env[Any, Any], horizon: int, feedback: str = "on_request") -> Problem:
    """The environment's problem description, with the run's delay, and its horizon if it states one.

    Raises:
        EnvError: if the environment has no problem description, takes other actions than single ones, or delays
            feedback itself.
    """
    problem = getattr(env.unwrapped, "problem", None)
    if not isinstance(problem, Problem):
        raise EnvError(f"problem: expected env.unwrapped.problem to be a Problem, got {type(problem).__name__}")
    for layer in layers(env):
        if isinstance(layer, BatchFeedback | DelayedFeedback):
            raise EnvError(
                f"env: expected an id of single evaluations, got one inside {type(layer).__name__}; register the "
                f"environment inside it, and say feedback={layer.channel.text!r}"
            )
    space = env.action_space
    if not isinstance(space, gym.spaces.Discrete if problem.is_finite else gym.spaces.Box):
        raise EnvError(f"action_space: expected {'Discrete' if problem.is_finite else 'Box'}, got {space}")
    if problem.horizon not in (None, horizon):
        problem = replace(problem, horizon=horizon)
    return stated_with(as_channel(feedback), problem)


def told(problem: Problem, agent: Agent) -> Problem:
    """`problem` without its kernel if the agent does not need it: it is ranked among agents that are not told it."""
    return problem if "kernel" in agent.capabilities.needs else replace(problem, kernel=None)


# ---- from the first turn to the record ----


def run(
    env: EnvLike,
    agent: AgentLike,
    repetition: int = 0,
    horizon: int | None = None,
    *,
    seed: int = 0,
    feedback: str | None = None,
) -> RunRecord:
    """Let `agent` play one repetition on `env`.

    All agents meet the same function, noise and delays in the same repetition of one environment and seed. What goes
    wrong while they play is in the record: its status, reason and error; a warning says so, since the regret of a run
    that broke off is small. Plugins are loaded for an id that is not registered yet.

    Args:
        env: An id, an `(id, kwargs)` pair, or an environment, which is reset and left open. Inside a `BatchFeedback` or
            `DelayedFeedback` it is played with the feedback of that wrapper.
        agent: An id (or `"package.module:Class"`) or a class of agents, either also in a pair with its arguments, as
            `(id, kwargs)`; or an agent, which is reset.
        repetition: Which repetition, from 0.
        horizon: Number of evaluations; by default the time limit of the environment.
        seed: Root seed of all streams.
        feedback: When feedback arrives, see `gpbandit_envs.channels`; by default on request.

    Raises:
        ValueError: for an unknown id, a value out of range, a horizon beyond the environment's time limit, or another
            feedback than that of a wrapper.
        TypeError: for an unknown keyword, a class without an argument that it needs, something that is neither id,
            class, pair nor object, or a wrapper whose feedback is no channel.
    """
    env, feedback = inside_feedback(env, feedback)
    env_ref, agent_ref = pinned(describe_env(env)), describe_agent(agent)
    known = isinstance(env, gym.Env) or ":" in env_ref.id or env_ref.id in gym.registry
    if not known or not (":" in agent_ref.id or agent_ref.id in agents.registered()):
        load_plugins()
    if not isinstance(env, gym.Env):
        check_env_ref(env_ref)
    horizon = horizon_of(env, horizon)
    spec = RunSpec(env=env_ref, agent=agent_ref, repetition=repetition, horizon=horizon, seed=seed, feedback=feedback)
    started = perf_counter()
    built_env, built_agent = build_env(env, horizon), build_agent(agent)
    with nullcontext() if built_env is env else closing(built_env):
        record = run_on(built_env, built_agent, spec, started)
    if record.status != "done":
        warnings.warn(_broken_off(record), stacklevel=2)
    why = why_no_regret(record.trace) if record.status == "done" else None
    if why is not None:
        _log.warning("%s: %s", env_ref.label, why)
    return record


def _broken_off(record: RunRecord) -> str:
    """How a run ended that is not done, in one line."""
    if record.status == "skipped":
        return f"run skipped, nothing was played: {record.reason}"
    ended = "timed out" if record.status == "timeout" else record.status
    made = f"{len(record.trace)} of {record.spec.horizon} evaluations"
    return f"run {ended} after {made}: {record.reason}; the traceback is in `.error`"


def why_no_regret(trace: pd.DataFrame) -> str | None:
    """Why the trace of a finished run has no regret; None if it has."""
    if not trace["regret"].isna().all():
        return None
    return NO_REGRET if trace["mean"].isna().any() else NO_OPTIMUM


def run_spec(
    spec: RunSpec,
    checkpoint: Saving | None = None,
    *,
    sandbox: Sandbox | None = None,
) -> RunRecord:
    """Build what `spec` names and play it, from `checkpoint` if that holds a state and saving to it every so often.

    What goes wrong in building is in the record as well, unless it takes too long, which raises `RunTimeout`. With a
    `sandbox` the agent plays there, in a process without the environment, and keeps no state.
    """
    started = perf_counter()
    with ExitStack() as built:
        try:
            with ENVIRONMENT:
                env = built.enter_context(closing(build_env(spec.built, spec.horizon)))
            with AGENT:
                if sandbox is None:
                    agent = build_agent(spec.agent)
                else:
                    from leaderboards.play.isolated import IsolatedAgent

                    agent = built.enter_context(closing(IsolatedAgent(spec.agent, sandbox)))
                    checkpoint = None
            return run_on(env, agent, spec, started, checkpoint)
        except (*_STOPS, RunTimeout):
            raise
        except BaseException as error:
            if isinstance(error, DataError) and raised_by(error) == ENVIRONMENT.name:
                return RunRecord(spec, "skipped", reason=data_reason(error), seconds=perf_counter() - started)
            return _failed(spec, error, started)


def run_on(
    env: gym.Env[Any, Any],
    agent: Agent,
    spec: RunSpec,
    started: float | None = None,
    checkpoint: Saving | None = None,
    watch: Watch | None = None,
) -> RunRecord:
    """Let `agent` play on `env` as `spec` says; `started` is when the run began on the performance counter.

    The time that a watch takes is not the run's.
    """
    started = perf_counter() if started is None else started
    watched = 0.0
    loop: Loop | None = None
    try:
        with one_blas_thread():
            saved = None if checkpoint is None else checkpoint.load()
            loop = begin(spec, env, agent, saved)
            if watch is not None:
                watched += _timed(watch.begins, loop)
            while not loop.finished:
                loop.turn()
                if watch is not None:
                    watched += _timed(watch.turned, loop)
                if checkpoint is not None and checkpoint.due():
                    checkpoint.save(loop.env, agent, loop.state_dict())
            if watch is not None:
                watched += _timed(watch.ends, loop)
    except _STOPS:
        raise
    except BaseException as error:
        # An agent that calls sys.exit(), or raises what is no Exception, as asyncio does, costs its own run alone.
        record = _failed(spec, error, started)
    else:
        record = RunRecord(spec, "done", seconds=perf_counter() - started - watched)
    record.agent = agent
    if checkpoint is not None:
        record.seconds += checkpoint.before
        record.resumed = checkpoint.resumed
    if loop is not None:
        record.trace = loop.trace.frame(loop.t)
        record.facts = loop.oracle.facts
        record.data = instance_data(loop.problem, loop.oracle)
    return record


def _timed(look: Callable[[Loop], None], loop: Loop) -> float:
    """Let a watch look, and return the seconds that it took."""
    began = perf_counter()
    look(loop)
    return perf_counter() - began


def instance_data(problem: Problem, oracle: Oracle) -> InstanceData:
    """The entry of a record about the problem instance."""
    return InstanceData(
        instance=oracle.fingerprint(),
        sources=describe(problem.notes.get("data")),
        knowledge=problem.knowledge,
        misspecification=dict(problem.misspecification),
    )


def reason_of(error: BaseException) -> str:
    """The reason for a failure in one line: whose fault it is, what, and at which line of the user's own files.

    Protocol errors appear without their type and line.
    """
    text = str(error).strip().partition("\n")[0]
    if isinstance(error, RunTimeout | IncompatibleError):
        return text
    if isinstance(error, AgentError | EnvError):
        return f"{'agent' if isinstance(error, AgentError) else 'environment'}: {text}"
    what = (f"{type(error).__name__}: {text}" if text else type(error).__name__) + _own_line(error)
    side = raised_by(error)
    return what if side is None else f"{side}: {what}"


def _own_line(error: BaseException) -> str:
    """The innermost line that is neither this project's nor a library's, as ` (mine.py, line 12)`; "" for none."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename)
        if file.is_file() and not is_installed(file) and not any(file.is_relative_to(folder) for folder in _NOT_OWN):
            return f" ({file.name}, line {frame.lineno})"
    return ""


def _failed(spec: RunSpec, error: BaseException, started: float) -> RunRecord:
    if isinstance(error, IncompatibleError):
        return RunRecord(spec, "skipped", reason=str(error), seconds=perf_counter() - started)
    reason, told = reason_of(error), "".join(traceback.format_exception(error))
    if isinstance(error, MemoryError):
        traceback.clear_frames(error.__traceback__)  # which hold what was hoarded, and a record needs some memory
    return RunRecord(
        spec,
        "timeout" if isinstance(error, RunTimeout) else "crashed",
        reason=reason,
        error=told,
        seconds=perf_counter() - started,
        final=isinstance(error, AgentError | EnvError | RunTimeout),
        out_of_memory=isinstance(error, MemoryError),
    )


# ---- the interaction ----


class Loop:
    """A run in progress, which may stop after any turn and resume: turns of an agent, checked, timed and traced.

    The agent sees the problem, rewards, costs and failures; `info["oracle"]` goes to the trace alone. Environment and
    agent are reset before. What `turns` call of the agent goes through this object.
    """

    def __init__(self, env: gym.Env[Any, Any], agent: Agent, problem: Problem, queue: Queue, horizon: int) -> None:
        self.env, self.agent, self.problem = env, agent, problem
        self.capabilities = agent.capabilities
        self.oracle = Oracle(env, problem)
        self.turns = Turns(self, problem, queue, horizon)
        self.trace = Trace(self.turns)
        self._offered: np.ndarray | None = None
        self._n_arms = problem.n_arms if problem.is_finite else 0

    @property
    def t(self) -> int:
        """Evaluations so far."""
        return self.turns.t

    @property
    def finished(self) -> bool:
        """Whether all evaluations are made and their feedback delivered."""
        turns = self.turns
        return turns.t >= turns.horizon and turns.finished

    def turn(self) -> None:
        """Let the agent act once.

        Raises:
            AgentError: if the agent breaks its protocol.
            EnvError: if the environment does.
        """
        turns = self.turns
        while (action := turns.action()) is not None:
            self._evaluate(turns.t, action)
            if turns.t == turns.chosen:
                return

    def state_dict(self) -> dict[str, Any]:
        """The state of the loop between two turns, without agent and environment."""
        return {"turns": self.turns.state_dict(), "trace": self.trace.state_dict(), "offered": self._offered}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state of a loop of the same run."""
        self.turns.load_state_dict(state["turns"])
        self.trace.load_state_dict(state["trace"])
        self._offered = state["offered"]

    def _evaluate(self, t: int, action: Any) -> None:
        turns, trace = self.turns, self.trace
        if self._offered is not None and not self._offered[action]:
            raise AgentError(f"select: expected an arm that is offered, got {action}")
        with ENVIRONMENT:
            answer = self.env.step(action)
        reward, cost, failed, trace.means[t], trace.regrets[t], ended = check_step(
            answer, t + 1, action, self.oracle.known
        )
        if self.oracle.least_regret is not None:
            self.oracle.check(t + 1, action, trace.regrets.item(t), offers=self._offered is not None)
        if ended and t + 1 < turns.horizon:
            turns.tell(reward, cost, failed, breaks_off=True)
            raise EnvError(f"step: the environment ended after {t + 1} of {turns.horizon} evaluations")
        turns.tell(reward, cost, failed, None if self._offered is None else self.offered(answer[4]))

    def offered(self, info: Any) -> np.ndarray:
        """The arms that the coming step offers.

        Raises:
            EnvError: if `info`, of `reset` or `step`, does not say it.
        """
        self._offered = check_offer(info, self._n_arms)
        return np.flatnonzero(self._offered)

    # ---- what turns call of the agent ----

    def offer(self, arms: np.ndarray) -> None:
        """Tell the agent which arms the coming step offers."""
        with AGENT:
            self.agent.offer(arms)

    def select(self, n: int, pending: Pending) -> Actions:
        """The agent's next actions, checked."""
        start = process_time()
        with AGENT:
            actions = self.agent.select(n, pending)
        seconds = process_time() - start
        turns, trace = self.turns, self.trace
        t = turns.t
        # One valid arm is the common case, in a tenth of the time of the full check.
        if (
            n == 1
            and type(actions) is np.ndarray
            and actions.shape == (1,)
            and actions.dtype.kind == "i"
            and 0 <= actions[0] < self._n_arms
        ):
            trace.policy_seconds[t], trace.batches[t] = seconds, turns.deliveries + 1
            return actions
        actions = check_actions(actions, n, self.capabilities.batch == "fixed", self.problem)
        if len(actions):
            rows = slice(t, t + len(actions))
            trace.policy_seconds[rows], trace.batches[rows] = seconds / len(actions), turns.deliveries + 1
        elif len(pending):
            trace.policy_seconds[t - 1] += seconds
        else:
            raise AgentError("select: expected an action, got none while no feedback is open")
        return actions

    def observe(self, feedback: Feedback) -> None:
        """Deliver feedback, and note what the agent then recommends and tells of itself."""
        start = process_time()
        with AGENT:
            self.agent.observe(feedback)
        seconds, tickets = process_time() - start, feedback.tickets
        n = len(tickets)
        self.trace.policy_seconds[tickets.item() if n == 1 else tickets] += seconds / n
        with AGENT:
            recommended = check_recommendation(self.agent.recommend(), self.problem, self._offered)
            diagnostics = self.agent.diagnostics()
        self.trace.state(self.turns.t - 1, self.oracle.regret(recommended), diagnostics)
