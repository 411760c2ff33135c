"""Tables of real measurements; an evaluation answers with one of the replicates, or with noise."""

from __future__ import annotations

from typing import Any

from gpbandit_envs.adapters.instance import Instance
from gpbandit_envs.adapters.optunahub_problem import OptunaHubProblem

TABLES = (
    "DrawnPlate",
    "CrossedBarrel",
    "DirectArylation",
    "HPLC",
    "OERPlates",
    "Neurostimulation",
    "NASBench201",
    "FCNet",
    "HPOBenchMLP",
)


class Problem(OptunaHubProblem):
    """One table, to be maximised over its rows; the parameter `arm` is the number of a row.

    Args:
        table: One of `TABLES`; all but `DrawnPlate` are fetched at first use, and checked.
        seed: Draws the noise.
        settings: Further keywords of the environment, such as `dataset="cifar100"` of NASBench201.

    Raises:
        ValueError: if there is no such table.
    """

    def __init__(self, table: str = "DrawnPlate", seed: int = 0, **settings: Any) -> None:
        if table not in TABLES:
            raise ValueError(f"table: expected one of {', '.join(TABLES)}, got {table!r}")
        super().__init__(Instance(f"GPBandit/{table}-v0", seed, settings))
