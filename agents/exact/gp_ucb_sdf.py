"""GP-UCB-SDF: open evaluations count as feedback 0 until theirs arrives."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field, replace
from math import ceil, log1p, sqrt
from typing import Any

import numpy as np
from jaxtyping import Float

from agents.core.beliefs import ArmBeliefs
from agents.core.gp_settings import WidthContext, centred
from agents.core.protocol import Actions, Capabilities, Feedback, Pending
from agents.core.ucb import UCBAgent
from agents.core.widths import WidthSchedule
from gpbandit_envs.arguments import as_count, as_number, as_truth
from gpbandit_envs.problem import InitialData, Problem

_PATIENCE = 20  # that of the authors' experiments, where the problem states no delay


@dataclass(kw_only=True, eq=False, repr=False)
class GPUCBSDF(UCBAgent):
    """Pull `argmax mean + width sd` with the feedback 0 for each evaluation whose own is not there, or came too late.

    Feedback that comes within `m` further evaluations takes the place of the 0; later feedback is ignored. So the mean
    estimates `rho_m f`, with `rho_m` the share of feedback that comes in time, whose best arm is that of f where
    `f >= 0`: rewards are shifted for that. The deviation is that of all pulls, open ones among them. A failed
    evaluation is one whose feedback never comes.

    The width of `predict` is as of the last feedback. No theorem says that the band holds for f. Named widths have the
    information of all pulls, open ones among them. Other arguments: see `UCBAgent`.

    Args:
        m: Largest delay that is waited for, in further evaluations; None for twice the mean delay that the problem
            states, as in the experiments of both papers, or 20.
        shift: Added to every reward, unit of the reward; None for the norm bound times the largest prior standard
            deviation, which no mean exceeds in size.
        widened: Whether the sum of the deviations of the last `m` arms is added to the width, as in the theorem; the
            experiments of Vakili et al. (2023) leave it out.

    References: Verma, Dai and Low (2022), Bayesian optimization under stochastic delayed feedback; Vakili et al.
    (2023), Delayed feedback in kernel bandits. Both were read as the code that the authors published. The theorem's
    width also has another constant before its root, for feedback of bounded size, which could not be checked; here it
    is GP-UCB's.
    """

    policy_family = "GP-UCB"
    capabilities = Capabilities(
        frozenset({"finite"}), batch="fixed", delayed=True, needs=frozenset({"kernel", "noise"})
    )

    m: int | None = None
    shift: float | None = None
    widened: bool = True
    n_start: int = field(default=0, init=False)  # a pick is numbered with the others

    def __post_init__(self) -> None:
        super().__post_init__()
        self.m = None if self.m is None else as_count("m", self.m, 0)
        self.shift = None if self.shift is None else as_number("shift", self.shift, "a finite number or None")
        self.widened = as_truth("widened", self.widened)

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        patience = self.m
        if patience is None:
            patience = _PATIENCE if problem.delay is None else ceil(2 * problem.delay.mean)
        self._patience, self._made = patience, 0
        self._recent: deque[int] = deque(maxlen=patience)
        self._untold: list[int] = []  # picks since the last feedback
        self._zeros: Counter[int] = Counter()  # pulls of each arm that stand with the feedback 0
        self._gain = 0.0
        super().reset(problem, rng)

    def arm_beliefs(self, data: InitialData | None) -> ArmBeliefs[Any]:
        model = self.model
        self._shift = model.norm_bound * sqrt(model.prior_variance) if self.shift is None else self.shift
        return super().arm_beliefs(None if data is None else replace(data, rewards=data.rewards + self._shift))

    def begin_batch(self) -> None:
        super().begin_batch()
        self.current_width = self._width_now()

    def width_context(self) -> WidthContext:
        gain = self.beliefs.information_gain if self._made == 0 else self._gain
        return replace(super().width_context(), t=self.beliefs.n_pulls + len(self._untold) + 1, information_gain=gain)

    def _width_now(self) -> float:
        width = self.schedule.now(self.width_context)
        if self.widened and self._recent:
            width += float(np.sqrt(np.maximum(self.exact.ahead()[list(self._recent)], 0.0)).sum())
        return width

    def next_actions(self, n: int, pending: Pending) -> Actions:
        posterior, first = self.exact, len(self._untold)
        if self._made == 0:
            self._gain = self.beliefs.information_gain
        for _ in range(n):
            sd = np.sqrt(np.maximum(posterior.ahead(), 0.0))
            arm = int(np.argmax(posterior.mean_with_open(0.0) + self._width_now() * sd))
            posterior.pull(arm)
            self._gain += 0.5 * log1p(float(sd[arm]) ** 2 / self.model.lam)
            self._untold.append(arm)
            self._recent.append(arm)
            self._made += 1
        return np.array(self._untold[first:], np.int64)

    def observe(self, feedback: Feedback) -> None:
        if len(feedback) == 0:
            return
        feedback = centred(feedback, self.problem)
        if self._untold:
            self._zeros.update(self._untold)
            zeros = np.zeros(len(self._untold))
            self.beliefs.observe(Feedback.of(np.arange(len(zeros)), np.array(self._untold, np.int64), zeros))
            self._untold = []
        for i in np.argsort(feedback.tickets).tolist():  # the order within a delivery does not matter
            arm = int(feedback.actions[i])
            in_time = self._made - int(feedback.tickets[i]) - 1 <= self._patience
            if self._zeros[arm] and in_time and not feedback.failed[i]:
                reward = float(feedback.rewards[i]) + self._shift
                self.exact.revise(arm, 0.0, reward)
                self.arms.sums[arm] += reward
                self._zeros[arm] -= 1
        self.begin_batch()

    def predict(self, X: Float[np.ndarray, "n d"]) -> tuple[np.ndarray, np.ndarray]:
        mean, half = super().predict(X)
        return mean - self._shift, half

    def unmet_condition(self, schedule: WidthSchedule) -> str:
        return "its theorem is about the mean times the share of feedback that comes in time"
