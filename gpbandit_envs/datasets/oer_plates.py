"""Overpotential of metal-oxide catalysts for oxygen evolution, on four plates of six elements each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from gpbandit_envs.datasets.data_set import Card, DataFile, DataSet, WebAddress
from gpbandit_envs.datasets.readers import read_numbers
from gpbandit_envs.datasets.table import Table

__all__ = ["OER_PLATES"]

ELEMENTS = MappingProxyType(
    {
        3496: ("Ni", "Fe", "Co", "Mn", "Ce", "La"),
        3851: ("Ni", "Fe", "Co", "Ta", "Mn", "Cu"),
        3860: ("Sn", "Fe", "Co", "Ta", "Mn", "Cu"),
        4098: ("Sn", "Sb", "Co", "Ca", "Ni", "Mn"),
    }
)
"""Elements of each plate in the order of its columns: the files have no header, and every plate has its own."""

_PINS = {
    3496: ("3c70049ccfdd11bc05d1777421fc4c724d2b2d4a86c12b8759079609912cfade", 76_559),
    3851: ("e2212be9cc5c866fa98dcb9513fca63946003f317688cb025bd0d648d8c3caab", 78_117),
    3860: ("834e2832818900e5cefa9de3b433e2246424faa1b2c3c460a1daf0707710fc90", 77_222),
    4098: ("a3e4b4b781e3a04f861d062e773ce64d543118aa8ee9ccfc1aa4612502070b12", 78_027),
}
_ROOT = "https://raw.githubusercontent.com/aspuru-guzik-group/olympus"
# The pinned revision has no plate 3860, whose present bytes came later.
_REVISION = {plate: "main" if plate == 3860 else "d74b0988f59205e736202c47f2c6c5638cb52f36" for plate in _PINS}


def _file(plate: object) -> str:
    return f"plate_{plate}.csv"


CARD = Card(
    name="OERPlates",
    title="Overpotential of about 2,120 compositions of six elements, on four catalyst plates",
    shape=(2_121, 6),
    columns=ELEMENTS[3496],
    target="negative overpotential (V)",
    licence="MIT",
    citation=(
        "B. Rohr et al. (2020). Benchmarking the acceleration of materials discovery by sequential learning. "
        "Chemical Science 11, 2696-2706"
    ),
    files=tuple(
        DataFile(
            name=_file(plate),
            sha256=sha256,
            size=size,
            sources=(
                WebAddress(f"{_ROOT}/{_REVISION[plate]}/src/olympus/datasets/dataset_oer_plate_{plate}/data.csv"),
            ),
        )
        for plate, (sha256, size) in _PINS.items()
    ),
    options={"plate": (3496, 3851, 3860, 4098)},
    notes=(
        "Fractions of the six elements, which sum to 1; each plate has its own elements. "
        "The overpotential is to be minimised, so its negative is the value. One value for each arm."
    ),
)


def _read(files: Mapping[str, Path], options: Mapping[str, object]) -> Table:
    plate = options["plate"]
    rows = read_numbers(files[_file(plate)], header=None)
    return Table(
        name=CARD.name,
        features=rows[:, :6].copy(),
        feature_names=ELEMENTS[int(str(plate))],
        values=-rows[:, 6:],
        notes={"target": CARD.target, "preprocessing": CARD.notes, "plate": plate},
    )


OER_PLATES = DataSet(card=CARD, read=_read, needs=lambda options: (_file(options["plate"]),))
