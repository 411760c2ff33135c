"""Kernels that a suite states on its families of tables, fitted for each member on the others by one rule.

The rule, for a member whose donors are the other members, or, of a family of one, the rows that are set apart:

1. Values are those of the environment, and clipped from below at the lower quartile of each donor: how bad the bad arms
   are is not worth a lengthscale. Centre and scale are mean and standard deviation of all clipped values.
2. The kernel is Matern-5/2 with a lengthscale for each feature. Its variance, lengthscales and nugget maximise the sum
   of the donors' log marginal likelihoods on some random rows of each, and the log density of the lengthscales: over a
   feature's standard deviation they are log-normal with median sqrt(d) and deviation 1 of the logarithm.
3. The member is played in units of that centre and scale, with that kernel; with the root of the nugget for a noise
   where the suite states none.

Play reads the numbers from a file, six digits of each, so that an optimiser's last bits never enter a run. Called as

    python -m benchmarks.family_kernels core-v2
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from gpbandit_envs import datasets
from gpbandit_envs.atomic import written_whole
from gpbandit_envs.functions.base import as_rows, set_apart
from gpbandit_envs.gp.hyperparameters import Flat, HyperPrior, LogMarginalLikelihood, LogNormal
from gpbandit_envs.gp.lbfgs import minimise_within
from gpbandit_envs.gp.observations import Observations
from gpbandit_envs.gp.threads import one_blas_thread
from gpbandit_envs.registry import ENVIRONMENTS
from leaderboards.play.build import build_env
from leaderboards.play.spec import Ref
from leaderboards.play.suite import EnvironmentEntry, Suite, SuiteError, load_suite, suite_folder

_QUANTILE = 0.25
_ROWS, _ROWS_ALONE = 250, 500
_LEAST_NOISE = 0.01
_STARTS = (0.3, 1.5)  # lengthscales over their prior's median
_DIGITS = 6

Donor = tuple[Float[np.ndarray, "A d"], Float[np.ndarray, " A"]]
"""Features and values of all arms of a donor."""


@dataclass(frozen=True)
class Fit:
    """What the rule states of a member.

    Attributes:
        lengthscales: One a feature, in the feature's unit.
        variance: Prior variance, of values less `centre` over `scale`.
        nugget: Noise variance, likewise.
        centre: Mean of the donors' clipped values, in the environment's unit.
        scale: Their standard deviation.
    """

    lengthscales: tuple[float, ...]
    variance: float
    nugget: float
    centre: float
    scale: float

    def settings(self, with_noise: bool) -> dict[str, Any]:
        """Arguments of the environment, with six digits; its noise among them if `with_noise`."""
        lengthscales = [_digits(length) for length in self.lengthscales]
        settings: dict[str, Any] = {
            "kernel": {"name": "matern", "nu": 2.5, "lengthscale": lengthscales, "variance": _digits(self.variance)},
            "values": {"centre": _digits(self.centre), "scale": _digits(self.scale)},
        }
        return settings | ({"noise_std": _digits(max(sqrt(self.nugget), _LEAST_NOISE))} if with_noise else {})


def fit_kernel(donors: Sequence[Donor], rows: int = _ROWS) -> Fit:
    """The rule on these donors, with so many random rows of each at most; the same rows for equal donors, always.

    Raises:
        ValueError: if there is no donor, or their clipped values are all the same.
    """
    if not donors:
        raise ValueError("donors: expected at least one, got none")
    clipped = [(X, np.maximum(y, np.quantile(y, _QUANTILE))) for X, y in donors]
    values = np.concatenate([y for _, y in clipped])
    centre, scale = float(values.mean()), float(values.std())
    if not scale > 0:
        raise ValueError(f"donors: expected values that differ above their lower quartile, got only {centre:g}")
    spread = np.concatenate([X for X, _ in clipped]).std(axis=0)
    spread[spread == 0] = 1.0
    rng, likelihoods = np.random.default_rng(0), []
    for X, y in clipped:
        some = np.sort(rng.choice(len(X), min(rows, len(X)), replace=False))
        likelihoods.append(LogMarginalLikelihood(Observations.of(X[some] / spread, (y[some] - centre) / scale)))
    theta = _most_probable(likelihoods, len(spread))
    variance, nugget = np.exp(theta[:2]).tolist()
    return Fit(tuple((np.exp(theta[2:]) * spread).tolist()), variance, nugget, centre, scale)


def _most_probable(likelihoods: Sequence[LogMarginalLikelihood], dim: int) -> Float[np.ndarray, " k"]:
    """`theta` of the largest posterior density that is climbed to from either start."""
    median = sqrt(dim)
    prior = HyperPrior(
        variance=Flat(),
        noise=Flat(),
        lengthscale=LogNormal(log(median), 1.0),
        variance_bounds=(1e-2, 1e2),
        noise_bounds=(_LEAST_NOISE**2, 1.0),
        lengthscale_bounds=(1e-2, 1e3),
    )

    def loss(theta: Float[np.ndarray, " k"]) -> tuple[float, Float[np.ndarray, " k"]]:
        value, gradient = prior.log_density(theta)
        for likelihood in likelihoods:
            one, slope = likelihood(theta)
            value, gradient = value + one, gradient + slope
        return -value, -gradient

    bounds = list(zip(*prior.bounds(dim), strict=True))
    climbs = [
        minimise_within(loss, np.log([1.0, 0.1, *[start * median] * dim]), bounds, maxiter=500, ftol=1e-13, gtol=1e-6)
        for start in _STARTS
    ]
    best = min(climbs, key=lambda found: float(found.fun))
    return np.asarray(best.x, np.float64)


def family_kernels(entry: EnvironmentEntry) -> dict[str, Any]:
    """The entry of a family in the file of kernels: settings by member, and what they were fitted on.

    Raises:
        SuiteError: if a family of one sets no rows apart, or an environment is no table.
        DataError: if its data cannot be had.
    """
    ((argument, values),) = entry.members.items()
    tables = {str(value): _table(entry, argument, value) for value in values}
    rows = as_rows(entry.kwargs.get("rows"))
    members, fitted_on = {}, {}
    for member in tables:
        others = [name for name in tables if name != member]
        donors, n = [tables[name] for name in others], _ROWS
        if not others:
            if rows is None or rows.apart == 0:
                raise SuiteError(f"{entry.ref.label}: a family of one needs rows = {{ most = ..., apart = ... }}")
            X, y = tables[member]
            apart = set_apart(len(X), rows.apart)
            donors, n = [(X[apart], y[apart])], _ROWS_ALONE
        found = fit_kernel(donors, n)
        members[member] = found.settings("noise_std" not in entry.kwargs)
        fitted_on[member] = {"donors": others or "rows set apart", "nugget": _digits(found.nugget)}
    data = next((row.data for row in ENVIRONMENTS if row.id == entry.id), None)
    hashes = {} if data is None else dict(datasets.cards()[data].sha256)
    return {"members": members, "fitted_on": fitted_on, "data": hashes}


def suite_kernels(suite: Suite) -> dict[str, Any]:
    """The content of the file of kernels of a suite: an entry for each of its families, by label.

    Raises:
        SuiteError: if the suite has no family; otherwise as `family_kernels`.
        DataError: if the data of a family cannot be had.
    """
    families = [entry for entry in suite.environments if entry.members]
    if not families:
        raise SuiteError(f"suite {suite.name!r}: expected an environment with the key 'members', got none")
    with one_blas_thread():
        return {
            "made_by": f"python -m benchmarks.family_kernels {suite.name}",
            "families": {entry.ref.label: family_kernels(entry) for entry in families},
        }


def _table(entry: EnvironmentEntry, argument: str, value: Any) -> Donor:
    """Features and values of all rows of a member, in the environment's own unit."""
    # Any kernel is as good: that of an environment's own choice may be a fit of minutes.
    env = build_env(Ref(entry.id, {**entry.kwargs, argument: value, "kernel": {"name": "se"}}), 1)
    try:
        recipe = getattr(env.unwrapped, "recipe", None)
        if recipe is None or not getattr(recipe.family, "fixed", False) or not hasattr(recipe.family, "arms"):
            raise SuiteError(f"{entry.ref.label}: expected a table, whose arms always have the same means")
        return np.asarray(recipe.family.arms), recipe.family.draw(np.random.default_rng(0)).mean
    finally:
        env.close()


def _digits(x: float) -> float:
    return float(f"{x:.{_DIGITS}g}")


def main() -> None:
    """Write the file of kernels of a suite, SUITE-kernels.json beside the suite's unless told otherwise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", help="name of a suite or path of its TOML file")
    parser.add_argument("--output", type=Path)
    chosen = parser.parse_args()
    path = chosen.output or suite_folder(chosen.suite) / f"{Path(chosen.suite).stem}-kernels.json"
    content = suite_kernels(load_suite(chosen.suite, kernels=False))
    with written_whole(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(f"written to {path}")


if __name__ == "__main__":
    main()
