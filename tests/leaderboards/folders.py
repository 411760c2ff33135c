"""Synthetic results folders: random traces written through the store, for what only reads them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from leaderboards.play.build import is_own_env
from leaderboards.play.oracle import MEAN_GAP
from leaderboards.play.record import RunRecord, Status
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.store.store import Store

# Regret per evaluation shrinks like t^-power: agents differ, and the exponent of the cumulative regret is known.
POWERS = {"Uniform": 0.0, "EpsGreedy": 0.3, "GP-UCB": 0.7, "BBKB": 0.72, "GP-AUCB": 0.71}
AGENTS = tuple(map(Ref, POWERS))

Failure = tuple[Status, str, str | None]


def trace(T: int, power: float, rng: np.random.Generator, batch: int = 1) -> pd.DataFrame:
    """A trace whose regret shrinks like `t^-power` on average."""
    t = np.arange(1, T + 1)
    regret = rng.gamma(4.0, 0.25, T) * t**-power
    return pd.DataFrame(
        {
            "t": t,
            "action": rng.integers(0, 50, T),
            "reward": 1.0 - regret + rng.normal(0, 0.1, T),
            "mean": 1.0 - regret,
            "regret": regret,
            "batch": 1 + (t - 1) // batch,
            "policy_seconds": rng.gamma(2.0, 1e-4, T),
            "inference_regret": np.minimum.accumulate(regret),
            "cost": np.ones(T),
        }
    )


def record(
    env: Ref,
    agent: Ref,
    repetition: int,
    T: int = 60,
    status: Status = "done",
    frame: pd.DataFrame | None = None,
    reason: str | None = None,
    error: str | None = None,
    seed: int = 0,
) -> RunRecord:
    """One run as the harness would have left it."""
    spec = RunSpec(env=env, agent=agent, repetition=repetition, horizon=T, seed=seed)
    if frame is None:
        entropy = [repetition, seed, *map(ord, env.label + agent.label)]
        rng = np.random.default_rng(np.random.SeedSequence(entropy))
        rows = T if status == "done" else 0
        frame = trace(T, POWERS.get(agent.id, 0.5), rng, 8 if agent.id in ("BBKB", "GP-AUCB") else 1).iloc[:rows]
    facts = {"optimum": 1.0} | ({MEAN_GAP: 1.0} if is_own_env(env.id) else {})
    return RunRecord(spec, status, frame, reason=reason, error=error, seconds=0.5, facts=facts)


def folder(
    directory: Path,
    envs: Sequence[Ref] = (Ref("GPBandit/RKHS-v0"), Ref("GPBandit/GPSample-v0")),
    agents: Sequence[Ref] = AGENTS,
    repetitions: int = 4,
    T: int = 60,
    failures: Mapping[tuple[str, str], Failure] | None = None,
) -> Store:
    """Every agent on every environment; `failures` maps (environment, agent) labels to status, reason and error."""
    store = Store(directory)
    for env in envs:
        for agent in agents:
            failure = (failures or {}).get((env.label, agent.label))
            for repetition in range(repetitions):
                if failure is None:
                    store.write(record(env, agent, repetition, T))
                else:
                    store.write(record(env, agent, repetition, T, failure[0], reason=failure[1], error=failure[2]))
    return store


def stacked(store: Store, columns: Sequence[str], keys: Collection[str] | None = None) -> pd.DataFrame:
    """Rows of many runs below each other in the order of `keys`, with their key."""
    frames = {run.key: pd.DataFrame(trace).assign(key=run.key) for run, trace in store.traces(columns, keys)}
    ordered = [frames[key] for key in (frames if keys is None else keys) if key in frames]
    return pd.concat(ordered, ignore_index=True) if ordered else pd.DataFrame(columns=[*columns, "key"])
