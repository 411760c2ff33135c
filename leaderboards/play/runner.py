"""One run: build both sides, let them play, keep a record."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

import gymnasium as gym
import pandas as pd

import agents
from agents import Agent
from gpbandit_envs.problem import Problem
from leaderboards.play.build import check_env_ref, describe_agent, describe_env, horizon_of, make_agent, make_env
from leaderboards.play.checkpoint import Checkpoint
from leaderboards.play.faults import AgentError, EnvError, RunTimeout, misfit
from leaderboards.play.feedback import parse_feedback
from leaderboards.play.loop import Loop
from leaderboards.play.oracle import NO_REGRET
from leaderboards.play.plugins import load_plugins
from leaderboards.play.record import RunRecord
from leaderboards.play.spec import Ref, RunSpec, describe
from leaderboards.play.streams import env_seed, generator
from leaderboards.play.threads import one_blas_thread

__all__ = ["play", "reason_of", "run", "run_spec"]

_log = logging.getLogger("gpbandit")


def run(
    env: str | tuple[str, Mapping[str, Any]] | gym.Env[Any, Any],
    agent: str | tuple[str, Mapping[str, Any]] | Agent,
    repetition: int = 0,
    horizon: int | None = None,
    *,
    seed: int = 0,
    feedback: str = "on_request",
) -> RunRecord:
    """Let `agent` play one repetition on `env`.

    All agents meet the same function, noise and delays in the same repetition of one environment and seed. What goes
    wrong while they play is in the record: its status, reason and error. Plugins are loaded for an id that is not
    registered yet.

    Args:
        env: An id, an `(id, kwargs)` pair, or an environment, which is reset and left open.
        agent: An id (or `"package.module:Class"`), an `(id, kwargs)` pair, or an agent, which is reset.
        repetition: Which repetition, from 0.
        horizon: Number of evaluations; by default the time limit of the environment.
        seed: Root seed of all streams.
        feedback: When feedback arrives, see `leaderboards.play.feedback`.

    Raises:
        ValueError: for an unknown id, a value out of range, or a horizon beyond the environment's time limit.
        TypeError: for an unknown keyword, or something that is neither id, pair nor object.
    """
    env_ref, agent_ref = describe_env(env), describe_agent(agent)
    if not _registered(env, env_ref, agent_ref):
        load_plugins()
    if not isinstance(env, gym.Env):
        check_env_ref(env_ref)
    horizon = horizon_of(env, horizon)
    spec = RunSpec(env=env_ref, agent=agent_ref, repetition=repetition, horizon=horizon, seed=seed, feedback=feedback)
    started = perf_counter()
    built_env, built_agent = make_env(env, horizon), make_agent(agent)
    try:
        record = play(built_env, built_agent, spec, started)
    finally:
        if built_env is not env:
            built_env.close()
    if record.status == "done" and record.trace["regret"].isna().all():
        _log.warning("%s: %s", env_ref.label, NO_REGRET)
    return record


def run_spec(spec: RunSpec, checkpoint: Checkpoint | None = None) -> RunRecord:
    """Build what `spec` names and play it, from `checkpoint` if that holds a state and saving to it every so often.

    What goes wrong in building is in the record as well.
    """
    started = perf_counter()
    try:
        env = make_env((spec.env.id, spec.env.kwargs), spec.horizon)
    except Exception as error:
        return _failed(spec, error, started)
    try:
        return play(env, make_agent((spec.agent.id, spec.agent.kwargs)), spec, started, checkpoint)
    except Exception as error:
        return _failed(spec, error, started)
    finally:
        env.close()


def play(
    env: gym.Env[Any, Any],
    agent: Agent,
    spec: RunSpec,
    started: float | None = None,
    checkpoint: Checkpoint | None = None,
) -> RunRecord:
    """Let `agent` play on `env` as `spec` says; `started` is when the run began on the performance counter."""
    started = perf_counter() if started is None else started
    loop: Loop | None = None
    failure: BaseException | None = None
    try:
        with one_blas_thread():
            saved = None if checkpoint is None else checkpoint.load()
            if saved is None:
                env.reset(seed=env_seed(spec))
            else:
                env = saved["env"]
            problem = card(env, spec.horizon)
            reason = misfit(agent, problem, spec.feedback)
            if reason is not None:
                seconds = perf_counter() - started
                return RunRecord(spec, "skipped", pd.DataFrame(), agent, reason=reason, seconds=seconds)
            agent.reset(problem, generator(spec, "agent"))
            rule = parse_feedback(spec.feedback)
            channel = rule.channel(agent.capabilities, spec.horizon, generator(spec, "delay"))
            loop = Loop(env, agent, problem, channel, spec.horizon)
            if saved is not None:
                agent.load_state_dict(saved["agent"])
                loop.restore(saved["loop"])
            if checkpoint is None:
                while not loop.finished:
                    loop.turn()
            else:
                while not loop.finished:
                    loop.turn()
                    if checkpoint.due():
                        checkpoint.save(env, loop)
    except (Exception, SystemExit, RunTimeout) as error:
        # SystemExit too: an agent that calls sys.exit() costs its own run and no other.
        failure = error
    if failure is not None:
        record = _failed(spec, failure, started)
        record.agent = agent
    else:
        record = RunRecord(spec, "done", pd.DataFrame(), agent, seconds=perf_counter() - started)
    if checkpoint is not None:
        record.seconds += checkpoint.before
        record.resumed = checkpoint.resumed
    if loop is not None:
        record.trace = loop.trace.frame(loop.t)
        record.facts = loop.oracle.facts()
        record.data = {
            "instance": loop.oracle.fingerprint(),
            "sources": describe(loop.problem.notes.get("data")),
            "knowledge": loop.problem.knowledge,
            "misspecification": dict(loop.problem.misspecification),
        }
    return record


def card(env: gym.Env[Any, Any], horizon: int) -> Problem:
    """The environment's card, stating the run's horizon if it states one.

    Raises:
        EnvError: if the environment has no card, or takes other actions than single ones.
    """
    problem = getattr(env.unwrapped, "problem", None)
    if not isinstance(problem, Problem):
        raise EnvError(f"problem: expected env.unwrapped.problem to be a Problem, got {type(problem).__name__}")
    space = env.action_space
    if not isinstance(space, gym.spaces.Discrete if problem.is_finite else gym.spaces.Box):
        raise EnvError(
            f"action_space: expected {'Discrete' if problem.is_finite else 'Box'}, got {space}; the harness delivers "
            "feedback itself: give it the environment without a feedback wrapper and say feedback='batch:q' or the like"
        )
    if problem.horizon in (None, horizon):
        return problem
    return replace(problem, horizon=horizon)


def reason_of(error: BaseException) -> str:
    """One line that says what went wrong; faults of the protocol speak for themselves."""
    text = str(error).strip().partition("\n")[0]
    if isinstance(error, RunTimeout):
        return text
    if isinstance(error, AgentError | EnvError):
        return f"{'agent' if isinstance(error, AgentError) else 'environment'}: {text}"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _registered(env: object, env_ref: Ref, agent_ref: Ref) -> bool:
    """Whether the registries know what is named; ids with a colon name a module, not a registration."""
    env_known = isinstance(env, gym.Env) or ":" in env_ref.id or env_ref.id in gym.registry
    return env_known and (":" in agent_ref.id or agent_ref.id in agents.registered())


def _failed(spec: RunSpec, error: BaseException, started: float) -> RunRecord:
    return RunRecord(
        spec,
        "timeout" if isinstance(error, RunTimeout) else "crashed",
        pd.DataFrame(),
        reason=reason_of(error),
        error="".join(traceback.format_exception(error)),
        seconds=perf_counter() - started,
        final=isinstance(error, AgentError | EnvError | RunTimeout),
    )
