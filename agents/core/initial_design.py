"""Initial designs: the arms pulled before the first confidence bound, chosen without feedback."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from agents.core.gp_settings import Model
from gpbandit_envs.arguments import as_count, positive_number
from gpbandit_envs.gp.exact import ExactPosterior

__all__ = ["InitialDesign", "UncertaintyDesign", "UniformDesign"]


class InitialDesign(ABC):
    """Chooses the arms of the first batch."""

    @abstractmethod
    def arms(
        self, model: Model, X: Float[np.ndarray, "A d"], limit: int | None, rng: np.random.Generator
    ) -> Int[np.ndarray, " n"]:
        """At most `limit` of the arms `X`, possibly repeated, possibly none, under the prior and noise of `model`."""


@dataclass(frozen=True)
class UniformDesign(InitialDesign):
    """`n` arms drawn uniformly, with replacement.

    Attributes:
        n: How many, >= 0.
    """

    n: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", as_count("n_start", self.n, 0))

    def arms(
        self, model: Model, X: Float[np.ndarray, "A d"], limit: int | None, rng: np.random.Generator
    ) -> Int[np.ndarray, " n"]:
        return rng.integers(len(X), size=self.n if limit is None else min(self.n, limit))


@dataclass(frozen=True)
class UncertaintyDesign(InitialDesign):
    """Uncertainty sampling: pull the arm of largest posterior variance, again and again.

    Ends after `n` pulls, or once the largest leverage score is at most `1 / min_batch`, which bounds all later batches
    of BBKB from below by about `min_batch (C~ - 1)`; BBKB's Algorithm 3 states the bound on sigma, its proof and
    Proposition 4 on sigma^2, the leverage score.

    Attributes:
        n: Pulls, or None.
        min_batch: Batch size `P` to guarantee, or None.

    References: Desautels et al. (2012), section 4, Lemma 2; Calandriello et al. (2020), Algorithm 3.
    """

    n: int | None = None
    min_batch: float | None = None

    def __post_init__(self) -> None:
        if (self.n is None) == (self.min_batch is None):
            raise ValueError("start: expected exactly one of n and min_batch")
        if self.n is not None:
            object.__setattr__(self, "n", as_count("t_init", self.n, 0))
        if self.min_batch is not None:
            object.__setattr__(self, "min_batch", positive_number("min_batch", self.min_batch))

    def arms(
        self, model: Model, X: Float[np.ndarray, "A d"], limit: int | None, rng: np.random.Generator
    ) -> Int[np.ndarray, " n"]:
        posterior = ExactPosterior(model.kernel, X, model.lam)
        arms: list[int] = []
        while len(arms) != limit and len(arms) != self.n:
            arm = int(np.argmax(posterior.ahead()))
            if self.min_batch is not None and max(posterior.ahead()[arm], 0.0) / model.lam <= 1 / self.min_batch:
                break  # the arm that shows the bound to hold need not be pulled
            posterior.pull(arm)
            arms.append(arm)
        return np.array(arms, np.int64)
