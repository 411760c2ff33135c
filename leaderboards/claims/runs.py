"""Data of claims: tables by agent (or other row) and repetition, such as the traces of a folder.

And what was played on: the problem that policies were told, and the true means.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.problem import Problem
from leaderboards.play.build import build_env
from leaderboards.play.run import instance_env, stated_problem
from leaderboards.play.spec import Ref, RunSpec, env_seed
from leaderboards.play.suite import load_suite
from leaderboards.score.statistics import LEVEL
from leaderboards.store.store import Store

COLUMNS = ("t", "regret", "batch", "policy_seconds")
"""The columns of a trace that every experiment reads."""


def rows_of(specs: Sequence[RunSpec], several: bool) -> dict[str, str]:
    """The row of each run by its key: its agent's label, `agent@environment` in a suite of several environments."""
    return {spec.key: f"{spec.agent.label}@{spec.env.label}" if several else spec.agent.label for spec in specs}


class NotPlayedError(LookupError):
    """Runs that a figure needs are missing."""


class Runs:
    """Tables of one experiment, by agent and repetition.

    Args:
        tables: For each agent its tables by repetition; traces have the columns `COLUMNS` and those that the
            experiment asks for besides.
        before: For each agent by repetition the least regret among existing data; none for an agent without such data.
        level: Coverage of the intervals that claims are to have.
    """

    def __init__(
        self,
        tables: Mapping[str, Mapping[int, pd.DataFrame]],
        before: Mapping[str, Mapping[int, float]] | None = None,
        level: float = LEVEL,
    ) -> None:
        self._tables = {agent: dict(sorted(runs.items())) for agent, runs in tables.items() if runs}
        self._before = before or {}
        self.level = level

    def at(self, level: float) -> Runs:
        """The same runs, for intervals of another level."""
        return Runs(self._tables, self._before, level)

    @classmethod
    def read(cls, store: Store, rows: Mapping[str, str], specs: Sequence[RunSpec], columns: Sequence[str] = ()) -> Runs:
        """The runs among `specs` that are done.

        Args:
            store: Where they are.
            rows: The row of each by its key, see `rows_of`.
            specs: The runs of one suite.
            columns: Columns besides `COLUMNS`; those that an agent's traces do not have are left out.
        """
        done = store.done_keys()
        tables: dict[str, dict[int, pd.DataFrame]] = {}
        before: dict[str, dict[int, float]] = {}
        for spec in specs:
            if spec.key in done:
                if spec.env.kwargs.get("initial"):
                    least = _least_regret_before(spec)
                    before.setdefault(rows[spec.key], {})[spec.repetition] = least
                trace = store.trace(spec.key, None if columns else COLUMNS)
                kept = [name for name in (*COLUMNS, *columns) if name in trace]
                tables.setdefault(rows[spec.key], {})[spec.repetition] = trace[kept]
        return cls(tables, before)

    @classmethod
    def of_study(cls, measured: Iterable[Mapping[str, Mapping[str, float]]]) -> Runs:
        """What a study measures in each repetition: numbers by row and name."""
        tables: dict[str, dict[int, pd.DataFrame]] = {}
        for repetition, rows in enumerate(measured):
            for row, numbers in rows.items():
                tables.setdefault(row, {})[repetition] = pd.DataFrame([numbers])
        return cls(tables)

    @property
    def agents(self) -> tuple[str, ...]:
        """Agents with at least one run."""
        return tuple(self._tables)

    def count(self, agent: str) -> int:
        """How many repetitions of an agent there are."""
        return len(self._tables.get(agent, {}))

    def before(self, agent: str, repetitions: Sequence[int]) -> Float[np.ndarray, " n"]:
        """Least regret among the data from before the first evaluation; infinite without such data."""
        return np.array([self._before.get(agent, {}).get(r, math.inf) for r in repetitions])

    def columns(self, agent: str) -> tuple[str, ...]:
        """Names of the columns of an agent's tables."""
        return tuple(next(iter(self._tables[agent].values())).columns)

    def together(self, *agents: str) -> list[int]:
        """Repetitions that all of `agents` have played, in order.

        Raises:
            NotPlayedError: if there is none.
        """
        common = set.intersection(*(set(self._tables.get(agent, {})) for agent in agents))
        if not common:
            raise NotPlayedError(f"no repetition was played by all of {', '.join(agents)}")
        return sorted(common)

    def summed(self, environments: Sequence[str]) -> Runs:
        """Tables by agent with the sums of `regret` and `policy_seconds` over rows `agent@environment`.

        Agents that have not played all of the environments are left out, as are repetitions.
        """
        tables: dict[str, dict[int, pd.DataFrame]] = {}
        for agent in {row.rpartition("@")[0] for row in self._tables}:
            there = [self._tables.get(f"{agent}@{name}", {}) for name in environments]
            for r in set.intersection(*map(set, there)):
                sums = {name: sum(runs[r][name].to_numpy() for runs in there) for name in ("regret", "policy_seconds")}
                tables.setdefault(agent, {})[r] = pd.DataFrame(sums)
        return Runs(tables, level=self.level)

    def column(self, agent: str, name: str, repetitions: Sequence[int]) -> np.ndarray:
        """One column of an agent's traces, shape `(n, T)`; `KeyError` where the experiment has not asked for it."""
        runs = self._tables[agent]
        return np.stack([runs[r][name].to_numpy() for r in repetitions])


def _least_regret_before(spec: RunSpec) -> float:
    with instance_env(spec) as (env, problem):
        data = problem.initial
        return math.inf if data is None else float(env.certificate.optimum - env.mean(data.actions).max())


# ---- what the runs were played on ----


def told(problem: Problem) -> tuple[Float[np.ndarray, "A d"], Kernel, float]:
    """Arms, kernel and noise (its standard deviation) of a problem that states them."""
    assert problem.arms is not None
    assert problem.kernel is not None
    assert problem.noise_std is not None
    return problem.arms, problem.kernel, problem.noise_std


def drawn(env: Ref, horizon: int, seed: int) -> tuple[Problem, Float[np.ndarray, " A"]]:
    """Problem and means of the arms of an environment of finite arms that is reset with a seed."""
    with closing(build_env(env, horizon)) as made:
        made.reset(seed=seed)
        problem = stated_problem(made, horizon)
        return problem, np.asarray(made.unwrapped.mean(np.arange(problem.n_arms)), np.float64)  # type: ignore[attr-defined]


@functools.cache
def truth(suite_name: str, task: str, repetition: int) -> tuple[Problem, Float[np.ndarray, " A"]]:
    """The same in one repetition of a suite's task.

    Args:
        suite_name: Name of the suite.
        task: Label of one of its environments.
        repetition: Which repetition.
    """
    suite = load_suite(suite_name)
    env = next(entry.ref for entry in suite.environments if entry.ref.label == task)
    spec = RunSpec(env=env, agent=suite.agents[0].ref, repetition=repetition, horizon=suite.horizon, seed=suite.seed)
    return drawn(env, suite.horizon, env_seed(spec))


def of_each(number: Callable[..., Any], runs: Runs, suite_name: str, row: str, repetitions: Sequence[int]) -> list[Any]:
    """`number(problem, means, arms, rewards)` of each run of a row, of the truth that it was played on; made once."""
    pulls, rewards = runs.column(row, "action", repetitions), runs.column(row, "reward", repetitions)
    task = row.partition("@")[2]
    return [
        _number(number, suite_name, task, r, arms.astype(np.int64).tobytes(), y.astype(np.float64).tobytes())
        for r, arms, y in zip(repetitions, pulls, rewards, strict=True)
    ]


@functools.cache
def _number(number: Callable[..., Any], suite_name: str, task: str, repetition: int, arms: bytes, y: bytes) -> Any:
    return number(*truth(suite_name, task, repetition), np.frombuffer(arms, np.int64), np.frombuffer(y, np.float64))
