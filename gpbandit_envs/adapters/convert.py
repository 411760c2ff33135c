"""The functions of the adapters; the library of each is imported when it is called."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import gymnasium as gym

from gpbandit_envs.adapters.instance import Instance

if TYPE_CHECKING:
    from botorch.test_functions import SyntheticTestFunction
    from ioh import ProblemType
    from optunahub.benchmarks import BaseProblem


def to_botorch(
    env: str | gym.Env[Any, Any], *, seed: int = 0, negate: bool = False, **kwargs: Any
) -> SyntheticTestFunction:
    """A task as a test problem of BoTorch, to be maximised unless `negate`.

    On arms a point is the row of features of an arm, and `choices` holds them all, as `optimize_acqf_discrete` takes
    them; on a box it is in true units, a choice by its number. `evaluate_true(X)` and `problem(X, noise=False)` give
    means, `problem(X)` the environment's noisy feedback, one evaluation a row in their order, NaN where a training run
    failed.

    Args:
        env: Id of an environment, or an environment.
        seed: Seed of the instance and of its noise.
        negate: Whether values are negated, to be minimised.
        **kwargs: Keywords of `gymnasium.make` for an id.

    Raises:
        ImportError: if BoTorch is not installed.
        TypeError: if `env` is no environment of this package.
        ValueError: if it has contexts, a mean that changes, late feedback, or equal arms with different means.
    """
    adapter = _adapter("botorch_problem", "botorch")
    return adapter.BoTorchProblem(Instance(env, seed, kwargs), negate)


def to_optunahub(env: str | gym.Env[Any, Any], *, seed: int = 0, **kwargs: Any) -> BaseProblem:
    """A task as a benchmark problem of OptunaHub, to be maximised.

    `study.optimize(problem, n_trials)` evaluates it. On arms the one parameter is categorical, `arm`; on a box there is
    one for each dimension, in true units. A failed training run is NaN, which Optuna takes for a failed trial.

    Args:
        env: Id of an environment, or an environment.
        seed: Seed of the instance and of its noise.
        **kwargs: Keywords of `gymnasium.make` for an id.

    Raises:
        ImportError: if OptunaHub is not installed.
        TypeError: if `env` is no environment of this package.
        ValueError: if it has contexts, a mean that changes, or late feedback.
    """
    adapter = _adapter("optunahub_problem", "optunahub")
    return adapter.OptunaHubProblem(Instance(env, seed, kwargs))


def to_ioh(env: str | gym.Env[Any, Any], *, seed: int = 0, noise: bool = True, **kwargs: Any) -> ProblemType:
    """A task as a problem of IOHexperimenter, to be maximised: an integer problem on arms, a real one on a box.

    IOHprofiler has one pair of bounds for all variables, so that a box is the unit cube, as policies play it. Its
    loggers record what an evaluation returns: with `noise`, the feedback; without, the mean. A point outside is an
    error.

    Args:
        env: Id of an environment, or an environment.
        seed: Seed of the instance and of its noise; it is the problem's instance number too.
        noise: Whether evaluations are noisy.
        **kwargs: Keywords of `gymnasium.make` for an id.

    Raises:
        ImportError: if ioh is not installed.
        TypeError: if `env` is no environment of this package.
        ValueError: if it has contexts, a mean that changes, or late feedback.
    """
    adapter = _adapter("ioh_problem", "ioh")
    return adapter.ioh_problem(Instance(env, seed, kwargs), seed, noise)


def _adapter(module: str, extra: str) -> Any:
    """The module of an adapter."""
    try:
        return importlib.import_module(f"gpbandit_envs.adapters.{module}")
    except ImportError as error:
        missing = (error.name or extra).partition(".")[0]
        raise ImportError(f'to_{extra} needs {missing}: pip install "gpbandit-envs[{extra}]"') from error
