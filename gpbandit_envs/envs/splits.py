"""Two thirds of a data set to train on, one third to test on."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

__all__ = ["Split", "split"]

# The split is part of a task's definition: another number would be another environment version.
_SPLIT = 20231


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
