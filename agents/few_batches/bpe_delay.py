"""BPE-Delay: batched pure exploration whose batches wait for late feedback by going on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil, log, sqrt
from typing import Any, Literal

import numpy as np

from agents.core.guarantees import BoundInputs, RegretGuarantee
from agents.core.protocol import Actions, Feedback, Pending
from agents.core.regret_bounds import proven_exponent
from agents.few_batches.bpe import BPE
from gpbandit_envs.arguments import as_word, shown
from gpbandit_envs.delays import Delay
from gpbandit_envs.problem import Problem


@dataclass(kw_only=True, eq=False, repr=False)
class BPEDelay(BPE):
    """BPE for feedback that is late: each batch goes on for as long as a delay may take, and uses what has arrived.

    Batch r has `q_r + u_r` evaluations, with the lengths `q_r = ceil(sqrt(T q_{r-1}))` of BPE and the extension `u_r`
    of `extended_lengths`. At its end, arms are eliminated by what has arrived by then; what comes later is not used.
    A batch of which nothing has arrived at its end waits for the first feedback, which the paper leaves open. Without
    delay this is BPE. The band holds if delays do not depend on rewards: which feedback arrives is then no choice.

    Args:
        width: As for `BPE`; the paper's experiments have `sqrt(6)`.
        delay: A `Delay`, or its fields as a mapping; None for the problem's, or none where it states none.
        extension: `"paper"` or `"tail"`; see `extended_lengths`.

    Raises:
        ValueError: for a bad value, or at `reset` without a horizon, kernel or noise.

    Reference: Vakili, Ahmed, Bernacchia and Pike-Burke (2023), Delayed feedback in kernel bandits, whose regret is of
    the order of `sqrt(T gamma_T) + E[tau]`, logarithms aside; checked against the code that the authors published.
    """

    delay: Delay | Mapping[str, float] | None = None
    extension: Literal["paper", "tail"] = "paper"
    n_batches: None = field(default=None, init=False)  # batches are those of Algorithm 1, extended
    lengths: Literal["kernel"] = field(default="kernel", init=False)
    posterior: Literal["batch"] = field(default="batch", init=False)
    sampling: Literal["variance"] = field(default="variance", init=False)
    noise: Literal["common"] = field(default="common", init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.delay = _as_delay(self.delay)
        as_word("extension", self.extension, ("paper", "tail"))

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        self._late: set[int] = set()
        self._ended: dict[str, Any] = {}
        super().reset(problem, rng)

    def plan_lengths(self, horizon: int, dim: int) -> list[int]:
        delay = _as_delay(self.delay) or self.problem.delay or Delay(mean=0.0)
        return extended_lengths(horizon, delay, self.model.delta, self.extension == "tail")

    def select(self, n: int, pending: Pending) -> Actions:
        if self._issued == self._length and self._waiting:
            self._late.update(pending.tickets.tolist())
            # What `predict` and `recommend` tell is as of the last feedback: it changes with the next.
            told = {name: vars(self)[name] for name in ("known", "_known_width", "best", "inconsistent")}
            self._end_batch()
            self._ended = {name: vars(self)[name] for name in told}
            vars(self).update(told)
        return super().select(n, pending)

    def observe(self, feedback: Feedback) -> None:
        vars(self).update(self._ended)
        self._ended = {}
        own = np.array([ticket not in self._late for ticket in feedback.tickets.tolist()], bool)
        self._late.difference_update(feedback.tickets.tolist())
        if own.any():
            parts = (feedback.tickets, feedback.actions, feedback.rewards, feedback.costs, feedback.failed)
            super().observe(Feedback(*(part[own] for part in parts)))

    def regret_guarantee(self, inputs: BoundInputs) -> RegretGuarantee:
        if inputs.problem.norm_bound is None:
            return RegretGuarantee()
        return RegretGuarantee(proven_exponent(inputs.problem, optimal=True), rests_on_band=True)


def extended_lengths(horizon: int, delay: Delay, delta: float, tail: bool = False) -> list[int]:
    """`q_r + u_r` with `q_r = ceil(sqrt(T q_{r-1}))`, `q_0 = 1`, the last cut so that all add up to T.

    `u_r = mean + min(scale sqrt(2 L), 2 b L)`, rounded up, with `L = log(1.5 t / delta)`, b the delay's `tail`, and t
    the number of evaluations when `q_r` of the batch have been made.

    A delay of the stated kind exceeds its mean by the *larger* of the two with probability at most `delta / (1.5 t)`,
    and may exceed the smaller one far more often. With `tail` the larger one is taken, and all of the first `q_r` have
    arrived at the end with that probability; the smaller one is in the authors' code.

    Args:
        horizon: Number of evaluations T.
        delay: What is known of the delays.
        delta: Probability of failure.
        tail: Whether to take the larger of the two.

    Reference: Vakili et al. (2023), Algorithm 1.
    """
    lengths: list[int] = []
    q = 1
    while sum(lengths) < horizon:
        q = ceil(sqrt(horizon * q))
        L = log(1.5 * (sum(lengths) + q) / delta)
        excess = (max if tail else min)(delay.scale * sqrt(2 * L), 2 * delay.tail * L)
        lengths.append(min(q + ceil(delay.mean + excess), horizon - sum(lengths)))
    return lengths


def _as_delay(delay: object) -> Delay | None:
    if delay is None or isinstance(delay, Delay):
        return delay
    if isinstance(delay, Mapping) and "mean" in delay and set(delay) <= {"mean", "scale", "tail"}:
        return Delay(**delay)
    raise ValueError(f"delay: expected a mapping with mean and, if it is random, scale and tail, got {shown(delay)}")
