"""TV-GP-UCB: the posterior of a function that drifts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from agents.core.beliefs import ArmBeliefs
from agents.core.gp_settings import Model
from agents.core.guarantees import BandGuarantee
from agents.core.protocol import Capabilities, Feedback, Need
from agents.core.ucb import UCBAgent
from agents.core.widths import FiniteBayes, Logarithmic, WidthContext
from gpbandit_envs.arguments import as_number
from gpbandit_envs.gp.drifting import DriftingPosterior
from gpbandit_envs.problem import InitialData, Problem


class DriftingBeliefs(ArmBeliefs[DriftingPosterior]):
    """The exact posterior of the present function. The time of an evaluation is its ticket.

    Existing data are as of the first evaluation. A failed evaluation takes its time as any other does.

    Args:
        eps: Rate of drift, in (0, 1].
    """

    def __init__(self, problem: Problem, model: Model, data: InitialData | None, eps: float) -> None:
        self._eps = eps
        super().__init__(problem, model, data)

    def _prior(self) -> DriftingPosterior:
        return DriftingPosterior(self.model.kernel, self.features, self.model.lam, self._eps)

    def _begin_with(self, data: InitialData) -> Float[np.ndarray, " n"]:
        leverage = []
        for arm, y in zip(data.actions.tolist(), data.rewards.tolist(), strict=True):
            leverage.append(float(self.posterior.variance_at(np.array([arm]))[0]) / self.model.lam)
            self.posterior.pull(arm, y)
        return np.array(leverage)

    def observe(self, feedback: Feedback) -> bool:
        for i in np.argsort(feedback.tickets).tolist():
            self.posterior.advance(int(feedback.tickets[i]) - self.posterior.now)
            if not feedback.failed[i]:
                arm, y = int(feedback.actions[i]), float(feedback.rewards[i])
                self.posterior.pull(arm, y)
                self._count(np.array([arm]), np.ones(1), np.array([y]))
                self.n_pulls += 1
        # What is asked next is about the function of the coming evaluation.
        self.posterior.advance(int(feedback.tickets.max()) + 1 - self.posterior.now)
        return not bool(feedback.failed.all())

    @property
    def information_gain(self) -> float:
        return self.posterior.information_gain

    def width_context(self, **more: float) -> WidthContext:
        return self.model.width_context(self.problem, self.n_pulls + 1, information_gain=self.information_gain, **more)

    def diagnostics(self) -> Mapping[str, float]:
        return {
            "information_gain": self.information_gain,
            "unique_arms": float(np.count_nonzero(self.counts)),
            "remembered": float(len(self.posterior)),
        }


@dataclass(kw_only=True, eq=False, repr=False)
class TVGPUCB(UCBAgent):
    """Evaluate `argmax mean_t + width_t sd_t` of the function at the time of the evaluation, which drifts at a rate.

    The covariance of two evaluations is `k(x, x') (1 - eps)^(|t - t'| / 2)`, so that the past fades. With `eps = 0`
    this is GP-UCB.

    `width="bayes"` is the paper's for finite arm sets, that of Srinivas et al. (2010): at every time the posterior is
    Gaussian, and the bound is one of unions over arms and times. Its experiments take `sqrt(0.8 log(4 t))`, from 1.4 to
    2.6 in a thousand evaluations (not checked against its text), which a number such as 2.0 stands for here. Widths
    that depend on the pulls, such as `"theory"`, are for functions that stay as they are. Other arguments: see
    `UCBAgent`.

    Args:
        kernel: Prior covariance at one time: spec or kernel; None for the problem's.
        eps: Rate of drift in [0, 1]; None for the problem's.
        width: `"bayes"`, `"growing"`, a number, or a `WidthSchedule` that does not depend on the pulls.

    Reference: Bogunovic, Scarlett and Cevher (2016), Time-varying Gaussian process bandit optimization, Algorithm 2.
    """

    policy_family = "GP-UCB"
    capabilities = Capabilities(
        frozenset({"finite"}), batch="sequential", needs=frozenset({"kernel", "noise", "drift"}), contexts=True
    )

    named_widths: ClassVar = {"bayes": FiniteBayes(), "growing": Logarithmic()}
    width: object = "bayes"
    eps: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.schedule.depends_on_pulls:
            raise ValueError(f"width: expected one that does not depend on the pulls, got {self.width!r}")
        if self.eps is not None:
            self.eps = as_number("eps", self.eps, "a rate in [0, 1] or None", lambda e: 0 <= e <= 1)

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        eps = problem.drift if self.eps is None else self.eps
        if eps is None:
            raise ValueError(f"eps: {problem.name} states no rate of drift; give one, such as 0.01")
        self._rate = eps
        super().reset(problem, rng)

    def arm_beliefs(self, data: InitialData | None) -> ArmBeliefs[Any]:
        if self._rate == 0:
            return super().arm_beliefs(data)
        return DriftingBeliefs(self.problem, self.model, data, self._rate)

    def arguments_state(self) -> frozenset[Need]:
        return super().arguments_state() | ({"drift"} if self.eps is not None else set())

    def band_guarantee(self) -> BandGuarantee:
        found = super().band_guarantee()
        own_model = found.own_model or (self.eps is not None and self.eps != self.problem.drift)
        return replace(found, own_model=own_model, time_varying=self._rate > 0)

    def diagnostics(self) -> Mapping[str, float]:
        return {"width": self.current_width, **self.beliefs.diagnostics(), "batch_length": float(self.batch_length)}
