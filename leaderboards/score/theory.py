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

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from agents import Agent, BoundInputs, RegretGuarantee
from agents.core.guarantees import guarantee_status, off_the_model, unmet_by_noise
from agents.core.information import Information, greedy_information, largest_gain
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.problem import Problem
from leaderboards.score.statistics import Interval, Slope, score_interval
from leaderboards.score.summary import Summary

MOST_PULLS = 1_000
"""Greedy information gain is worked out for so many pulls; measured and proven regret are compared there."""

_MOST_KNOWN = 64  # problems whose greedy information is kept: of each a thousand numbers
_log = logging.getLogger("gpbandit")


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
        unmet: What bounds for sub-Gaussian noise ask of the noise that the problem does not state; "" if nothing.
        comparisons: One for each agent with finished runs.
    """

    t: int
    greedy: Information
    unmet: str
    comparisons: tuple[BoundComparison, ...]


def theory_report(summary: Summary, task: str, problem: Problem, agents: Mapping[str, Agent]) -> TheoryReport | None:
    """The theory of a task, compared with its runs.

    Args:
        summary: The folder, reduced.
        task: A task with finished runs.
        problem: Its problem in the first repetition.
        agents: Its policies by name, which state what is proven of them; of those that are left out nothing is.

    Returns:
        The report; None for a task without arms, kernel or known noise, to which no theory here applies.
    """
    X, kernel, noise_std = problem.arms, problem.kernel, problem.noise_std
    if X is None or kernel is None or not noise_std:
        return None
    by_agent = summary.on(task)
    kept = next(iter(by_agent.values())).t
    t = int(kept[kept <= MOST_PULLS][-1])
    greedy, kappa2 = _greedy(X, kernel, noise_std, t), float(kernel.diag(X).max())
    gamma = largest_gain(greedy.gain, kappa2, noise_std**2)
    comparisons = []
    for name, scores in by_agent.items():
        at = int(np.searchsorted(scores.t, t))
        gain, d_eff = (_mean_at(scores.diagnostics.get(column), at) for column in ("information_gain", "d_eff"))
        inputs = BoundInputs(problem, t, gamma, d_eff, kappa2, noise_std)
        measured = score_interval(scores.curves["cumulative_regret"][:, at])
        proven = stated_regret(name, agents.get(name), inputs, reset=True)
        comparisons.append(BoundComparison(name, scores.growth, measured, gain, d_eff, proven))
    return TheoryReport(t, greedy, unmet_by_noise(problem, gaussian=False), tuple(comparisons))


_known: dict[tuple[str, float, bytes, int], Information] = {}


def _greedy(X: Float[np.ndarray, "A d"], kernel: Kernel, noise_std: float, t: int) -> Information:
    """The greedy information of t pulls; once a process for each problem: it costs as much as a run."""
    key = (repr(kernel), noise_std, hashlib.sha256(X.tobytes()).digest(), t)
    if key not in _known:
        if len(_known) >= _MOST_KNOWN:
            _known.pop(next(iter(_known)))
        _known[key] = greedy_information(kernel, X, noise_std**2, t)
    return _known[key]


def stated_regret(name: str, agent: Agent | None, inputs: BoundInputs, reset: bool = False) -> RegretGuarantee:
    """The regret bound that the policy states and that applies here; none if it raises, as third-party agents may."""
    problem = inputs.problem
    if agent is None or problem.time_varying:  # the bounds are for means that stay as they are
        return RegretGuarantee()
    try:
        stated = agent.regret_guarantee(inputs)
        if stated.rests_on_band:
            if reset:
                agent.reset(problem, np.random.default_rng(0))
            applies = not guarantee_status(agent.band_guarantee(), problem)
        else:
            is_known = problem.knowledge in ("oracle", "certified") and off_the_model(problem) <= stated.tolerates
            applies = is_known and not unmet_by_noise(problem, stated.gaussian_noise)
        return stated if applies else RegretGuarantee()
    except Exception as error:
        _log.warning("%s: regret_guarantee raised %s: %s", name, type(error).__name__, error)
        return RegretGuarantee()


def _mean_at(Y: Float[np.ndarray, "n p"] | None, at: int) -> float | None:
    if Y is None or not np.isfinite(Y[:, at]).all():
        return None
    return float(Y[:, at].mean())
