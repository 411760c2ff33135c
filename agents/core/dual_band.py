"""The confidence band that intersects those of several regularisers, on arms and on a box.

| symbol | meaning |
|---|---|
| `a` | a regulariser: noise variance of a posterior on the same data; the first of them is `lam` |
| `mean_a`, `sd_a` | posterior mean and standard deviation with it |
| `w_a` | its factor `rad_a / sqrt(a)`, see `agents.core.widths.DualMixture`; infinite where the data refute it |
| `upper` | `min_a mean_a + w_a sd_a` |
| `lower` | `max_a mean_a - w_a sd_a` |

Posteriors share kernel rows and nothing else, so a pull costs as many rank-one updates as there are regularisers.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from agents.core.beliefs import Beliefs, BoxBeliefs, ExactBeliefs
from agents.core.gp_settings import Model
from agents.core.protocol import Actions
from agents.core.space import Search
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.gp.regression import GPRegression
from gpbandit_envs.problem import InitialData, Problem

__all__ = ["DualArmBeliefs", "DualArms", "DualBeliefs", "DualBoxBeliefs", "intersection"]

Factors = Float[np.ndarray, " G"]


class DualArms:
    """The posteriors of `G` regularisers over one set of arms.

    Args:
        plain: The posterior with `lam`, before any data.
        grid: Regularisers in units of `lam`, the first of them 1.

    Attributes:
        posteriors: One for each regulariser; the first is `plain`.
    """

    def __init__(self, plain: ExactPosterior, grid: tuple[float, ...]) -> None:
        self.posteriors = [plain, *(plain.with_noise(ratio * plain.lam) for ratio in grid[1:])]

    def misfits(self) -> Factors:
        """`a y^T (K_t + a I)^-1 y` for each regulariser, less what is the same for all of them."""
        return np.array([posterior.lam * posterior.quadratic for posterior in self.posteriors])

    def upper(self, factors: Factors) -> Float[np.ndarray, " A"]:
        """`upper` of all arms."""
        upper: np.ndarray | None = None
        for posterior, factor in zip(self.posteriors, factors.tolist()):
            if factor == np.inf:
                continue
            score = np.sqrt(posterior.variance)
            score *= factor
            score += posterior.mean
            upper = score if upper is None else np.minimum(upper, score, out=upper)
        assert upper is not None  # lam is never refuted
        return upper


class DualBeliefs(Beliefs):
    """Beliefs with a posterior for each regulariser of a grid."""

    @property
    @abstractmethod
    def misfits(self) -> Factors:
        """`a y^T (K_t + a I)^-1 y` for each regulariser, less what is the same for all of them."""

    @abstractmethod
    def maximise_upper(self, factors: Factors, rng: np.random.Generator) -> Actions:
        """The action of largest `upper`, as an array of one."""

    @abstractmethod
    def bounds(
        self, X: Float[np.ndarray, "n d"], factors: Factors
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """`lower` and `upper` at points; `lower` exceeds `upper` where bounds contradict each other."""


class DualArmBeliefs(DualBeliefs, ExactBeliefs):
    """The exact posteriors over all arms.

    Args:
        problem, model, data: As for `ArmBeliefs`.
        grid: Regularisers in units of `lam`, the first of them 1.
    """

    def __init__(self, problem: Problem, model: Model, data: InitialData | None, grid: tuple[float, ...]) -> None:
        self._grid = grid
        super().__init__(problem, model, data)

    def _prior(self) -> ExactPosterior:
        posterior = super()._prior()
        self._dual = DualArms(posterior, self._grid)
        return posterior

    def _condition(self, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> None:
        for posterior in self._dual.posteriors:
            posterior.update(arms, counts, sums)

    @property
    def misfits(self) -> Factors:
        return self._dual.misfits()

    def maximise_upper(self, factors: Factors, rng: np.random.Generator) -> Actions:
        return np.array([self.offered.best(self.offered.of(self._dual.upper(factors)))])

    def bounds(
        self, X: Float[np.ndarray, "n d"], factors: Factors
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        return intersection((posterior.at(X) for posterior in self._dual.posteriors), factors)


class DualBoxBeliefs(DualBeliefs, BoxBeliefs):
    """The exact posteriors given evaluated points of the unit cube.

    Args:
        problem, model, search, data: As for `BoxBeliefs`.
        grid: Regularisers in units of `lam`, the first of them 1.
    """

    def __init__(
        self, problem: Problem, model: Model, search: Search, data: InitialData | None, grid: tuple[float, ...]
    ) -> None:
        self._grid = grid
        super().__init__(problem, model, search, data)

    def _fit(self) -> None:
        super()._fit()
        kernel, lam = self.model.kernel, self.model.lam
        self._posteriors = (
            self.posterior,
            *(GPRegression(kernel, self.X, self.y, ratio * lam) for ratio in self._grid[1:]),
        )

    @property
    def misfits(self) -> Factors:
        return np.array([posterior.lam * posterior.quadratic for posterior in self._posteriors])

    def maximise_upper(self, factors: Factors, rng: np.random.Generator) -> Actions:
        return self._maximise(_DualUpperBound(self._posteriors, factors), rng)

    def bounds(
        self, X: Float[np.ndarray, "n d"], factors: Factors
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        return intersection((posterior.at(X) for posterior in self._posteriors), factors)


@dataclass(frozen=True)
class _DualUpperBound:
    """`upper` as an `Objective`; where two regularisers give the same bound its gradient is that of the first."""

    posteriors: tuple[GPRegression, ...]
    factors: Factors

    def __call__(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        return intersection((posterior.at(X) for posterior in self.posteriors), self.factors)[1]

    def with_gradient(self, X: Float[np.ndarray, "n d"]) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n d"]]:
        upper, gradient = np.full(len(X), np.inf), np.zeros(X.shape)
        for posterior, factor in zip(self.posteriors, self.factors.tolist()):
            if factor == np.inf:
                continue
            mean, sd, mean_gradient, sd_gradient = posterior.at_with_gradient(X)
            value = mean + factor * sd
            lower = value < upper
            upper[lower] = value[lower]
            gradient[lower] = mean_gradient[lower] + factor * sd_gradient[lower]
        return upper, gradient


def intersection(
    posteriors: Iterable[tuple[np.ndarray, np.ndarray]], factors: Factors
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """`lower` and `upper`.

    Args:
        posteriors: Mean and variance with each regulariser, each of shape (n,).
        factors: `w_a` of each, shape (G,); those that are infinite are left out.
    """
    known = [
        (mean, factor * np.sqrt(variance))
        for (mean, variance), factor in zip(posteriors, factors.tolist())
        if factor < np.inf
    ]
    lower = np.max([mean - half for mean, half in known], axis=0)
    upper = np.min([mean + half for mean, half in known], axis=0)
    return lower, upper
