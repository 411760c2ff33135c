"""Logistic regression of vehicles by gradient descent: two hyperparameters."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from gpbandit_envs.datasets import load
from gpbandit_envs.domain import Dimension, Domain
from gpbandit_envs.envs.entry_point import EntryPoint
from gpbandit_envs.envs.live_training import BestKnown, Split, Training, TrainingFailed, training_recipe
from gpbandit_envs.envs.recipe import EnvRecipe, KernelLike, NoiseLike

_STEPS = 500
_TOLERANCE = 1e-4


class SoftmaxRegression(Training):
    """Softmax regression by gradient descent on the whole training set, from zero weights, at a constant rate.

    Minimises `mean cross-entropy + l2 / 2 |W|^2` (no penalty on the intercepts) and stops after 500 steps, or once
    no entry of the gradient exceeds 1e-4. Score: accuracy on the test set. Cost: steps taken.

    Args:
        data: The training data.
        best_known: The best hyperparameters known.
    """

    domain = Domain((Dimension(1e-5, 1.0, log=True, name="learning_rate"), Dimension(1e-5, 1.0, log=True, name="l2")))
    floor, ceiling = 0.0, 1.0

    def __init__(self, data: Split, best_known: BestKnown) -> None:
        super().__init__()
        self.best_known = best_known
        self._test_y = data.test_y
        self._X, self._test_x = (np.column_stack([np.ones(len(X)), X]) for X in (data.train_x, data.test_x))
        self._Y = np.eye(data.n_classes)[data.train_y]

    def run(self, values: tuple[float, ...]) -> tuple[float, float]:
        rate, l2 = values
        W = np.zeros((self._X.shape[1], self._Y.shape[1]))
        steps = 0
        while steps < _STEPS:
            gradient = self._gradient(W, l2)
            W -= rate * gradient
            steps += 1
            if np.abs(gradient).max() <= _TOLERANCE:
                break
        if not np.isfinite(W).all():
            raise TrainingFailed("gradient descent diverged", cost=steps)
        predicted = np.argmax(self._test_x @ W, axis=1)
        return float(np.mean(predicted == self._test_y)), float(steps)

    def _gradient(self, W: np.ndarray, l2: float) -> np.ndarray:
        P = self._X @ W
        P -= P.max(axis=1, keepdims=True)
        np.exp(P, out=P)
        P /= P.sum(axis=1, keepdims=True)
        P -= self._Y
        gradient: np.ndarray = self._X.T @ P
        gradient /= len(self._X)
        gradient[1:] += l2 * W[1:]
        return gradient

    def __reduce__(self) -> tuple[object, tuple[()]]:
        return vehicles, ()


@lru_cache(maxsize=1)
def vehicles() -> SoftmaxRegression:
    """The task on Vehicle Silhouettes, one in a process, so that environments share its results."""
    table = load("VehicleSilhouettes")
    data = Split(table.features, table.values[:, 0].astype(np.int64))
    return SoftmaxRegression(data, BestKnown((0.853278, 1e-5), "python benchmarks/best_known.py LogisticRegression"))


@EntryPoint
def logistic_regression(*, noise_std: float = 0.01, kernel: KernelLike = None, noise: NoiseLike = None) -> EnvRecipe:
    """Logistic regression on Vehicle Silhouettes: find the learning rate and L2 penalty of highest test accuracy.

    Both hyperparameters in [1e-5, 1] on a logarithmic scale. Each evaluation trains a softmax regression on 564
    silhouettes (two thirds of each class, standardised) by at most 500 steps of gradient descent, and tests it on the
    other 282. Mean: test accuracy. Cost: gradient steps, as training stops once it has converged. Real work: some
    tens of milliseconds an evaluation.

    HPOBench, which Ha et al. (2023) use, trains by stochastic gradient descent for 1,000 epochs with a rate that is
    lowered by itself, one class against the rest, on the same two hyperparameters and ranges; here the rate is
    constant, the descent on the whole training set and the loss softmax, so that an evaluation is deterministic.

    The optimum is the best known value; the maximum is unknown, and `certificate.optimum_tol` is its distance to an
    accuracy of 1. A policy that beats it has negative regret. The noise is added to the accuracy, as training is
    deterministic.
    """
    return training_recipe(vehicles(), noise_std, kernel, noise, {"cost": "gradient steps"})
