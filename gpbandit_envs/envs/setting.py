"""What an environment is composed of, and the card that tells policies about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from gpbandit_envs.functions.base import ArmFamily, BoxFamily
from gpbandit_envs.gp import as_kernel
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.noise import Noise, TableNoise
from gpbandit_envs.problem import Knowledge, Problem

__all__ = ["Setting", "dial", "make_card", "wrong_by"]

DIALS = ("lengthscale", "norm", "noise")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The parts of a bandit environment.

    Attributes:
        family: Mean functions; a finite arm set or a box.
        noise: Noise model.
        kernel: Prior for the card; None to state none.
        norm_bound: RKHS norm bound for the card; None to state none.
        knowledge: How the card's prior relates to the truth.
        costs: Cost of each arm, shape `(A,)`; None for 1 each.
        neighbours: Neighbourhood of the arms for the card.
        notes: Further facts for the card.
    """

    family: ArmFamily | BoxFamily
    noise: Noise
    kernel: Kernel | None
    norm_bound: float | None
    knowledge: Knowledge = "oracle"
    costs: np.ndarray | None = None
    neighbours: np.ndarray | None = None
    notes: Mapping[str, object] = field(default_factory=dict)


def dial(misspecification: Mapping[str, float] | None) -> dict[str, float]:
    """The misspecification factors, checked.

    Raises:
        TypeError: if it is no mapping.
        ValueError: if a key is not one of lengthscale, norm, noise, or a factor is not a finite positive number.
    """
    if misspecification is None:
        return {}
    if not isinstance(misspecification, Mapping):
        raise TypeError(f"misspecification: expected factors such as {{'lengthscale': 2.0}}, got {misspecification!r}")
    for key, factor in misspecification.items():
        if key not in DIALS:
            raise ValueError(f"misspecification: expected keys among {', '.join(DIALS)}, got {key!r}")
        if not (isinstance(factor, (int, float)) and np.isfinite(factor) and factor > 0):
            raise ValueError(f"misspecification[{key!r}]: expected a finite factor > 0, got {factor!r}")
    return {key: float(factor) for key, factor in misspecification.items()}


def wrong_by(kernel: Kernel, factor: float) -> Kernel:
    """`kernel` with every lengthscale in it multiplied by `factor`."""

    def stretched(spec: Any) -> Any:
        if isinstance(spec, list):
            return [stretched(part) for part in spec]
        if not isinstance(spec, dict):
            return spec
        return {key: _times(value, factor) if key == "lengthscale" else stretched(value) for key, value in spec.items()}

    return as_kernel(stretched(kernel.to_spec()))


def make_card(
    setting: Setting, spec: gym.envs.registration.EnvSpec | None, horizon: int | None, factors: Mapping[str, float]
) -> Problem:
    """The problem card of a setting, with the stated quantities wrong by `factors`.

    The horizon is `horizon`, or else the time limit that the environment's id is registered with.
    """
    family, noise = setting.family, setting.noise
    kernel, norm_bound = setting.kernel, setting.norm_bound
    noise_std = None if isinstance(noise, TableNoise) and noise.std == 0 else noise.std
    if "lengthscale" in factors:
        if kernel is None:
            raise ValueError("misspecification: there is no kernel on the card whose lengthscale could be wrong")
        kernel = wrong_by(kernel, factors["lengthscale"])
    if "norm" in factors:
        if norm_bound is None:
            raise ValueError("misspecification: there is no norm bound on the card that could be wrong")
        norm_bound *= factors["norm"]
    if "noise" in factors:
        if noise_std is None:
            raise ValueError("misspecification: there is no noise_std on the card that could be wrong")
        noise_std *= factors["noise"]
    knowledge = setting.knowledge
    if knowledge == "oracle" and (factors or not noise.homoscedastic):
        knowledge = "misspecified"
    if horizon is None and spec is not None and spec.id in gym.registry:
        horizon = gym.registry[spec.id].max_episode_steps
    finite = isinstance(family, ArmFamily)
    return Problem(
        name=spec.id if spec is not None else "unregistered",
        dim=family.arms.shape[1] if isinstance(family, ArmFamily) else family.dim,
        arms=family.arms if isinstance(family, ArmFamily) else None,
        kernel=kernel,
        noise_std=noise_std,
        norm_bound=norm_bound,
        horizon=horizon,
        knowledge=knowledge,
        misspecification=factors,
        neighbours=setting.neighbours if finite else None,
        notes={"noise": noise.to_spec(), **setting.notes},
    )


def _times(value: Any, factor: float) -> Any:
    return [part * factor for part in value] if isinstance(value, (list, tuple)) else value * factor
