"""Simulation matching: the batch closest to the choices of a simulated sequential policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import ndtr

from agents.exact.naive_batches import PlannedBatchAgent
from gpbandit_envs.arguments import as_count, as_word
from gpbandit_envs.problem import Problem


@dataclass(kw_only=True, eq=False, repr=False)
class SimulationMatching(PlannedBatchAgent):
    """SM-UCB and SM-MEI: simulate sequential runs on posterior draws, then choose the arms that match them best.

    Each of `n_simulations` runs plays the sequential policy for `batch_size` steps, the feedback of each step drawn
    from the posterior predictive given the steps before it, which is a joint posterior draw. The batch is found by
    greedy k-medoids: one by one, the arm that lowers most the sum over all simulated arms of the squared distance to
    the nearest chosen one. The GP-BUCB paper leaves some choices open; here they are: 20 simulations, distances between
    features scaled to unit variance, medoids among the simulated arms, a repeated arm once all simulated arms are
    matched, the width of the batch's start throughout a simulation, improvement over the largest posterior mean.
    Other arguments: see `PlannedBatchAgent`.

    Args:
        policy: `"ucb"` (maximum upper confidence bound) or `"mei"` (maximum expected improvement).
        n_simulations: Simulated runs a batch, >= 1.

    References: Azimi, Fern and Fern (2010), Batch Bayesian optimization via simulation matching; Desautels, Krause and
    Burdick (2012), section 5.
    """

    policy_family = "GP-UCB"
    not_saved = PlannedBatchAgent.not_saved | {"_features"}

    policy: Literal["ucb", "mei"] = "ucb"
    n_simulations: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        as_word("policy", self.policy, ("ucb", "mei"))
        self.n_simulations = as_count("n_simulations", self.n_simulations, most=10_000)

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        super().reset(problem, rng)
        spread = self.arms.features.std(axis=0)
        self._features = self.arms.features / np.where(spread > 0, spread, 1.0)

    def plan_batch(self) -> np.ndarray:
        return self._match(self._simulate())

    def _simulate(self) -> np.ndarray:
        """Arms of the simulated runs, shape (n_simulations, n), with n the length of the batch."""
        imagined, each = self.exact.branches(self.n_simulations), np.arange(self.n_simulations)
        runs = np.empty((self.n_simulations, self.next_length), np.int64)
        noise = self.rng.standard_normal(runs.shape)
        for step in range(runs.shape[1]):
            mean = np.stack([one.mean for one in imagined])
            variance = np.stack([one.variance for one in imagined])
            runs[:, step] = arms = self._sequential_choices(mean, np.sqrt(variance))
            y = mean[each, arms] + np.sqrt(variance[each, arms] + self.model.lam) * noise[:, step]
            for one, arm, value in zip(imagined, arms.tolist(), y.tolist(), strict=True):
                one.update_one(arm, value)
        return runs

    def _sequential_choices(self, mean: np.ndarray, sd: np.ndarray) -> np.ndarray:
        """The arm that the sequential policy pulls next in each run."""
        if self.policy == "ucb":
            return np.argmax(mean + self.current_width * sd, axis=1)
        gain = mean - mean.max(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(sd > 0, gain / sd, -np.inf)
        density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
        return np.argmax(np.where(sd > 0, gain * ndtr(z) + sd * density, 0.0), axis=1)

    def _match(self, runs: np.ndarray) -> np.ndarray:
        """Greedy k-medoids on the simulated arms, weighted by how often each was chosen."""
        arms, weights = np.unique(runs, return_counts=True)
        distances = cdist(self._features[arms], self._features[arms], "sqeuclidean")
        nearest = np.full(len(arms), np.inf)
        batch: list[int] = []
        while len(batch) < runs.shape[1]:
            left = np.minimum(distances, nearest) @ weights
            if len(batch) and not left.min() < nearest @ weights:
                # Every simulated arm is matched exactly: repeat the arms in the order of their weight.
                order = arms[np.argsort(-weights, kind="stable")].tolist()
                batch += [order[i % len(order)] for i in range(runs.shape[1] - len(batch))]
                break
            j = int(np.argmin(left))
            nearest = np.minimum(nearest, distances[j])
            batch.append(int(arms[j]))
        return np.array(batch)
