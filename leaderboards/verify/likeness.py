"""Whether an agent of a board, given the history of another agent's runs, would have chosen as that one did.

A copy that starts elsewhere, shuffles its first arms or draws from another generator has other regrets than its
original, but the same rule: the original, told what the copy has evaluated, goes on as the copy does. Counted are the
choices at which at least one of the two leaves the arm that was evaluated last, since all good agents stay on the best.
Of 49 policies that learn no kernel, along the runs of twelve of them on a task of core-v2-lite, those of one rule agree
at 91 to 100 % of these (GP-UCB, its sketch and its adaptive batches), all others at 72 % at most. What it does not
find: copies of rules that draw otherwise, and anything on boxes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import pandas as pd
from jaxtyping import Int

from agents import Feedback, Pending
from gpbandit_envs.gp.threads import one_blas_thread
from gpbandit_envs.problem import Problem
from leaderboards.play.build import build_agent
from leaderboards.play.protocol_checks import incompatibility
from leaderboards.play.run import instance_env, told
from leaderboards.play.spec import Ref, RunSpec, generator
from leaderboards.store.store import Store
from leaderboards.verify.fingerprint import fingerprint

SHARE = 0.8
"""Of the choices that are counted, from which two agents are called alike."""

_FEWEST = 20  # choices from which that is said
_RUNS = 6  # of each agent
_HOPELESS = 0.5  # share at which a rival is given up after a run

_Run = tuple[RunSpec, Problem, pd.DataFrame]


def likened(store: Store, board: Store) -> list[str]:
    """The agents of `store` that choose as another agent of `board` does, in words.

    Told are up to `_RUNS` runs of each, of different tasks first, on arms and with feedback on request. Agents of the
    board that are not this project's are not played.
    """
    rivals = {spec.agent.key: spec.agent for spec in map(board.spec, sorted(board.done_keys()))}
    rivals = {key: agent for key, agent in rivals.items() if fingerprint(agent) is not None}
    specs = [spec for spec in map(store.spec, store.done_keys()) if spec.feedback == "on_request"]
    found = []
    with one_blas_thread():
        for agent in {spec.agent.key: spec.agent for spec in specs}.values():
            of_it = sorted((spec.repetition, spec.task, spec.key) for spec in specs if spec.agent.key == agent.key)
            runs = list(_told(store, [key for *_, key in of_it][:_RUNS]))
            for rival in (rival for key, rival in rivals.items() if key != agent.key):
                same, n = _agreement(rival, runs)
                if n >= _FEWEST and same >= SHARE * n:
                    found.append(
                        f"{agent.label} chooses as {rival.label} of the board does: given its history, that one would "
                        f"have pulled the same arm at {same} of the {n} evaluations at which either changes arms"
                    )
    return found


def _told(store: Store, keys: list[str]) -> Iterator[_Run]:
    for key in keys:
        spec = store.spec(key)
        with instance_env(spec) as (_, problem):
            if problem.is_finite and not problem.contexts:
                yield spec, problem, store.trace(key, ["action", "reward", "cost", "batch"])


def _agreement(rival: Ref, runs: list[_Run]) -> tuple[int, int]:
    """At how many of the choices that count, of how many, the rival would have pulled the same arm."""
    same = n = 0
    for spec, problem, trace in runs:
        actions = trace["action"].to_numpy(np.int64)
        chosen = np.full(len(actions), -1)
        with contextlib.suppress(Exception):  # a rule may not stand a history that is not its own
            chosen = _choices(rival, spec, problem, trace)
        last = np.concatenate([[-1], actions[:-1]])
        counted = (chosen >= 0) & ((actions != last) | (chosen != last))
        same, n = same + int((chosen == actions)[counted].sum()), n + int(counted.sum())
        if same < _HOPELESS * n:
            break
    return same, n


def _choices(rival: Ref, spec: RunSpec, problem: Problem, trace: pd.DataFrame) -> Int[np.ndarray, " T"]:
    """What an agent would have pulled at each evaluation of a run, told all before it; -1 where it was not asked.

    It draws from a stream of its own: rules that draw are not alike because their runs have one generator.
    """
    agent = build_agent(rival)
    if incompatibility(agent, problem, spec.feedback) is not None:
        return np.full(len(trace), -1)
    agent.reset(told(problem, agent), generator(spec, "likeness"))
    actions, rewards, costs = (trace[name].to_numpy() for name in ("action", "reward", "cost"))
    chosen = np.full(len(trace), -1)
    for tickets in np.split(np.arange(len(trace)), np.flatnonzero(np.diff(trace["batch"])) + 1):
        n = len(trace) - int(tickets[0]) if agent.capabilities.batch == "adaptive" else 1
        asked = agent.select(n, Pending.empty(problem))[: len(tickets)]
        chosen[tickets[: len(asked)]] = asked
        failed = np.isnan(rewards[tickets])
        agent.observe(Feedback(tickets, actions[tickets], rewards[tickets], costs[tickets], failed))
    return chosen
