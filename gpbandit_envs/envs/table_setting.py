"""From a table of real data to a setting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from gpbandit_envs import datasets
from gpbandit_envs.datasets.registry import find
from gpbandit_envs.envs.setting import Setting
from gpbandit_envs.functions.base import FixedArms
from gpbandit_envs.gp import as_kernel
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.noise import TableNoise, as_noise

__all__ = ["KernelLike", "NoiseLike", "Scaling", "prepared", "table_setting"]

KernelLike = Kernel | Mapping[str, Any] | None
NoiseLike = Mapping[str, Any] | str | None
Scaling = Literal["standardised", "by the widest column", "to unit norm", "edges and operations to unit norm"]

_NO_REPLICATES_STD = 0.01
_EDGE_BITS = 15


def table_setting(
    name: str,
    default: Kernel,
    noise_std: float | None,
    kernel: KernelLike,
    noise: NoiseLike,
    *,
    scaling: Scaling = "standardised",
    **options: Any,
) -> Setting:
    """The setting of a data set: an arm's mean is the mean of its replicates, all values mapped to [0, 1].

    Args:
        name: Name of the data set.
        default: Prior on the card unless `kernel` is given; a modelling choice.
        noise_std: Standard deviation where the noise model states none; if None, the pooled one of the replicates,
            or 0.01 if no arm has two.
        kernel: Prior on the card.
        noise: `"table"` for one of the arm's real replicates, or a noise model.
        scaling: What is done to the features.
        **options: Options of the data set, and `file`.
    """
    table, arms, values = prepared(name, scaling, **options)
    replicated = TableNoise(values)
    if noise_std is None:
        noise_std = replicated.std or _NO_REPLICATES_STD
    low, high = float(np.nanmin(table.values)), float(np.nanmax(table.values))
    return Setting(
        family=FixedArms(arms, np.nanmean(values, axis=1)),
        noise=as_noise(noise, noise_std, replicated),
        kernel=default if kernel is None else as_kernel(kernel),
        norm_bound=None,  # 1, as experiments assume, would be false: the values alone imply norms up to a hundred
        knowledge="learned",
        costs=table.costs,
        neighbours=table.neighbours,
        notes={
            **table.notes,
            "features": table.feature_names,
            "scaling": f"features {scaling}; values mapped to [0, 1]",
            "target_range": (low, high),
            "replicates": int(values.shape[1]),
        },
    )


def prepared(
    name: str, scaling: Scaling, file: str | None = None, **options: Any
) -> tuple[datasets.Table, Float[np.ndarray, "A d"], Float[np.ndarray, "A R"]]:
    """The table, its scaled features and its scaled values, read once a process: environments share them.

    Raises:
        TypeError, ValueError: for an option, or a value of one, that does not exist.
    """
    # Checked before the cache, to which 11.0 is 11 and a list is no key.
    chosen = find(name).choose(options)
    return _prepared(name, scaling, file, tuple(chosen.items()))


@lru_cache(maxsize=32)
def _prepared(
    name: str, scaling: Scaling, file: str | None, options: tuple[tuple[str, Any], ...]
) -> tuple[datasets.Table, Float[np.ndarray, "A d"], Float[np.ndarray, "A R"]]:
    table = datasets.load(name, file=file, **dict(options))
    arms = _SCALINGS[scaling](table.features)
    values = datasets.unit_interval(table.values)
    for array in (arms, values):
        array.flags.writeable = False
    return table, arms, values


def _by_widest(X: Float[np.ndarray, "A d"]) -> Float[np.ndarray, "A d"]:
    """Columns that start at 0, all divided by the widest range: distances keep their proportions."""
    low = X.min(axis=0)
    return (X - low) / float((X.max(axis=0) - low).max())


def _to_unit_norm(X: Float[np.ndarray, "A d"]) -> Float[np.ndarray, "A d"]:
    """Rows divided by the largest norm among them."""
    return X / float(np.linalg.norm(X, axis=1).max())


def _edges_and_operations(X: Float[np.ndarray, "A d"]) -> Float[np.ndarray, "A d"]:
    """NAS-Bench-101's 15 edge bits and its operation bits, each block divided by the largest norm among its rows."""
    return np.hstack([_to_unit_norm(X[:, :_EDGE_BITS]), _to_unit_norm(X[:, _EDGE_BITS:])])


_SCALINGS: dict[Scaling, Callable[[np.ndarray], np.ndarray]] = {
    "standardised": datasets.standardise,
    "by the widest column": _by_widest,
    "to unit norm": _to_unit_norm,
    "edges and operations to unit norm": _edges_and_operations,
}
