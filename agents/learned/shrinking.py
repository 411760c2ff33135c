"""GP-UCB with MAP hyperparameters whose lengthscales are divided by a factor: A-GP-UCB, and Wang and de Freitas."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from agents.learned.base import LearnedAgent
from gpbandit_envs.arguments import as_number
from gpbandit_envs.gp.hyperparameters import Hyperparameters
from gpbandit_envs.gp.regression import GPRegression
from gpbandit_envs.problem import Problem

_STEP, _LARGEST = 1.1, 1e3  # of the grid of g, for A-GP-UCB
_POINTS = 256
_GRID = 2.0 ** np.arange(0, 5.25, 0.25)  # of g, for Wang and de Freitas


class ShrinkingAgent(LearnedAgent):
    """GP-UCB with the MAP hyperparameters, all lengthscales divided by a `g >= 1`; arguments as for `LearnedAgent`.

    Attributes:
        g: The current divisor.
    """

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        self.g = 1.0
        self._map: list[Hyperparameters] = []
        super().reset(problem, rng)

    @abstractmethod
    def _divisor(self) -> float:
        """The `g` for the current MAP estimate."""

    def estimate(self) -> None:
        if self._map:
            self.hyperparameters = self._map  # where the search for the next estimate begins
        self.fit_map(self.X, self.y)
        self._map = list(self.hyperparameters)
        self._shrink()

    def _shrink(self) -> None:
        self.g = self._divisor()
        self.hyperparameters = [self._shrunk(self.g)]

    def _shrunk(self, g: float) -> Hyperparameters:
        known = self._map[0]
        return Hyperparameters(known.variance, known.noise, tuple(each / g for each in known.lengthscales))

    def _posterior_of(self, g: float, n: int | None = None) -> GPRegression:
        """The posterior with lengthscales divided by `g`, given the first `n` data or all."""
        known = self._shrunk(g)
        return GPRegression(known.kernel(self.family), self.X[:n], self.y[:n], known.noise, self.prior_mean)

    def diagnostics(self) -> Mapping[str, float]:
        return {**super().diagnostics(), "g": self.g}


@dataclass(kw_only=True, eq=False, repr=False)
class AGPUCB(ShrinkingAgent):
    """GP-UCB with MAP hyperparameters whose lengthscales are divided by a `g(t)` that never decreases.

    GP-UCB's regret is at most a multiple of `sqrt(t I_t)`, with `I_t` the information gain. `g(t)` is the largest of a
    grid for which this bound, after one more evaluation at the maximiser, does not exceed the reference `p(t) = t^a`.
    Reference and bound are in different units, which the UHE-BO paper leaves open: here they agree at the end of `D_0`
    and with `g = 1`, so that the condition is `I_t <= I_0 (t / n_0)^(2a - 1)`, free of the constants of the bound. The
    maximiser for the prediction is searched among random points. Other arguments: see `LearnedAgent`.

    Args:
        exponent: `a` of the reference, in (0.5, 1).

    Raises:
        ValueError: if it is not.

    Reference: Berkenkamp, Schoellig and Krause (2019), No-regret Bayesian optimization with unknown hyperparameters,
    section 4; Ha et al. (2023), appendix C.
    """

    policy_family = "adaptive lengthscale"
    exponent: float = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        self.exponent = as_number("exponent", self.exponent, "a number in (0.5, 1)", lambda a: 0.5 < a < 1)

    def _divisor(self) -> float:
        points = self.space.coordinates(self.space.random(_POINTS, self.rng))
        growth = (len(self.y) / self.design_size) ** (2 * self.exponent - 1)
        allowed = self._posterior_of(1.0, self.design_size).information_gain * growth
        g = self.g
        while g < _LARGEST and self._predicted_gain(g * _STEP, points) <= allowed:
            g *= _STEP
        return g

    def _predicted_gain(self, g: float, points: np.ndarray) -> float:
        """`I` after one more evaluation, at the best of `points`."""
        posterior = self._posterior_of(g)
        mean, variance = posterior.at(points)
        best = int(np.argmax(mean + self.width * np.sqrt(variance)))
        return posterior.information_gain + 0.5 * float(np.log1p(variance[best] / posterior.lam))


@dataclass(kw_only=True, eq=False, repr=False)
class WangDeFreitas(ShrinkingAgent):
    """GP-UCB with MAP hyperparameters whose lengthscales are divided by the smallest `g` with `sd(x) >= kappa s`.

    `x` is the point that would be evaluated next with these lengthscales and `s` the prior standard deviation, as
    `kappa` is meant for a kernel of variance 1. `g` is found by bisection on a grid from 1 to 32; it is 32 where no
    divisor suffices. Every estimate starts from `g = 1`, as in the variant that Berkenkamp et al. (2019) and
    Ha et al. (2023) compare with. Where a step offers only some of the arms, `x` is one of those. Other arguments: see
    `LearnedAgent`.

    Args:
        kappa: Least standard deviation at the next point, in prior standard deviations, in (0, 1).

    Raises:
        ValueError: if it is not.

    Reference: Wang and de Freitas (2014), Theoretical analysis of Bayesian optimisation with unknown Gaussian process
    hyper-parameters, Algorithm 1.
    """

    policy_family = "estimated kernel"
    kappa: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.kappa = as_number("kappa", self.kappa, "a number in (0, 1)", lambda kappa: 0 < kappa < 1)

    def offer(self, arms: Int[np.ndarray, " k"]) -> None:
        super().offer(arms)
        if self.offered.some is not None and not self.in_initial_design:
            # The divisor of the last estimate is for a point among the arms of the step before.
            self._shrink()
            self.update_posterior()

    def _divisor(self) -> float:
        if self._is_uncertain(0):
            return float(_GRID[0])
        low, high = 0, len(_GRID) - 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._is_uncertain(middle) else (middle, high)
        return float(_GRID[high])

    def _is_uncertain(self, k: int) -> bool:
        """Whether the next point under the `k`-th divisor of the grid has the required standard deviation."""
        posterior = self._posterior_of(float(_GRID[k]))
        variance = posterior.at(self.space.coordinates(self.maximise_bound(posterior)))[1]
        return bool(variance[0] >= self.kappa**2 * self._map[0].variance)
