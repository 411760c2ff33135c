"""All data sets, by name."""

from __future__ import annotations

from gpbandit_envs.datasets.abalone import ABALONE
from gpbandit_envs.datasets.cadata import CADATA
from gpbandit_envs.datasets.classification import SOFTWARE_DEFECT, VEHICLE_SILHOUETTES
from gpbandit_envs.datasets.crossed_barrel import CROSSED_BARREL
from gpbandit_envs.datasets.data_set import DataSet
from gpbandit_envs.datasets.direct_arylation import DIRECT_ARYLATION
from gpbandit_envs.datasets.fcnet import FCNET
from gpbandit_envs.datasets.hplc import HPLC
from gpbandit_envs.datasets.hpobench_mlp import HPOBENCH_MLP
from gpbandit_envs.datasets.nasbench101 import NASBENCH101
from gpbandit_envs.datasets.nasbench201 import NASBENCH201
from gpbandit_envs.datasets.neurostimulation import NEUROSTIMULATION
from gpbandit_envs.datasets.oer_plates import OER_PLATES
from gpbandit_envs.datasets.vaccine import VACCINE

__all__ = ["CATALOGUE", "find"]

CATALOGUE: tuple[DataSet, ...] = (
    ABALONE,
    CADATA,
    NASBENCH101,
    NASBENCH201,
    FCNET,
    HPOBENCH_MLP,
    VACCINE,
    NEUROSTIMULATION,
    OER_PLATES,
    CROSSED_BARREL,
    DIRECT_ARYLATION,
    HPLC,
    VEHICLE_SILHOUETTES,
    SOFTWARE_DEFECT,
)


def find(name: str) -> DataSet:
    """The data set of that name, in any case.

    Raises:
        TypeError: if the name is no text.
        ValueError: if there is none; the message lists them all.
    """
    if not isinstance(name, str):
        raise TypeError(f"name: expected the name of a data set, got {name!r}")
    for data_set in CATALOGUE:
        if data_set.card.name.casefold() == name.casefold():
            return data_set
    known = ", ".join(data_set.card.name for data_set in CATALOGUE)
    raise ValueError(f"name: expected one of {known}, got {name!r}")
