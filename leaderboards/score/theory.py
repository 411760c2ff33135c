"""Theory of a task: information gain, and each agent's regret against its proven bound.

What is proven is stated by the policies themselves, see `agents.core.guarantees`.

| symbol | meaning | unit |
|---|---|---|
| `lam` | regularisation, the noise variance by default | unit of y^2 |
| `kappa2` | largest prior variance `max k(x, x)` | unit of y^2 |
| `gain` | `0.5 logdet(I + K_t / lam)`, of the arms pulled or the largest there is (`gamma_t`) | nats |
| `d_eff` | `Tr(K_t (K_t + lam I)^-1)` | |
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from agents import BoundInputs, RegretGuarantee
from gpbandit_envs.gp import Kernel
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.problem import Problem
from leaderboards.play.make import is_own_env, loaded_agent, make_agent
from leaderboards.play.run import instance_problem, one_blas_thread
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.score.scores import AgentScores
from leaderboards.score.statistics import Interval, Slope, loglog_slope, score_interval
from leaderboards.score.summary import Summary

__all__ = [
    "MOST_PULLS",
    "BoundComparison",
    "Information",
    "TheoryReport",
    "greedy_information",
    "largest_gain",
    "realised_information",
    "theory_report",
]

MOST_PULLS = 1_000
"""Greedy information gain is worked out for so many pulls; measured and proven regret are compared there."""

MOST_ARMS = 100_000
"""Largest number in the settings of an environment whose theory is worked out; it takes `MOST_PULLS` rows of arms."""

_MOST_COORDINATES = 1e8  # the product of all its whole numbers, such as arms times dimensions

_GREEDY_SHARE = 1 - 1 / math.e  # of the largest gain that the greedy one reaches at least
_FACTORS = {"lengthscale", "norm", "noise"}  # of a misspecification, shown beside the bound
_log = logging.getLogger("gpbandit")


@dataclass(frozen=True)
class Information:
    """Information along a sequence of pulls.

    Attributes:
        arms: The pulls, shape `(t,)`.
        gain: `0.5 logdet(I + K_s / lam)` after each, in nats, shape `(t,)`.
        d_eff: Effective dimension after the last.
    """

    arms: Int[np.ndarray, " t"]
    gain: Float[np.ndarray, " t"]
    d_eff: float


def greedy_information(kernel: Kernel, X: Float[np.ndarray, "A d"], lam: float, T: int) -> Information:
    """Uncertainty sampling, whose gain is at least `(1 - 1/e)` of the largest, `gamma_t`, at every t.

    Args:
        kernel: Prior covariance.
        X: Arms, shape `(A, d)`.
        lam: Noise variance of one feedback, > 0.
        T: Number of pulls, at least 1.

    Reference: Nemhauser et al. (1978); Krause and Guestrin (2005); Srinivas et al. (2010), section 4.
    """
    if T < 1:
        raise ValueError(f"T: expected at least 1, got {T!r}")
    X = np.asarray(X, np.float64)
    arms = np.zeros(T, np.int64)
    variance = kernel.diag(X).astype(np.float64)
    # Row s is what pull s explained: cov_t(x, .) = k(x, .) - sum_s B[s, x] B[s, .]. O(t A) a pull, and no beliefs.
    B = np.empty((T, len(X)))
    steps = np.zeros(T)
    for t in range(T):
        arms[t] = arm = int(np.argmax(variance))
        steps[t] = 0.5 * math.log1p(max(float(variance[arm]), 0.0) / lam)
        row = kernel(X[arm : arm + 1], X)[0] - B[:t, arm] @ B[:t]
        B[t] = row / math.sqrt(max(float(variance[arm]), 0.0) + lam)
        variance -= B[t] ** 2
    return Information(arms, np.cumsum(steps), float(np.maximum(variance[arms], 0.0).sum()) / lam)


def realised_information(
    kernel: Kernel, X: Float[np.ndarray, "A d"], lam: float, actions: Int[np.ndarray, " T"]
) -> Information:
    """Information of the pulls that were made, in their order."""
    actions = np.asarray(actions, np.int64)
    if actions.ndim != 1 or not len(actions):
        raise ValueError(f"actions: expected at least one arm, shape (T,), got {actions.shape}")
    distinct, index = np.unique(actions, return_inverse=True)
    posterior = ExactPosterior(kernel, np.asarray(X, np.float64)[distinct], lam)
    steps = np.zeros(len(actions))
    for t in range(len(actions)):
        arm = index[t : t + 1]
        steps[t] = 0.5 * math.log1p(max(float(posterior.variance_at(arm)[0]), 0.0) / lam)
        posterior.update(arm, np.ones(1), np.zeros(1))
    return Information(actions, np.cumsum(steps), posterior.effective_dimension())


def largest_gain(greedy: Float[np.ndarray, " T"], kappa2: float, lam: float) -> Float[np.ndarray, " T"]:
    """Upper bounds on the largest information gain of 1, ..., T pulls, in nats.

    The greedy gain is at least `1 - 1/e` of it, and no gain exceeds that of independent arms.

    Args:
        greedy: Greedy information gain after 1, ..., T pulls, in nats.
        kappa2: Largest prior variance.
        lam: Noise variance.
    """
    independent = 0.5 * math.log1p(kappa2 / lam) * np.arange(1, len(greedy) + 1)
    return np.minimum(greedy / _GREEDY_SHARE, independent)


@dataclass(frozen=True)
class BoundComparison:
    """Measured and proven regret of one agent.

    Attributes:
        agent: Its name.
        fitted: Fitted growth exponent; None without regret to fit.
        measured: Cumulative regret at `TheoryReport.t`.
        gain: Realised information gain at `TheoryReport.t` in nats, mean over repetitions; None if the agent does not
            report it.
        d_eff: Realised effective dimension, likewise.
        proven: What the policy states of its regret there.
    """

    agent: str
    fitted: Slope | None
    measured: Interval
    gain: float | None
    d_eff: float | None
    proven: RegretGuarantee


@dataclass(frozen=True)
class TheoryReport:
    """Theory of one task.

    Attributes:
        t: Evaluations at which everything is compared.
        greedy: Greedy information, on the instance of the first repetition.
        knowledge: How true the problem's kernel and noise are; bounds say something only where it is `"oracle"`.
        comparisons: One for each agent with finished runs.
    """

    t: int
    greedy: Information
    knowledge: str
    comparisons: tuple[BoundComparison, ...]


def theory_report(summary: Summary, task: str) -> TheoryReport | None:
    """The theory of a task, compared with its runs.

    Results may be a stranger's: only environments of this project are built, only agents that are loaded already, and
    none whose settings ask for more than `MOST_ARMS` arms.

    Returns:
        The report; None for a task without arms, kernel or known noise, to which no theory here applies, and for one
        that has no finished run, cannot be built again or is not of this project.

    Raises:
        ValueError: if the environment is too large.
        Exception: whatever building the environment raises, as when its data are gone.
    """
    about, by_agent = summary.tasks[task], summary.on(task)
    if not by_agent or not about.env.rebuildable or not is_own_env(about.env.id):
        return None
    _check_size(about.env.kwargs)
    seed, repetition = next(iter(by_agent.values())).blocks[0]
    agent = summary.agents[next(iter(by_agent))]
    spec = RunSpec(env=about.env, agent=agent, repetition=repetition, horizon=about.horizon, seed=seed)
    problem = instance_problem(spec)
    if problem.arms is None or problem.kernel is None or not problem.noise_std:
        return None
    kept = next(iter(by_agent.values())).t
    t = int(kept[kept <= MOST_PULLS][-1])
    with one_blas_thread():  # many small products, which threads only slow down
        greedy = greedy_information(problem.kernel, problem.arms, problem.noise_std**2, t)
    comparisons = tuple(_compare(summary, name, scores, problem, greedy) for name, scores in by_agent.items())
    return TheoryReport(t, greedy, problem.knowledge, comparisons)


def _check_size(kwargs: Mapping[str, Any]) -> None:
    large = [name for name, value in kwargs.items() if isinstance(value, int | float) and abs(value) > MOST_ARMS]
    if large:
        raise ValueError(f"{large[0]}: no theory is worked out for more than {MOST_ARMS:,}, got {kwargs[large[0]]:,}")
    product = math.prod(max(value, 1) for value in kwargs.values() if isinstance(value, int))
    if product > _MOST_COORDINATES:
        raise ValueError(f"no theory is worked out for settings whose product is above {_MOST_COORDINATES:g}")


def _compare(
    summary: Summary, name: str, scores: AgentScores, problem: Problem, greedy: Information
) -> BoundComparison:
    assert problem.arms is not None
    assert problem.kernel is not None
    assert problem.noise_std is not None
    t = len(greedy.gain)
    at = int(np.searchsorted(scores.t, t))
    regret = scores.curves["cumulative_regret"]
    gain, d_eff = (_mean_at(scores.diagnostics.get(column), at) for column in ("information_gain", "d_eff"))
    kappa2 = float(problem.kernel.diag(problem.arms).max())
    gamma = largest_gain(greedy.gain, kappa2, problem.noise_std**2)
    inputs = BoundInputs(problem, t, gamma, d_eff, kappa2, problem.noise_std)
    fitted, measured = loglog_slope(scores.t, regret), score_interval(regret[:, at])
    return BoundComparison(name, fitted, measured, gain, d_eff, _stated(summary.agents[name], inputs))


def _stated(ref: Ref, inputs: BoundInputs) -> RegretGuarantee:
    """The regret bound that the policy states; none if it raises, or is not loaded, as third-party agents may be."""
    if loaded_agent(ref.id) is None:
        return RegretGuarantee()
    try:
        agent = make_agent(ref)
    except Exception as error:
        # As when the package of a submitted run's agent is not installed here.
        _log.info("%s cannot be built, and is compared with no theory: %s", ref.label, error)
        return RegretGuarantee()
    try:
        stated = agent.regret_guarantee(inputs)
        allowed_for = set(inputs.problem.misspecification) <= stated.tolerates | _FACTORS
        return stated if allowed_for else RegretGuarantee(stated.exponent)
    except Exception as error:
        _log.warning("%s: regret_guarantee raised %s: %s", ref.label, type(error).__name__, error)
        return RegretGuarantee()


def _mean_at(Y: Float[np.ndarray, "n p"] | None, at: int) -> float | None:
    if Y is None or not np.isfinite(Y[:, at]).all():
        return None
    return float(Y[:, at].mean())
