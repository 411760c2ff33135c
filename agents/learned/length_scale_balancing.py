"""LB-GP-UCB: several lengthscales side by side, the one with the least suspected regret plays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, inf, log, pi, sqrt
from typing import Literal, get_args

import numpy as np

from agents.learned.base import LearnedAgent, as_noise, known_noise
from gpbandit_envs.arguments import as_count, as_number, as_word
from gpbandit_envs.gp.hyperparameters import Hyperparameters, isotropic_estimate, noise_estimate
from gpbandit_envs.gp.observations import Observations
from gpbandit_envs.problem import Problem

Form = Literal["paper", "code"]
_SMOOTHNESS = {"matern52": 2.5, "matern32": 1.5, "se": inf}


def suspected_regret(n: int, candidate: int, dim: int, nu: float, norm: float = 1.0) -> float:
    """`R^theta(n)` after `n` evaluations with lengthscales `theta = theta_0 exp(-candidate / dim)`, up to a constant.

    `e^i sqrt(n) (norm sqrt(g_n) + g_n)` with `i` the candidate and `g_n` how the information gain of `theta_0` grows:
    `n^(d (d + 1) / (2 nu + d (d + 1))) log(n)^(2 nu / (2 nu + d))`, or `log(n)^(d + 1)` for the SE kernel. A
    lengthscale that is shorter by a factor has a gain larger by its `d`-th power, and is granted a norm larger by the
    root of that. 0 for `n = 1`: a candidate that never played is first.

    Args:
        n: Evaluations, >= 1.
        candidate: Number `i >= 0` of the candidate.
        dim: Number of features `d`.
        nu: Smoothness of a Matern kernel, infinity for the SE kernel.
        norm: Bound on the norm at the longest lengthscales, in standard deviations of the reward.

    Reference: Ziomek, Adachi and Osborne (2024), Proposition 2.2, Theorem 2.3 and section 2.
    """
    if nu == inf:
        gain = log(n) ** (dim + 1)
    else:
        gain = n ** (dim * (dim + 1) / (2 * nu + dim * (dim + 1))) * log(n) ** (2 * nu / (2 * nu + dim))
    return exp(candidate) * sqrt(n) * (norm * sqrt(gain) + gain)


def suspected_regret_in_code(n: int, lengthscale: float, dim: int, norm: float = 1.0) -> float:
    """What the authors' code puts in the place of `suspected_regret`, up to a constant.

    `sqrt(n) (norm sqrt(g_n) + g_n)` with `g_n = log(n)^(d + 1) / lengthscale^d`, the rate of the SE kernel, for any
    kernel; all candidates are granted the same norm, and the lengthscale itself enters, not its ratio to the longest.

    Args:
        n: Evaluations, >= 1.
        lengthscale: Of the candidate, in coordinates of the unit cube.
        dim: Number of features `d`.
        norm: Bound on the norm, in standard deviations of the reward.

    Reference: Ziomek, Adachi and Osborne (2024), `RegretCalculator` of their code.
    """
    gain = log(n) ** (dim + 1) / lengthscale**dim
    return sqrt(n) * (norm * sqrt(gain) + gain)


@dataclass(kw_only=True, eq=False, repr=False)
class LBGPUCB(LearnedAgent):
    """GP-UCB with one of several lengthscales: the one whose regret, were it well specified, would be least so far.

    A candidate is one lengthscale, the same for all features. The longest is the MAP estimate from `D_0`; shorter ones
    join as time goes by; one whose rewards fall short of another's by more than its confidence widths explain is
    eliminated. All share the data, whose standard deviation is the kernel's. The paper takes the noise as known, which
    matters: where it is estimated, what a lengthscale is too long for passes for noise. Other arguments: see
    `LearnedAgent`; `fits` is not used.

    The authors' code, at github.com/JuliuszZiomek/LB-GP-UCB, is not what the paper proves: its elimination test has one
    width on the left where the proof needs two, its candidates of a Matern kernel are denser, and a shorter lengthscale
    is granted no larger norm. `form="code"` plays by these.

    Args:
        form: `"paper"`, or `"code"`: eliminate with one width and `log(m pi^2 t^2 / (6 delta))`, `m` the candidates
            that are active, in place of two, 3 and all introduced; candidates `theta_0 e^(-i / (d + 2 nu))` of a Matern
            kernel, with `d + 2 nu` for `d` in the growth function too; and `suspected_regret_in_code`.
        n_lengths: Candidates at the beginning, from 1 to 500.
        growth: Exponent `a` in (0, 1) of the growth function `g(t) = max(e^(n_lengths / d), t^a)`; candidates are the
            `theta_0 e^(-i / d)` above `theta_0 / g(t)`, at most one more an evaluation.
        norm: Bound on the RKHS norm at the longest lengthscales, in standard deviations of the reward; > 0.
        noise: `"data"` to estimate the noise from the data, given the lengthscale; `"stated"` for the problem's; or its
            standard deviation, unit of the reward.
        delta: Allowed probability in (0, 1) of eliminating a well-specified candidate, for widths that hold.

    Attributes:
        active: Numbers `i` of the candidates that have not been eliminated.
        candidate: Number of the one that chooses the next point.

    Raises:
        ValueError: if a number is out of range.

    Reference: Ziomek, Adachi and Osborne (2024), Bayesian optimisation with unknown hyperparameters: regret bounds
    logarithmically closer to optimal, Algorithm 1, with the elimination rule of its Lemma B.4.
    """

    policy_family = "adaptive lengthscale"
    form: Form = "paper"
    n_lengths: int = 5
    growth: float = 0.5
    norm: float = 1.0
    noise: str | float = "data"
    delta: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        as_word("form", self.form, get_args(Form))
        self.n_lengths = as_count("n_lengths", self.n_lengths, most=500)
        self.growth = as_number("growth", self.growth, "a number in (0, 1)", lambda a: 0 < a < 1)
        self.noise = as_noise(self.noise, ("data",))
        self.norm = as_number("norm", self.norm, "a finite number > 0", lambda norm: norm > 0)
        self.delta = as_number("delta", self.delta, "a probability in (0, 1)", lambda p: 0 < p < 1)

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        self._known_noise = known_noise(self.noise, problem)
        self.active = list(range(self.n_lengths))
        self.candidate = 0
        self._introduced = self.n_lengths
        self._n = [0] * self.n_lengths  # of each candidate ever introduced: evaluations, sums of rewards and of widths
        self._rewards, self._widths = [0.0] * self.n_lengths, [0.0] * self.n_lengths
        self._t = 0  # evaluations after D_0
        self._longest = 0.0  # theta_0, once D_0 is there
        super().reset(problem, rng)

    def record_evaluation(self, reward: float) -> None:
        self._t += 1
        if not np.isnan(reward):
            variance = self.posterior.at(self.X[-1:])[1]  # as it was when the point was chosen
            self._n[self.candidate] += 1
            self._rewards[self.candidate] += reward
            self._widths[self.candidate] += self.width * sqrt(max(float(variance[0]), 0.0))
            if all(self._n[i] for i in self.active):
                self._eliminate()
        # The first candidate below the bound waits until the bound has passed it.
        if self._introduced < self._steps * log(self._g(self._t + 1)):
            self.active.append(self._introduced)
            self._introduced += 1
            self._n.append(0)
            self._rewards.append(0.0)
            self._widths.append(0.0)

    @property
    def _steps(self) -> float:
        """Candidates until the lengthscale has shrunk by a factor e."""
        nu, dim = _SMOOTHNESS[self.family], self.problem.dim
        return dim + 2 * nu if self.form == "code" and nu < inf else dim

    def _g(self, t: int) -> float:
        return float(max(exp(self.n_lengths / self._steps), t**self.growth))

    def _length(self, candidate: int) -> float:
        return self._longest * exp(-candidate / self._steps)

    def _regret(self, candidate: int) -> float:
        """What is suspected of a candidate once it has played the coming evaluation."""
        n, dim = self._n[candidate] + 1, self.problem.dim
        if self.form == "code":
            return suspected_regret_in_code(n, self._length(candidate), dim, self.norm)
        return suspected_regret(n, candidate, dim, _SMOOTHNESS[self.family], self.norm)

    def _eliminate(self) -> None:
        """Lines 9 to 12: keep the candidates whose rewards their own bound explains."""
        active = np.array(self.active)
        n = np.array(self._n, np.float64)[active]
        means, widths = np.array(self._rewards)[active] / n, np.array(self._widths)[active] / n
        noise, by_proof = self.hyperparameters[0].noise, self.form == "paper"
        candidates, share = (self._introduced, 3) if by_proof else (len(active), 6)
        radius = np.sqrt(2 * noise * log(candidates * pi**2 * self._t**2 / (share * self.delta)) / n)
        kept = means + radius + (2 if by_proof else 1) * widths >= (means - radius).max()
        self.active = active[kept].tolist()

    def estimate(self) -> None:
        if not self._longest:
            found = isotropic_estimate(
                self.X, self.y, family=self.family, prior=self.hyper_prior, noise=self._known_noise
            )
            self._longest = found.lengthscales[0]
        self.candidate = min(self.active, key=lambda i: (self._regret(i), i))
        _, offset, scale = Observations.of(self.X, self.y).standardised()
        lengths = (self._length(self.candidate),) * self.problem.dim
        known = Hyperparameters(scale**2, self._known_noise or scale**2, lengths)
        if self._known_noise is None:
            known = noise_estimate(self.X, self.y, known, family=self.family, prior=self.hyper_prior)
        self.hyperparameters = [known]
        self.prior_mean = offset

    def diagnostics(self) -> Mapping[str, float]:
        facts = {"candidate": float(self.candidate), "active_candidates": float(len(self.active))}
        return {**super().diagnostics(), **facts}
