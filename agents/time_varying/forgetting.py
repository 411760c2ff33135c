"""GP-UCB that forgets: by restarts, by a sliding window, or by weights that fade."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np
from jaxtyping import Float

from agents.core.beliefs import ArmBeliefs
from agents.core.gp_settings import Model
from agents.core.protocol import Action, Capabilities, Feedback, Need
from agents.core.ucb import UCBAgent
from agents.core.widths import WidthContext, WidthSchedule
from gpbandit_envs.arguments import as_count, as_number
from gpbandit_envs.gp.weighted import WeightedPosterior
from gpbandit_envs.problem import InitialData, Problem

_FADED = 1e-12  # of the weight of a pull at present


class WeightedBeliefs(ArmBeliefs[WeightedPosterior]):
    """The posterior given evaluations whose weights change with time. The time of an evaluation is its ticket.

    A subclass says how. Existing data are from just before the first evaluation, in the order given.
    """

    def __init__(self, problem: Problem, model: Model, data: InitialData | None) -> None:
        self.weights, self.weighted_sums = np.zeros(problem.n_arms), np.zeros(problem.n_arms)
        super().__init__(problem, model, data)

    def _prior(self) -> WeightedPosterior:
        return WeightedPosterior(self.model.kernel, self.features, self.model.lam)

    def _begin_with(self, data: InitialData) -> Float[np.ndarray, " n"]:
        for arm, y in zip(data.actions.tolist(), data.rewards.tolist(), strict=True):
            self._remember(arm, y)
        self._refit()
        return np.zeros(0)

    def observe(self, feedback: Feedback) -> bool:
        for i in np.argsort(feedback.tickets).tolist():
            arm, failed = int(feedback.actions[i]), bool(feedback.failed[i])
            y = None if failed else float(feedback.rewards[i])
            self._remember(arm, y)
            if y is not None:
                self._count(np.array([arm]), np.ones(1), np.array([y]))
                self.n_pulls += 1
        self._refit()
        return not bool(feedback.failed.all())

    @abstractmethod
    def _remember(self, arm: int, y: float | None) -> None:
        """Let a step pass, and take in its evaluation, which failed if there is no feedback."""

    def _refit(self) -> None:
        arms = np.flatnonzero(self.weights)
        self.posterior.condition(arms, self.weights[arms], self.weighted_sums[arms])
        self._effective_dimension = None

    @property
    def information_gain(self) -> float:
        return self.posterior.information_gain


class WindowBeliefs(WeightedBeliefs):
    """The posterior given the last evaluations alone.

    Args:
        window: How many, failed ones among them.
    """

    def __init__(self, problem: Problem, model: Model, data: InitialData | None, window: int) -> None:
        self._window = window
        self._recent: deque[tuple[int, float | None]] = deque()
        super().__init__(problem, model, data)

    def _remember(self, arm: int, y: float | None) -> None:
        self._recent.append((arm, y))
        changed = {arm}
        if len(self._recent) > self._window:
            changed.add(self._recent.popleft()[0])
        for each in changed:  # anew, as differences of sums would gather rounding
            kept = [value for a, value in self._recent if a == each and value is not None]
            self.weights[each], self.weighted_sums[each] = len(kept), sum(kept)


class FadingBeliefs(WeightedBeliefs):
    """The posterior given all evaluations, each of weight `eta` to the power of its age.

    Args:
        eta: The factor by which weights fade in a step, in (0, 1).
    """

    def __init__(self, problem: Problem, model: Model, data: InitialData | None, eta: float) -> None:
        self._eta = eta
        super().__init__(problem, model, data)

    def _remember(self, arm: int, y: float | None) -> None:
        self.weights *= self._eta
        self.weighted_sums *= self._eta
        faded = self.weights < _FADED
        self.weights[faded] = self.weighted_sums[faded] = 0.0
        if y is not None:
            self.weights[arm] += 1.0
            self.weighted_sums[arm] += y


class _ForgettingUCB(UCBAgent):
    """GP-UCB whose beliefs forget; the width counts all evaluations."""

    policy_family = "GP-UCB"
    capabilities = Capabilities(
        frozenset({"finite"}), batch="sequential", needs=frozenset({"kernel", "noise"}), contexts=True
    )

    def unmet_condition(self, schedule: WidthSchedule) -> str:
        return "its theorem asks for a mean that stays as it is, or for a bound on how much it changes"


@dataclass(kw_only=True, eq=False, repr=False)
class RestartGPUCB(_ForgettingUCB):
    """GP-UCB that forgets everything after every block of evaluations.

    What it recommends is that of the last block until the present one has feedback. This is `R-GP-UCB`; `RGP-UCB` is
    `agents.exact.rgp_ucb.RobustGPUCB`, which is robust. Other arguments: see `UCBAgent`.

    Args:
        block: Evaluations between two restarts; None for `12 eps^(-1/4)` with the problem's rate of drift, as the
            paper's experiments have it (not checked against its text).
        width: See `UCBAgent`; `"bayes"` in the paper.

    Attributes:
        restarts: How often it has forgotten everything.

    Reference: Bogunovic, Scarlett and Cevher (2016), Time-varying Gaussian process bandit optimization, Algorithm 1.
    """

    capabilities = Capabilities(
        frozenset({"finite"}), batch="sequential", needs=frozenset({"kernel", "noise", "drift"}), contexts=True
    )

    block: int | None = None
    width: object = "bayes"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.block = None if self.block is None else as_count("block", self.block)
        self.restarts = 0

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        if self.block is not None:
            self._length = self.block
        elif problem.drift is None:
            raise ValueError(f"block: {problem.name} states no rate of drift; give the length of a block")
        else:  # without drift there is nothing to forget
            self._length = ceil(12 * problem.drift**-0.25) if problem.drift > 0 else 0
        self._evaluated, self.restarts = 0, 0
        self._before: Action | None = None
        super().reset(problem, rng)

    def arguments_state(self) -> frozenset[Need]:
        return super().arguments_state() | ({"drift"} if self.block is not None else set())

    def observe(self, feedback: Feedback) -> None:
        self._evaluated += len(feedback)
        super().observe(feedback)

    def begin_batch(self) -> None:
        if self._length and self._evaluated >= (self.restarts + 1) * self._length:
            offered = self.beliefs.offered
            self._before = self.beliefs.recommend()
            self.beliefs = self.arm_beliefs(None)
            self.beliefs.offered = offered
            self.restarts += 1
        super().begin_batch()

    def width_context(self) -> WidthContext:
        return replace(super().width_context(), t=self._evaluated + 1)

    def recommend(self) -> Action:
        """The action of largest posterior mean; that of the last block while the present one has no feedback."""
        if self.beliefs.n_pulls == 0 and self._before is not None and self._before in self.beliefs.offered:
            return self._before
        return super().recommend()


@dataclass(kw_only=True, eq=False, repr=False)
class SWGPUCB(_ForgettingUCB):
    """GP-UCB on the last evaluations alone. With a window of the horizon or more it is GP-UCB.

    `width="theory"` is the paper's form without its term for the variation. Other
    arguments: see `UCBAgent`.

    Args:
        window: How many evaluations it remembers. In theory the best one grows as the square root of the horizon over
            the total variation of the function in the RKHS, which nobody knows.

    Reference: Zhou and Shroff (2021), No-regret algorithms for time-varying Bayesian optimization, Algorithm 2.
    """

    window: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        self.window = as_count("window", self.window)

    def arm_beliefs(self, data: InitialData | None) -> ArmBeliefs[Any]:
        if self.problem.horizon is not None and self.window >= self.problem.horizon:
            return super().arm_beliefs(data)
        return WindowBeliefs(self.problem, self.model, data, self.window)


@dataclass(kw_only=True, eq=False, repr=False)
class WGPUCB(_ForgettingUCB):
    """GP-UCB on a weighted posterior: an evaluation of age `s` has the weight `eta^s`, that is noise `lam / eta^s`.

    With `eta = 1` it is GP-UCB. The standard deviation is that of the weighted posterior. It is at least that of the
    estimate itself, `sd^2 = lam phi^T V^-1 (sum_s eta^2s phi_s phi_s^T + lam I) V^-1 phi` with `V` the same sum of
    `eta^s` plus `lam I`, which weighted linear bandits use (Russac et al. 2019). The statement of the policy is
    not checked against the paper's text, which could not be consulted. `width="theory"` is the paper's form without its
    term for the variation. Other arguments: see `UCBAgent`.

    Args:
        eta: The factor by which a weight fades in a step, in (0, 1].

    Reference: Deng, Zhou, Kim, Tewari, Gupta and Shroff (2022), Weighted Gaussian process bandits for non-stationary
    environments.
    """

    eta: float = 0.98

    def __post_init__(self) -> None:
        super().__post_init__()
        self.eta = as_number("eta", self.eta, "a factor in (0, 1]", lambda e: 0 < e <= 1)

    def arm_beliefs(self, data: InitialData | None) -> ArmBeliefs[Any]:
        if self.eta == 1:
            return super().arm_beliefs(data)
        return FadingBeliefs(self.problem, self.model, data, self.eta)
