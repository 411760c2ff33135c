"""Recipes whose steps offer only some of the arms: contexts, drawn and of real data, and arms that sleep.

With contexts the arms are pairs of an action and a context, and their features those of both: a policy shares what it
learns between contexts as far as its kernel says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs import datasets
from gpbandit_envs.arguments import as_word, positive_int
from gpbandit_envs.envs.entry_point import EntryPoint
from gpbandit_envs.envs.recipe import EnvRecipe, KernelLike, NoiseLike, drawn, modelled
from gpbandit_envs.envs.tabular import load_scaled, table_recipe
from gpbandit_envs.functions.base import ArmFamily, FixedArms, even_arms
from gpbandit_envs.functions.rkhs import RKHSArms
from gpbandit_envs.functions.time_varying import TimeVaryingArms
from gpbandit_envs.gp import SE, ActiveDims, Kernel, Matern, Product, Sum, as_kernel
from gpbandit_envs.offers import ContextOffers, SleepingOffers, Unoffered

Combine = Literal["product", "sum"]


@EntryPoint
def rkhs_context(
    *,
    n_actions: int = 100,
    n_contexts: int = 10,
    dim: int = 1,
    context_dim: int = 1,
    lengthscale: float = 0.2,
    context_lengthscale: float = 0.5,
    combine: Combine = "product",
    norm: float = 2.0,
    noise_std: float = 0.1,
    kernel: KernelLike = None,
    noise: NoiseLike = None,
    n_centres: int = 32,
    observe: Literal["index", "features"] = "index",
    unoffered: Unoffered = "next",
) -> EnvRecipe:
    """A new function of action and context each episode, of exact RKHS norm; each step's context is drawn uniformly.

    Arm `z * n_actions + x` is action `x` in context `z`; its features are those of the action, then those of the
    context. `f = sum_i a_i k(., c_i)` with uniform centres and Gaussian coefficients scaled to `a^T K a = norm^2`.

    Args:
        n_actions: Number of actions, each of them offered in every context.
        n_contexts: Number of contexts.
        dim: Number of features of an action; for 1 a grid, else scrambled Sobol points, always the same.
        context_dim: Number of features of a context, likewise.
        lengthscale: Lengthscale of the SE kernel of the actions.
        context_lengthscale: Lengthscale of the SE kernel of the contexts: how much one context tells about another.
        combine: `"product"`, by which actions are alike in like contexts, or `"sum"`, by which a context adds the same
            to all actions (Krause and Ong 2011, section 5.1).
        norm: RKHS norm, unit of the reward.
        kernel: Kernel of the `dim + context_dim` features that draws the function and is stated to policies, in place
            of those of `lengthscale`, `context_lengthscale` and `combine`.
        n_centres: Number of terms of the expansion.
        observe: Whether the observation is the number of the context or its features.
        unoffered: `"next"`: the next arm that is offered takes the place of one that is not; or `"error"`.
    """
    as_word("combine", combine, ("product", "sum"))
    as_word("observe", observe, ("index", "features"))
    for name, count in {"n_contexts": n_contexts, "n_actions": n_actions, "context_dim": context_dim}.items():
        positive_int(name, count)
    contexts = even_arms(n_contexts, context_dim)
    arms, context_of = pairs(even_arms(n_actions, dim), contexts)
    whole = _combined(SE(lengthscale), SE(context_lengthscale), dim, context_dim, combine)
    family = RKHSArms(whole if kernel is None else as_kernel(kernel), arms, norm, n_centres)
    return drawn(
        family,
        family.kernel,
        noise,
        noise_std,
        offers=ContextOffers(context_of, contexts if observe == "features" else None, unoffered),
        notes={"context_dims": list(range(dim, dim + context_dim))},
    )


@EntryPoint
def sleeping_arms(
    *,
    of: str = "GPBandit/RKHS-v0",
    settings: Mapping[str, Any] | None = None,
    share: float = 0.1,
    noise_std: float | None = None,
    kernel: KernelLike = None,
    noise: NoiseLike = None,
    unoffered: Unoffered = "next",
) -> EnvRecipe:
    """Any environment on arms, each of which is offered in a step with the same probability, by itself.

    Where that leaves no arm, one is offered that is drawn uniformly. The observation is the mask of the arms offered.

    Args:
        of: Id of the environment, with arms.
        settings: Its keywords.
        share: Probability with which an arm is offered, in (0, 1].
        noise_std: That of the environment; None for its default.
        kernel: That of the environment; None for its default.
        noise: That of the environment; None for its default.
        unoffered: `"next"`: the next arm that is offered takes the place of one that is not; or `"error"`.
    """
    spec = gym.spec(of)
    entry_point: Any = spec.entry_point
    if isinstance(entry_point, str):
        entry_point = gym.envs.registration.load_env_creator(entry_point)
    if not isinstance(entry_point, EntryPoint):
        raise ValueError(f"of: expected an environment of this package or of one's own table, got {of!r}")
    own = {"noise_std": noise_std, "kernel": kernel, "noise": noise}
    given = {name: value for name, value in own.items() if value is not None}
    stated = {**spec.kwargs, **(settings or {}), **given}
    if stated.pop("certified", False):
        raise ValueError(
            f"of: expected an environment without a certificate, got {of!r}; settings={{'certified': False}}"
        )
    unknown = sorted(stated.keys() - entry_point.parameters.keys())
    if unknown:
        raise TypeError(
            f"settings: unknown argument {unknown[0]!r} of {of}; it takes {', '.join(entry_point.parameters)}"
        )
    recipe = entry_point.recipe(**stated)
    if not isinstance(recipe.family, ArmFamily):
        raise ValueError(f"of: expected an environment on arms, got {of!r}, which is a box")
    if isinstance(recipe.family, TimeVaryingArms):
        raise ValueError(f"of: expected an environment whose function stays as it is, got {of!r}")
    if recipe.offers is not None:
        raise ValueError(f"of: expected an environment that offers all arms, got {of!r}")
    return replace(recipe, offers=SleepingOffers(len(recipe.family.arms), share, unoffered))


@EntryPoint
def direct_arylation_context(
    *,
    context: Literal["base", "ligand", "solvent"] = "ligand",
    noise_std: float = 0.02,
    kernel: KernelLike = None,
    noise: NoiseLike = None,
    unoffered: Unoffered = "next",
) -> EnvRecipe:
    """Direct arylation with a compound given: choose the other conditions of a reaction for the largest yield.

    Each step's ligand (or base, or solvent) is drawn uniformly, and the reactions with it are offered. Arms, features
    and means are those of the data set: base, ligand and solvent one-hot, concentration and temperature, all
    standardised; yield, mapped to [0, 1].

    Args:
        context: Which compound is given.
        noise_std: Standard deviation of the noise; the reactions have no replicates.
        kernel: Prior stated to policies; if None, the product of SE kernels of lengthscale 5 of the given compound and
            of everything else.
        unoffered: `"next"`: the next arm that is offered takes the place of one that is not; or `"error"`.
    """
    as_word("context", context, ("base", "ligand", "solvent"))
    names = datasets.cards()["DirectArylation"].columns
    given = tuple(j for j, name in enumerate(names) if name.startswith(f"{context}_"))
    chosen = tuple(j for j in range(len(names)) if j not in given)
    default = Product(ActiveDims(SE(5.0), chosen), ActiveDims(SE(5.0), given))
    recipe = table_recipe("DirectArylation", default, noise_std, kernel, noise)
    table, _, _ = load_scaled("DirectArylation", "standardised")
    context_of = np.argmax(table.features[:, given], axis=1)
    return replace(
        recipe,
        offers=ContextOffers(context_of, unoffered=unoffered),
        notes={**recipe.notes, "context_dims": list(given)},
    )


@EntryPoint
def neurostimulation_context(
    *, noise_std: float = 0.05, kernel: KernelLike = None, noise: NoiseLike = None, unoffered: Unoffered = "next"
) -> EnvRecipe:
    """Electrodes on the motor cortex of one rat of twenty after another: find the best one for each.

    Each step's rat is drawn uniformly; arm `32 r + e` is electrode `e` of the r-th rat that shows any response.
    Features: the electrode's place on the 8 x 4 grid, divided by 7, then the rat, one-hot. Mean: motor score, mapped to
    [0, 1] over all rats, so that the best response of a rat may be far below 1.

    Args:
        noise_std: Standard deviation of the noise; the scores have no replicates.
        kernel: Prior stated to policies; if None, Matern 5/2 of lengthscale 0.3 of the place times SE of lengthscale 1
            of the rat, by which two rats have a correlation of 0.37 at the same place.
        unoffered: `"next"`: the next arm that is offered takes the place of one that is not; or `"error"`.
    """
    rats = sorted(int(str(rat)) for rat in datasets.cards()["Neurostimulation"].options["rat"])
    loaded = [load_scaled("Neurostimulation", "by the widest column", rat=rat) for rat in rats]
    arms, context_of = pairs(loaded[0][1], np.eye(len(rats)))
    scores = np.concatenate([table.values[:, 0] for table, _, _ in loaded])
    dim, context_dim = loaded[0][1].shape[1], len(rats)
    default = _combined(Matern(0.3, nu=2.5), SE(1.0), dim, context_dim, "product")
    return modelled(
        FixedArms(arms, datasets.unit_interval(scores[:, None])[:, 0]),
        default if kernel is None else kernel,
        noise,
        noise_std,
        offers=ContextOffers(context_of, unoffered=unoffered),
        notes={
            **loaded[0][0].notes,
            "rat": rats,
            "scaling": "features by the widest column, rats one-hot; values mapped to [0, 1] over all rats",
            "context_dims": list(range(dim, dim + context_dim)),
        },
    )


def pairs(
    actions: Float[np.ndarray, "n d"], contexts: Float[np.ndarray, "Z e"]
) -> tuple[Float[np.ndarray, "A f"], Int[np.ndarray, " A"]]:
    """All pairs of an action and a context as arms, the context varying slowest, and the context of each arm."""
    arms = np.hstack([np.tile(actions, (len(contexts), 1)), np.repeat(contexts, len(actions), axis=0)])
    arms.flags.writeable = False
    return arms, np.repeat(np.arange(len(contexts)), len(actions))


def _combined(action: Kernel, context: Kernel, dim: int, context_dim: int, combine: Combine) -> Kernel:
    """The kernel of action features, then context features."""
    parts = ActiveDims(action, tuple(range(dim))), ActiveDims(context, tuple(range(dim, dim + context_dim)))
    return Product(*parts) if combine == "product" else Sum(*parts)
