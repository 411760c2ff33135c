"""Tables of neural-network trainings, recorded once for every configuration of a full grid and several seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.datasets.card import Card
from gpbandit_envs.datasets.errors import IntegrityError
from gpbandit_envs.datasets.readers import read_plain_pickle
from gpbandit_envs.datasets.table import Table, one_hot_columns, padded


@dataclass(frozen=True)
class Factor:
    """One coordinate of a grid.

    Attributes:
        name: Name of the feature column.
        levels: Numbers in the feature column, in the order of the levels.
        ordered: Whether only adjacent levels are one step apart; otherwise every other level is.
    """

    name: str
    levels: tuple[float, ...]
    ordered: bool = True


def grid_features(factors: Sequence[Factor]) -> Float[np.ndarray, "A d"]:
    """All combinations of levels, the last factor changing fastest, shape `(prod of levels, number of factors)`."""
    axes = np.meshgrid(*(np.asarray(factor.levels, dtype=np.float64) for factor in factors), indexing="ij")
    return np.stack([axis.ravel() for axis in axes], axis=1)


def grid_neighbours(factors: Sequence[Factor]) -> Int[np.ndarray, "A k"]:
    """Points that differ in one factor by one step, in the order of `grid_features`, padded with -1."""
    shape = tuple(len(factor.levels) for factor in factors)
    A = int(np.prod(shape))
    digits = np.array(np.unravel_index(np.arange(A), shape))
    columns: list[np.ndarray] = []
    for axis, factor in enumerate(factors):
        n = shape[axis]
        stride = int(np.prod(shape[axis + 1 :]))
        for step in (-1, 1) if factor.ordered else range(1, n):
            moved = digits[axis] + step
            if factor.ordered:
                columns.append(np.where((moved >= 0) & (moved < n), np.arange(A) + step * stride, -1))
            else:
                columns.append(np.arange(A) + (moved % n - digits[axis]) * stride)
    stacked = np.stack(columns, axis=1)
    # Neighbours first, padding last: -1 is sorted as if it were the largest.
    ordered = np.sort(np.where(stacked < 0, A, stacked), axis=1)
    return np.where(ordered == A, -1, ordered)


def read_trainings(
    path: Path, metric: str, keys: list[str]
) -> tuple[Float[np.ndarray, "A R"], Float[np.ndarray, " A"]]:
    """A metric's replicates, padded with NaN, and the mean training time in seconds, in the order of `keys`.

    Raises:
        IntegrityError: if the file does not hold just these keys, each with the metric and the time.
    """
    records = read_plain_pickle(path)
    if not isinstance(records, dict) or sorted(records) != sorted(keys):
        raise IntegrityError(f"{path.name}: expected a record for each of {len(keys)} configurations")
    try:
        values = padded([records[key][metric] for key in keys], np.nan)
        costs = np.array([sum(t := records[key]["train_time"]) / len(t) for key in keys])
    except (KeyError, TypeError, ZeroDivisionError) as fault:
        raise IntegrityError(f"{path.name}: a record lacks {metric} or train_time ({fault})") from fault
    return values, costs


def fcnet(card: Card, paths: Mapping[str, Path], options: Mapping[str, object]) -> Table:
    """The four regression tasks of FC-Net."""
    return _grid(card, paths, options, _FCNET, "val_loss", lambda loss: -np.log(loss))


def hpobench(card: Card, paths: Mapping[str, Path], options: Mapping[str, object]) -> Table:
    """The eight classification tasks of HPOBench's perceptron."""
    return _grid(card, paths, options, _PERCEPTRON, "val_acc", lambda accuracy: accuracy)


def nasbench201(card: Card, paths: Mapping[str, Path], options: Mapping[str, object]) -> Table:
    """All cells: the operations of six edges, one-hot."""
    table = _grid(card, paths, options, _CELL, "val_acc", lambda accuracy: accuracy)
    digits = table.features.astype(np.int64)
    one_hot = np.eye(len(_CELL[0].levels))[digits].reshape(len(digits), -1)
    labels = tuple("".join(map(str, row)) for row in digits.tolist())
    notes = {**table.notes, "categories": one_hot_columns([len(factor.levels) for factor in _CELL])}
    return replace(table, features=one_hot, feature_names=card.columns, labels=labels, notes=notes)


def _grid(
    card: Card,
    paths: Mapping[str, Path],
    options: Mapping[str, object],
    factors: tuple[Factor, ...],
    metric: str,
    value: Callable[[Float[np.ndarray, "A R"]], Float[np.ndarray, "A R"]],
) -> Table:
    """A table whose arms are all combinations of the factors, in the order of the digits of the file's keys."""
    (path,) = paths.values()
    keys = ["".join(map(str, digits)) for digits in np.ndindex(*(len(factor.levels) for factor in factors))]
    found, costs = read_trainings(path, metric, keys)
    return card.table(
        grid_features(factors),
        value(found),
        names=tuple(factor.name for factor in factors),
        costs=costs,
        neighbours=grid_neighbours(factors),
        notes={"dataset": options["dataset"]},
    )


_UNITS = (4.0, 5.0, 6.0, 7.0, 8.0, 9.0)
_FCNET = (
    Factor("activation_1_is_tanh", (0.0, 1.0)),
    Factor("activation_2_is_tanh", (0.0, 1.0)),
    Factor("log2_batch_size", (3.0, 4.0, 5.0, 6.0)),
    Factor("dropout_1", (0.0, 0.3, 0.6)),
    Factor("dropout_2", (0.0, 0.3, 0.6)),
    Factor("log10_initial_learning_rate", tuple(np.log10([5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 1e-1]).tolist())),
    Factor("schedule_is_constant", (0.0, 1.0)),
    Factor("log2_units_1", _UNITS),
    Factor("log2_units_2", _UNITS),
)
# Ten values evenly spaced in the logarithm; the benchmark then rounds the whole numbers down.
_PERCEPTRON = (
    Factor("log10_alpha", tuple(np.linspace(-8.0, 0.0, 10).tolist())),
    Factor("log2_batch_size", tuple(np.log2([4, 6, 10, 16, 25, 40, 64, 101, 161, 256]).tolist())),
    Factor("depth", (1.0, 2.0, 3.0)),
    Factor("log10_initial_learning_rate", tuple(np.linspace(-5.0, 0.0, 10).tolist())),
    Factor("log2_width", tuple(np.log2([16, 25, 40, 64, 101, 161, 256, 406, 645, 1024]).tolist())),
)
_CELL = tuple(Factor(f"edge {i}", (0.0, 1.0, 2.0, 3.0, 4.0), ordered=False) for i in range(6))
