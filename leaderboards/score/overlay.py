"""Theory beside the runs of a task: what could be learnt, what was learnt, what was promised and what was measured."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from agents.few_batches.lengths import growing
from gpbandit_envs.problem import Problem
from leaderboards.play.run import instance_problem, one_blas_thread
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.score.bounds import (
    batched_ucb_bound,
    bbkb_bound,
    bkb_bound,
    bpe_bound,
    finite_bayes_width,
    gain_within_batch,
    gp_ucb_bound,
    rkhs_width,
)
from leaderboards.score.cell import Cell
from leaderboards.score.intervals import Interval, mean_interval
from leaderboards.score.statistics import Slope, loglog_slope
from leaderboards.score.summary import Summary
from leaderboards.score.theory import Information, greedy_information, proven_exponent, variance_constant

__all__ = ["MOST_PULLS", "Overlay", "Promise", "overlay"]

MOST_PULLS = 1_000
"""Greedy information gain is worked out for so many pulls; measured and promised regret are compared there."""

_GREEDY_SHARE = 1 - 1 / math.e  # of the largest gain that the greedy one reaches at least
_RKHS = ("GP-UCB", "GP-BUCB", "GP-AUCB", "BKB", "BBKB", "BBKB-GlobalLocal")
_BATCHED = ("GP-UCB", "GP-BUCB", "GP-AUCB")


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
        knowledge: How true the card's kernel and noise are; bounds promise something only where it is `"oracle"`.
        promises: One for each agent with finished runs.
    """

    t: int
    greedy: Information
    knowledge: str
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
    problem = instance_problem(spec)
    if problem.arms is None or problem.kernel is None or not problem.noise_std:
        return None
    kept = next(iter(cells.values())).t
    t = int(kept[kept <= MOST_PULLS][-1])
    with one_blas_thread():  # many small products, which threads only slow down
        greedy = greedy_information(problem.kernel, problem.arms, problem.noise_std**2, t)
    promises = tuple(_promise(summary, name, cell, problem, greedy, t) for name, cell in cells.items())
    return Overlay(t, greedy, problem.knowledge, promises)


def _promise(summary: Summary, name: str, cell: Cell, problem: Problem, greedy: Information, t: int) -> Promise:
    ref = summary.agents[name]
    at = int(np.searchsorted(cell.t, t))
    regret = cell.curves["cumulative_regret"]
    said = {key: _mean_at(cell.diagnostics.get(key), at) for key in ("information_gain", "d_eff")}
    proven = None
    if problem.kernel is not None and ref.id in (*_RKHS, "BPE"):
        proven = proven_exponent(problem.kernel, problem.dim, optimal=ref.id == "BPE")
    bound, theorem = _bound(ref, problem, greedy, t, said["d_eff"]) or (None, None)
    return Promise(
        name,
        loglog_slope(cell.t, regret),
        proven,
        mean_interval(regret[:, at]),
        bound,
        theorem,
        said["information_gain"],
        said["d_eff"],
    )


def _bound(ref: Ref, problem: Problem, greedy: Information, t: int, d_eff: float | None) -> tuple[float, str] | None:
    """The bound at t with what the card knows, and its source.

    The largest gain is at most the greedy one over `1 - 1/e`. Where the card states no norm and its kernel is the true
    one, the mean is a draw from the prior.
    """
    assert problem.arms is not None
    assert problem.kernel is not None
    assert problem.noise_std is not None
    xi, F = problem.noise_std, problem.norm_bound
    delta = float(ref.kwargs.get("delta") or 1 / (problem.horizon or t))
    lam, kappa2 = xi**2, float(problem.kernel.diag(problem.arms).max())
    # Nor is any gain larger than that of arms that tell nothing of each other.
    apart = 0.5 * math.log1p(kappa2 / lam) * np.arange(1, len(greedy.gain) + 1)
    gamma = np.minimum(greedy.gain / _GREEDY_SHARE, apart)
    now, most = np.array([float(t)]), gamma[t - 1 : t]
    if ref.id in _BATCHED:
        if F is not None:
            width, source = rkhs_width(most, F, xi, delta, lam), "Chowdhury and Gopalan (2017), Theorem 3"
        elif problem.knowledge == "oracle":
            width, source = finite_bayes_width(now, problem.n_arms, delta), "Srinivas et al. (2010), Theorem 1"
        else:
            return None
        largest_mean = None if F is None else F * math.sqrt(kappa2)
        return _batched(ref, gamma, t, width, kappa2, lam, source, largest_mean)
    if F is None:
        return None
    if ref.id == "BKB" and d_eff is not None:
        bound = bkb_bound(now, np.array([d_eff]), F, xi, delta, kappa2, lam)
        return float(bound[0]), "Calandriello et al. (2019), Theorem 2"
    if ref.id in ("BBKB", "BBKB-GlobalLocal"):
        leverage = 2 * variance_constant(kappa2, lam) / lam * most
        bound = bbkb_bound(now, leverage, F, xi, delta, lam, float(ref.kwargs.get("c", 2.0)))
        return float(bound[0]), "Calandriello et al. (2020), Theorem 2"
    if ref.id == "BPE" and t == problem.horizon and not {"lengths", "n_batches"} & ref.kwargs.keys():
        lengths = np.asarray(growing(t))
        bound_of_all = bpe_bound(lengths, gamma, F, xi, problem.n_arms, delta, kappa2, lam)
        return bound_of_all, "Li and Scarlett (2022), Theorem 1"
    return None


def _batched(
    ref: Ref,
    gamma: Float[np.ndarray, " T"],
    t: int,
    width: Float[np.ndarray, " 1"],
    kappa2: float,
    lam: float,
    source: str,
    largest_mean: float | None,
) -> tuple[float, str] | None:
    """The bound of GP-UCB or of one of its exact relatives in batches, for a valid sequential width at t."""
    now, most = np.array([float(t)]), gamma[t - 1 : t]
    if ref.id == "GP-UCB":
        return float(gp_ucb_bound(now, width, most, kappa2, lam)[0]), source
    if ref.id == "GP-AUCB":
        ratio = float(ref.kwargs.get("c", 2.0))
        bound = batched_ucb_bound(now, width, most, ratio, kappa2, lam)
        return float(bound[0]), "Calandriello et al. (2020), Proposition 3"
    t_init, batch_size = int(ref.kwargs.get("t_init", 0)), int(ref.kwargs.get("batch_size", 10))
    if max(t_init, batch_size - 1) > t or (t_init and largest_mean is None):
        return None
    ratio = math.exp(gain_within_batch(gamma, batch_size, t_init))
    bound = batched_ucb_bound(now, width, most, ratio, kappa2, lam)
    if not t_init:
        return float(bound[0]), "Desautels et al. (2012), Theorem 1"
    assert largest_mean is not None
    return float(bound[0]) + 2 * largest_mean * t_init, "Desautels et al. (2012), Theorem 2"


def _mean_at(Y: Float[np.ndarray, "n p"] | None, at: int) -> float | None:
    if Y is None or not np.isfinite(Y[:, at]).all():
        return None
    return float(Y[:, at].mean())
