"""Upper-confidence-bound policies, composed of a posterior over arms, a width schedule and a batch rule."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from agents.core.batch import BatchBuilder
from agents.core.finite import FiniteArmAgent
from agents.core.guarantees import BandGuarantee
from agents.core.initial import Initial, as_initial, each_pull, leverage_in_turn
from agents.core.norm import NormGuess
from agents.core.protocol import Action, Actions, Feedback, Pending
from agents.core.rules import BatchRule, SequentialRule
from agents.core.settings import GivenModel, NormBound
from agents.core.starts import Start
from agents.core.widths import WidthContext, WidthSchedule, as_width, width_setting
from gpbandit_envs.gp import Kernel
from gpbandit_envs.gp.arms import ArmPosterior
from gpbandit_envs.gp.exact_arms import ExactArmPosterior
from gpbandit_envs.problem import InitialData

__all__ = ["UCBAgent"]

_NO_ACTIONS = np.zeros(0, np.int64)


class UCBAgent(FiniteArmAgent):
    """Plays `argmax mean + width * sd`, with the mean as of the last batch and the variance as of the last pick.

    Args:
        kernel: Prior covariance: spec, kernel or scikit-learn kernel; None for the card's.
        width: `"theory"`, `"practical"`, another name the policy documents, a number, or a `WidthSchedule`.
        lam: Noise variance in the posterior; None for the card's `noise_std ** 2`.
        norm_bound: Bound `F` on the RKHS norm; None for the card's, or 1 if the card has none; `"double"` to begin
            with that and double the guess whenever the data refute it, `{"double": 0.5}` to begin at 0.5; see
            `agents.core.norm.NormGuess`.
        delta: Allowed probability of failure, in (0, 1); None for `1 / horizon`, or 0.05 without a horizon.
        start: What is pulled, as one batch, before the first bound is computed.
        rule: When a batch ends.
        batch_ratio: The factor `C` by which a variance may shrink within a batch, for the width.
        named_widths: The schedules behind the names of `width`.
        initial: Existing data that the policy begins with, `{"arms": [...], "rewards": [...]}`; None for the card's, if
            it has some. They take the place of the start, and count as pulls.

    Attributes:
        delta: The probability of failure that the band of `predict` is meant for, from `reset` on.
        initial: The argument's data; None to use the card's.
        norm_guess: The guess at the norm, from `reset` on; None if the norm bound is taken as given.
        max_memory: Bytes for kernel rows; None for no limit.

    Raises:
        ValueError: if a number is out of range, or at `reset` if neither card nor argument states what is needed.
    """

    max_memory: int | None = None

    def __init__(
        self,
        *,
        kernel: Any,
        width: object,
        lam: float | None,
        norm_bound: NormBound,
        delta: float | None,
        start: Start,
        rule: BatchRule,
        batch_ratio: float,
        named_widths: Mapping[str, WidthSchedule],
        initial: Initial = None,
    ) -> None:
        self._given = GivenModel(kernel, lam, norm_bound, delta)
        self.kernel = self._given.kernel
        self.lam = lam or 0.0  # 0 until the card has been read
        self.schedule = as_width(width, named_widths)
        self.width_setting = width_setting(width)
        self.start = start
        self.rule = rule
        self.batch_ratio = float(batch_ratio)
        self.initial = as_initial(initial)
        self.norm_guess: NormGuess | None = None

    @property
    def guesses_norm(self) -> bool:
        """Whether the bound on the norm is a guess, doubled when the data refute it."""
        return self._given.doubling

    @abstractmethod
    def _new_posterior(self, kernel: Kernel, X: Float[np.ndarray, "A d"], lam: float) -> ArmPosterior:
        """The prior, as a posterior of nothing."""

    @abstractmethod
    def _update(self, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> None:
        """Condition the posterior on new pulls of distinct arms."""

    def _start(self) -> None:
        card = self.problem
        model = self._given.on(card, doubles=True)
        assert card.arms is not None
        self.lam = model.lam
        self.delta = model.delta
        self._constants: dict[str, Any] = {
            "n_arms": card.n_arms,
            "lam": model.lam,
            "noise_std": model.noise_std,
            "norm_bound": model.norm_bound,
            "delta": model.delta,
            "prior_variance": model.prior_variance,
            "batch_ratio": self.batch_ratio,
            "dim": card.dim,
        }
        self.posterior = self._new_posterior(model.kernel, card.arms, model.lam)
        self.sum_log_leverage = self.sum_log_3_leverage = 0.0
        self.batch_length = 0
        self.norm_guess = NormGuess(model) if model.doubling else None
        data = self.initial if self.initial is not None else card.initial
        self._first, self._started = _NO_ACTIONS, 0
        if data is None:
            prior = ExactArmPosterior(model.kernel, card.arms, model.lam, self.max_memory)
            self._first = self.start.arms(prior, card.horizon, self.rng)
            self._begin_batch()
        else:
            self._begin_with(data)

    def _begin_with(self, data: InitialData) -> None:
        if data.arms.max() >= self.problem.n_arms:
            raise ValueError(f"initial: expected arms below {self.problem.n_arms}, got {data.arms.max()}")
        arms, counts, sums = self._take_over(data)
        reducible, rest = self._condition(arms, counts, sums)
        # They were not chosen in one batch: each is weighed by what those before it had left of its leverage score.
        leverage = each_pull(reducible, rest, counts)
        self.sum_log_leverage = float(np.log1p(leverage).sum())
        self.sum_log_3_leverage = float(np.log1p(3 * leverage).sum())
        self._revise_norm()
        self._begin_batch()

    def _condition(self, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Condition the posterior on data from before the first step.

        Returns:
            The leverage score of each arm given the arms before it, in two parts: what further pulls of the arm take
            away, and what they leave; each of shape (p,).
        """
        X = self.posterior.rows.X[arms]
        leverage = leverage_in_turn(self.posterior.rows.kernel(X, X), counts, self.lam)
        self._update(arms, counts, sums)
        return leverage, np.zeros(len(arms))

    def _revise_norm(self) -> None:
        if self.norm_guess is not None:
            pulled = np.flatnonzero(self.counts)
            self.norm_guess.revise(self.posterior.rows.X[pulled], self.counts[pulled], self.sums[pulled])
            self._constants["norm_bound"] = self.norm_guess.value

    def _begin_batch(self) -> None:
        self._builder: BatchBuilder | None = None
        self._issued = 0
        self._closed = False
        self.effective_dimension = self.posterior.effective_dimension()
        self.width = self.schedule(self.width_context())

    def width_context(self) -> WidthContext:
        """What the width schedule sees now."""
        return WidthContext(
            t=self.n_pulls + 1,
            # A sketched posterior knows none: the sum bounds it, up to the accuracy of the dictionary.
            information_gain=getattr(self.posterior, "information_gain", 0.5 * self.sum_log_leverage),
            effective_dimension=self.effective_dimension,
            sum_log_leverage=self.sum_log_leverage,
            sum_log_3_leverage=self.sum_log_3_leverage,
            **self._constants,
        )

    def select(self, n: int, pending: Pending) -> Actions:
        if self._closed:
            if len(pending):
                return _NO_ACTIONS
            self._begin_batch()  # the last batch was given up without feedback
        if self._started < len(self._first):
            # Feedback may come before all of them are under way: the rest are still pulled.
            picks = self._first[self._started : self._started + n]
            self._started += len(picks)
            self._issued += len(picks)
            self._closed = self._started == len(self._first)
            return picks
        return self._pick(n, pending)

    def _pick(self, n: int, pending: Pending) -> Actions:
        """Up to `n` arms of a batch that is open, after the start."""
        if isinstance(self.rule, SequentialRule) and len(pending) == 0:
            self._closed, self._issued = True, 1
            return np.array([self._best_score()])
        if self._builder is None:
            self._open(pending.actions)
        picks = np.array(self._extend(n), np.int64)
        self._issued += len(picks)
        return picks

    def _best_score(self) -> int:
        return int(np.argmax(self._mean() + self.width * np.sqrt(self.posterior.variance)))

    def _mean(self) -> Float[np.ndarray, " A"]:
        """What is added to the width times the standard deviation."""
        return self.posterior.mean

    def _open(self, pending: np.ndarray) -> None:
        self._pending = pending
        self._builder = BatchBuilder(self.posterior, self.width, self._mean(), pending)
        self._closed = self.rule.start(self._builder)

    def _extend(self, n: int) -> list[int]:
        assert self._builder is not None
        picks: list[int] = []
        while len(picks) < n and not self._closed:
            arm, count = self._builder.propose(n - len(picks))
            count, self._closed = self.rule.admit(self._builder, arm, count)
            self._builder.take(count)
            picks += [arm] * count
        return picks

    def observe(self, feedback: Feedback) -> None:
        super().observe(feedback)
        if len(feedback) and feedback.failed.all():
            self._begin_batch()  # nothing was learnt, but a batch must not count on what failed

    def _learn(self, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> None:
        leverage = self.posterior.variance_at(arms) / self.lam
        self.sum_log_leverage += float(counts @ np.log1p(leverage))
        self.sum_log_3_leverage += float(counts @ np.log1p(3 * leverage))
        self.batch_length = self._issued
        self._update(arms, counts, sums)
        self._revise_norm()
        self._begin_batch()

    def recommend(self) -> Action:
        """The arm of largest posterior mean."""
        return int(np.argmax(self.posterior.mean))

    def predict(self, X: Float[np.ndarray, "n d"]) -> tuple[np.ndarray, np.ndarray]:
        mean, variance = self.posterior.at(np.asarray(X, dtype=np.float64))
        return mean, self.width * np.sqrt(variance)

    def band_guarantee(self) -> BandGuarantee:
        return self._given.band_guarantee(self.width_setting, self.schedule, self.delta)

    def diagnostics(self) -> Mapping[str, float]:
        facts = {
            "width": self.width,
            "information_gain": 0.5 * self.sum_log_leverage,
            "d_eff": self.effective_dimension,
            "unique_arms": float(np.count_nonzero(self.posterior.n)),
            "batch_length": float(self.batch_length),
        }
        if self.norm_guess is not None:
            facts |= {"norm_bound": self.norm_guess.value, "norm_shown": self.norm_guess.shown}
        return facts

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {
            "posterior": self.posterior.state_dict(),
            "sum_log_leverage": self.sum_log_leverage,
            "sum_log_3_leverage": self.sum_log_3_leverage,
            "first": self._first.copy(),
            "started": self._started,
            "issued": self._issued,
            "closed": self._closed,
            "pending": None if self._builder is None else self._pending.copy(),
            "picked": 0 if self._builder is None else len(self._builder.picks),
            "batch_length": self.batch_length,
            "norm_guess": None if self.norm_guess is None else self.norm_guess.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.posterior.load_state_dict(state["posterior"])
        self.sum_log_leverage = float(state["sum_log_leverage"])
        self.sum_log_3_leverage = float(state["sum_log_3_leverage"])
        self._first, self._started = np.array(state["first"], np.int64), int(state["started"])
        self.batch_length = int(state["batch_length"])
        if self.norm_guess is not None:
            self.norm_guess.load_state_dict(state["norm_guess"])
            self._constants["norm_bound"] = self.norm_guess.value
        self._begin_batch()
        if state["pending"] is not None:
            # Picking is deterministic, so an open batch is rebuilt by picking it again.
            self._open(np.array(state["pending"], np.int64))
            self._extend(int(state["picked"]))
        self._issued, self._closed = int(state["issued"]), bool(state["closed"])
