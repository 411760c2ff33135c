"""The posteriors of many repetitions of one policy, which stand where it has the beliefs of one episode.

What is a number of one episode is an array of shape (R,) here, and what is an array over the arms has shape (R, A), in
the namespace of a device: a policy whose formulas take either plays R repetitions as it plays one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from agents.core.acquisition import Score, UpperConfidenceBound
from agents.core.beliefs import Beliefs
from agents.core.gp_settings import Model, Number
from agents.core.protocol import Feedback
from gpbandit_envs.arrays import Array
from gpbandit_envs.gp.many import CovarianceRows, ManyPosteriors, at
from gpbandit_envs.problem import Problem


class Streams(np.random.Generator):
    """The generators of R repetitions: each draw has one entry a repetition, along its last axis.

    Args:
        rngs: One generator for each.
    """

    def __init__(self, rngs: Sequence[np.random.Generator]) -> None:
        super().__init__(rngs[0].bit_generator)
        self.each = list(rngs)

    def _all(self, name: str, *args: Any, **kwargs: Any) -> Any:
        return np.stack([getattr(rng, name)(*args, **kwargs) for rng in self.each], axis=-1)

    def integers(self, *args: Any, **kwargs: Any) -> Any:
        """As `numpy.random.Generator.integers`, for each repetition."""
        return self._all("integers", *args, **kwargs)

    def exponential(self, *args: Any, **kwargs: Any) -> Any:
        """As `numpy.random.Generator.exponential`, for each repetition."""
        return self._all("exponential", *args, **kwargs)

    def random(self, *args: Any, **kwargs: Any) -> Any:
        """As `numpy.random.Generator.random`, for each repetition."""
        return self._all("random", *args, **kwargs)


@dataclass(frozen=True)
class Room:
    """Where and how repetitions are played side by side.

    Attributes:
        rows: Prior covariances of the arms, on the device.
        repetitions: Number `R`.
        pulls: Evaluations of each.
        precision: Type of whitened rows.
        waits: Whether a policy sees feedback only when its batch is complete.
        keeps: Whether whitened rows are kept.
    """

    rows: CovarianceRows
    repetitions: int
    pulls: int
    precision: str = "float64"
    waits: bool = False
    keeps: bool = True

    def posteriors(self, noise: Any) -> ManyPosteriors:
        """R posteriors of no data."""
        return ManyPosteriors(self.rows, noise, self.repetitions, self.pulls, self.precision, self.keeps)


class ManyBeliefs(Beliefs):
    """Exact posteriors of R repetitions. All feedback goes into them at once; a policy that waits is shown it later.

    Args:
        room: Where they are.

    Attributes:
        posterior: The posteriors given all pulls.
        mean, variance: As a policy sees them: as of the last feedback that it has had, shape (R, A).
        leverage, first_leverage: Leverage score of the last pull, just before it and as of the last feedback, (R,).
    """

    def __init__(self, problem: Problem, model: Model, room: Room) -> None:
        super().__init__(problem, model)
        self.room, self.xp = room, room.rows.device.xp
        self.posterior = room.posteriors(model.noise_of())
        zeros = self.posterior.information_gain
        self.sum_log_leverage, self.sum_log_3_leverage = zeros * 0.0, zeros * 0.0
        self.leverage = self.first_leverage = zeros
        self._seen: Any = None
        if room.waits:
            self.show(None)

    def show(self, who: Array | None) -> None:
        """Let the policy see all feedback, in the repetitions `who`, a mask of shape (R,); None for all of them."""
        if self.room.waits:
            new = self.posterior.mean, self.posterior.v
            if who is None or self._seen is None:
                self._seen = new[0] * 1.0, new[1] * 1.0  # copies: these are updated in place
            else:
                self._seen = tuple(self.xp.where(who[:, None], *pair) for pair in zip(new, self._seen))

    @property
    def arms(self) -> Any:
        return self

    @property
    def mean(self) -> Array:
        return self.posterior.mean if self._seen is None else self._seen[0]

    @property
    def variance(self) -> Array:
        return self.xp.clip(self.posterior.v if self._seen is None else self._seen[1], 0.0, None)

    @property
    def information_gain(self) -> Number:
        return self.posterior.information_gain

    @property
    def effective_dimension(self) -> Number:
        return self.posterior.effective_dimension()

    def observe(self, feedback: Feedback) -> bool:
        """Raise: results come to `take_in`."""
        raise TypeError("many repetitions take in results of all of them at once")

    def take_in(self, arms: Array, y: Array) -> None:
        """One more pull of each repetition, with its feedback less the prior mean, each of shape (R,)."""
        noise = self.posterior.noise_of(arms)
        self.leverage = self.xp.clip(at(self.posterior.v, arms), 0.0, None) / noise
        self.first_leverage = self.leverage if self._seen is None else at(self.variance, arms) / noise
        self.sum_log_leverage = self.sum_log_leverage + self.xp.log1p(self.first_leverage)
        self.sum_log_3_leverage = self.sum_log_3_leverage + self.xp.log1p(3 * self.first_leverage)
        self._condition(arms, y)
        self.n_pulls += 1

    def _condition(self, arms: Array, y: Array) -> None:
        self.posterior.update(arms, y)

    def maximise(self, score: Score, rng: np.random.Generator) -> Array:
        return self._best(score(self.mean, self.xp.sqrt(self.xp.clip(self.posterior.v, 0.0, None))))

    def maximise_bound(self, width: Number, rng: np.random.Generator) -> Array:
        return self.maximise(UpperConfidenceBound(self.column(width)), rng)

    def _best(self, values: Array) -> Array:
        return self.xp.argmax(values, axis=1)[None, :]

    def column(self, x: Number) -> Any:
        """A number as it is, one for each repetition as a column on the device."""
        return x if np.ndim(x) == 0 else self.room.rows.device.put(x)[:, None]

    def most_uncertain(self, n: int, pending: np.ndarray) -> Array:
        return self._best(self.posterior.v)

    def random(self, rng: np.random.Generator) -> Array:
        return rng.integers(self.problem.n_arms, size=1)

    @property
    def incumbent(self) -> Number:
        if self.n_pulls == 0:
            return 0.0
        pulled = self.posterior.arms[:, : self.n_pulls]
        return self.xp.max(self.xp.take_along_axis(self.mean, pulled, axis=1), axis=1, keepdims=True)

    def recommend(self) -> Array:
        return self.xp.argmax(self.mean, axis=1)

    def at(self, X: Any) -> tuple[Array, Array]:
        """Mean and variance at all arms, whatever `X`."""
        return self.mean, self.variance

    def band(self, X: Any, width: Number) -> tuple[Array, Array]:
        return self.mean, self.column(width) * self.xp.sqrt(self.variance)

    def diagnostics(self) -> Mapping[str, float]:
        return {}
