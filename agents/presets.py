"""The settings of the papers' experiments, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from types import MappingProxyType
from typing import Any

__all__ = ["BANDWIDTH_SWEEP", "PRESETS", "Preset", "preset"]

BANDWIDTH_SWEEP = (5.0, 7.5, 10.0, 12.5, 15.0, 17.5)
"""Gaussian bandwidths of Calandriello et al. (2020), Fig. 5 and 6, on standardised features."""


@dataclass(frozen=True)
class Preset:
    """One experiment.

    Attributes:
        source: The paper and where in it.
        environment: Id of the environment.
        horizon: Evaluations T.
        agents: Keyword arguments of each agent of the experiment, by id.
        environment_kwargs: Keyword arguments of the environment.
    """

    source: str
    environment: str
    horizon: int
    agents: Mapping[str, Mapping[str, Any]]
    environment_kwargs: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "environment_kwargs", MappingProxyType(dict(self.environment_kwargs)))
        frozen = {id: MappingProxyType(dict(kwargs)) for id, kwargs in self.agents.items()}
        object.__setattr__(self, "agents", MappingProxyType(frozen))


def _bbkb(source: str, environment: str, bandwidths: Mapping[str, float]) -> Preset:
    """F = 1, delta = 1 / T (the agents' default) and qbar = 2 throughout."""
    agents: dict[str, dict[str, Any]] = {"Uniform": {}, "EpsGreedy": {}}
    for id, bandwidth in bandwidths.items():
        settings: dict[str, Any] = {"kernel": {"name": "se", "lengthscale": bandwidth}}
        if id == "ASYNC-TS":
            settings |= {"batch_size": 30, "width": {"name": "practical", "scale": 0.1}, "norm_bound": 1.0}
        else:
            settings |= {"width": "practical", "norm_bound": 1.0}
        if "BKB" in id:
            settings["qbar"] = 2.0
        if id in ("GP-AUCB", "BBKB", "BBKB-GlobalLocal"):
            settings["c"] = 2.0
        agents[id] = settings
    return Preset(source, environment, 10_000, agents)


def _bpe(environment: str, width: float) -> Preset:
    sizes: dict[str, Any] = {"width": width}
    return Preset(
        "Li and Scarlett (2022), section 5; other numbers of batches: n_batches=3, 4, 6",
        environment,
        1000,
        {"BPE": sizes, "GP-UCB": sizes},
    )


def _nas(bandwidth: float, initial: int) -> Preset:
    kernel = {"name": "se", "lengthscale": bandwidth}
    bbkb = {"kernel": kernel, "width": "practical", "norm_bound": 1.0, "qbar": 2.0, "c": 2.0}
    return Preset(
        "Calandriello et al. (2020), section 5 and appendix D.2",
        "GPBandit/NASBench101-v0",
        10_000,
        {"Uniform": {}, "EpsGreedy": {}, "REG-EVOLUTION": {}, "BBKB": bbkb, "BBKB-GlobalLocal": bbkb},
        {"initial": initial} if initial else {},
    )


_TABLE_1 = "Calandriello et al. (2020), Table 1 and appendix D.1; GP-BUCB there is GP-AUCB here"
PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "bbkb-abalone": _bbkb(
            _TABLE_1,
            "GPBandit/Abalone-v0",
            {
                "BBKB": 17.5,
                "BBKB-GlobalLocal": 17.5,
                "BKB": 17.5,
                "GP-UCB": 5.0,
                "GP-AUCB": 12.5,
                "ASYNC-TS": 10.0,
            },
        ),
        "bbkb-cadata": _bbkb(
            _TABLE_1,
            "GPBandit/Cadata-v0",
            {
                "BBKB": 12.5,
                "BBKB-GlobalLocal": 12.5,
                "BKB": 12.5,
                "GP-UCB": 12.5,
                "GP-AUCB": 12.5,
                "ASYNC-TS": 10.0,
            },
        ),
        "bbkb-nas": _nas(100.0, 0),
        "bbkb-nas-initial": _nas(125.0, 2_000),
        "bpe-f1": _bpe("GPBandit/BPEF1-v0", sqrt(2)),
        "bpe-f2": _bpe("GPBandit/BPEF2-v1", sqrt(6)),
    }
)


def preset(name: str) -> Preset:
    """The settings of one experiment.

    Raises:
        ValueError: if there is none of that name.
    """
    if name not in PRESETS:
        raise ValueError(f"name: expected one of {', '.join(PRESETS)}, got {name!r}")
    return PRESETS[name]
