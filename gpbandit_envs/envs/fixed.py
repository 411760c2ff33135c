"""Recipes with a fixed mean function: on its box, or on a grid of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from gpbandit_envs.arguments import as_number, as_word, positive_int
from gpbandit_envs.envs.entry_point import EntryPoint
from gpbandit_envs.envs.recipe import EnvRecipe, KernelLike, NoiseLike, drawn, modelled
from gpbandit_envs.functions.base import ArmFamily, BoxFamily, OnArms, lattice
from gpbandit_envs.functions.closed_forms import FORMULAS, H1_FORMS, ClosedForm, Shifted
from gpbandit_envs.functions.closed_forms import deceptive as deceptive_formula
from gpbandit_envs.functions.rkhs import BPE_F1, BPE_F2, BPE_F2_SIDE, Expansion, FixedExpansion
from gpbandit_envs.gp import as_kernel


def _formula(name: str, noise_std: float, summary: str) -> EntryPoint:
    """The entry point of a closed form: the five differ in name, default noise and what there is to say of them."""

    def recipe(
        *,
        grid: int | None = None,
        noise_std: float = noise_std,
        kernel: KernelLike = None,
        noise: NoiseLike = None,
        shift: bool = False,
    ) -> EnvRecipe:
        return modelled(_placed(ClosedForm(FORMULAS[name]), shift, grid), kernel, noise, noise_std)

    recipe.__name__ = recipe.__qualname__ = name
    recipe.__doc__ = summary
    return EntryPoint(recipe)


branin = _formula("branin", 0.1, "Branin's function, negated: three equal maxima -0.398 on [-5, 10] x [0, 15].")
cosines = _formula(
    "cosines",
    0.01,
    "Cosines (Azimi et al. 2010): many local maxima on [0, 1]^2, the best 1.6 at (0.3125, 0.3125).",
)
rosenbrock = _formula(
    "rosenbrock",
    0.01,
    "Rosenbrock's valley, negated (Azimi et al. 2010): flat around the maximum 10 at (1, 1), on [0, 1]^2.",
)
hartmann3 = _formula(
    "hartmann3", 0.01, "Hartmann's function in 3 dimensions, negated: four bumps on [0, 1]^3, the best 3.8628."
)
hartmann6 = _formula(
    "hartmann6", 0.01, "Hartmann's function in 6 dimensions, negated: six local maxima on [0, 1]^6, the best 3.3224."
)


@EntryPoint
def h1(
    *,
    form: Literal["inside", "outside"] = "inside",
    half_side: float = 25.0,
    grid: int | None = None,
    noise_std: float = 0.01,
    kernel: KernelLike = None,
    noise: NoiseLike = None,
    shift: bool = False,
) -> EnvRecipe:
    """The h1 function: a sharp peak 2 at (8.6998, 6.7665) among ripples, on [-25, 25]^2.

    `(sin^2(x - y/8) + sin^2(y + x/8)) / D` with `D = sqrt((x - 8.6998)^2 + (y - 6.7665)^2 + 1)`. Sources differ:
    Ha et al. (2023) print the 1 inside the root and name no domain; DEAP's benchmarks, which cite Van Soest and Casius
    (2003) as they do, have `D = sqrt(..) + 1` on [-100, 100]^2. With the 1 inside, the peak is round and about 1 wide;
    outside, it is a cusp. The side decides how small a share of the box it takes: 25 is a choice made here.

    Args:
        form: Where the 1 stands, `"inside"` or `"outside"` the root.
        half_side: Half the side of the box around the origin, at least 10, so that the peak is inside.
    """
    as_word("form", form, ("inside", "outside"))
    side = as_number("half_side", half_side, "a finite number >= 10", lambda side: side >= 10)
    formula = replace(H1_FORMS[form], low=(-side, -side), high=(side, side))
    return modelled(_placed(ClosedForm(formula), shift, grid), kernel, noise, noise_std)


@EntryPoint
def deceptive(
    *,
    dim: int = 2,
    grid: int | None = None,
    noise_std: float = 0.01,
    kernel: KernelLike = None,
    noise: NoiseLike = None,
    shift: bool = False,
) -> EnvRecipe:
    """The deceptive function: a narrow peak 1 at `x_i = i / (d + 1)`, while wide slopes lead to the corners.

    Args:
        dim: Number of coordinates `d`.
    """
    form = ClosedForm(deceptive_formula(positive_int("dim", dim)))
    return modelled(_placed(form, shift, grid), kernel, noise, noise_std)


@EntryPoint
def bpe_f1(
    *, grid: int | None = 50, noise_std: float = 0.02, kernel: KernelLike = None, noise: NoiseLike = None
) -> EnvRecipe:
    """One clear peak like f1 of Li and Scarlett (2022), whose own is lost: SE lengthscale 0.5, RKHS norm sqrt(2).

    The domain is the unit square. Theirs is [-5, 5]^2, and functions drawn there as theirs are in `BPESample`.

    Args:
        kernel: Prior stated to policies, on the unit cube; if None, the kernel of the function.
    """
    return _expansion(BPE_F1, grid, noise_std, kernel, noise)


@EntryPoint
def bpe_f2(
    *, grid: int | None = 50, noise_std: float = 0.02, kernel: KernelLike = None, noise: NoiseLike = None
) -> EnvRecipe:
    """Four near-optimal peaks like f2 of Li and Scarlett (2022), whose own is lost: lengthscale 0.5, RKHS norm sqrt(6).

    The domain is a square of side 2. Theirs is [-5, 5]^2, and functions drawn there as theirs are in `BPESample`.

    Args:
        kernel: Prior stated to policies, on the unit cube; if None, the kernel of the function.
    """
    return _expansion(BPE_F2, grid, noise_std, kernel, noise, BPE_F2_SIDE)


def _placed(form: ClosedForm, shift: bool, grid: int | None) -> ArmFamily | BoxFamily:
    """A closed form where it is, or translated at random, on its box or on a grid."""
    if not isinstance(shift, bool):
        raise TypeError(f"shift: expected True or False, got {shift!r}")
    if shift and grid is not None:
        raise ValueError(f"shift: expected False on a grid, between whose points the optimum would be, got grid={grid}")
    return Shifted(form) if shift else _gridded(form, grid)


def _gridded(family: BoxFamily, grid: int | None) -> ArmFamily | BoxFamily:
    return family if grid is None else OnArms(family, lattice(positive_int("grid", grid), family.dim))


def _expansion(
    function: Expansion, grid: int | None, noise_std: float, kernel: KernelLike, noise: NoiseLike, side: float = 1.0
) -> EnvRecipe:
    stated = function.kernel if kernel is None else as_kernel(kernel)
    return drawn(_gridded(FixedExpansion(function, side), grid), stated, noise, noise_std)
