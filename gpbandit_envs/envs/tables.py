"""Settings with real data: the arms and the means of a table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from gpbandit_envs import datasets
from gpbandit_envs.envs.factory import EntryPoint
from gpbandit_envs.envs.setting import Setting
from gpbandit_envs.functions.base import FixedArms
from gpbandit_envs.gp import SE, as_kernel
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.noise import TableNoise, as_noise

__all__ = ["abalone", "table_setting"]

KernelLike = Kernel | Mapping[str, Any] | None
NoiseLike = Mapping[str, Any] | str | None


@EntryPoint
def abalone(*, noise_std: float = 0.01, kernel: KernelLike = None, noise: NoiseLike = None) -> Setting:
    """Age of 4,177 abalone: find the oldest from sex and seven measurements.

    Features: sex as one number (M 0, F 1, I 2) and the measurements, all standardised. Mean: rings, rescaled to
    [0, 1]. The BBKB paper does not give the scale of its features; standardised is the reading taken here.

    Args:
        noise_std: Standard deviation of the noise; 0.01 in the BBKB paper.
        kernel: Prior on the card; if None, SE of lengthscale 17.5, as the BBKB paper's Table 1 has it for BKB and BBKB.
        noise: Noise model, a name or a spec; Gaussian if None.
    """
    return table_setting("Abalone", SE(17.5), noise_std, kernel, noise, rescale=True, norm_bound=1.0)


def table_setting(
    name: str,
    default: Kernel | None,
    noise_std: float,
    kernel: KernelLike,
    noise: NoiseLike,
    *,
    rescale: bool,
    norm_bound: float | None = None,
    **options: Any,
) -> Setting:
    """The setting of a data set: standardised features, and the mean over an arm's replicates as its mean.

    Args:
        name: Name of the data set.
        default: Prior on the card unless `kernel` is given.
        noise_std: Standard deviation where the noise model states none.
        kernel: Prior on the card.
        noise: `"table"` for one of the arm's real replicates, or a noise model.
        rescale: Whether values are mapped to [0, 1].
        norm_bound: RKHS norm bound on the card, a modelling choice.
        **options: Options of the data set.
    """
    table, arms, values = _prepared(name, rescale, tuple(sorted(options.items())))
    return Setting(
        family=FixedArms(arms, np.nanmean(values, axis=1)),
        noise=TableNoise(values) if noise == "table" else as_noise(noise, noise_std),
        kernel=default if kernel is None else as_kernel(kernel),
        norm_bound=norm_bound,
        knowledge="learned",
        costs=table.costs,
        neighbours=table.neighbours,
        notes={
            **table.notes,
            "features": table.feature_names,
            "scaling": "features standardised" + (", target mapped to [0, 1]" if rescale else ""),
            "replicates": int(values.shape[1]),
        },
    )


@lru_cache(maxsize=32)
def _prepared(
    name: str, rescale: bool, options: tuple[tuple[str, Any], ...]
) -> tuple[datasets.Table, np.ndarray, np.ndarray]:
    """The table, its standardised features and its values, read once a process: environments share them."""
    table = datasets.load(name, **dict(options))
    arms = datasets.standardise(table.features)
    values = datasets.unit_interval(table.values) if rescale else table.values
    for array in (arms, values):
        array.flags.writeable = False
    return table, arms, values
