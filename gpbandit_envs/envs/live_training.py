"""Expensive mean functions: each value trains and tests a model, or flies a controller.

A `Training` maps hyperparameters to a score, deterministically. The maximum of such a function is unknown. The
certificate states the best value that a search has found, evaluated anew on this machine, and as its tolerance the
distance to a proven upper bound, `ceiling`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.domain import Domain
from gpbandit_envs.envs.recipe import EnvRecipe, KernelLike, NoiseLike, modelled
from gpbandit_envs.functions.base import BoxFunction, FixedBox
from gpbandit_envs.problem import Certificate

_CACHED_RESULTS = 20_000
# The split is part of a task's definition: another number would be another environment version.
_SPLIT = 20231


class TrainingFailed(Exception):  # noqa: N818 - a result of the training, no error of the program
    """A training ended without a model that can be scored.

    Args:
        reason: Why.
        cost: Work done until then.
    """

    def __init__(self, reason: str, cost: float = 0.0) -> None:
        super().__init__(reason)
        self.cost = cost


@dataclass(frozen=True)
class TrainingResult:
    """The result of one training.

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


class Training(FixedBox):
    """A deterministic training with hyperparameters, as a fixed function on the unit cube.

    The mean is the score, or the floor where the training failed. Results are cached: no point is trained twice.

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

    expensive = fails = True

    def __init__(self) -> None:
        self.dim = self.domain.dim
        self.low = np.array([d.low for d in self.domain])
        self.high = np.array([d.high for d in self.domain])
        self._function = BoxFunction(self.evaluate, self.certify)
        self._results: OrderedDict[tuple[float, ...], TrainingResult] = OrderedDict()

    @abstractmethod
    def run(self, values: tuple[float, ...]) -> tuple[float, float]:
        """Score and cost at hyperparameters in their own units.

        Raises:
            TrainingFailed: if there is no score.
        """

    def result(self, x: Float[np.ndarray, " d"]) -> TrainingResult:
        """The result at a point of the unit cube."""
        values = tuple(self.domain.values(np.asarray(x, np.float64)[None])[0].tolist())
        result = self._results.get(values)
        if result is None:
            result = self._results[values] = self._attempt(values)
            if len(self._results) > _CACHED_RESULTS:
                self._results.popitem(last=False)
        return result

    def _attempt(self, values: tuple[float, ...]) -> TrainingResult:
        try:
            score, cost = self.run(values)
        except TrainingFailed as failure:
            return TrainingResult(self.floor, failure.cost, str(failure))
        if not math.isfinite(score):
            return TrainingResult(self.floor, cost, f"the score is {score}")
        return TrainingResult(float(score), float(cost))

    def evaluate(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """Scores at points of the unit cube."""
        return np.array([self.result(x).score for x in X])

    def cost(self, x: Float[np.ndarray, " d"]) -> float:
        return self.result(x).cost

    def failed(self, x: Float[np.ndarray, " d"]) -> bool:
        return self.result(x).failure is not None

    def certify(self) -> Certificate:
        """The best value known, and how far at most the maximum can be above it."""
        best = self.best_known
        x = self.domain.unit([best.values])[0]
        score = self.result(x).score
        return Certificate(
            optimum=score,
            optimal_action=tuple(x.tolist()),
            optimum_tol=self.ceiling - score,
            facts={"optimum": "best value known", "upper bound": self.ceiling, "search": best.search},
        )


def training_recipe(
    training: Training, noise_std: float, kernel: KernelLike, noise: NoiseLike, notes: Mapping[str, object]
) -> EnvRecipe:
    """The recipe of a task that no kernel describes; its problem states the ranges of the hyperparameters."""
    notes = {"domain": training.domain.to_spec(), **notes}
    return modelled(training, kernel, noise, noise_std, notes=notes)


class Split:
    """A classification data set, split by class and standardised by its training part.

    Args:
        features: Shape (n, p).
        labels: Class indices, shape (n,).

    Attributes:
        train_x: Features to train on, of mean 0 and standard deviation 1, shape (m, p).
        train_y: Their classes, shape (m,).
        test_x: Features to test on, on the same scale, shape (n - m, p).
        test_y: Their classes, shape (n - m,).
        n_classes: Number of classes.
    """

    def __init__(self, features: Float[np.ndarray, "n p"], labels: Int[np.ndarray, " n"]) -> None:
        train, test = split(labels)
        mean, scale = features[train].mean(axis=0), features[train].std(axis=0)
        scale[scale == 0] = 1.0
        self.train_x, self.test_x = (features[train] - mean) / scale, (features[test] - mean) / scale
        self.train_y, self.test_y = labels[train], labels[test]
        self.n_classes = int(labels.max()) + 1


def split(labels: Int[np.ndarray, " n"]) -> tuple[Int[np.ndarray, " m"], Int[np.ndarray, " k"]]:
    """Rows to train on and rows to test on, each class shared out 2 to 1; always the same for the same labels."""
    rng = np.random.default_rng(_SPLIT)
    train, test = [], []
    for label in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == label))
        third = round(len(rows) / 3)
        test.append(rows[:third])
        train.append(rows[third:])
    return np.sort(np.concatenate(train)), np.sort(np.concatenate(test))
