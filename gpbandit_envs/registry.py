"""Environment ids and their settings, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import gymnasium as gym

__all__ = ["ENVIRONMENTS", "NAMESPACE", "EnvironmentRow", "register_all", "registered"]

NAMESPACE = "GPBandit"


@dataclass(frozen=True)
class EnvironmentRow:
    """One id.

    Attributes:
        name: The middle of the id `GPBandit/<name>-v<version>`.
        entry_point: `module:attribute` below `gpbandit_envs.envs`, imported at first use.
        horizon: Time limit, in evaluations.
        group: Heading under which documentation lists it.
        kwargs: Keywords of the entry point that define this id.
        version: Raised whenever a number that the environment returns changes.
    """

    name: str
    entry_point: str
    horizon: int
    group: str
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    version: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "kwargs", MappingProxyType(dict(self.kwargs)))

    @property
    def id(self) -> str:
        """The id that `gymnasium.make` takes."""
        return f"{NAMESPACE}/{self.name}-v{self.version}"


ENVIRONMENTS: tuple[EnvironmentRow, ...] = (
    EnvironmentRow("GPSample", "synthetic:gp_sample", 1_000, "drawn functions"),
    EnvironmentRow("RKHS", "synthetic:rkhs", 1_000, "drawn functions"),
    EnvironmentRow("Needle", "synthetic:needle", 1_000, "drawn functions"),
    EnvironmentRow("VarianceStarvation", "synthetic:variance_starvation", 215, "drawn functions"),
    EnvironmentRow("BPEF1", "fixed:bpe_f1", 1_000, "fixed functions"),
    EnvironmentRow("BPEF2", "fixed:bpe_f2", 1_000, "fixed functions"),
    EnvironmentRow("Cosines", "fixed:cosines", 200, "fixed functions"),
    EnvironmentRow("Rosenbrock", "fixed:rosenbrock", 200, "fixed functions"),
    EnvironmentRow("Branin", "fixed:branin", 200, "fixed functions"),
    EnvironmentRow("Hartmann3", "fixed:hartmann3", 200, "fixed functions"),
    EnvironmentRow("Hartmann6", "fixed:hartmann6", 200, "fixed functions"),
    EnvironmentRow("Deceptive", "fixed:deceptive", 200, "fixed functions"),
    EnvironmentRow("H1", "fixed:h1", 200, "fixed functions"),
    EnvironmentRow("Abalone", "tables:abalone", 10_000, "real data"),
)


def register_all() -> None:
    """Register every row with Gymnasium; again is no harm."""
    for row in ENVIRONMENTS:
        if row.id not in gym.registry:
            gym.register(
                id=row.id,
                entry_point=f"gpbandit_envs.envs.{row.entry_point}",
                vector_entry_point=f"gpbandit_envs.vector.entry_points:{row.entry_point.replace(':', '__')}",
                max_episode_steps=row.horizon,
                kwargs=dict(row.kwargs),
            )


def registered() -> tuple[str, ...]:
    """All ids of this package, in the order of the table."""
    return tuple(row.id for row in ENVIRONMENTS)
