"""A task as a test problem of BoTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from botorch.test_functions import SyntheticTestFunction
from scipy.spatial import cKDTree

from gpbandit_envs.adapters.instance import Instance

_NEAR = 1e-6  # of the largest feature: above the rounding of single precision, 6e-8, in which points may come


class BoTorchProblem(SyntheticTestFunction):
    """See `gpbandit_envs.adapters.to_botorch`.

    Attributes:
        choices: On arms, their features, shape `(A, d)`; None on a box.
        instance: What is evaluated.
    """

    _is_minimization_by_default = False
    _check_grad_at_opt = False  # evaluations are NumPy's: there are no gradients

    def __init__(self, instance: Instance, negate: bool) -> None:
        arms = instance.problem.arms if instance.finite else None
        self._arms = None if arms is None else _Arms(instance, arms)
        dimensions = instance.domain
        self.dim = len(dimensions) if arms is None else arms.shape[1]
        self._bounds = instance.bounds() if arms is None else list(zip(arms.min(0).tolist(), arms.max(0).tolist()))
        kinds = ["continuous"] * self.dim
        if arms is None:
            kinds = ["categorical" if d.choices else "discrete" if d.integer else "continuous" for d in dimensions]
        self.continuous_inds = [i for i, kind in enumerate(kinds) if kind == "continuous"]
        self.discrete_inds = [i for i, kind in enumerate(kinds) if kind == "discrete"]
        self.categorical_inds = [i for i, kind in enumerate(kinds) if kind == "categorical"]
        self._optimal_value = instance.optimum
        if instance.best is not None:
            best = instance.best if arms is None else arms[int(instance.best[0])]
            self._optimizers = [tuple(best.tolist())]
        super().__init__(noise_std=instance.problem.noise_std, negate=negate)
        self.register_buffer("choices", None if arms is None else torch.tensor(arms))
        self.instance = instance

    def forward(self, X: torch.Tensor, noise: bool = True) -> torch.Tensor:
        """Values at points, shape `batch_shape x d`: with `noise` the environment's feedback, else means."""
        if not noise:
            return super().forward(X, noise=False)
        values = [self.instance.feedback(point) for point in self._points(X)]
        found = torch.tensor(values, dtype=X.dtype, device=X.device).reshape(X.shape[:-1])
        return -found if self.negate else found

    def evaluate_true(self, X: torch.Tensor) -> torch.Tensor:
        return self._evaluate_true(X)  # `_points` checks, also rows that are rounded to single precision

    def _evaluate_true(self, X: torch.Tensor) -> torch.Tensor:
        means = self.instance.mean(self._points(X))
        return torch.tensor(means, dtype=X.dtype, device=X.device).reshape(X.shape[:-1])

    def _points(self, X: torch.Tensor) -> Any:
        if X.shape[-1] != self.dim:
            raise ValueError(f"X: expected shape (..., {self.dim}), got {tuple(X.shape)}")
        points = X.detach().cpu().double().numpy().reshape(-1, self.dim)
        return points if self._arms is None else self._arms.numbers(points)


class _Arms:
    """From rows of features to numbers of arms."""

    def __init__(self, instance: Instance, arms: np.ndarray) -> None:
        self._tree = cKDTree(arms)
        self._near = _NEAR * float(np.abs(arms).max(initial=1.0)) * arms.shape[1] ** 0.5
        for one, other in self._tree.query_pairs(self._near):
            means = instance.mean(np.array([[one], [other]]))
            if means[0] != means[1]:
                raise ValueError(
                    f"env: expected arms that their features tell apart, got arms {one} and {other} of "
                    f"{instance.problem.name} with equal features and the means {means[0]:g} and {means[1]:g}"
                )

    def numbers(self, points: np.ndarray) -> np.ndarray:
        """The numbers of the arms with these features, shape `(n, 1)`.

        Raises:
            ValueError: if a row is that of no arm.
        """
        distance, arm = self._tree.query(points)
        if (far := ~(distance <= self._near)).any():
            raise ValueError(f"X: expected rows of `choices`, the arms, got {points[far][0].tolist()}")
        return arm.astype(np.int64)[:, None]
