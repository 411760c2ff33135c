"""Recipes over tables of data. What an environment states of a table is on the card of the data set.

The entry point of the id `GPBandit/<name>` is the attribute `<name>` of this module, for every card with a section
`environment`: `summary` and `description`, the `scaling` of the features, the `kernel` that is stated by default,
`noise_std` and `noise`, and in `arguments` what keywords mean.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from gpbandit_envs import datasets
from gpbandit_envs.arguments import as_number, as_word, positive_number
from gpbandit_envs.datasets.loading import find
from gpbandit_envs.envs.entry_point import EntryPoint
from gpbandit_envs.envs.recipe import EnvRecipe, KernelLike, NoiseLike
from gpbandit_envs.functions.base import FixedArms
from gpbandit_envs.gp import SE, Linear, as_kernel
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.noise import TableNoise, as_noise

Scaling = Literal[
    "standardised",
    "by column to [0, 1]",
    "by the widest column",
    "to unit norm",
    "standardised, then to unit norm",
    "edges and operations to unit norm",
]
ValuesLike = Mapping[str, float] | None
"""Centre and scale of the values, or None for values in [0, 1]."""

_CHOSEN: dict[str, Scaling] = {
    "standard": "standardised",
    "minmax": "by column to [0, 1]",
    "unit-norm": "standardised, then to unit norm",
}

_NO_REPLICATES_STD = 0.01
_EDGE_BITS = 15
_EM_ITERATIONS = 200
_LEAST_VARIANCE = 1e-8


def table_recipe(
    name: str,
    default: Kernel,
    noise_std: float | None,
    kernel: KernelLike,
    noise: NoiseLike,
    *,
    scaling: Scaling = "standardised",
    values: ValuesLike = None,
    **options: Any,
) -> EnvRecipe:
    """The recipe of a data set: an arm's mean is the mean of its replicates, all values mapped to [0, 1].

    Args:
        name: Name of the data set.
        default: Prior stated to policies unless `kernel` is given; a modelling choice.
        noise_std: Standard deviation where the noise model states none; if None, the pooled one of the replicates,
            or 0.01 if no arm has two.
        kernel: Prior stated to policies.
        noise: `"table"` for one of the arm's real replicates, or a noise model.
        scaling: What is done to the features.
        values: `{"centre": c, "scale": s}` for `(v - c) / s` in place of the values `v` in [0, 1], in whose unit kernel
            and noise are then stated.
        **options: Options of the data set, and `file`.
    """
    table, arms, scaled = load_scaled(name, scaling, **options)
    centre, scale = _centre_and_scale(values)
    if values is not None:
        scaled = (scaled - centre) / scale
    replicated = TableNoise(scaled)
    std = replicated.std or _NO_REPLICATES_STD if noise_std is None else noise_std
    model = as_noise(noise, std, replicated)
    if noise_std is not None and model is replicated and replicated.std:
        raise ValueError(
            f"noise_std: expected None with noise='table', where replicates are the noise, got {noise_std!r}; "
            "noise='gaussian' has a deviation of its own"
        )
    low, high = float(np.nanmin(table.values)), float(np.nanmax(table.values))
    return EnvRecipe(
        family=FixedArms(arms, np.nanmean(scaled, axis=1)),
        noise=model,
        kernel=default if kernel is None else as_kernel(kernel),
        norm_bound=None,  # 1, as experiments assume, would be false: the values alone imply norms up to a hundred
        knowledge="learned",
        costs=table.costs,
        neighbours=table.neighbours,
        notes={
            **table.notes,
            "features": table.feature_names,
            "scaling": f"features {scaling}; values mapped to [0, 1]"
            + ("" if values is None else f", less {centre:g}, over {scale:g}"),
            "target_range": (low, high),
            "replicates": int(scaled.shape[1]),
        },
    )


def _centre_and_scale(values: ValuesLike) -> tuple[float, float]:
    """The two numbers of `values=`; 0 and 1 where there are none."""
    if values is None:
        return 0.0, 1.0
    if not isinstance(values, Mapping) or set(values) != {"centre", "scale"}:
        raise TypeError(f"values: expected {{'centre': ..., 'scale': ...}} or None, got {values!r}")
    centre = as_number("values['centre']", values["centre"], "a finite number")
    return centre, positive_number("values['scale']", values["scale"])


def load_scaled(
    name: str, scaling: Scaling, file: str | None = None, **options: Any
) -> tuple[datasets.Table, Float[np.ndarray, "A d"], Float[np.ndarray, "A R"]]:
    """The table, its scaled features and its scaled values, read once a process: environments share them.

    A `file` is read again once its size or the time of its last change is another.

    Raises:
        TypeError, ValueError: for an option, or a value of one, that does not exist.
    """
    # Checked before the cache, to which 11.0 is 11 and a list is no key.
    chosen = find(name).choose(options)
    there = Path(file).stat() if file is not None and Path(file).is_file() else None
    stamp = None if there is None else (there.st_size, there.st_mtime_ns)  # a hash of 500 MB would take a second a run
    return _load_scaled(name, scaling, file, stamp, tuple(chosen.items()))


@lru_cache(maxsize=32)
def _load_scaled(
    name: str, scaling: Scaling, file: str | None, _stamp: tuple[int, int] | None, options: tuple[tuple[str, Any], ...]
) -> tuple[datasets.Table, Float[np.ndarray, "A d"], Float[np.ndarray, "A R"]]:
    table = datasets.load(name, file=file, **dict(options))
    arms = _SCALINGS[scaling](table.features)
    values = datasets.unit_interval(table.values)
    for array in (arms, values):
        array.flags.writeable = False
    return table, arms, values


def _by_column(X: Float[np.ndarray, "A d"]) -> Float[np.ndarray, "A d"]:
    """Columns mapped to [0, 1] each; a constant one becomes 0."""
    low, width = X.min(axis=0), np.ptp(X, axis=0)
    return (X - low) / np.where(width == 0, 1.0, width)


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
    "by column to [0, 1]": _by_column,
    "by the widest column": _by_widest,
    "to unit norm": _to_unit_norm,
    "standardised, then to unit norm": lambda X: _to_unit_norm(datasets.standardise(X)),
    "edges and operations to unit norm": _edges_and_operations,
}


class TableTask:
    """The recipe of a data set whose card says what an environment on it states.

    Its keywords are the options of the data set, `scaling` where the card names several, and `noise_std`, `kernel`,
    `noise` and `values` as in `table_recipe`.

    Args:
        name: Name of the data set.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._card = card = find(name)
        self._stated = stated = card.environment
        defaults = {option: values[0] for option, values in card.options.items()}
        if isinstance(stated.get("scaling"), list):
            defaults["scaling"] = stated["scaling"][0]
        defaults |= {"noise_std": stated.get("noise_std"), "kernel": None, "noise": stated.get("noise"), "values": None}
        keyword = inspect.Parameter.KEYWORD_ONLY
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(name, keyword, default=value) for name, value in defaults.items()]
        )
        lines = [f"    {name}: {meaning}" for name, meaning in stated.get("arguments", {}).items()]
        paragraphs = [stated["summary"], stated.get("description", ""), "\n".join(["Args:", *lines] if lines else [])]
        self.__doc__ = "\n\n".join(filter(None, paragraphs))

    def __call__(self, **given: Any) -> EnvRecipe:
        parameters = self.__signature__.parameters
        chosen = {name: given.get(name, parameter.default) for name, parameter in parameters.items()}
        scaling = self._stated.get("scaling", "standardised")
        if "scaling" in chosen:
            scaling = _CHOSEN[as_word("scaling", chosen.pop("scaling"), scaling)]
        default = as_kernel(self._stated["kernel"])
        return table_recipe(self._name, default, scaling=scaling, **chosen)

    def __reduce__(self) -> tuple[Any, ...]:
        return TableTask, (self._name,)


@lru_cache
def __getattr__(name: str) -> EntryPoint:
    """The entry point of the environment on a data set, as Gymnasium asks for it."""
    card = datasets.cards().get(name) if name.isidentifier() and not name.startswith("_") else None
    if card is None or not card.environment:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return EntryPoint(TableTask(name))


@EntryPoint
def nasbench101(
    *,
    file: str | None = None,
    partial: bool = False,
    noise_std: float | None = None,
    kernel: KernelLike = None,
    noise: NoiseLike = "table",
    values: ValuesLike = None,
) -> EnvRecipe:
    """NAS-Bench-101: find the cell of highest validation accuracy among 12,416, each trained three times.

    The subset of the BBKB paper: four inner nodes, each a convolution or a pooling. Features: 15 edge bits and 4
    operation bits, each block divided by its largest norm. Mean: validation accuracy averaged over the runs, where all
    runs are mapped to [0, 1]. Cost: training time in seconds. Arms are neighbours if one edge or one operation
    differs. The paper's appendix D.2 removes the first and the last edge bit, which are 1 in every cell, before it
    divides; both are kept here, so that d = 19 as in its main text.

    The official file has no automatic source and no published hash.

    Args:
        file: Path of the official `nasbench_only108.tfrecord`, or of a table of some of its values; None once
            `gpbandit_envs.datasets.fetch("NASBench101", file=...)` has put the official file into the cache.
        partial: Whether a file with values for only some of the cells will do; the arms are then these cells, and
            `notes["n_with_values"]` says how many they are.
        noise_std: Standard deviation for a noise model that states none; if None, the pooled one of the runs, or 0.01
            if no cell has two.
        kernel: Prior stated to policies; if None, SE of lengthscale 100, as the BBKB paper has it without initial data.
        noise: `"table"` for one of the real runs; or a noise model, a name or a spec, Gaussian if None.
    """
    scaling: Scaling = "edges and operations to unit norm"
    options: dict[str, object] = {"partial": partial} if file is None else {"partial": partial, "file": file}
    return table_recipe("NASBench101", SE(100.0), noise_std, kernel, noise, scaling=scaling, **options, values=values)


@EntryPoint
def vaccine(
    *,
    allele: str = "HLA-A*02:01",
    context: str = "HLA-A*02:02",
    noise_std: float | None = None,
    kernel: KernelLike = None,
    noise: NoiseLike = None,
    values: ValuesLike = None,
) -> EnvRecipe:
    """Vaccine design: find the peptide of nine residues that binds an MHC class I molecule best.

    Features: five published factors of each residue, standardised. Mean: affinity `1 - log(IC50) / log(50,000)`
    averaged over a peptide's measurements, where all measurements are mapped to [0, 1]. As in the GP-BUCB paper the
    prior is a linear ARD kernel fitted on another molecule of the same data.

    Args:
        allele: The molecule to bind, one of 164.
        context: The molecule on whose peptides the kernel is fitted when `kernel` is None.
        noise_std: Standard deviation of the noise; if None, the pooled one of the repeated measurements.
        kernel: Prior stated to policies; if None, the linear ARD kernel of largest evidence on `context`.
        noise: Noise model, a name or a spec, or `"table"` for one of the real measurements; Gaussian if None.
    """
    if kernel is None:
        if not isinstance(context, str):
            raise TypeError(f"context: expected the name of an allele, got {context!r}")
        kernel = _fitted_on(context)
    return table_recipe("Vaccine", Linear(), noise_std, kernel, noise, allele=allele, values=values)


@lru_cache(maxsize=16)
def _fitted_on(allele: str) -> Kernel:
    try:
        _, arms, values = load_scaled("Vaccine", "standardised", allele=allele)
    except ValueError as error:
        raise ValueError(f"context: {str(error).removeprefix('allele: ')}") from None
    return fit_linear_ard(arms, np.nanmean(values, axis=1))


def fit_linear_ard(X: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"]) -> Kernel:
    """The linear ARD kernel `v_0 + sum_j v_j x_j x'_j` of largest evidence, found by expectation maximisation.

    With design `Phi = [1, X]`, prior variances `v` and noise variance `s2`, each round computes the weights'
    posterior `S = (Phi^T Phi / s2 + diag(1/v))^-1`, `m = S Phi^T y / s2` and sets `v_j = m_j^2 + S_jj` and
    `s2 = (|y - Phi m|^2 + tr(Phi S Phi^T)) / n`. The evidence never falls; the cost is O(d^3) a round.

    Args:
        X: Inputs, shape `(n, d)`.
        y: Targets, shape `(n,)`.

    Reference: Tipping (2001), Sparse Bayesian learning and the relevance vector machine.
    """
    Phi = np.column_stack([np.ones(len(X)), X])
    G, b, yy = Phi.T @ Phi, Phi.T @ y, float(y @ y)
    v, s2 = np.full(Phi.shape[1], float(y @ y) / len(y)), float(np.var(y)) or 1.0
    for _ in range(_EM_ITERATIONS):
        root = np.sqrt(v)
        # Scaled by the prior's roots the matrix has eigenvalues >= 1 whatever v is.
        S = root[:, None] * np.linalg.inv(root[:, None] * G * root / s2 + np.eye(len(v))) * root
        m = S @ b / s2
        v = np.maximum(m * m + np.diagonal(S), _LEAST_VARIANCE)
        s2 = max((yy - 2 * float(m @ b) + float(m @ G @ m) + float(np.sum(G * S))) / len(y), _LEAST_VARIANCE)
    return Linear(offset=float(v[0]), lengthscale=tuple((1 / np.sqrt(v[1:])).tolist()))
