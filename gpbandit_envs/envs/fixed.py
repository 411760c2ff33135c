"""Settings with a fixed mean function: on its box, or on a grid of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpbandit_envs.envs.factory import EntryPoint
from gpbandit_envs.envs.setting import Setting
from gpbandit_envs.functions.arm_sets import lattice, positive_int
from gpbandit_envs.functions.base import ArmFamily, BoxFamily, OnArms
from gpbandit_envs.functions.closed_forms import FORMULAS, ClosedForm
from gpbandit_envs.functions.closed_forms import deceptive as deceptive_formula
from gpbandit_envs.functions.rkhs import Expansion
from gpbandit_envs.functions.rkhs_box import FixedExpansion
from gpbandit_envs.functions.shapes import BPE_F1, BPE_F2
from gpbandit_envs.gp import as_kernel
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.noise import as_noise

__all__ = [
    "bpe_f1",
    "bpe_f2",
    "branin",
    "cosines",
    "deceptive",
    "h1",
    "hartmann3",
    "hartmann6",
    "rosenbrock",
]

KernelLike = Kernel | Mapping[str, Any] | None
NoiseLike = Mapping[str, Any] | str | None

_ARGS = """

    Args:
        grid: Points per axis of the regular grid that serves as arm set; None for the whole box.
        noise_std: Standard deviation of the noise, unit of the reward.
        kernel: Prior on the card, on the unit cube; none if None.
        noise: Noise model, a name or a spec; Gaussian if None.
    """


@EntryPoint
def branin(
    *, grid: int | None = None, noise_std: float = 0.1, kernel: KernelLike = None, noise: NoiseLike = None
) -> Setting:
    """Branin's function, negated: three equal maxima -0.398 on [-5, 10] x [0, 15]."""
    return _closed_form("branin", grid, noise_std, kernel, noise)


@EntryPoint
def cosines(
    *, grid: int | None = None, noise_std: float = 0.01, kernel: KernelLike = None, noise: NoiseLike = None
) -> Setting:
    """Cosines (Azimi et al. 2010): many local maxima on [0, 1]^2, the best 1.6 at (0.3125, 0.3125)."""
    return _closed_form("cosines", grid, noise_std, kernel, noise)


@EntryPoint
def rosenbrock(
    *, grid: int | None = None, noise_std: float = 0.01, kernel: KernelLike = None, noise: NoiseLike = None
) -> Setting:
    """Rosenbrock's valley, negated (Azimi et al. 2010): flat around the maximum 10 at (1, 1), on [0, 1]^2."""
    return _closed_form("rosenbrock", grid, noise_std, kernel, noise)


@EntryPoint
def hartmann3(
    *, grid: int | None = None, noise_std: float = 0.01, kernel: KernelLike = None, noise: NoiseLike = None
) -> Setting:
    """Hartmann's function in 3 dimensions, negated: four bumps on [0, 1]^3, the best 3.8628."""
    return _closed_form("hartmann3", grid, noise_std, kernel, noise)


@EntryPoint
def hartmann6(
    *, grid: int | None = None, noise_std: float = 0.01, kernel: KernelLike = None, noise: NoiseLike = None
) -> Setting:
    """Hartmann's function in 6 dimensions, negated: six local maxima on [0, 1]^6, the best 3.3224."""
    return _closed_form("hartmann6", grid, noise_std, kernel, noise)


@EntryPoint
def h1(
    *, grid: int | None = None, noise_std: float = 0.01, kernel: KernelLike = None, noise: NoiseLike = None
) -> Setting:
    """The h1 function: a sharp peak 2 at (8.6998, 6.7665) among ripples, on [-25, 25]^2."""
    return _closed_form("h1", grid, noise_std, kernel, noise)


@EntryPoint
def deceptive(
    *,
    dim: int = 2,
    grid: int | None = None,
    noise_std: float = 0.01,
    kernel: KernelLike = None,
    noise: NoiseLike = None,
) -> Setting:
    """The deceptive function: a narrow peak 1 at `x_i = i / (d + 1)`, while wide slopes lead to the corners.

    Args:
        dim: Number of coordinates `d`.
        grid: Points per axis of the regular grid that serves as arm set; None for the whole box.
        noise_std: Standard deviation of the noise, unit of the reward.
        kernel: Prior on the card, on the unit cube; none if None.
        noise: Noise model, a name or a spec; Gaussian if None.
    """
    family = ClosedForm(deceptive_formula(positive_int("dim", dim)))
    return _modelled(_gridded(family, grid), noise_std, kernel, noise)


@EntryPoint
def bpe_f1(
    *, grid: int | None = 50, noise_std: float = 0.02, kernel: KernelLike = None, noise: NoiseLike = None
) -> Setting:
    """f1 of Li and Scarlett (2022), rebuilt: one clear peak, SE lengthscale 0.5, RKHS norm sqrt(2)."""
    return _expansion(BPE_F1, grid, noise_std, kernel, noise)


@EntryPoint
def bpe_f2(
    *, grid: int | None = 50, noise_std: float = 0.02, kernel: KernelLike = None, noise: NoiseLike = None
) -> Setting:
    """f2 of Li and Scarlett (2022), rebuilt: four near-optimal peaks, SE lengthscale 0.5, RKHS norm sqrt(6)."""
    return _expansion(BPE_F2, grid, noise_std, kernel, noise)


for _entry in (branin, cosines, rosenbrock, hartmann3, hartmann6, h1, bpe_f1, bpe_f2):
    _entry.__doc__ = f"{_entry.__doc__}{_ARGS}"


def _gridded(family: BoxFamily, grid: int | None) -> ArmFamily | BoxFamily:
    return family if grid is None else OnArms(family, lattice(positive_int("grid", grid), family.dim))


def _modelled(family: ArmFamily | BoxFamily, noise_std: float, kernel: KernelLike, noise: NoiseLike) -> Setting:
    """A function that no kernel describes: the card's prior, if any, is a modelling choice."""
    return Setting(
        family=family,
        noise=as_noise(noise, noise_std),
        kernel=None if kernel is None else as_kernel(kernel),
        norm_bound=None,
        knowledge="learned",
    )


def _closed_form(name: str, grid: int | None, noise_std: float, kernel: KernelLike, noise: NoiseLike) -> Setting:
    return _modelled(_gridded(ClosedForm(FORMULAS[name]), grid), noise_std, kernel, noise)


def _expansion(
    function: Expansion, grid: int | None, noise_std: float, kernel: KernelLike, noise: NoiseLike
) -> Setting:
    card = function.kernel if kernel is None else as_kernel(kernel)
    knows = card == function.kernel
    return Setting(
        family=_gridded(FixedExpansion(function), grid),
        noise=as_noise(noise, noise_std),
        kernel=card,
        norm_bound=function.norm if knows else None,
        knowledge="oracle" if knows else "misspecified",
    )
