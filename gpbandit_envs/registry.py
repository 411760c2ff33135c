"""Environment ids with their entry points, horizons and references, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import gymnasium as gym

NAMESPACE = "GPBandit"
OWN = "Own"
"""Namespace of the ids that `from_table` and `from_function` register."""


@dataclass(frozen=True)
class EnvironmentRow:
    """One id.

    Attributes:
        name: The middle of the id `GPBandit/<name>-v<version>`.
        entry_point: `module:attribute` below `gpbandit_envs.envs`, imported at first use.
        horizon: Time limit, in evaluations.
        group: Heading under which documentation lists it.
        kwargs: Keywords of the entry point that define this id.
        references: Works that define or use the task.
        data: Name of the data set behind it; None for a function.
        dim: Number of coordinates of a box that cannot be known without data or an extra; None for any other.
        n_arms: Number of arms where it is not that of the data set; None for any other.
        extra: Extra of this distribution that it needs; None for none.
        kernel: Which kernel the problem states by itself: the `"true"` one, of which functions are drawn; a `"wrong"`
            one, on purpose; one that was `"chosen"`, as for data; or `"none"`: policies that need one are skipped.
        version: Raised whenever a number that the environment returns changes.
    """

    name: str
    entry_point: str
    horizon: int
    group: str
    references: tuple[str, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    data: str | None = None
    dim: int | None = None
    n_arms: int | None = None
    extra: str | None = None
    kernel: Literal["true", "wrong", "chosen", "none"] = "true"
    version: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "kwargs", MappingProxyType(dict(self.kwargs)))

    @property
    def id(self) -> str:
        """The id that `gymnasium.make` takes."""
        return f"{NAMESPACE}/{self.name}-v{self.version}"

    @property
    def states_kernel(self) -> str:
        """`kernel` in words."""
        return "no kernel" if self.kernel == "none" else f"{self.kernel} kernel"


_BKB = "Calandriello et al. (2019), Gaussian Process Optimization with Adaptive Sketching: Scalable and No Regret, COLT"
_BBKB = (
    "Calandriello et al. (2020), Near-linear Time Gaussian Process Optimization with Adaptive Batching and "
    "Resparsification, ICML"
)
_BPE = "Li and Scarlett (2022), Gaussian Process Bandit Optimization with Few Batches, AISTATS"
_BUCB = (
    "Desautels, Krause and Burdick (2012), Parallelizing Exploration-Exploitation Tradeoffs with Gaussian Process "
    "Bandit Optimization, ICML"
)
_UHE = "Ha et al. (2023), Provably Efficient Bayesian Optimization with Unbiased GP Hyperparameter Estimation"
_BRANIN = (
    "Branin (1972), Widely Convergent Method for Finding Multiple Solutions of Simultaneous Nonlinear Equations, "
    "IBM Journal of Research and Development"
)
_AZIMI = "Azimi, Fern and Fern (2010), Batch Bayesian Optimization via Simulation Matching, NeurIPS"
_LOWER = (
    "Scarlett, Bogunovic and Cevher (2017), Lower Bounds on Regret for Noisy Gaussian Process Bandit Optimization, COLT"
)
_CHOWDHURY = "Chowdhury and Gopalan (2017), On Kernelized Multi-armed Bandits, ICML"
_NAS101 = "Ying et al. (2019), NAS-Bench-101: Towards Reproducible Neural Architecture Search, ICML"
_NAS201 = "Dong and Yang (2020), NAS-Bench-201: Extending the Scope of Reproducible Neural Architecture Search, ICLR"
_FCNET = "Klein and Hutter (2019), Tabular Benchmarks for Joint Architecture and Hyperparameter Optimization"
_HPOBENCH = "Eggensperger et al. (2021), HPOBench: Reproducible Multi-Fidelity Benchmark Problems for HPO, NeurIPS"
_WIDMER = "Widmer et al. (2010), Inferring Latent Task Structure for Multitask Learning by Multiple Kernel Learning"
_ROHR = "Rohr et al. (2020), Benchmarking the Acceleration of Materials Discovery by Sequential Learning"
_GONGORA = "Gongora et al. (2020), A Bayesian Experimental Autonomous Researcher for Mechanical Design"
_SHIELDS = "Shields et al. (2021), Bayesian Reaction Optimization as a Tool for Chemical Synthesis"
_OLYMPUS = "Hase et al. (2021), Olympus: a Benchmarking Framework for Noisy Optimization and Experiment Planning"

_ERIKSSON = "Eriksson et al. (2019), Scalable Global Optimization via Local Bayesian Optimization, NeurIPS"
_SIEBERT = "Siebert (1987), Vehicle Recognition Using Rule Based Methods"
_CHEN = "Chen and Guestrin (2016), XGBoost: A Scalable Tree Boosting System, KDD"

_KRAUSE = "Krause and Ong (2011), Contextual Gaussian Process Bandit Optimization, NeurIPS"
_BOGUNOVIC = "Bogunovic, Scarlett and Cevher (2016), Time-Varying Gaussian Process Bandit Optimization, AISTATS"
_ZHOU = "Zhou and Shroff (2021), No-Regret Algorithms for Time-Varying Bayesian Optimization, CISS"
_SLEEPING = "Kleinberg, Niculescu-Mizil and Sharma (2010), Regret Bounds for Sleeping Experts and Bandits"

_DRAWN, _FIXED, _REAL, _WORK = "drawn functions", "fixed functions", "real data", "real work at each evaluation"
_CONTEXTS, _CHANGES, _HERE = "contexts", "functions that change", "tables in this package"

ENVIRONMENTS: tuple[EnvironmentRow, ...] = (
    EnvironmentRow("GPSample", "synthetic:gp_sample", 1_000, _DRAWN, (_BUCB,)),
    EnvironmentRow("RKHS", "synthetic:rkhs", 1_000, _DRAWN, (_CHOWDHURY,)),
    EnvironmentRow("Needle", "synthetic:needle", 1_000, _DRAWN, (_LOWER, _BPE)),
    EnvironmentRow("VarianceStarvation", "synthetic:variance_starvation", 215, _DRAWN, (_BKB,)),
    EnvironmentRow("BPESample", "synthetic:bpe_sample", 1_000, _DRAWN, (_BPE,), kernel="wrong"),
    EnvironmentRow("Categories", "synthetic:categories", 200, _DRAWN),
    EnvironmentRow("Cliff", "synthetic:cliff", 200, _DRAWN, kernel="wrong"),
    EnvironmentRow("BPEF1", "fixed:bpe_f1", 1_000, _FIXED, (_BPE,)),
    EnvironmentRow("BPEF2", "fixed:bpe_f2", 1_000, _FIXED, (_BPE,), version=1),
    EnvironmentRow("Cosines", "fixed:cosines", 200, _FIXED, (_AZIMI, _BUCB), kernel="none"),
    EnvironmentRow("Rosenbrock", "fixed:rosenbrock", 200, _FIXED, (_AZIMI, _BUCB), kernel="none"),
    EnvironmentRow("Branin", "fixed:branin", 200, _FIXED, (_BRANIN, _UHE), kernel="none"),
    EnvironmentRow("Hartmann3", "fixed:hartmann3", 200, _FIXED, (_UHE,), kernel="none"),
    EnvironmentRow("Hartmann6", "fixed:hartmann6", 200, _FIXED, (_UHE,), kernel="none"),
    EnvironmentRow("Deceptive", "fixed:deceptive", 200, _FIXED, (_UHE,), kernel="none"),
    EnvironmentRow("H1", "fixed:h1", 200, _FIXED, (_UHE,), kernel="none"),
    EnvironmentRow("Abalone", "tabular:Abalone", 10_000, _REAL, (_BBKB,), data="Abalone", kernel="chosen"),
    EnvironmentRow("Cadata", "tabular:Cadata", 10_000, _REAL, (_BBKB,), data="Cadata", kernel="chosen"),
    EnvironmentRow(
        "NASBench101", "tabular:nasbench101", 10_000, _REAL, (_NAS101, _BBKB), data="NASBench101", kernel="chosen"
    ),
    EnvironmentRow("NASBench201", "tabular:NASBench201", 1_000, _REAL, (_NAS201,), data="NASBench201", kernel="chosen"),
    EnvironmentRow("FCNet", "tabular:FCNet", 1_000, _REAL, (_FCNET,), data="FCNet", kernel="chosen"),
    EnvironmentRow(
        "HPOBenchMLP", "tabular:HPOBenchMLP", 1_000, _REAL, (_HPOBENCH,), data="HPOBenchMLP", kernel="chosen"
    ),
    EnvironmentRow("Vaccine", "tabular:vaccine", 1_000, _REAL, (_BUCB, _WIDMER), data="Vaccine", kernel="chosen"),
    EnvironmentRow(
        "Neurostimulation", "tabular:Neurostimulation", 200, _REAL, (_BUCB,), data="Neurostimulation", kernel="chosen"
    ),
    EnvironmentRow("OERPlates", "tabular:OERPlates", 1_000, _REAL, (_ROHR,), data="OERPlates", kernel="chosen"),
    EnvironmentRow(
        "CrossedBarrel", "tabular:CrossedBarrel", 500, _REAL, (_GONGORA,), data="CrossedBarrel", kernel="chosen"
    ),
    EnvironmentRow(
        "DirectArylation", "tabular:DirectArylation", 500, _REAL, (_SHIELDS,), data="DirectArylation", kernel="chosen"
    ),
    EnvironmentRow("HPLC", "tabular:HPLC", 500, _REAL, (_OLYMPUS,), data="HPLC", kernel="chosen"),
    EnvironmentRow(
        "LogisticRegression",
        "logistic_regression:logistic_regression",
        200,
        _WORK,
        (_UHE, _HPOBENCH, _SIEBERT),
        data="VehicleSilhouettes",
        dim=2,
        kernel="none",
    ),
    EnvironmentRow(
        "XGBoost",
        "boosted_trees:xgboost",
        200,
        _WORK,
        (_UHE, _HPOBENCH, _CHEN),
        data="SoftwareDefect",
        dim=4,
        extra="hpo",
        kernel="none",
    ),
    EnvironmentRow(
        "LunarLanding",
        "lunar_landing:lunar_landing",
        500,
        _WORK,
        (_UHE, _ERIKSSON),
        dim=12,
        extra="lunar",
        kernel="none",
    ),
    EnvironmentRow("RKHSContext", "contexts:rkhs_context", 1_000, _CONTEXTS, (_KRAUSE, _CHOWDHURY)),
    EnvironmentRow("SleepingArms", "contexts:sleeping_arms", 1_000, _CONTEXTS, (_SLEEPING,)),
    EnvironmentRow(
        "DirectArylationContext",
        "contexts:direct_arylation_context",
        1_000,
        _CONTEXTS,
        (_SHIELDS, _KRAUSE),
        data="DirectArylation",
        kernel="chosen",
    ),
    EnvironmentRow(
        "NeurostimulationContext",
        "contexts:neurostimulation_context",
        1_000,
        _CONTEXTS,
        (_BUCB, _KRAUSE),
        data="Neurostimulation",
        n_arms=640,
        kernel="chosen",
    ),
    EnvironmentRow("TVGPSample", "synthetic:tv_gp_sample", 1_000, _CHANGES, (_BOGUNOVIC,)),
    EnvironmentRow("ChangePoints", "synthetic:change_points", 1_000, _CHANGES, (_ZHOU,)),
    EnvironmentRow("DrawnPlate", "tabular:DrawnPlate", 200, _HERE, data="DrawnPlate", kernel="chosen"),
)

TABLE = EnvironmentRow("Table", "own_table:table", 200, "of one's own", kernel="chosen")
"""A table of one's own, which has to be named: `file=` and `target=`."""


def register_all() -> None:
    """Register every row with Gymnasium; a second call changes nothing."""
    for row in (*ENVIRONMENTS, TABLE):
        if row.id not in gym.registry:
            entry_point = f"gpbandit_envs.envs.{row.entry_point}"
            gym.register(
                id=row.id,
                entry_point=entry_point,
                max_episode_steps=row.horizon,
                kwargs=dict(row.kwargs),
            )


def registered() -> tuple[str, ...]:
    """All ids of this package that can be made without further keywords, in the order of the table."""
    return tuple(row.id for row in ENVIRONMENTS)
