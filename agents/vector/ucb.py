"""GP-UCB and GP-AUCB over repetitions, and where rounding could decide a choice.

A repetition alone finds its maximiser by other roads (few leaders, the candidates of a batch), whose scores differ from
those computed here by rounding. A repetition is doubtful where a runner-up, or the end of a batch, is closer than
rounding could reach; `agents.vector.doubt` then leaves it to the single policy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from agents.core.rules import ProductRule, SumRule
from agents.core.starts import UniformStart
from agents.core.widths import WidthContext
from agents.exact.base import ExactUCBAgent
from agents.sequential.beliefs import ArmBeliefs
from agents.sequential.gp_ucb import GPUCB
from agents.vector.doubt import DoubtfulAgent, runner_up_gap
from agents.vector.posterior import VectorPosterior
from agents.vector.protocol import VectorChoice, VectorFeedback
from agents.vector.rows import SharedRows
from gpbandit_envs.problem import Problem

__all__ = ["VectorUCB"]

_HORIZON = 1024  # where the card states none


class VectorUCB(DoubtfulAgent):
    """`argmax mean + width * sd` in every repetition, with feedback after each pull or at the end of a batch.

    Args:
        policy: A single policy whose settings are taken over; it is reset and never played.

    Raises:
        ValueError: if its start or its batch rule is none of those known here.
    """

    rounded = ("width", "information_gain", "d_eff")

    def __init__(self, policy: GPUCB | ExactUCBAgent) -> None:
        if not self.covers(policy):
            raise ValueError(f"policy: expected no start, and batches that end one by one or by drift, got {policy!r}")
        self._policy = policy
        self._rule = None if isinstance(policy, GPUCB) else policy.rule
        self._rows: SharedRows | None = None
        self._posterior: VectorPosterior | None = None

    @staticmethod
    def covers(policy: GPUCB | ExactUCBAgent) -> bool:
        """Whether this class can play what `policy` plays."""
        if isinstance(policy, GPUCB):
            return policy.n_start == 0 and policy.initial is None and not policy.given.doubling
        plain = policy.start == UniformStart(0) and policy.initial is None and not policy.guesses_norm
        return plain and type(policy.rule) in (ProductRule, SumRule)

    def reset(self, problem: Problem, rngs: Sequence[np.random.Generator]) -> None:
        policy, R = self._policy, len(rngs)
        policy.reset(problem, np.random.default_rng(0))  # it reads the card; without a start it draws nothing
        self._constants = vars(policy.width_context())
        beliefs = policy.beliefs if isinstance(policy, GPUCB) else policy
        assert isinstance(beliefs, ArmBeliefs | ExactUCBAgent)
        single, lam = beliefs.posterior.rows, beliefs.posterior.lam
        if self._rows is None or not self._rows.serves(single.kernel, single.X):
            self._rows = SharedRows(single.kernel, single.X)
            self._posterior = None
        if self._posterior is None or not self._posterior.serves(lam, R):
            self._posterior = None  # its memory goes before that of the next one comes
            self._posterior = VectorPosterior(self._rows, lam, R, problem.horizon or _HORIZON)
        self.posterior = self._posterior
        self.posterior.reset()
        self.doubtful = np.zeros(R, bool)
        self._each = np.arange(R)
        self._width, self._width_error = np.full(R, policy.width), np.zeros(R)
        self._pulls, self._batch = np.zeros(R, np.int64), np.zeros(R, np.int64)
        self._d_eff, self._batch_length = np.zeros(R), np.zeros(R)
        self._sum_log, self._sum_log_3 = np.zeros(R), np.zeros(R)
        self._drift = np.ones(R)
        self._recommended = np.zeros(R, np.int64)
        self._first = self.posterior.v.copy()  # variances at the start of the batch
        self._sd, self._score, self._reach, self._spare = (np.empty_like(self._first) for _ in range(4))

    def release(self, repetition: int) -> None:
        self.posterior.release(repetition)

    def select(self, left: int) -> VectorChoice:
        posterior, sd, score = self.posterior, self._sd, self._score
        np.sqrt(np.maximum(posterior.v, 0.0, out=sd), out=sd)
        np.multiply(sd, self._width[:, None], out=score)
        score += posterior.mean
        arms = score.argmax(axis=1)
        # The first choice is between prior variances, which no rounding has touched.
        self.doubtful = self._contested(arms) & (self._pulls + self._batch > 0)
        self._batch += 1
        closes = self._drifted(arms, np.square(sd[self._each, arms]))
        posterior.pull(arms)
        return VectorChoice(arms, closes)

    def _contested(self, arms: Int[np.ndarray, " R"]) -> Bool[np.ndarray, " R"]:
        """Whether rounding could put another arm above the best, `arms`."""
        posterior, sd, reach, spare = self.posterior, self._sd, self._reach, self._spare
        error, best = posterior.variance_error(), (self._each, arms)
        # Of the width times the root: width * error / (2 sd), and at most width * sqrt(error).
        np.add(sd, np.sqrt(error)[:, None], out=reach)
        np.divide((self._width * error)[:, None], reach, out=reach)
        bar = self._score[best] - reach[best] - posterior.mean_error()
        # A width that is off moves all scores, those of other standard deviations by another amount.
        np.abs(np.subtract(sd, sd[best][:, None], out=spare), out=spare)
        spare *= self._width_error[:, None]
        reach += spare
        reach += self._score
        reach[best] = -np.inf
        contested: np.ndarray = reach.max(axis=1) >= bar
        return contested

    def _drifted(self, arms: Int[np.ndarray, " R"], variance: Float[np.ndarray, " R"]) -> Bool[np.ndarray, " R"]:
        """Whether the batches end with `arms`, whose variances were `variance` just before."""
        rule, lam = self._rule, self.posterior.lam
        if isinstance(rule, ProductRule):
            self._drift *= 1.0 + variance / lam
        elif isinstance(rule, SumRule):
            self._drift += np.maximum(self._first[self._each, arms], 0.0) / lam
        else:
            return np.ones(len(arms), bool)
        error = self._batch * self.posterior.variance_error() / lam
        self.doubtful |= np.abs(self._drift - rule.c) <= error * self._drift
        return self._drift > rule.c

    def observe(self, feedback: VectorFeedback) -> None:
        if len(feedback) == 0:
            self.doubtful = np.zeros(len(self._each), bool)
            return
        posterior, i = self.posterior, feedback.repetitions
        leverage = np.maximum(self._first[i, feedback.arms], 0.0) / posterior.lam
        np.add.at(self._sum_log, i, np.log1p(leverage))
        np.add.at(self._sum_log_3, i, np.log1p(3 * leverage))
        posterior.tell(feedback)
        told = np.zeros(len(self._each), bool)
        told[i] = True
        self._pulls[told] += self._batch[told]
        self._batch_length[told] = self._batch[told]
        self._batch[told] = 0
        self._drift[told] = 1.0
        np.copyto(self._first, posterior.v, where=told[:, None])
        np.copyto(self._d_eff, posterior.effective_dimension(), where=told)
        best = posterior.mean.argmax(axis=1)
        np.copyto(self._recommended, best, where=told)
        self.doubtful = (runner_up_gap(posterior.mean, best) <= self.posterior.mean_error()) & told
        self._begin_batches(np.flatnonzero(told).tolist())

    def _begin_batches(self, repetitions: list[int]) -> None:
        pulls = self._pulls.astype(np.float64)
        sums = np.stack([self.posterior.information_gain, self._d_eff, self._sum_log, self._sum_log_3], axis=1)
        moved = (sums + self.posterior.sum_error()[:, None]).tolist()
        for i, here, there in zip(repetitions, sums[repetitions].tolist(), (moved[k] for k in repetitions)):
            t = int(pulls[i]) + 1
            self._width[i] = self._scheduled(t, *here)
            self._width_error[i] = abs(self._scheduled(t, *there) - self._width[i])

    def _scheduled(self, t: int, gain: float, d_eff: float, sum_log: float, sum_log_3: float) -> float:
        context = object.__new__(WidthContext)  # its own constructor would take longer than the schedule
        context.__dict__.update(
            self._constants,
            t=t,
            information_gain=gain,
            effective_dimension=d_eff,
            sum_log_leverage=sum_log,
            sum_log_3_leverage=sum_log_3,
        )
        return self._policy.schedule(context)

    def recommend(self) -> np.ndarray:
        return self._recommended.copy()

    def diagnostics(self) -> dict[str, np.ndarray]:
        return {
            "width": self._width.copy(),
            "information_gain": self.posterior.information_gain.copy(),
            "d_eff": self._d_eff.copy(),
            "unique_arms": self.posterior.unique.copy(),
            "batch_length": self._batch_length.copy(),
        }
