"""Motor responses to stimulation of a rat's cortex through 32 electrodes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from gpbandit_envs.datasets.data_set import Card, DataFile, DataSet, WebAddress
from gpbandit_envs.datasets.table import Table

__all__ = ["NEUROSTIMULATION"]

_MAP, _POSITIONS = "rat_mapping_2D_intact.mat", "ch2xy_online.json"
_ROOT = "https://raw.githubusercontent.com/mbonizzato/EduOptimNeurostim"
_SILENT = (3, 9, 10)
_CLEAREST = 11

CARD = Card(
    name="Neurostimulation",
    title="Motor response of a rat to stimulation through each of 32 electrodes on its cortex, 20 rats",
    shape=(32, 2),
    columns=("column", "row"),
    target="motor score (0 to 8)",
    licence="BSD-2-Clause",
    citation=(
        "M. Bonizzato, E. Massai, S. Côté, S. Quessy, M. Martinez and N. Dancause (2021). OptimizeNeurostim. OSF, "
        "osf.io/54vhx; M. Bonizzato et al. (2023). Cell Reports Medicine 4(4), 101008"
    ),
    files=(
        DataFile(
            name=_MAP,
            sha256="8028ca2b6c8a0abdeb8ae7b52815c6e5ef86b6a4361f30c44368cf6e8ac4f257",
            size=534,
            sources=(WebAddress(f"{_ROOT}/89adeaa598df4bb116790a9cb103c63abeee4548/priors/{_MAP}"),),
        ),
        DataFile(
            name=_POSITIONS,
            sha256="1caf834ef0a5e8c32b6e69fc31178ec1443ccfa4c317d310ee31f309838fd689",
            size=405,
            sources=(WebAddress(f"{_ROOT}/2ebf0ff76fb19e1bf647a6db534d1230fb1516f8/config/{_POSITIONS}"),),
        ),
    ),
    options={"rat": (_CLEAREST, *(rat for rat in range(23) if rat not in (*_SILENT, _CLEAREST)))},
    notes=(
        "The public stand-in for spinal stimulation data that are not public. Electrodes stand on a grid of 8 by 4. "
        "Rats 3, 9 and 10 of the 23 showed no response at all and are left out. Scores tie often; one value for each "
        "electrode. Neighbours are the electrodes beside, above and below."
    ),
)


def _read(files: Mapping[str, Path], options: Mapping[str, object]) -> Table:
    from scipy.io import loadmat

    scores = np.asarray(loadmat(files[_MAP])["scoreThresh"], dtype=np.float64)
    positions = np.array(json.loads(files[_POSITIONS].read_text(encoding="utf-8"))["ch2xy"], dtype=np.float64)
    rat = int(str(options["rat"]))
    return Table(
        name=CARD.name,
        features=positions,
        feature_names=CARD.columns,
        values=scores[rat][:, None],
        neighbours=_beside(positions),
        notes={"target": CARD.target, "preprocessing": CARD.notes, "rat": rat},
    )


def _beside(positions: np.ndarray) -> np.ndarray:
    distance = np.abs(positions[:, None] - positions[None]).sum(axis=2)
    neighbours = np.full((len(positions), 4), -1)
    for electrode, row in enumerate(distance):
        near = np.flatnonzero(row == 1)
        neighbours[electrode, : near.size] = near
    return neighbours


NEUROSTIMULATION = DataSet(card=CARD, read=_read)
