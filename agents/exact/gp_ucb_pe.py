"""GP-UCB-PE: one arm of a batch by its upper bound, the others by pure exploration."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool

from agents.core.guarantees import BoundInputs, RegretGuarantee
from agents.core.protocol import Actions, Capabilities, Pending
from agents.core.regret_bounds import proven_exponent
from agents.core.ucb import UCBAgent
from gpbandit_envs.arguments import as_count


@dataclass(kw_only=True, eq=False, repr=False)
class GPUCBPE(UCBAgent):
    """Pull `argmax mean + width sd`, then explore the arms that may still be best: `argmax sd` among them.

    A batch of K has one arm of largest upper bound. Each of the other K - 1 is the arm of largest deviation, given all
    picks of the batch so far, in the relevant region
    `{x: mean(x) + 2 width' sd(x) >= max_z (mean(z) - width sd(z))}`, with mean and sd as at the start of the batch. It
    holds the best arm if the band does. It has `2 width'` so as to hold the arm with which the next batch begins as
    well: for a draw from the prior it does, but bands alone give `3 width'`, so that nothing is said of the regret on a
    mean of bounded norm; see `docs/math/gp-ucb-pe.md`. `width'` is the width of the next batch; where it depends on the
    pulls, which is not so in the paper, only its `t` is that of the next.

    When feedback comes at other times than whole batches, every delivery begins a batch: its first pick is by the upper
    bound, with the open evaluations hallucinated, and pure exploration fills up to K open ones. Other arguments: see
    `UCBAgent`.

    Args:
        batch_size: Batch size `K >= 1`; 1 gives GP-UCB.

    Reference: Contal, Buffoni, Robicquet and Vayatis (2013), Parallel Gaussian process optimization with upper
    confidence bound and pure exploration, Algorithm 1. Its text could not be consulted: the statement is unchecked, and
    the constants of its regret bounds, `sqrt(T gamma_TK / K)` in the best of each batch, are not stated here.
    """

    policy_family = "GP-UCB"
    capabilities = Capabilities(
        frozenset({"finite"}), batch="adaptive", delayed=True, needs=frozenset({"kernel", "noise"})
    )

    batch_size: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        self.batch_size = as_count("batch_size", self.batch_size)

    def next_actions(self, n: int, pending: Pending) -> Actions:
        posterior = self.exact
        posterior.keep_open(pending.actions.tolist())
        region: Bool[np.ndarray, " A"] | None = None
        picks: list[int] = []
        for _ in range(min(n, self.batch_size - len(pending))):
            if self.batch_issued == 0 and not picks:
                arm = posterior.best_score(self.current_width, ahead=True)
            else:
                region = self._relevant() if region is None else region
                arm = int(np.argmax(np.where(region, posterior.ahead(), -np.inf)))
            posterior.pull(arm)
            picks.append(arm)
        self.batch_closed = len(pending) + len(picks) >= self.batch_size
        return np.array(picks, np.int64)

    def _relevant(self) -> Bool[np.ndarray, " A"]:
        """The relevant region of this batch."""
        mean, sd = self.posterior.mean, np.sqrt(self.posterior.variance)
        context = self.width_context()
        wider = self.schedule(replace(context, t=context.t + self.batch_size))
        region: np.ndarray = mean + 2 * wider * sd >= (mean - self.current_width * sd).max()
        return region

    def regret_guarantee(self, inputs: BoundInputs) -> RegretGuarantee:
        if inputs.problem.norm_bound is not None:  # whose bands do not hold the next upper-bound pick in the region
            return RegretGuarantee()
        return RegretGuarantee(proven_exponent(inputs.problem, optimal=True), rests_on_band=True)
