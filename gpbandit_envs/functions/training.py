"""Mean functions whose every value is real work: a model trained and tested, a controller flown.

A `Training` maps hyperparameters to an outcome, deterministically. `TrainingBox` makes a mean function of it on the
unit cube. Nobody knows the maximum of such a function. The certificate states the best value that a search has found,
evaluated anew on this machine, and as its tolerance the distance to a proven upper bound, `ceiling`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gpbandit_envs.domain import Domain
from gpbandit_envs.functions.base import BoxFamily, BoxFunction
from gpbandit_envs.problem import Certificate

__all__ = ["BestKnown", "Outcome", "Training", "TrainingBox", "TrainingFailed"]

_REMEMBERED = 20_000


class TrainingFailed(Exception):  # noqa: N818 - it is no error of the program but an outcome
    """A training ended without a model that can be scored.

    Args:
        reason: Why.
        cost: Work done until then.
    """

    def __init__(self, reason: str, cost: float = 0.0) -> None:
        super().__init__(reason)
        self.cost = cost


@dataclass(frozen=True)
class Outcome:
    """What came of one training.

    Attributes:
        score: To be maximised; the floor of the task if the training failed.
        cost: Work done, in a unit that the task states; never wall-clock time, which differs from run to run.
        failure: Why there is no score; None if there is one.
    """

    score: float
    cost: float
    failure: str | None = None


@dataclass(frozen=True)
class BestKnown:
    """The best hyperparameters that a search has found.

    Attributes:
        values: In their own units, one for each dimension.
        search: The command that searches again.
    """

    values: tuple[float, ...]
    search: str


class Training(ABC):
    """A deterministic task with hyperparameters; outcomes are kept, so that no point is worked out twice.

    Attributes:
        domain: Hyperparameters and their ranges.
        floor: Score that stands for a failed training, no larger than any other.
        ceiling: Proven upper bound on the score.
        best_known: The best hyperparameters known.
    """

    domain: Domain
    floor: float
    ceiling: float
    best_known: BestKnown

    def __init__(self) -> None:
        self._outcomes: OrderedDict[tuple[float, ...], Outcome] = OrderedDict()

    @abstractmethod
    def run(self, values: tuple[float, ...]) -> tuple[float, float]:
        """Score and cost at hyperparameters in their own units.

        Raises:
            TrainingFailed: if there is nothing to be scored.
        """

    def outcome(self, x: Float[np.ndarray, " d"]) -> Outcome:
        """The outcome at a point of the unit cube."""
        values = tuple(self.domain.values(np.asarray(x, np.float64)[None])[0].tolist())
        found = self._outcomes.get(values)
        if found is None:
            found = self._outcomes[values] = self._attempt(values)
            if len(self._outcomes) > _REMEMBERED:
                self._outcomes.popitem(last=False)
        return found

    def _attempt(self, values: tuple[float, ...]) -> Outcome:
        try:
            score, cost = self.run(values)
        except TrainingFailed as failure:
            return Outcome(self.floor, failure.cost, str(failure))
        if not math.isfinite(score):
            return Outcome(self.floor, cost, f"the score is {score}")
        return Outcome(float(score), float(cost))


class TrainingBox(BoxFamily):
    """The score of a training as a fixed function on the unit cube; a failed training has the floor for its mean.

    Args:
        training: What is trained.
    """

    kernel = None
    norm_bound = None
    fixed = True
    elementwise = True

    def __init__(self, training: Training) -> None:
        self.training = training
        self.dim = training.domain.dim
        self.low = np.array([d.low for d in training.domain])
        self.high = np.array([d.high for d in training.domain])
        self._function = BoxFunction(self.evaluate, self.certify)

    def evaluate(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """Scores at points of the unit cube."""
        return np.array([self.training.outcome(x).score for x in X])

    def certify(self) -> Certificate:
        """The best value known, and how far at most the maximum can be above it."""
        best = self.training.best_known
        x = self.training.domain.unit([best.values])[0]
        score = self.training.outcome(x).score
        return Certificate(
            optimum=score,
            optimal_action=tuple(x.tolist()),
            optimum_tol=self.training.ceiling - score,
            facts={"optimum": "best value known", "upper bound": self.training.ceiling, "search": best.search},
        )

    def draw(self, rng: np.random.Generator) -> BoxFunction:
        return self._function
