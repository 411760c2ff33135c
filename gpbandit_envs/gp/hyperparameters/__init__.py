"""Hyperparameters of a Gaussian process from data: likelihood, priors, MAP estimates and Monte Carlo samples.

| symbol | meaning | shape |
|---|---|---|
| `s^2` | kernel variance | unit of y^2 |
| `lam` | noise variance | unit of y^2 |
| `l` | lengthscales, one per feature (ARD) | (d,), unit of the features |
| `theta` | `(log s^2, log lam, log l_1, ..., log l_d)` | (k,), k = d + 2 |

All estimates are made on standardised feedback and reported in the units of the data. A prior is a density of
`log x`, so that the mode is the same whatever the parameters' scale; see `posterior`.
"""

from gpbandit_envs.gp.hyperparameters.density import (
    Flat,
    Gamma,
    HyperPrior,
    LogNormal,
    LogPosterior,
    Prior,
    as_hyper_prior,
)
from gpbandit_envs.gp.hyperparameters.hmc import hmc, sample_hyperparameters
from gpbandit_envs.gp.hyperparameters.likelihood import FAMILIES, Hyperparameters, LogMarginalLikelihood
from gpbandit_envs.gp.hyperparameters.map import MAPEstimate, isotropic_estimate, map_estimate, noise_estimate

__all__ = [
    "FAMILIES",
    "Flat",
    "Gamma",
    "HyperPrior",
    "Hyperparameters",
    "LogMarginalLikelihood",
    "LogNormal",
    "LogPosterior",
    "MAPEstimate",
    "Prior",
    "as_hyper_prior",
    "hmc",
    "isotropic_estimate",
    "map_estimate",
    "noise_estimate",
    "sample_hyperparameters",
]
