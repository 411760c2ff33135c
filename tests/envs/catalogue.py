"""Small cases of every registered environment, for the contract tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from gpbandit_envs import datasets
from gpbandit_envs.registry import ENVIRONMENTS
from tests.datasets.conftest import BESIDE, folder_of_data


@dataclass(frozen=True)
class Case:
    """An id with keywords that keep it small or turn its main switches."""

    id: str
    kwargs: dict[str, Any] = field(default_factory=dict)
    real: bool = False
    """Whether it needs a data set, fetched once with pip and then kept in the cache."""
    module: str | None = None
    """A module of an extra that it needs."""

    def make(self, **kwargs: Any) -> Any:
        self.require()
        return gym.make(self.id, **{**self.kwargs, **kwargs})

    def require(self) -> None:
        """Skip the test, with the reason, where an extra is missing or data can be neither found nor fetched."""
        if self.module is not None and find_spec(self.module) is None:
            pytest.skip(f"{self.module} is not installed; {self.id} needs it")
        reason = _unavailable(self.id, tuple(self.kwargs.items())) if self.real else None
        if reason is not None:
            pytest.skip(reason)

    def actions(self, env: Any) -> Any:
        """Three actions, the last one in a corner."""
        if isinstance(env.action_space, gym.spaces.Discrete):
            last = int(env.action_space.n) - 1
            return [0, last // 2, last]
        dim = env.action_space.shape[0]
        return [np.full(dim, 0.25), np.linspace(0.1, 0.9, dim), np.ones(dim)]

    def bad_actions(self, env: Any) -> Iterable[tuple[Any, type[Exception]]]:
        if isinstance(env.action_space, gym.spaces.Discrete):
            n = int(env.action_space.n)
            return [
                (n, ValueError),
                (-1, ValueError),
                (1.0, TypeError),
                (float("nan"), TypeError),
                ("0", TypeError),
                (None, TypeError),
                (np.array([0]), TypeError),
            ]
        dim = env.action_space.shape[0]
        return [
            (np.full(dim, np.nan), ValueError),
            (np.full(dim, 1.5), ValueError),
            (np.full(dim, -0.1), ValueError),
            (np.zeros(dim + 1), ValueError),
            (np.zeros((1, dim)), ValueError),
            (["a"] * dim, TypeError),
            (None, TypeError),
        ]

    def __str__(self) -> str:
        name = self.id.removeprefix("GPBandit/")
        return name + "".join(f",{key}={value}" for key, value in self.kwargs.items() if key != "file")


@lru_cache
def _unavailable(env_id: str, kwargs: tuple[tuple[str, Any], ...]) -> str | None:
    """Why the data cannot be had; None if they can, from the cache, a source, or the folder with test data."""
    name = env_id.removeprefix("GPBandit/").rpartition("-v")[0]
    if name == "NASBench101":
        return None if PARTIAL_NASBENCH101.exists() else f"{PARTIAL_NASBENCH101.name} is not in {folder_of_data()}"
    try:
        gym.make(env_id, **dict(kwargs))
    except datasets.FetchError as error:
        data_set = name.removesuffix("Context")
        folder = folder_of_data() / BESIDE.get(data_set, "none")
        if not folder.is_dir():
            return error.reason
        datasets.fetch(data_set, file=folder)
    return None


PARTIAL_NASBENCH101 = folder_of_data() / "nasbench101" / "candidates_6v_conv3_pool3_12416.csv"

CORRUPTED = (
    Case(
        "GPBandit/RKHS-v0",
        {"n_arms": 50, "misspecification": {"sup": 0.2}, "corruption": {"name": "flip", "budget": 2}},
    ),
    Case("GPBandit/GPSample-v0", {"n_arms": 40, "dim": 2, "corruption": {"name": "clipping", "budget": 1.0}}),
    Case("GPBandit/BPEF1-v0", {"grid": 6, "corruption": {"name": "subtraction", "budget": 1.5}}),
    Case("GPBandit/BPEF2-v1", {"grid": 6, "corruption": {"name": "top_k", "k": 9, "budget": 3.0}}),
)
"""Cases in which feedback depends on what was pulled before, as the budget of an adversary is spent."""

_SMALL = (
    Case("GPBandit/GPSample-v0", {"n_arms": 60}),
    Case("GPBandit/GPSample-v0", {"n_arms": 40, "dim": 3, "kernel": {"name": "se", "lengthscale": [0.2, 0.3, 0.4]}}),
    Case("GPBandit/GPSample-v0", {"n_arms": None, "lengthscale": 0.5, "n_features": 16}),
    Case("GPBandit/RKHS-v0", {"n_arms": 60}),
    Case("GPBandit/RKHS-v0", {"n_arms": 33, "dim": 4, "kernel": {"name": "matern", "nu": 1.5}, "noise": "bounded"}),
    Case("GPBandit/RKHS-v0", {"n_arms": 50, "noise": {"name": "student_t", "df": 4.0}}),
    Case("GPBandit/RKHS-v0", {"n_arms": 50, "noise": {"name": "heteroscedastic", "relative": 1.0}}),
    Case("GPBandit/RKHS-v0", {"n_arms": None, "lengthscale": 0.5, "noise": "heteroscedastic"}),
    Case("GPBandit/RKHS-v0", {"n_arms": 50, "noise": {"name": "by_arm", "low": 0.01, "high": 1.0}}),
    Case("GPBandit/Needle-v0", {"n_arms": 40, "dim": 2}),
    Case("GPBandit/VarianceStarvation-v0", {"n_arms": 50}),
    Case("GPBandit/BPESample-v0", {"grid": 7, "coarse": 3}),
    Case("GPBandit/Categories-v0", {"n_arms": 40, "dim": 2, "levels": [3, 2]}),
    Case("GPBandit/Cliff-v0", {"n_arms": 40}),
    Case("GPBandit/BPEF2-v1", {"grid": None}),
    Case("GPBandit/Branin-v0", {"grid": 12, "kernel": {"name": "se", "lengthscale": 0.3}}),
    Case("GPBandit/Deceptive-v0", {"dim": 3}),
    Case(
        "GPBandit/NASBench101-v0", {"partial": True, "noise": "gaussian", "file": str(PARTIAL_NASBENCH101)}, real=True
    ),
    Case("GPBandit/Vaccine-v0", {"allele": "HLA-A*02:06"}, real=True),
    Case("GPBandit/XGBoost-v0", {"noise": "bounded"}, real=True, module="xgboost"),
    Case("GPBandit/LunarLanding-v0", {"n_terrains": 2}, module="Box2D"),
)
"""Ids whose defaults are large, or whose switches have cases of their own."""

CONTEXTUAL = (
    Case("GPBandit/RKHSContext-v0", {"n_actions": 12, "n_contexts": 3}),
    Case(
        "GPBandit/RKHSContext-v0",
        {"n_actions": 9, "n_contexts": 4, "dim": 2, "context_dim": 2, "combine": "sum", "observe": "features"},
    ),
    Case("GPBandit/SleepingArms-v0", {"settings": {"n_arms": 40}}),
    Case("GPBandit/SleepingArms-v0", {"of": "GPBandit/BPEF1-v0", "share": 2e-4}),
    Case("GPBandit/DirectArylationContext-v0", real=True),
    Case("GPBandit/DirectArylationContext-v0", {"context": "solvent"}, real=True),
    Case("GPBandit/NeurostimulationContext-v0", real=True),
)
"""Environments whose steps offer some of the arms: `tests/envs/test_contexts.py` holds them to their contract."""

TIME_VARYING = (
    Case("GPBandit/TVGPSample-v0", {"n_arms": 30, "eps": 0.1}),
    Case("GPBandit/TVGPSample-v0", {"n_arms": 20, "dim": 1, "eps": 1.0, "noise": "student_t"}),
    Case("GPBandit/ChangePoints-v0", {"n_arms": 30, "rate": 0.4}),
)
"""Environments whose function changes: `tests/envs/test_time_varying.py` holds them to their contract."""

_STATED = {case.id for case in (*_SMALL, *CONTEXTUAL, *TIME_VARYING)}
_OTHERS = [
    Case(row.id, real=row.data is not None and not datasets.cards()[row.data].here)
    for row in ENVIRONMENTS
    if row.id not in _STATED or row.name in ("BPEF2", "Branin")
]

CASES = (*_SMALL, *_OTHERS)
"""Every id but those of `CONTEXTUAL` and `TIME_VARYING`: a new one is here by itself, with its defaults."""

_NO_DEFAULTS = ("GPBandit/Table-v0", "GPBandit/NASBench101-v0")
"""Ids that need a file: a table of one's own, and data that nobody may fetch for others."""


def by_default() -> tuple[Case, ...]:
    """Each id once, with its defaults where it has them."""
    first = {case.id: case for case in reversed((*CASES, *CONTEXTUAL, *TIME_VARYING))}
    return tuple(case if case.id in _NO_DEFAULTS else replace(case, kwargs={}) for case in first.values())


def params(cases: Iterable[Case]) -> list[Any]:
    """The cases as parameters of a test, those of real data marked."""
    return [pytest.param(case, marks=[pytest.mark.network] if case.real else [], id=str(case)) for case in cases]


PARAMS = params(CASES)
