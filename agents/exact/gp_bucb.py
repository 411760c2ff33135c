"""GP-BUCB: batches of a fixed size, or any delay, with hallucinated variances."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

import numpy as np
from jaxtyping import Float, Int

from agents.core.batch_rules import FixedRule
from agents.core.gp_settings import Model
from agents.core.guarantees import BoundInputs, RegretGuarantee
from agents.core.information import greedy_information, largest_gain, most_uncertain
from agents.core.protocol import Capabilities
from agents.core.regret_bounds import gain_within_batch, ucb_guarantee
from agents.core.ucb import UCBAgent
from gpbandit_envs.arguments import as_count, as_number
from gpbandit_envs.problem import Problem

_LARGEST_C = 100.0


@dataclass(kw_only=True, eq=False, repr=False)
class GPBUCB(UCBAgent):
    """Pick `argmax mean_fb[t] + exp(C) width_fb[t] sd_{t-1}` with at most `batch_size` evaluations open.

    With feedback on request the batches have `batch_size` arms; under any other delay, the open evaluations are
    hallucinated whenever something new arrives, so every mapping `fb[t]` with `t - fb[t] <= batch_size` is played.
    Named widths are those of GP-UCB, times `exp(c)`. Other arguments: see `UCBAgent`.

    Args:
        batch_size: Largest number of open evaluations, `B >= 1`; 10 in the paper's experiments, 1 gives GP-UCB.
        c: Bound `C` in nats on the information gained within a batch; the width grows by `exp(C)`. With None it is what
            the theorems need, `gain_within_batch` of the arms, for a width that a theorem stands behind (`"theory"`,
            `"amm"`, `"bayes"`), and 0 for a tuned one (`"practical"`, `"growing"`, a scaled one, a number). The former
            is large where noise is small: the first picks of 10 may tell 20 nats.
        t_init: Arms to pull by uncertainty sampling, in place of `n_start` uniform ones. It lowers the `C` that the
            theorems need (sizes: Table 1 of the paper); where existing data take the place of the start, it does not.

    Raises:
        ValueError: at `reset`, with `c=None`, if the batch may tell more than 100 nats.

    Reference: Desautels, Krause and Burdick (2012), Algorithm 1, Theorems 1 and 2.
    """

    policy_family = "GP-UCB"
    side_by_side = True
    capabilities = Capabilities(
        frozenset({"finite"}), batch="adaptive", delayed=True, needs=frozenset({"kernel", "noise"})
    )

    batch_size: int = 10
    c: float | None = None
    t_init: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.c is not None:  # the width, which grows by exp(C), is bounded like every other number
            self.c = as_number(
                "c", self.c, f"a number from 0 to {_LARGEST_C:g} or None", lambda c: 0 <= c <= _LARGEST_C
            )
        self.t_init = as_count("t_init", self.t_init, 0)
        if self.t_init and self.n_start:
            raise ValueError(
                f"t_init, n_start: expected at most one of the two starts, got {self.t_init!r} and {self.n_start!r}"
            )
        self.batch_rule, self.batch_ratio = FixedRule(self.batch_size), exp(self.c or 0.0)
        self.batch_size = self.batch_rule.size

    def initial_arms(self, X: Float[np.ndarray, "A d"], most: int | None) -> Int[np.ndarray, "n *runs"]:
        if not self.t_init:
            return super().initial_arms(X, most)
        return most_uncertain(self.model, X, self.t_init if most is None else min(self.t_init, most))

    @property
    def _takes_gain(self) -> bool:
        """Whether `C` is the bound on the gain of a batch that the theorems need."""
        return self.c is None and self._arm_schedule.assumes is not None

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        if self._takes_gain and problem.arms is not None:
            self.batch_ratio = exp(self._gain(self.settings.resolve(problem, allow_doubling=True), problem))
        super().reset(problem, rng)

    def _gain(self, model: Model, problem: Problem) -> float:
        assert problem.arms is not None
        start = self.t_init if self.data_before(problem) is None else 0  # existing data take the place of the start
        greedy = greedy_information(model.kernel, problem.arms, model.lam, max(self.batch_size - 1, start, 1)).gain
        C = gain_within_batch(largest_gain(greedy, model.prior_variance, model.lam), self.batch_size, start)
        if C > _LARGEST_C:
            raise ValueError(
                f"c: expected a number, since {self.batch_size - 1} open evaluations may tell {C:.0f} nats on "
                f"{problem.name} and the width would grow by exp({C:.0f}); got None, which needs at most {_LARGEST_C:g}"
            )
        return C

    def regret_guarantee(self, inputs: BoundInputs) -> RegretGuarantee:
        if max(self.t_init, self.batch_size - 1) > inputs.t:
            return RegretGuarantee()
        C = gain_within_batch(inputs.gamma, self.batch_size, self.t_init)
        if C > _LARGEST_C or not (self._takes_gain or (self.c or 0.0) >= C):  # its width must grow by exp(C)
            return RegretGuarantee()
        ratio = exp(C)
        theorem = f"Desautels et al. (2012), Theorem {2 if self.t_init else 1}"
        start = self.t_init + self.n_start
        return ucb_guarantee(inputs, self.settings, ratio, theorem, start, self.regret_width)
