"""The confidence band that intersects those of several regularisers, on arms and on a box.

| symbol | meaning |
|---|---|
| `a` | a regulariser: noise variance of a posterior on the same data; the first of them is `lam` |
| `mean_a`, `sd_a` | posterior mean and standard deviation with it |
| `w_a`, `eps` | its factor `rad_a / sqrt(a)`, infinite where the data refute it, and the slack; see `DualBand` |
| `upper` | the least of `mean_a + w_a sd_a + eps`, over regularisers and rows of the band |
| `lower` | the largest of `mean_a - w_a sd_a - eps` |

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
from agents.core.widths import DualBand, Evidence
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.gp.observations import Observations
from gpbandit_envs.gp.regression import GPRegression
from gpbandit_envs.problem import InitialData, Problem

__all__ = ["DualArmBeliefs", "DualArms", "DualBeliefs", "DualBoxBeliefs", "intersection"]


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

    def misfits(self) -> Float[np.ndarray, " G"]:
        """`a y^T (K_t + a I)^-1 y` for each regulariser, less what is the same for all of them."""
        return np.array([posterior.lam * posterior.quadratic for posterior in self.posteriors])

    def upper(self, band: DualBand) -> Float[np.ndarray, " A"]:
        """`upper` of all arms."""
        upper: np.ndarray | None = None
        for posterior, factors in zip(self.posteriors, band.factors.T.tolist()):
            sd = np.sqrt(posterior.variance)
            for factor, slack in zip(factors, band.slacks.tolist()):
                if factor == np.inf:
                    continue
                score = sd * factor
                score += posterior.mean
                if slack:
                    score += slack
                upper = score if upper is None else np.minimum(upper, score, out=upper)
        assert upper is not None  # lam is never refuted
        return upper


class DualBeliefs(Beliefs):
    """Beliefs with a posterior for each regulariser of a grid."""

    @property
    @abstractmethod
    def evidence(self) -> Evidence:
        """What the feedback so far tells."""

    @abstractmethod
    def maximise_upper(self, band: DualBand, rng: np.random.Generator) -> Actions:
        """The action of largest `upper`, as an array of one."""

    @abstractmethod
    def bounds(
        self, X: Float[np.ndarray, "n d"], band: DualBand
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
        self._squares, self._squared_errors = np.zeros(problem.n_arms), 0.0
        super().__init__(problem, model, data)

    def _prior(self) -> ExactPosterior:
        posterior = super()._prior()
        self._dual = DualArms(posterior, self._grid)
        return posterior

    def _condition(self, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> None:
        errors = sums / counts - self._dual.posteriors[0].mean[arms]
        self._squared_errors += float(counts @ errors**2)
        self._squares[arms] += sums**2 / counts
        for posterior in self._dual.posteriors:
            posterior.update(arms, counts, sums)

    @property
    def evidence(self) -> Evidence:
        posterior = self._dual.posteriors[0]
        pulled = np.flatnonzero(posterior.n)
        between = self._squares[pulled] - posterior.sums[pulled] ** 2 / posterior.n[pulled]
        return Evidence(self._dual.misfits(), max(float(between.sum()), 0.0), self._squared_errors)

    def maximise_upper(self, band: DualBand, rng: np.random.Generator) -> Actions:
        return np.array([self.offered.best(self.offered.of(self._dual.upper(band)))])

    def bounds(
        self, X: Float[np.ndarray, "n d"], band: DualBand
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        return intersection((posterior.at(X) for posterior in self._dual.posteriors), band)


class DualBoxBeliefs(DualBeliefs, BoxBeliefs):
    """The exact posteriors given evaluated points of the unit cube.

    Args:
        problem, model, search, data: As for `BoxBeliefs`.
        grid: Regularisers in units of `lam`, the first of them 1.
    """

    def __init__(
        self, problem: Problem, model: Model, search: Search, data: InitialData | None, grid: tuple[float, ...]
    ) -> None:
        self._grid, self._squared_errors = grid, 0.0
        super().__init__(problem, model, search, data)

    def _fit(self) -> None:
        super()._fit()
        kernel, lam = self.model.kernel, self.model.lam
        self._posteriors = (
            self.posterior,
            *(GPRegression(kernel, self.X, self.y, ratio * lam) for ratio in self._grid[1:]),
        )

    def _take_in(self, X: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"]) -> None:
        for i in range(len(y)):
            self._squared_errors += float((y[i] - self.posterior.at(X[i : i + 1])[0][0]) ** 2)
            super()._take_in(X[i : i + 1], y[i : i + 1])

    @property
    def evidence(self) -> Evidence:
        misfits = np.array([posterior.lam * posterior.quadratic for posterior in self._posteriors])
        # Feedback at equal points enters the misfits by its mean, whenever it came.
        scatter = 0.0
        if len(self.y):
            seen = Observations.of(self.X, self.y)
            scatter = float(self.y @ self.y - seen.counts @ seen.means**2)
        return Evidence(misfits, 0.0, self._squared_errors - scatter)

    def maximise_upper(self, band: DualBand, rng: np.random.Generator) -> Actions:
        return self._maximise(_DualUpperBound(self._posteriors, band), rng)

    def bounds(
        self, X: Float[np.ndarray, "n d"], band: DualBand
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        return intersection((posterior.at(X) for posterior in self._posteriors), band)


@dataclass(frozen=True)
class _DualUpperBound:
    """`upper` as an `Objective`; where two regularisers give the same bound its gradient is that of the first."""

    posteriors: tuple[GPRegression, ...]
    band: DualBand

    def __call__(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        return intersection((posterior.at(X) for posterior in self.posteriors), self.band)[1]

    def with_gradient(self, X: Float[np.ndarray, "n d"]) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n d"]]:
        upper, gradient = np.full(len(X), np.inf), np.zeros(X.shape)
        for posterior, factors in zip(self.posteriors, self.band.factors.T.tolist()):
            if min(factors) == np.inf:
                continue
            mean, sd, mean_gradient, sd_gradient = posterior.at_with_gradient(X)
            for factor, slack in zip(factors, self.band.slacks.tolist()):
                if factor == np.inf:
                    continue
                value = mean + factor * sd + slack
                lower = value < upper
                upper[lower] = value[lower]
                gradient[lower] = mean_gradient[lower] + factor * sd_gradient[lower]
        return upper, gradient


def intersection(
    posteriors: Iterable[tuple[np.ndarray, np.ndarray]], band: DualBand
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """`lower` and `upper`.

    Args:
        posteriors: Mean and variance with each regulariser, each of shape (n,).
        band: Factors and slacks; factors that are infinite are left out.
    """
    known = [
        (mean, factor * np.sqrt(variance) + slack)
        for (mean, variance), factors in zip(posteriors, band.factors.T.tolist())
        for factor, slack in zip(factors, band.slacks.tolist())
        if factor < np.inf
    ]
    lower = np.max([mean - half for mean, half in known], axis=0)
    upper = np.min([mean + half for mean, half in known], axis=0)
    return lower, upper
