"""Theory beside the runs of a task: what could be learnt, what was learnt, what was promised and what was measured."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from agents.few_batches.lengths import growing
from gpbandit_envs.problem import Problem
from leaderboards.play.build import make_env
from leaderboards.play.runner import card
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.play.streams import env_seed
from leaderboards.play.threads import one_blas_thread
from leaderboards.score.cell import Cell
from leaderboards.score.intervals import Interval, mean_interval
from leaderboards.score.statistics import Slope, loglog_slope
from leaderboards.score.summary import Summary
from leaderboards.score.theory import (
    Information,
    bbkb_bound,
    bkb_bound,
    bpe_bound,
    gp_ucb_bound,
    greedy_information,
    proven_exponent,
    variance_constant,
)

__all__ = ["MOST_PULLS", "Overlay", "Promise", "overlay"]

MOST_PULLS = 1_000
"""Greedy information gain is worked out for so many pulls; measured and promised regret are compared there."""

_GREEDY_SHARE = 1 - 1 / math.e  # of the largest gain that the greedy one reaches at least
_RKHS = ("GP-UCB", "GP-BUCB", "GP-AUCB", "BKB", "BBKB", "BBKB-GlobalLocal")
_THEOREMS = {
    "GP-UCB": "Chowdhury and Gopalan (2017), Theorem 3",
    "BKB": "Calandriello et al. (2019), Theorem 2",
    "BBKB": "Calandriello et al. (2020), Theorem 2",
    "BBKB-GlobalLocal": "Calandriello et al. (2020), Theorem 2",
    "BPE": "Li and Scarlett (2022), Theorem 1",
}


@dataclass(frozen=True)
class Promise:
    """One agent's theory and practice.

    Attributes:
        agent: Its name.
        fitted: Fitted growth exponent; None without regret to fit.
        proven: Proven growth exponent, logarithms aside; None where none is known here.
        measured: Cumulative regret at `Overlay.t`.
        bound: Proven bound on it; None where the card states too little or no explicit constant is known.
        theorem: Where the bound is from.
        gain: Realised information gain at `Overlay.t`, mean over repetitions; None if the agent does not say.
        d_eff: Realised effective dimension, likewise.
    """

    agent: str
    fitted: Slope | None
    proven: float | None
    measured: Interval
    bound: float | None
    theorem: str | None
    gain: float | None
    d_eff: float | None


@dataclass(frozen=True)
class Overlay:
    """Theory of one task.

    Attributes:
        t: Evaluations at which everything is compared.
        greedy: Greedy information, on the instance of the first repetition.
        promises: One for each agent with finished runs.
    """

    t: int
    greedy: Information
    promises: tuple[Promise, ...]


def overlay(summary: Summary, task: str) -> Overlay | None:
    """Theory beside the runs of a task.

    Returns:
        The overlay; None for a task without arms, kernel or known noise, to which no theory here applies, and for one
        that has no finished run or cannot be built again.

    Raises:
        Exception: whatever building the environment raises, as when its data are gone.
    """
    about, cells = summary.tasks[task], summary.on(task)
    if not cells or not about.env.rebuildable:
        return None
    seed, repetition = next(iter(cells.values())).units[0]
    agent = summary.agents[next(iter(cells))]
    spec = RunSpec(env=about.env, agent=agent, repetition=repetition, horizon=about.horizon, seed=seed)
    env = make_env((about.env.id, about.env.kwargs), about.horizon)
    try:
        env.reset(seed=env_seed(spec))
        problem = card(env, about.horizon)
    finally:
        env.close()
    if problem.arms is None or problem.kernel is None or not problem.noise_std:
        return None
    kept = next(iter(cells.values())).t
    t = int(kept[kept <= MOST_PULLS][-1])
    with one_blas_thread():  # many small products, which threads only slow down
        greedy = greedy_information(problem.kernel, problem.arms, problem.noise_std**2, t)
    return Overlay(t, greedy, tuple(_promise(summary, name, cell, problem, greedy, t) for name, cell in cells.items()))


def _promise(summary: Summary, name: str, cell: Cell, problem: Problem, greedy: Information, t: int) -> Promise:
    ref = summary.agents[name]
    at = int(np.searchsorted(cell.t, t))
    regret = cell.curves["cumulative_regret"]
    said = {key: _mean_at(cell.diagnostics.get(key), at) for key in ("information_gain", "d_eff")}
    proven = None
    if problem.kernel is not None and ref.id in (*_RKHS, "BPE"):
        proven = proven_exponent(problem.kernel, problem.dim, optimal=ref.id == "BPE")
    bound = None
    if problem.norm_bound is not None:
        bound = _bound(ref, problem, greedy, t, said["d_eff"])
    return Promise(
        name,
        loglog_slope(cell.t, regret),
        proven,
        mean_interval(regret[:, at]),
        bound,
        None if bound is None else _THEOREMS[ref.id],
        said["information_gain"],
        said["d_eff"],
    )


def _bound(ref: Ref, problem: Problem, greedy: Information, t: int, d_eff: float | None) -> float | None:
    """The bound at t with what the card knows; the largest gain is at most the greedy one over `1 - 1/e`."""
    if problem.arms is None or problem.kernel is None or problem.noise_std is None or problem.norm_bound is None:
        return None
    id, xi, F = ref.id, problem.noise_std, problem.norm_bound
    delta = float(ref.kwargs.get("delta") or 1 / (problem.horizon or t))
    lam, kappa2 = xi**2, float(problem.kernel.diag(problem.arms).max())
    gamma = greedy.gain / _GREEDY_SHARE
    most, now = gamma[min(t, len(gamma)) - 1], np.array([float(t)])
    if id == "GP-UCB":
        width = F + xi / math.sqrt(lam) * math.sqrt(2 * (most + 1 + math.log(1 / delta)))
        return float(gp_ucb_bound(now, np.array([width]), np.array([most]), kappa2, lam)[0])
    if id == "BKB" and d_eff is not None:
        return float(bkb_bound(now, np.array([d_eff]), F, xi, delta, kappa2, lam)[0])
    if id in ("BBKB", "BBKB-GlobalLocal"):
        leverage = 2 * variance_constant(kappa2, lam) / lam * most
        return float(bbkb_bound(now, np.array([leverage]), F, xi, delta, lam, float(ref.kwargs.get("c", 2.0)))[0])
    if id == "BPE" and t == problem.horizon and not {"lengths", "n_batches"} & ref.kwargs.keys():
        lengths = np.asarray(growing(t))
        return bpe_bound(lengths, gamma, F, xi, problem.n_arms, delta, kappa2, lam)
    return None


def _mean_at(Y: Float[np.ndarray, "n p"] | None, at: int) -> float | None:
    if Y is None or not np.isfinite(Y[:, at]).all():
        return None
    return float(Y[:, at].mean())
