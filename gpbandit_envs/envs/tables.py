"""Settings over real regression data and laboratory measurements."""

from __future__ import annotations

from typing import Literal

from gpbandit_envs.envs.factory import EntryPoint
from gpbandit_envs.envs.setting import Setting
from gpbandit_envs.envs.table_setting import KernelLike, NoiseLike, table_setting
from gpbandit_envs.gp import SE, Matern

__all__ = [
    "abalone",
    "cadata",
    "crossed_barrel",
    "direct_arylation",
    "hplc",
    "neurostimulation",
    "oer_plates",
]


@EntryPoint
def abalone(*, noise_std: float = 0.01, kernel: KernelLike = None, noise: NoiseLike = None) -> Setting:
    """Age of 4,177 abalone: find the oldest from sex and seven measurements.

    Features: sex as one number (M 0, F 1, I 2) and the measurements, all standardised. Mean: rings, mapped to
    [0, 1]. The BBKB paper does not give the scale of its features; standardised is the reading taken here.

    Args:
        noise_std: Standard deviation of the noise; 0.01 in the BBKB paper.
        kernel: Prior on the card; if None, SE of lengthscale 17.5, as the BBKB paper's Table 1 has it for BKB and BBKB.
        noise: Noise model, a name or a spec; Gaussian if None.
    """
    return table_setting("Abalone", SE(17.5), noise_std, kernel, noise)


@EntryPoint
def cadata(
    *,
    columns: Literal["statlib", "averages"] = "statlib",
    noise_std: float = 0.01,
    kernel: KernelLike = None,
    noise: NoiseLike = None,
) -> Setting:
    """House values in 20,640 census blocks of California: find the dearest from eight facts about them.

    Features standardised; mean: median house value, mapped to [0, 1]. 965 blocks share the optimum, at which the
    census capped its values.

    Args:
        columns: Rooms, bedrooms and households as the totals of the StatLib file, or as averages a household.
        noise_std: Standard deviation of the noise; 0.01 in the BBKB paper.
        kernel: Prior on the card; if None, SE of lengthscale 12.5, as in the BBKB paper's Table 1.
        noise: Noise model, a name or a spec; Gaussian if None.
    """
    return table_setting("Cadata", SE(12.5), noise_std, kernel, noise, columns=columns)


@EntryPoint
def neurostimulation(
    *, rat: int = 11, noise_std: float = 0.05, kernel: KernelLike = None, noise: NoiseLike = None
) -> Setting:
    """Electrodes on a rat's motor cortex: find the one of 32 with the strongest response.

    Features: the electrode's place on the 8 x 4 grid, divided by 7. Mean: motor score, mapped to [0, 1]; the best
    score may be shared. A public stand-in for the spinal therapy data of the GP-BUCB paper.

    Args:
        rat: Which of 23 rats; 3, 9 and 10 showed no response and are left out.
        noise_std: Standard deviation of the noise; the scores have no replicates.
        kernel: Prior on the card; if None, Matern 5/2 of lengthscale 0.3.
        noise: Noise model, a name or a spec; Gaussian if None.
    """
    default = Matern(0.3, nu=2.5)
    return table_setting("Neurostimulation", default, noise_std, kernel, noise, scaling="by the widest column", rat=rat)


@EntryPoint
def oer_plates(
    *, plate: int = 3496, noise_std: float = 0.01, kernel: KernelLike = None, noise: NoiseLike = None
) -> Setting:
    """Catalysts for the oxygen evolution reaction: find the composition with the lowest overpotential.

    Features: fractions of six elements, all divided by the widest range. Mean: negative overpotential, mapped to
    [0, 1].

    Args:
        plate: Which of four plates: 3496, 3851, 3860 or 4098.
        noise_std: Standard deviation of the noise; the compositions have no replicates.
        kernel: Prior on the card; if None, Matern 5/2 of lengthscale 0.3.
        noise: Noise model, a name or a spec; Gaussian if None.
    """
    default = Matern(0.3, nu=2.5)
    return table_setting("OERPlates", default, noise_std, kernel, noise, scaling="by the widest column", plate=plate)


@EntryPoint
def crossed_barrel(*, noise_std: float | None = None, kernel: KernelLike = None, noise: NoiseLike = "table") -> Setting:
    """Printed crossed-barrel structures: find the toughest of 600 designs, each printed three times.

    Features standardised; mean: toughness averaged over the three prints, where all prints are mapped to [0, 1].

    Args:
        noise_std: Standard deviation for a noise model that states none; if None, the pooled one of the prints.
        kernel: Prior on the card; if None, SE of lengthscale 2.
        noise: `"table"` for one of the three prints; or a noise model, a name or a spec, Gaussian if None.
    """
    return table_setting("CrossedBarrel", SE(2.0), noise_std, kernel, noise)


@EntryPoint
def direct_arylation(*, noise_std: float = 0.02, kernel: KernelLike = None, noise: NoiseLike = None) -> Setting:
    """Direct arylation: find the conditions of highest yield in a full factorial of 1,728 reactions.

    Features: base, ligand and solvent one-hot, concentration and temperature, all standardised. Mean: yield, mapped
    to [0, 1]. Arms are neighbours if they differ in one factor, in an amount by one level.

    Args:
        noise_std: Standard deviation of the noise; the reactions have no replicates.
        kernel: Prior on the card; if None, SE of lengthscale 5.
        noise: Noise model, a name or a spec; Gaussian if None.
    """
    return table_setting("DirectArylation", SE(5.0), noise_std, kernel, noise)


@EntryPoint
def hplc(
    *,
    repeats: Literal["merged", "separate"] = "merged",
    noise_std: float | None = None,
    kernel: KernelLike = None,
    noise: NoiseLike = None,
) -> Setting:
    """Liquid chromatography: find the sampling settings with the largest peak among 1,007 that were run.

    Features standardised; mean: peak area averaged over the runs of a setting, where all runs are mapped to [0, 1].

    Args:
        repeats: Whether runs of the same setting are one arm with replicates, or arms of their own.
        noise_std: Standard deviation of the noise; if None, the pooled one of the 379 settings that were run twice,
            or 0.01 if runs are separate.
        kernel: Prior on the card; if None, SE of lengthscale 2.
        noise: Noise model, a name or a spec, or `"table"` for one of the real runs; Gaussian if None.
    """
    return table_setting("HPLC", SE(2.0), noise_std, kernel, noise, repeats=repeats)
