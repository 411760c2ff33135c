"""Settings with drawn mean functions on finite arm sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpbandit_envs.envs.factory import EntryPoint
from gpbandit_envs.envs.setting import Setting
from gpbandit_envs.functions.arm_sets import even_arms
from gpbandit_envs.functions.gp_draws import GPSampleArms
from gpbandit_envs.functions.rkhs import RKHSArms
from gpbandit_envs.gp import SE, Matern, as_kernel
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.noise import as_noise

__all__ = ["gp_sample", "rkhs"]

KernelLike = Kernel | Mapping[str, Any] | None
NoiseLike = Mapping[str, Any] | str | None


@EntryPoint
def rkhs(
    *,
    n_arms: int = 1_000,
    dim: int = 1,
    lengthscale: float | None = None,
    norm: float = 1.0,
    noise_std: float = 0.1,
    kernel: KernelLike = None,
    noise: NoiseLike = None,
    n_centres: int = 32,
) -> Setting:
    """A new function of exact RKHS norm each episode, on evenly spread arms of the unit cube.

    `f = sum_i a_i k(., c_i)` with uniform centres and Gaussian coefficients scaled to `a^T K a = norm^2`.

    Args:
        n_arms: Number of arms `A`.
        dim: Number of features `d`; for 1 the arms are a grid, else scrambled Sobol points, always the same.
        lengthscale: Lengthscale of an SE kernel that draws the function; default 0.2.
        norm: RKHS norm, unit of the reward.
        noise_std: Standard deviation of the noise, unit of the reward.
        kernel: Prior on the card. It draws the function too, unless `lengthscale` is also given: then the function
            is drawn with that SE kernel and the card is misspecified.
        noise: Noise model, a name or a spec; Gaussian if None.
        n_centres: Number of terms of the expansion.
    """
    drawn, card, knows = _kernels(kernel, lengthscale, SE(0.2))
    family = RKHSArms(drawn, n_arms, dim, norm, n_centres)
    return Setting(
        family=family,
        noise=as_noise(noise, noise_std),
        kernel=card,
        # The norm under another kernel than the one that drew the function is unknown, and may be infinite.
        norm_bound=family.norm_bound if knows else None,
        knowledge="oracle" if knows else "misspecified",
    )


@EntryPoint
def gp_sample(
    *,
    n_arms: int = 1_000,
    dim: int = 1,
    lengthscale: float | None = None,
    noise_std: float = 0.1,
    kernel: KernelLike = None,
    noise: NoiseLike = None,
    n_features: int = 2_048,
) -> Setting:
    """A new sample of a Gaussian process each episode, on evenly spread arms of the unit cube.

    Args:
        n_arms: Number of arms `A`; exact samples up to 5,000, random Fourier features beyond.
        dim: Number of features `d`; for 1 the arms are a grid, else scrambled Sobol points, always the same.
        lengthscale: Lengthscale of a Matern-5/2 kernel that draws the function; default 0.1.
        noise_std: Standard deviation of the noise, unit of the reward.
        kernel: Prior on the card. It draws the function too, unless `lengthscale` is also given: then the function
            is drawn with that Matern kernel and the card is misspecified.
        noise: Noise model, a name or a spec; Gaussian if None.
        n_features: Number of random features beyond 5,000 arms.
    """
    drawn, card, knows = _kernels(kernel, lengthscale, Matern(0.1, nu=2.5))
    return Setting(
        family=GPSampleArms(drawn, even_arms(n_arms, dim), n_features),
        noise=as_noise(noise, noise_std),
        kernel=card,
        # A sample path is almost surely no member of the RKHS: no finite bound would be true for every grid.
        norm_bound=None,
        knowledge="oracle" if knows else "misspecified",
    )


def _kernels(kernel: KernelLike, lengthscale: float | None, default: SE | Matern) -> tuple[Kernel, Kernel, bool]:
    """The kernel that draws, the kernel on the card, and whether they are the same."""
    if lengthscale is None:
        both = default if kernel is None else as_kernel(kernel)
        return both, both, True
    drawn = SE(lengthscale) if isinstance(default, SE) else Matern(lengthscale, nu=default.nu)
    card = drawn if kernel is None else as_kernel(kernel)
    return drawn, card, drawn == card
