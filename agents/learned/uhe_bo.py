"""UHE-BO, its ablations, and the portfolio: EXP3 chooses between random points and maximisers of the UCB."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import e, log, sqrt
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float
from scipy.spatial.distance import cdist

from agents.learned.base import LearnedAgent, as_noise, known_noise
from gpbandit_envs.arguments import as_number, as_word
from gpbandit_envs.gp.hyperparameters import noise_estimate
from gpbandit_envs.gp.observations import Observations
from gpbandit_envs.problem import Problem

Loss = Literal["unbiased", "plain"]
Sampling = Literal["exp3", "alternate"]
_RANDOM = 0  # the arm of EXP3 that stands for a random point, in UHE-BO for a pair that begins with one


def exploration_rate(pulls: float, n_arms: int = 2) -> float:
    """`gamma = min(1, sqrt(K log K / ((e - 1) g)))` after `g` pulls of `K` arms.

    UHE-BO pulls an arm every two evaluations: with `g = t / 2` this is its `sqrt(4 log 2 / ((e - 1) t))`.

    Reference: Auer, Cesa-Bianchi, Freund and Schapire (2002), The nonstochastic multiarmed bandit problem,
    Corollary 3.2; Ha et al. (2023), Algorithm 1, line 5.
    """
    return min(1.0, sqrt(n_arms * log(n_arms) / ((e - 1) * pulls)))


class Exp3:
    """Exponential weights with exploration.

    `p_m = (1 - gamma) w_m / sum w + gamma / K`; after reward `r` in [0, 1], the drawn arm `a` gets
    `w_a *= exp(gamma r / (K p_a))`.

    Args:
        n_arms: Number of arms `K >= 2`.

    Attributes:
        arm: The arm drawn last.
        probability: The probability it was drawn with.
    """

    def __init__(self, n_arms: int = 2) -> None:
        self._log_weights = np.zeros(n_arms)
        self.arm = 0
        self.probability = 1.0

    def probabilities(self, gamma: float) -> Float[np.ndarray, " K"]:
        """`p` under the current weights."""
        # Divided by the largest weight, so that none overflows.
        weights = np.exp(self._log_weights - self._log_weights.max())
        return (1 - gamma) * weights / weights.sum() + gamma / len(weights)

    def draw(self, gamma: float, rng: np.random.Generator) -> int:
        """Draw an arm and remember its probability."""
        p = self.probabilities(gamma)
        self.arm = int(np.searchsorted(np.cumsum(p)[:-1], rng.random(), side="right"))
        self.probability = float(p[self.arm])
        return self.arm

    def update(self, gamma: float, reward: float) -> None:
        """Reward the arm drawn last.

        Raises:
            ValueError: if the reward is not in [0, 1].
        """
        if not 0 <= reward <= 1:
            raise ValueError(f"reward: expected a number in [0, 1], got {reward!r}")
        self._log_weights[self.arm] += gamma * reward / (len(self._log_weights) * self.probability)


@dataclass(kw_only=True, eq=False, repr=False)
class UHEBO(LearnedAgent):
    """Plays in pairs, a random point and a maximiser or two maximisers, and estimates on points drawn uniformly.

    EXP3 chooses between the two kinds of pair; the reward is the larger feedback of the pair, scaled by `D_0`. The
    hyperparameters are those that maximise the posterior of `M` pseudo-observations: uniform points, each with the
    feedback of the nearest evaluated one. Predictions use the real data. Other arguments: see `LearnedAgent`.

    The paper proves that this estimate is consistent. Measured after tens of evaluations its lengthscales
    follow the spacing of the data, too short for smooth functions and too long for rough ones: copied feedback is
    constant on the cell around each evaluated point. Variation within a cell is attributed to noise, whose
    estimate is then far too large, so that the posterior hardly follows the data. `noise="data"` estimates it from the
    data, a number states it: on Branin's function either lowers the simple regret after 100 evaluations several times.

    `loss="plain"` estimates from the data themselves (the ablation Random+EXP3); `sampling="alternate"` always plays
    the pair with the random point (RA-BO).

    Args:
        loss: `"unbiased"` or `"plain"`.
        sampling: `"exp3"` or `"alternate"`.
        pseudo: Pseudo-observations per observation, `M / n >= 1`.
        noise: `"pseudo"` to estimate the noise with all else from pseudo-observations; `"data"` to estimate it from the
            data, given the lengthscales and the variance of the pseudo-observations; `"stated"` for the problem's; or
            its standard deviation, unit of the reward. The paper's proofs have a given noise, and what they prove of
            the estimate speaks of the kernel alone.

    Raises:
        ValueError: if an argument is none of these.

    Reference: Ha, Nguyen, Zhang and van den Hengel (2023), Provably efficient Bayesian optimization with unbiased
    Gaussian process hyperparameter estimation, Algorithm 1.
    """

    policy_family = "unbiased estimates"
    loss: Loss = "unbiased"
    sampling: Sampling = "exp3"
    pseudo: float = 2.0
    noise: str | float = "pseudo"

    def __post_init__(self) -> None:
        super().__post_init__()
        as_word("loss", self.loss, get_args(Loss))
        as_word("sampling", self.sampling, get_args(Sampling))
        self.pseudo = as_number("pseudo", self.pseudo, "a number from 1 to 1000", lambda M: 1 <= M <= 1000)
        self.noise = as_noise(self.noise, ("pseudo", "data"))

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        self._known_noise = known_noise(self.noise, problem)
        self._exp3 = Exp3(2)
        self._t = 0  # evaluations after D_0
        self._pair_best = -np.inf
        super().reset(problem, rng)

    @staticmethod
    def _gamma(t: int) -> float:
        return exploration_rate(t / 2)  # line 5

    def record_evaluation(self, reward: float) -> None:
        self._t += 1
        if not np.isnan(reward):
            self._pair_best = max(self._pair_best, reward)
        if self._t % 2 == 0:
            if self.sampling == "exp3" and np.isfinite(self._pair_best):
                self._exp3.update(self._gamma(self._t), self.scaled_reward(self._pair_best))  # lines 19-20
            self._pair_best = -np.inf

    def plan_next(self) -> None:
        self.explores = self._explores_next()
        if not self.explores:
            self.estimate()
        self.update_posterior()

    def _explores_next(self) -> bool:
        """Whether the next action is a random one; called once an evaluation, as it may draw."""
        t = self._t + 1
        if t % 2 == 0:
            return False
        if self.sampling == "alternate":
            return True
        return self._exp3.draw(self._gamma(t), self.rng) == _RANDOM  # line 7

    def estimate(self) -> None:
        if self.loss == "plain":
            self.fit_map(self.X, self.y)
        else:
            # Lines 14-15; pseudo-observations are standardised like the data, since the posterior is given the data.
            _, offset, scale = Observations.of(self.X, self.y).standardised()
            points = self.space.coordinates(self.space.random(round(self.pseudo * len(self.y)), self.rng))
            nearest = cdist(points, self.X, "sqeuclidean").argmin(axis=1)  # the oldest, where one was evaluated again
            self.fit_map(points, self.y[nearest], units=(offset, scale))
        if self.noise == "data":
            known = self.hyperparameters[0]
            self.hyperparameters = [noise_estimate(self.X, self.y, known, family=self.family, prior=self.hyper_prior)]
        elif self._known_noise is not None:
            self.hyperparameters = [replace(known, noise=self._known_noise) for known in self.hyperparameters]

    def diagnostics(self) -> Mapping[str, float]:
        if self.sampling == "alternate":
            return super().diagnostics()
        p = self._exp3.probabilities(self._gamma(self._t + 1))[_RANDOM]
        return {**super().diagnostics(), "random_probability": float(p)}


class Portfolio(LearnedAgent):
    """EXP3 chooses for every evaluation whether its point is random or GP-UCB's, with MAP hyperparameters.

    As in Hoffman et al. the reward of a choice is the posterior mean at its point, with its feedback taken in; here it
    is scaled by `D_0`. They use full-information Hedge over several acquisition functions; EXP3 over these two is the
    variant that the UHE-BO paper compares with. Arguments: see `LearnedAgent`.

    Reference: Hoffman, Brochu and de Freitas (2011), Portfolio allocation for Bayesian optimization, Algorithm 2; Ha et
    al. (2023), appendix C.
    """

    policy_family = "heuristic"

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        self._exp3 = Exp3(2)
        self._t = 0  # evaluations after D_0
        self._failed = False
        super().reset(problem, rng)

    def record_evaluation(self, reward: float) -> None:
        self._t += 1
        self._failed = bool(np.isnan(reward))

    def plan_next(self) -> None:
        self.estimate()
        self.update_posterior()
        if self._t > 0:
            mean = np.nan if self._failed else float(self.posterior.at(self.X[-1:])[0][0])
            self._exp3.update(exploration_rate(self._t), self.scaled_reward(mean))
        self.explores = self._exp3.draw(exploration_rate(self._t + 1), self.rng) == _RANDOM

    def diagnostics(self) -> Mapping[str, float]:
        p = self._exp3.probabilities(exploration_rate(self._t + 1))[_RANDOM]
        return {**super().diagnostics(), "random_probability": float(p)}
