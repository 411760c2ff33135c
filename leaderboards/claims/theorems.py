"""Theorems of the batch papers along real runs: batches, dictionaries and regret over their bounds.

| symbol | meaning | unit |
|---|---|---|
| `lam` | regularisation, here also the noise variance | unit of y^2 |
| `kappa2` | largest prior variance | unit of y^2 |
| `gamma_t` | largest information gain: here what bounds it, the greedy gain over `1 - 1/e` | nats |
| `d_eff` | exact effective dimension `Tr(K_t (K_t + lam I)^-1)` of the pulls | |

Everything is worked out anew from the arms that were pulled; of what agents say of themselves only the size of the
dictionary is used. A bound that holds at all times is compared at all times: the figure is the largest ratio.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from agents.core.information import greedy_information, largest_gain, realised_information
from agents.core.regret_bounds import batched_ucb_bound, bbkb_bound, bpe_bound, rkhs_width
from gpbandit_envs.problem import Problem
from leaderboards.claims.measures import Measure
from leaderboards.claims.runs import Runs
from leaderboards.play.build import build_env
from leaderboards.play.measures import batch_lengths
from leaderboards.play.run import stated_problem
from leaderboards.play.suite import load_suite
from leaderboards.score.statistics import Interval, mean_interval

__all__ = [
    "COLUMNS",
    "batches_ratio",
    "bbkb_ratio",
    "bpe_ratio",
    "dictionary_ratio",
    "effective_dimension",
    "excess_batches",
    "gp_bucb_ratio",
    "largest_gain_in_a_batch",
    "of_every_run",
    "task_problem",
]

Run = Mapping[str, np.ndarray]
"""The columns of a run."""
Settings = Mapping[str, Any]
"""What the suite gives an agent."""

COLUMNS = ("action", "dictionary_size")
SUITE = "batch-vs-theory"


@functools.cache
def task_problem() -> Problem:
    """The problem description of the task; its arms, kernel, noise and norm are those of every repetition."""
    suite = load_suite(SUITE)
    entry = suite.environments[0].ref
    env = build_env(entry, suite.horizon)
    try:
        env.reset(seed=0)
        return stated_problem(env, suite.horizon)
    finally:
        env.close()


def _settings(row: str) -> Settings:
    """The arguments of a row's agent in the suite."""
    return next(entry.ref.kwargs for entry in load_suite(SUITE).agents if entry.ref.label == row)


@functools.cache
def _gamma(T: int) -> Float[np.ndarray, " T"]:
    """Bounds on the largest gain of 1 to T pulls."""
    problem, lam = task_problem(), _lam()
    assert problem.kernel is not None
    assert problem.arms is not None
    return largest_gain(greedy_information(problem.kernel, problem.arms, lam, T).gain, _kappa2(), lam)


def _lam() -> float:
    noise = task_problem().noise_std
    assert noise is not None
    return noise**2


def _kappa2() -> float:
    problem = task_problem()
    assert problem.kernel is not None
    assert problem.arms is not None
    return float(problem.kernel.diag(problem.arms).max())


def _norm() -> float:
    norm = task_problem().norm_bound
    assert norm is not None
    return norm


def _gain(arms: Int[np.ndarray, " T"]) -> Float[np.ndarray, " T"]:
    """`0.5 logdet(I + K_t / lam)` of the pulls, at every t."""
    problem = task_problem()
    assert problem.kernel is not None
    assert problem.arms is not None
    return realised_information(problem.kernel, problem.arms, _lam(), arms).gain


def effective_dimension(arms: Int[np.ndarray, " t"]) -> float:
    """`Tr(K_t (K_t + lam I)^-1)`, by the eigenvalues of the distinct arms' kernel matrix, each arm with its count."""
    problem = task_problem()
    assert problem.kernel is not None
    assert problem.arms is not None
    distinct, counts = np.unique(arms, return_counts=True)
    X, root = problem.arms[distinct], np.sqrt(counts)
    eigenvalues = np.maximum(np.linalg.eigvalsh(root[:, None] * problem.kernel(X, X) * root), 0.0)
    return float((eigenvalues / (eigenvalues + _lam())).sum())


def of_every_run(row: str, figure: Callable[[Run, Settings], float]) -> Measure:
    """Mean over repetitions of a figure of a run, with Student's interval."""

    def measure(runs: Runs) -> Interval:
        repetitions = runs.together(row)
        columns = ("action", "regret", "batch", *(("dictionary_size",) if row.startswith("BBKB") else ()))
        tables = zip(*(runs.column(row, name, repetitions) for name in columns), strict=True)
        values = [figure(dict(zip(columns, table, strict=True)), _settings(row)) for table in tables]
        return mean_interval(np.array(values), runs.level)

    return measure


def largest_gain_in_a_batch(run: Run, settings: Settings) -> float:
    """Information gain in nats of all pulls of a batch but its last, given earlier feedback; without the start."""
    gain, ends = np.concatenate([[0.0], _gain(run["action"])]), np.cumsum(batch_lengths(run["batch"]))
    starts = ends[:-1]  # evaluations before the second, third, ... batch
    late = starts >= settings["t_init"]
    return float((gain[ends[1:] - 1] - gain[starts])[late].max(initial=0.0))


def gp_bucb_ratio(run: Run, settings: Settings) -> float:
    """Regret over the bound of Desautels et al. (2012), Theorem 2, largest over t."""
    R = np.cumsum(run["regret"])
    t, gamma = np.arange(1.0, len(R) + 1), _gamma(len(R))
    width = rkhs_width(gamma, _norm(), math.sqrt(_lam()), settings["delta"], _lam())
    later = batched_ucb_bound(t, width, gamma, math.exp(settings["c"]), _kappa2(), _lam())
    start = 2 * _norm() * math.sqrt(_kappa2()) * settings["t_init"]
    return float((R / (later + start)).max())


def dictionary_ratio(run: Run, settings: Settings) -> float:
    """Arms in the dictionary over `qbar d_eff`, largest over t: a dictionary changes at the end of a batch."""
    ends = np.cumsum(batch_lengths(run["batch"]))
    d_eff = np.array([effective_dimension(run["action"][:end]) for end in ends])
    return float((run["dictionary_size"][ends - 1] / (settings["qbar"] * d_eff)).max())


def batches_ratio(run: Run, settings: Settings) -> float:
    """Batches over `logdet(I + K_t / lam)`, largest over t."""
    del settings
    ends = np.cumsum(batch_lengths(run["batch"]))
    return float((np.arange(1, len(ends) + 1) / (2 * _gain(run["action"])[ends - 1])).max())


def bbkb_ratio(run: Run, settings: Settings) -> float:
    """Regret over the bound of Calandriello et al. (2020), Theorem 2, without its `55 C^3`; largest over t."""
    leverage = np.expm1(2 * np.diff(_gain(run["action"]), prepend=0.0))
    R, S = np.cumsum(run["regret"]), np.cumsum(leverage)
    t, C, lam = np.arange(1.0, len(R) + 1), settings["c"], _lam()
    return float((R / bbkb_bound(t, S, _norm(), math.sqrt(lam), settings["delta"], lam, C)).max() * 55 * C**3)


def bpe_ratio(run: Run, settings: Settings) -> float:
    """Regret at T over the bound of Li and Scarlett (2022), appendix A, for the lengths that were played."""
    lengths, lam, A = batch_lengths(run["batch"]), _lam(), task_problem().n_arms
    gamma = _gamma(len(run["regret"]))
    bound = bpe_bound(lengths, gamma, _norm(), math.sqrt(lam), A, settings["delta"], _kappa2(), lam)
    return float(run["regret"].sum() / bound)


def excess_batches(run: Run, settings: Settings) -> float:
    """Number of batches less that of the row, or of Proposition 1."""
    bound = settings.get("n_batches", math.ceil(math.log2(math.log2(len(run["batch"])))) + 1)
    return float(len(batch_lengths(run["batch"])) - bound)
