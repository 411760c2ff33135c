"""The recipe of a table of one's own: its candidates are the arms, its measurements the feedback."""

from __future__ import annotations

import functools
import math
import multiprocessing
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Bool, Float

from gpbandit_envs.arguments import as_truth
from gpbandit_envs.csv_file import read_csv
from gpbandit_envs.datasets.measured import Measured, as_columns, content_digest, file_content, frame_digest, measured
from gpbandit_envs.datasets.table import unit_interval
from gpbandit_envs.envs.entry_point import EntryPoint
from gpbandit_envs.envs.recipe import EnvRecipe, KernelLike
from gpbandit_envs.functions.base import FixedArms
from gpbandit_envs.gp import Matern, as_kernel
from gpbandit_envs.noise import GaussianNoise, Noise, TableNoise

if TYPE_CHECKING:
    import pandas as pd

Replicates = Literal["resample", "average", "refuse"]
"""What rows with the same settings are: measurements to draw from, to average with stated noise, or a mistake."""

_SHARE_OF_RANGE = 0.01  # noise of a table that has no replicates that differ, over the range of its target
_EQUAL = 1e-9  # a spread of replicates, over that range, which is one of rounding


@EntryPoint
def table(
    *,
    file: str,
    target: str,
    minimise: bool = False,
    replicates: Replicates = "resample",
    categorical: Sequence[str] = (),
    ignore: Sequence[str] = (),
    sha256: str | None = None,
    noise_std: float | None = None,
    kernel: KernelLike = None,
) -> EnvRecipe:
    """A table of your own: find the candidate with the best measured target.

    A row of the CSV file is one measurement: the settings of a candidate and the target. Features: numbers mapped to
    [0, 1] by column; a column of text one-hot, two words 1 apart. Mean: the average of a candidate's measurements,
    where all measurements are mapped to [0, 1], the best to 1. The largest mean is the optimum, exactly.

    Args:
        file: Path of the CSV file, with a line of column names; relative to the folder of the command.
        target: Column that was measured.
        minimise: Whether small values of the target are good.
        replicates: What rows with the same settings are: `"resample"` makes the feedback one of these measurements,
            so that a candidate that was measured once answers without noise, of which a mixture of both warns;
            `"average"` their mean with Gaussian noise, the same for all; `"refuse"` takes them for a mistake.
        categorical: Columns of numbers that are names.
        ignore: Columns to leave out.
        sha256: What the file must hold; None for whatever it holds.
        noise_std: Standard deviation of Gaussian noise, unit of the target; if None, the pooled one of the replicates,
            or 1 % of the target's range if there are none that differ. Only where the feedback is not resampled.
        kernel: Prior stated to policies; if None, Matern-5/2 with half the diagonal of the features' cube as
            lengthscale.
    """
    minimise = as_truth("minimise", minimise)
    content = file_content(file)
    digest = _checked_digest(content_digest(content), sha256, f"{file} holds other data than it did: it was edited")
    columns = as_columns("categorical", categorical), as_columns("ignore", ignore)
    found = _read(content, file, target, minimise, *columns)
    return _recipe(found, digest, minimise, replicates, noise_std, kernel)


def frame_recipe(
    frame: pd.DataFrame,
    *,
    target: str,
    minimise: bool = False,
    replicates: Replicates = "resample",
    categorical: Sequence[str] = (),
    ignore: Sequence[str] = (),
    sha256: str | None = None,
    noise_std: float | None = None,
    kernel: KernelLike = None,
) -> EnvRecipe:
    """`table` of a frame instead of a file."""
    minimise = as_truth("minimise", minimise)
    digest = _checked_digest(
        frame_digest(frame), sha256, "another frame has taken the name since: give each a name= of its own"
    )
    names, left_out = as_columns("categorical", categorical), as_columns("ignore", ignore)
    found = measured(frame, target, minimise=minimise, categorical=names, ignore=left_out)
    return _recipe(found, digest, minimise, replicates, noise_std, kernel)


@functools.lru_cache(maxsize=8)
def _read(
    content: bytes, file: str, target: str, minimise: bool, categorical: tuple[str, ...], ignore: tuple[str, ...]
) -> Measured:
    """The file's measurements, read once a process for the same content."""
    frame = read_csv(content, file, words=categorical)
    return measured(frame, target, minimise=minimise, categorical=categorical, ignore=ignore, name=Path(file).stem)


def _checked_digest(digest: str, expected: str | None, otherwise: str) -> str:
    if expected is not None and digest != expected:
        raise ValueError(f"sha256: expected {expected[:8]}..., got {digest[:8]}...; {otherwise}")
    return digest


def _recipe(
    found: Measured,
    digest: str,
    minimise: bool,
    replicates: Replicates,
    noise_std: float | None,
    kernel: KernelLike,
) -> EnvRecipe:
    values = found.table.values
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if low == high:
        raise ValueError(f"target: expected at least two different values, got only {low}")
    scaled = unit_interval(values)
    noise, source = _noise(scaled, replicates, noise_std, high - low)
    return EnvRecipe(
        family=FixedArms(_scaled(found), np.nanmean(scaled, axis=1)),
        noise=noise,
        kernel=Matern(math.sqrt(found.n_columns) / 2, nu=2.5) if kernel is None else as_kernel(kernel),
        norm_bound=None,
        knowledge="learned",
        notes={
            "data": {"name": found.table.name, "sha256": digest},
            "features": found.table.feature_names,
            "categories": found.table.notes["categories"],
            "scaling": "numbers mapped to [0, 1] by column, words one-hot / sqrt(2); values mapped to [0, 1]",
            "minimise": minimise,
            "target_range": (-high, -low) if minimise else (low, high),
            "replicates": int(values.shape[1]),
            "noise_from": source,
        },
    )


def _scaled(found: Measured) -> Float[np.ndarray, "A d"]:
    """Columns in [0, 1]; the zeros and ones of words divided by sqrt(2), so that two words are 1 apart."""
    X = found.table.features
    low, span = X.min(axis=0), np.ptp(X, axis=0)
    scaled: np.ndarray = (X - low) / np.where(span == 0, 1.0, span)
    return np.where(found.one_hot, scaled / math.sqrt(2), scaled)


def _noise(
    scaled: Float[np.ndarray, "A R"], replicates: Replicates, noise_std: float | None, span: float
) -> tuple[Noise, str]:
    """The noise model, and where it comes from, in words."""
    resampled = TableNoise(scaled)
    repeated: np.ndarray = np.sum(~np.isnan(scaled), axis=1) > 1
    if replicates not in ("resample", "average", "refuse"):
        raise ValueError(f"replicates: expected 'resample', 'average' or 'refuse', got {replicates!r}")
    if replicates == "refuse" and repeated.any():
        raise ValueError(
            f"replicates: {int(repeated.sum())} candidates were measured more than once; 'resample' draws from their "
            "measurements, 'average' takes their mean"
        )
    differ = resampled.std > _EQUAL
    if replicates == "resample" and differ:
        if noise_std is not None:
            raise ValueError(
                f"noise_std: expected None where replicates are the noise, got {noise_std!r}; replicates='average' "
                "takes their mean and the stated noise"
            )
        _warn_of_single(repeated)
        return resampled, f"one of the measurements, where there are several ({int(repeated.sum())} candidates)"
    if noise_std is not None:
        return GaussianNoise(GaussianNoise(noise_std).std / span), "Gaussian, as stated"
    if differ:
        return GaussianNoise(resampled.std), "Gaussian, pooled deviation of the replicates"
    if repeated.any() and multiprocessing.parent_process() is None:
        warnings.warn(
            f"replicates: the measurements of each of {int(repeated.sum())} candidates are equal, which says nothing "
            f"of the noise; {_SHARE_OF_RANGE * 100:g} % of the target's range is stated and added, noise_std= gives "
            "another",
            stacklevel=2,
        )
    return GaussianNoise(_SHARE_OF_RANGE), "Gaussian, 1 % of the target's range"


def _warn_of_single(repeated: Bool[np.ndarray, " A"]) -> None:
    """Warn if some candidates, but not all, were measured several times: the others have no noise."""
    # The process that starts workers has built the table before them, and said it once.
    if not repeated.all() and multiprocessing.parent_process() is None:
        warnings.warn(
            f"replicates: {int(np.sum(~repeated))} of {len(repeated)} candidates were measured once and answer without "
            "noise; replicates='average' gives all the pooled deviation of the others",
            stacklevel=2,
        )
