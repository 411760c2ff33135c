"""Whether repetitions that are played side by side are those that `leaderboards.run` plays one by one.

Choices are the same up to the first that differs, and there both arms must have the same score in the engine of a
single run, up to 1e-9 of the scale: a tie, which rounding decides. `python -m benchmarks.bench_device --choices`
prints a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from agents.core.acquisition import LogExpectedImprovement, Score, UpperConfidenceBound
from agents.exact.dual_mixture import least_upper
from agents.exact.gp_ei import GPEI
from leaderboards.api.simulate import Simulation
from leaderboards.play.run import begin, run_spec
from leaderboards.play.spec import RunSpec

POLICIES: Mapping[str, tuple[str, dict[str, Any]]] = {
    "GP-UCB, 1.0": ("GP-UCB", {"width": 1.0}),
    "GP-UCB, theory": ("GP-UCB", {}),
    "GP-UCB, AMM": ("GP-UCB", {"width": "amm"}),
    "GP-UCB, DMM": ("GP-UCB", {"width": "dmm"}),
    "GP-UCB, DMM with slack": ("GP-UCB", {"width": "dmm-slack"}),
    "GP-UCB, likelihood ratio": ("GP-UCB", {"width": "lr"}),
    "GP-UCB, Bayesian": ("GP-UCB", {"width": "bayes"}),
    "GP-UCB, practical": ("GP-UCB", {"width": "practical"}),
    "EC-GP-UCB": ("EC-GP-UCB", {"misspecification": 0.05}),
    "RGP-UCB": ("RGP-UCB", {"corruption": 1.0}),
    "GP-EI": ("GP-EI", {"n_start": 3}),
    "IRGP-UCB": ("IRGP-UCB", {}),
    "GP-BUCB": ("GP-BUCB", {"batch_size": 7, "c": 0.0, "n_start": 2}),
    "GP-AUCB": ("GP-AUCB", {}),
    "GP-AUCB, sum": ("GP-AUCB", {"rule": "sum", "width": "practical", "n_start": 3}),
    "MVR": ("MVR", {}),
    "BPE": ("BPE", {}),
    "BPE, full posterior": ("BPE", {"posterior": "full", "n_batches": 4, "width": 1.4}),
    "REDS": ("REDS", {}),
    "Uniform": ("Uniform", {}),
    "EpsGreedy": ("EpsGreedy", {}),
}
"""Policies with a form that plays side by side, with the settings that differ in it."""

BLIND = frozenset({"MVR", "BPE", "BPE, full posterior"})
"""Those whose score is of pulls alone: regular arms tie exactly, and rounding decides."""


def compare(simulation: Simulation, repetition: int, tolerance: float = 1e-9) -> tuple[int | None, float]:
    """When the choices of a repetition first differ from those of a single run, and by how much scores differ there.

    Returns:
        The number of evaluations before, None if all choices are the same; and the difference of the scores in units of
        the scale, 0 if there is none.

    Raises:
        AssertionError: if that is more than `tolerance`, or regrets differ before.
    """
    spec = RunSpec.from_dict({**simulation.spec.to_dict(), "repetition": repetition})
    trace = run_spec(spec).trace
    single, many = trace["action"].to_numpy(), simulation.actions[repetition]
    differs = np.flatnonzero(single != many)
    t = int(differs[0]) if len(differs) else len(single)
    regret, scale = trace["regret"].to_numpy(), max(float(np.ptp(trace["mean"])), 1.0)
    gap = float(np.abs(np.cumsum(regret[:t]) - np.cumsum(simulation.regret[repetition, :t])).max(initial=0.0))
    assert gap <= 1e-9 * scale * max(t, 1), f"repetition {repetition}: regrets differ by {gap}"
    if not len(differs):
        return None, 0.0
    scores = scores_at(spec, t)
    off = abs(float(scores[single[t]] - scores[many[t]])) / max(float(np.abs(scores).max()), 1.0)
    assert off <= tolerance, f"repetition {repetition}, evaluation {t}: scores differ by {off}"
    return t, off


def scores_at(spec: RunSpec, t: int) -> np.ndarray:
    """The scores by which a single run makes the choice after `t` evaluations, shape (A,)."""
    loop = begin(spec)
    agent: Any = loop.agent
    while True:  # to the last feedback before the choice
        saved = loop.t, agent.state_dict()
        loop.turn()
        if loop.t > t:
            break
    taken = loop.turns.actions[saved[0] : t]
    agent.load_state_dict(saved[1])
    loop.env.close()
    if hasattr(agent, "alive"):
        whole = agent.keeps_all
        arms = np.arange(loop.problem.n_arms) if whole else agent.alive
        known = agent.batch_posterior
        variance = _after(known, np.searchsorted(arms, taken), agent.model.lam)
        scores = np.full(loop.problem.n_arms, -np.inf)
        scores[agent.alive] = variance[agent.alive] if whole else variance
        return np.where(np.isfinite(scores), scores, -1.0)
    variance = _after(agent.exact, taken, agent.model.lam)
    if agent.capabilities.batch == "fixed":
        return variance
    if hasattr(agent.beliefs, "intersected"):
        dual = agent.beliefs._dual.posteriors
        return np.asarray(least_upper(((each.mean, each.variance) for each in dual), agent.beliefs.intersected))
    ei = type(agent) is GPEI
    score: Score = LogExpectedImprovement(agent.beliefs.incumbent) if ei else UpperConfidenceBound(agent.current_width)
    return np.asarray(score(agent.exact.mean, np.sqrt(variance)))


def _after(posterior: Any, pulls: np.ndarray, lam: float) -> np.ndarray:
    """The variance of all arms after more pulls, by the dense formula."""
    C = posterior.covariance(np.arange(posterior.n_arms))
    for arm in pulls.tolist():
        C = C - np.outer(C[arm], C[arm]) / (max(C[arm, arm], 0.0) + lam)
    return np.maximum(np.diagonal(C), 0.0)
