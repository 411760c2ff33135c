"""Base class of the policies on a sketched posterior."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from agents.core.beliefs import PooledBeliefs, per_pull_leverage
from agents.core.finite import group_pulls
from agents.core.gp_settings import Model
from agents.core.guarantees import Sketch
from agents.core.ucb import UCBAgent
from agents.core.widths import WidthSchedule
from agents.sketched.dictionary import Draws, posterior_sampling
from agents.sketched.leverage import bless, sequential_leverage
from gpbandit_envs.arguments import as_word, positive_number
from gpbandit_envs.gp.kernel_rows import as_bytes
from gpbandit_envs.gp.sketch import SketchedArmPosterior
from gpbandit_envs.problem import InitialData, Problem

_LARGEST_DELTA = 5 / 6  # delta^2 for the noise and delta^2 / 5 for the dictionaries: docs/math/bkb.md


class SketchedBeliefs(PooledBeliefs[SketchedArmPosterior]):
    """A sketched posterior over all arms, rebuilt on a freshly drawn dictionary whenever feedback arrives.

    Args:
        rng: Draws the dictionaries.
        qbar, draws: As for `SketchedUCBAgent`.
        max_bytes: Memory for kernel rows; None for no limit.

    Attributes:
        resparsifications: Dictionaries drawn so far.
        n_drawn: Arms in the last dictionary `S_t`, those that depend on others included; the posterior leaves them out.
    """

    def __init__(
        self,
        problem: Problem,
        model: Model,
        data: InitialData | None,
        rng: np.random.Generator,
        qbar: float,
        draws: Draws,
        max_bytes: int | None,
    ) -> None:
        self._rng, self._qbar, self._draws, self._max_bytes = rng, qbar, draws, max_bytes
        self.resparsifications, self.n_drawn = 0, 0
        super().__init__(problem, model, data)

    def _prior(self) -> SketchedArmPosterior:
        return SketchedArmPosterior(self.model.kernel, self.features, self.model.lam, self._max_bytes)

    @property
    def information_gain(self) -> float:
        """`0.5 sum_s log(1 + lev_fb(x_s))`, which bounds the gain up to the accuracy of the dictionary, in nats."""
        return 0.5 * self.sum_log_leverage

    def _begin_with(self, data: InitialData) -> Float[np.ndarray, " n"]:
        arms, counts, sums = group_pulls(data.actions, data.rewards)
        kernel, X, lam = self.model.kernel, self.features, self.model.lam
        dictionary = self._draw(arms, counts, bless(kernel, X[arms], counts, lam, self._rng))
        self.posterior.record(arms, counts, sums)
        self._embed(dictionary)
        return per_pull_leverage(*sequential_leverage(kernel, X[dictionary], X[arms], counts, lam), counts)

    def _condition(self, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> None:
        posterior = self.posterior
        posterior.record(arms, counts, sums)
        # Leverage scores as of the start of the batch (BBKB Alg. 1, line 13): the posterior has not moved since.
        pulled = np.flatnonzero(posterior.n)
        candidates = posterior.rows.arms[pulled]
        leverage = posterior.variance_at(candidates) / self.model.lam
        self._embed(self._draw(candidates, posterior.n[pulled], leverage))

    def _embed(self, dictionary: Int[np.ndarray, " m"]) -> None:
        self.posterior.embed(dictionary)
        self.resparsifications, self.n_drawn = self.resparsifications + 1, len(dictionary)

    def _draw(self, arms: np.ndarray, pulls: np.ndarray, leverage: np.ndarray) -> np.ndarray:
        return posterior_sampling(arms, pulls, leverage, self._qbar, self._rng, self._draws)

    def sketch(self) -> Sketch:
        return Sketch(self.posterior, self.resparsifications)

    def diagnostics(self) -> Mapping[str, float]:
        return {
            **super().diagnostics(),
            "dictionary_size": float(self.n_drawn),
            "dictionary_rank": float(len(self.posterior.dictionary)),
            "resparsifications": float(self.resparsifications),
        }


@dataclass(kw_only=True, eq=False, repr=False)
class SketchedUCBAgent(UCBAgent):
    """A UCB policy whose posterior is rebuilt on a freshly drawn dictionary after every batch.

    From existing data BLESS draws the first dictionary. Other arguments: see `UCBAgent`.

    Args:
        qbar: Oversampling of the dictionary; 2 in the experiments of the BBKB paper.
        draws: `"pull"`: every pull is drawn, as the papers write; `"arm"`: every arm, as their authors' code does, so
            that dictionaries mostly grow and the posterior is extended rather than rebuilt.
        max_memory: Memory for kernel rows, such as `"1GB"` or a number of bytes; rows beyond it are computed anew at
            every use. None for no limit: about two rows of length A for every arm of the dictionary.
        n_start: Arms drawn uniformly and pulled before the first bound is computed; 1 in the papers.
    """

    policy_family = "sketched"
    least_lam: ClassVar[float] = 0.0
    """Regularisation that the policy's theorem asks for, unit of the squared reward."""
    qbar: float = 2.0
    draws: Draws = "arm"
    max_memory: int | str | None = None
    n_start: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.qbar = positive_number("qbar", self.qbar)
        as_word("draws", self.draws, ("pull", "arm"))
        self._max_bytes = None if self.max_memory is None else as_bytes(self.max_memory)

    def unmet_condition(self, schedule: WidthSchedule) -> str:
        return self._unmet_on(self.problem, schedule, self.model.lam, self.model.prior_variance)

    def _unmet_on(self, problem: Problem, schedule: WidthSchedule, lam: float, prior_variance: float) -> str:
        """Which condition of the theorem behind `schedule` this policy does not meet on a problem; "" if none.

        Band and regret ask here, so that one is never stated without the other.
        """
        horizon, delta = problem.horizon, self.settings.delta_on(problem)
        eps = schedule.sketch_eps
        if eps is None:
            return "its proof is for the exact posterior, and this one is sketched"
        if lam < self.least_lam:
            return f"its theorem asks for lam >= {self.least_lam:g}, and lam is {lam:g}"
        if horizon is None:
            return "its theorem asks for a qbar that depends on the horizon, which is not known"
        if self.data_before(problem) is not None:
            return "its theorem is for a dictionary that follows the pulls from the first, and these begin with data"
        if delta > _LARGEST_DELTA:
            return f"the probabilities of its proof add up to delta up to {_LARGEST_DELTA:.2g}, and delta is {delta:g}"
        least = least_oversampling(horizon, delta, self.batch_ratio, eps)
        if self.qbar < least:
            return f"its theorem asks for qbar >= {least:.0f}, and qbar is {self.qbar:g}"
        return schedule.unmet_on_sketch(prior_variance, lam)

    def arm_beliefs(self, data: InitialData | None) -> SketchedBeliefs:
        return SketchedBeliefs(self.problem, self.model, data, self.rng, self.qbar, self.draws, self._max_bytes)


def least_oversampling(horizon: int, delta: float, c: float = 1.0, eps: float = 0.5) -> float:
    """`6 alpha C log(4 T / delta) / eps^2`: the oversampling from which the widths of the theorems hold.

    Dictionaries are then within `eps`, and `alpha = (1 + eps) / (1 - eps)`; `72 C log(4 T / delta)` for 1/2.

    Reference: Calandriello et al. (2019), Theorem 2; Calandriello et al. (2020), Theorem 2, with `eps = 1/2`.
    """
    return 6 * (1 + eps) / (1 - eps) / eps**2 * c * log(4 * horizon / delta)
