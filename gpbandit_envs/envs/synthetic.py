"""Recipes with drawn mean functions, on finite arm sets and on the unit cube."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Literal

from gpbandit_envs.arguments import positive_int, positive_number
from gpbandit_envs.datasets.table import one_hot_columns
from gpbandit_envs.envs.entry_point import EntryPoint
from gpbandit_envs.envs.recipe import EnvRecipe, KernelLike, NoiseLike, drawn
from gpbandit_envs.functions.base import ArmFamily, BoxFamily, even_arms, lattice
from gpbandit_envs.functions.gp_draws import GPSampleArms, GPSampleBox
from gpbandit_envs.functions.interpolated import InterpolatedArms
from gpbandit_envs.functions.laboratory import CliffArms, mixed_arms
from gpbandit_envs.functions.needle import NeedleArms
from gpbandit_envs.functions.rkhs import RKHSArms, RKHSBox
from gpbandit_envs.functions.time_varying import ChangePointArms, DriftingGP
from gpbandit_envs.gp import SE, Matern, as_kernel
from gpbandit_envs.gp.kernels import ActiveDims, Kernel, Product, Scale, Sum
from gpbandit_envs.noise import as_noise


@EntryPoint
def rkhs(
    *,
    n_arms: int | Literal["box"] | None = 1_000,
    dim: int = 1,
    lengthscale: float | None = None,
    norm: float = 1.0,
    noise_std: float = 0.1,
    kernel: KernelLike = None,
    noise: NoiseLike = None,
    n_centres: int = 32,
) -> EnvRecipe:
    """A new function of exact RKHS norm each episode, on evenly spread arms of the unit cube.

    `f = sum_i a_i k(., c_i)` with uniform centres and Gaussian coefficients scaled to `a^T K a = norm^2`.

    Args:
        n_arms: Number of arms `A`; None, or `"box"`, for the whole unit cube, with an SE or Matern-5/2 kernel. There
            the optimum is proven in few dimensions, beyond about four the best value found; the certificate says which.
        dim: Number of features `d`; for 1 the arms are a grid, else scrambled Sobol points, always the same.
        lengthscale: Lengthscale of an SE kernel that draws the function; default 0.2.
        norm: RKHS norm, unit of the reward.
        kernel: Prior stated to policies. It draws the function too, unless `lengthscale` is also given: then the
            function is drawn with that SE kernel and the stated prior is misspecified.
        n_centres: Number of terms of the expansion.
    """
    truth, stated = _kernels(kernel, lengthscale, SE(0.2))
    family: RKHSArms | RKHSBox = (
        RKHSBox(truth, dim, norm, n_centres)
        if n_arms is None or n_arms == "box"
        else RKHSArms(truth, even_arms(n_arms, dim), norm, n_centres)
    )
    return drawn(family, stated, noise, noise_std)


@EntryPoint
def gp_sample(
    *,
    n_arms: int | Literal["box"] | None = 1_000,
    dim: int = 1,
    lengthscale: float | None = None,
    noise_std: float = 0.1,
    kernel: KernelLike = None,
    noise: NoiseLike = None,
    n_features: int = 2_048,
) -> EnvRecipe:
    """A new sample of a Gaussian process each episode, on evenly spread arms of the unit cube.

    Args:
        n_arms: Number of arms `A`; exact samples up to 5,000, random Fourier features beyond. None, or `"box"`, for
            the whole unit cube, by random Fourier features. There the optimum is proven up to two dimensions, in three
            from a lengthscale of about 0.2 on, and else the best value found; the certificate says which.
        dim: Number of features `d`; for 1 the arms are a grid, else scrambled Sobol points, always the same.
        lengthscale: Lengthscale of a Matern-5/2 kernel that draws the function; default 0.1.
        kernel: Prior stated to policies. It draws the function too, unless `lengthscale` is also given: then the
            function is drawn with that Matern kernel and the stated prior is misspecified.
        n_features: Number of random features beyond 5,000 arms.
    """
    truth, stated = _kernels(kernel, lengthscale, Matern(0.1, nu=2.5))
    family: ArmFamily | BoxFamily = (
        GPSampleBox(truth, dim, n_features)
        if n_arms is None or n_arms == "box"
        else GPSampleArms(truth, even_arms(n_arms, dim), n_features)
    )
    # A sample path is almost surely no member of the RKHS: no finite bound would be true for every grid.
    return drawn(family, stated, noise, noise_std)


@EntryPoint
def needle(
    *,
    n_arms: int = 1_000,
    dim: int = 1,
    lengthscale: float | None = None,
    height: float = 0.5,
    norm: float = 1.0,
    noise_std: float = 0.1,
    kernel: KernelLike = None,
    noise: NoiseLike = None,
) -> EnvRecipe:
    """A needle on a random arm each episode: the bump behind the lower bounds, as narrow as its norm allows.

    The mean is nearly 0 everywhere but within the needle's width (see the certificate's facts) of the hidden arm.

    Args:
        n_arms: Number of arms `A`.
        dim: Number of features `d`; for 1 the arms are a grid, else scrambled Sobol points, always the same.
        lengthscale: Lengthscale of an SE kernel under which the norm holds; default 0.2.
        height: Mean at the needle's tip, unit of the reward.
        norm: RKHS norm; the larger it is against the height, the narrower is the needle.
        kernel: Prior stated to policies, and the kernel under which the norm holds unless `lengthscale` is also given;
            SE or Matern with one lengthscale.
    """
    truth, stated = _kernels(kernel, lengthscale, SE(0.2))
    family = NeedleArms(truth, even_arms(n_arms, dim), height, norm)
    return drawn(family, stated, noise, noise_std)


@EntryPoint
def variance_starvation(
    *, n_arms: int = 1_000, noise_std: float = 0.1, kernel: KernelLike = None, noise: NoiseLike = None
) -> EnvRecipe:
    """A sample of a GP with a narrow SE kernel on [0, 1], to be evaluated in [0, 0.5] only (BKB paper, Fig. 1).

    Sparse posteriors that underestimate the variance beyond 0.5 starve. The figure evaluates uniformly drawn arms of
    `notes["observed_arms"]`, at `notes["evaluations"]` numbers of evaluations. Its bandwidth of 100 is read as the
    inverse square of the lengthscale.

    Args:
        n_arms: Number of evenly spaced arms `A`.
        noise_std: Standard deviation of the noise, unit of the reward; the paper does not state its own.
        kernel: Kernel that draws the function, and prior stated to policies; SE of lengthscale 0.1 if None.
    """
    both = SE(0.1) if kernel is None else as_kernel(kernel)
    arms = even_arms(n_arms, 1)
    notes = {"observed_arms": int((arms[:, 0] <= 0.5).sum()), "evaluations": (6, 63, 215)}
    return drawn(GPSampleArms(both, arms), both, noise, noise_std, notes=notes)


@EntryPoint
def bpe_sample(
    *,
    grid: int = 50,
    coarse: int = 5,
    side: float = 10.0,
    lengthscale: float = 0.5,
    noise_std: float = 0.02,
    kernel: KernelLike = None,
    noise: NoiseLike = None,
) -> EnvRecipe:
    """A new function each episode as the code of Li and Scarlett (2022) draws theirs, on a grid of [-5, 5]^2.

    A sample of a Gaussian process on a coarse grid is interpolated to all arms by Gaussian process regression whose
    lengthscale is fitted again, to the sample. The coarse points are five lengthscales apart, so that the sample is
    nearly independent: the function is no sample of the stated prior. The fitted lengthscale, in coordinates of the
    unit square, is among the certificate's facts. Source of the settings: github.com/lizihan97/BPE.

    Args:
        grid: Arms along each axis.
        coarse: Points of the sample along each axis.
        side: Side of the square, unit of the lengthscale.
        lengthscale: Lengthscale of the SE kernel that draws the sample, with which the fit begins.
        kernel: Prior stated to policies, on the unit square; if None, the kernel that draws the sample.
    """
    side = positive_number("side", side)
    truth = SE(positive_number("lengthscale", lengthscale) / side)
    return EnvRecipe(
        family=InterpolatedArms(truth, lattice(positive_int("grid", grid), 2), coarse, side),
        noise=as_noise(noise, noise_std),
        kernel=truth if kernel is None else as_kernel(kernel),
        norm_bound=None,
        knowledge="misspecified",
    )


@EntryPoint
def categories(
    *,
    n_arms: int = 500,
    dim: int = 3,
    levels: Sequence[int] = (4, 3),
    lengthscale: float = 0.4,
    noise_std: float = 0.2,
    kernel: KernelLike = None,
    noise: NoiseLike = None,
) -> EnvRecipe:
    """A new sample of a Gaussian process over numbers and categories each episode, as of amounts and ligands.

    Numbers are scrambled Sobol points; each category is one-hot, and its levels are those of equally many arms, the
    same in each episode. Two levels of a category share half of what the numbers do, and each level has an effect of
    its own besides.

    Args:
        n_arms: Number of arms `A`, at most 5,000.
        dim: Number of numbers.
        levels: How many levels each category has, two or more.
        lengthscale: Lengthscale of the Matern-5/2 kernel of the numbers.
        kernel: Kernel that draws the functions and is stated to policies, in place of that described above.
    """
    arms = mixed_arms(n_arms, dim, levels)
    # exp(-|x - x'|^2 / (2 l^2)) of two levels, whose one-hot columns are sqrt(2) apart, is a half at l^2 = 1 / log 2.
    level = ActiveDims(SE(log(2) ** -0.5), tuple(range(dim, arms.shape[1])))
    number = ActiveDims(Matern(lengthscale, nu=2.5), tuple(range(dim)))
    default = Sum(Scale(Product(number, level), 0.75), Scale(level, 0.25))
    truth = default if kernel is None else as_kernel(kernel)
    notes = {"categories": one_hot_columns(levels, dim)}
    return drawn(GPSampleArms(truth, arms), truth, noise, noise_std, notes=notes)


@EntryPoint
def cliff(
    *,
    n_arms: int = 500,
    dim: int = 3,
    lengthscale: float = 0.4,
    share: float = 0.25,
    depth: float = 3.0,
    noise_std: float = 0.2,
    kernel: KernelLike = None,
    noise: NoiseLike = None,
) -> EnvRecipe:
    """A new sample of a Gaussian process each episode, with a region where it falls at once, as where a reaction stops.

    A second sample says which arms lie beyond the cliff: those at which it is largest. The kernel that is stated is
    that of the samples, and so wrong at the cliff.

    Args:
        n_arms: Number of arms `A`, at most 5,000.
        dim: Number of features `d`; for 1 the arms are a grid, else scrambled Sobol points, always the same.
        lengthscale: Lengthscale of the Matern-5/2 kernel that draws both samples and is stated to policies.
        share: Share of the arms beyond the cliff, in (0, 1).
        depth: How far they fall, in deviations of the sample's means.
        kernel: Kernel that draws the samples and is stated to policies, in place of the Matern kernel.
    """
    truth = Matern(lengthscale, nu=2.5) if kernel is None else as_kernel(kernel)
    family = CliffArms(GPSampleArms(truth, even_arms(n_arms, dim)), share, depth)
    return EnvRecipe(
        family=family,
        noise=as_noise(noise, noise_std),
        kernel=truth,
        norm_bound=None,
        knowledge="misspecified",
    )


def _kernels(kernel: KernelLike, lengthscale: float | None, default: SE | Matern) -> tuple[Kernel, Kernel]:
    """The kernel that draws, and the kernel stated to policies."""
    if lengthscale is None:
        both = default if kernel is None else as_kernel(kernel)
        return both, both
    truth = SE(lengthscale) if isinstance(default, SE) else Matern(lengthscale, nu=default.nu)
    return truth, truth if kernel is None else as_kernel(kernel)


@EntryPoint
def tv_gp_sample(
    *,
    n_arms: int = 400,
    dim: int = 2,
    eps: float = 0.01,
    lengthscale: float = 0.2,
    noise_std: float = 0.1,
    kernel: KernelLike = None,
    noise: NoiseLike = None,
) -> EnvRecipe:
    """A sample of a Gaussian process that drifts from step to step, at a rate that policies are told.

    `f_{t+1} = sqrt(1 - eps) f_t + sqrt(eps) g_{t+1}` with independent draws `g` of the process, of which every `f_t` is
    a draw too. Regret is measured from the best mean of each step; no policy has vanishing regret, since what it knows
    is worth less with every step.

    Args:
        n_arms: Number of arms `A`, at most 5,000; a step costs `2 A^2` operations.
        dim: Number of features `d`; for 1 the arms are a grid, else scrambled Sobol points, always the same.
        eps: Rate of drift in [0, 1], stated to policies; after `1 / eps` steps the correlation with the present is 0.6.
        lengthscale: Lengthscale of the SE kernel that draws the functions and is stated to policies.
        kernel: Kernel that draws the functions and is stated to policies, in place of the SE kernel.
    """
    family = DriftingGP(SE(lengthscale) if kernel is None else as_kernel(kernel), even_arms(n_arms, dim), eps)
    return drawn(family, family.kernel, noise, noise_std)


@EntryPoint
def change_points(
    *,
    n_arms: int = 400,
    dim: int = 2,
    rate: float = 0.005,
    lengthscale: float = 0.2,
    norm: float = 2.0,
    noise_std: float = 0.1,
    kernel: KernelLike = None,
    noise: NoiseLike = None,
    n_centres: int = 32,
) -> EnvRecipe:
    """One function of exact RKHS norm after another: it stays as it is until a change point that nobody announces.

    Functions are those of `RKHS`, drawn independently. Regret is measured from the best mean of each step. Policies are
    told that the mean changes, and not how often.

    Args:
        n_arms: Number of arms `A`.
        dim: Number of features `d`; for 1 the arms are a grid, else scrambled Sobol points, always the same.
        rate: Probability that an evaluation is a change point; there are `1 / rate` evaluations between two on average.
        lengthscale: Lengthscale of the SE kernel that draws the functions and is stated to policies.
        norm: RKHS norm of every function, unit of the reward.
        kernel: Kernel that draws the functions and is stated to policies, in place of the SE kernel.
        n_centres: Number of terms of the expansions.
    """
    truth = SE(lengthscale) if kernel is None else as_kernel(kernel)
    family = ChangePointArms(RKHSArms(truth, even_arms(n_arms, dim), norm, n_centres), rate)
    return drawn(family, family.kernel, noise, noise_std)
