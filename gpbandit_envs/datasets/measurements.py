"""Readers of regression data, laboratory measurements and classification sets, each for the files of its card."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from gpbandit_envs.datasets.card import Card
from gpbandit_envs.datasets.errors import IntegrityError
from gpbandit_envs.datasets.readers import read_columns, read_numbers
from gpbandit_envs.datasets.table import Table, one_hot_columns, padded

Paths = Mapping[str, Path]
Options = Mapping[str, object]

_SEX = {"M": 0.0, "F": 1.0, "I": 2.0}
_STORED = ("MedInc", "HouseAge", "AveRooms", "AveBedrms", "Population", "AveOccup", "Latitude", "Longitude")
_AVERAGES = {2: "rooms_per_household", 3: "bedrooms_per_household", 5: "people_per_household"}
_PRINTS = 3
_COMPOUNDS = {"base": "Base_SMILES", "ligand": "Ligand_SMILES", "solvent": "Solvent_SMILES"}
_AMOUNTS = ("Concentration", "Temp_C")
# The files have no header, and every plate has its own elements.
_ELEMENTS = {
    3496: ("Ni", "Fe", "Co", "Mn", "Ce", "La"),
    3851: ("Ni", "Fe", "Co", "Ta", "Mn", "Cu"),
    3860: ("Sn", "Fe", "Co", "Ta", "Mn", "Cu"),
    4098: ("Sn", "Sb", "Co", "Ca", "Ni", "Mn"),
}
_VEHICLES = ("bus", "opel", "saab", "van")


def abalone(card: Card, paths: Paths, _options: Options) -> Table:
    """Sex as one number, seven measurements, and the rings."""
    rows = [line.split(",") for line in paths["abalone.data"].read_text("ascii").splitlines() if line.strip()]
    measured = np.array([row[1:] for row in rows], dtype=np.float64)
    sex = np.array([_SEX[row[0]] for row in rows])
    return card.table(np.column_stack([sex, measured[:, :-1]]), measured[:, -1:])


def cadata(card: Card, paths: Paths, options: Options) -> Table:
    """Totals of the StatLib file, given back from the averages that are stored, or these averages."""
    stored = read_numbers(paths["california_housing.csv"], header=(*_STORED, "MedHouseVal"))
    features, names = stored[:, :-1].copy(), None
    if options["columns"] == "statlib":
        households = np.round(features[:, 4] / features[:, 5])
        features[:, 2:4] = np.round(features[:, 2:4] * households[:, None])
        features[:, 5] = households
    else:
        names = tuple(_AVERAGES.get(j, name) for j, name in enumerate(card.columns))
    # The file's unit is 100,000 USD with five decimals, so whole dollars.
    return card.table(features, np.round(stored[:, -1:] * 100_000), names=names)


def crossed_barrel(card: Card, paths: Paths, _options: Options) -> Table:
    """Designs in order, with the toughness of their three prints."""
    (path,) = paths.values()
    rows = read_numbers(path, header=("n", "theta", "r", "t", "toughness"))
    order = np.lexsort(rows[:, 3::-1].T)
    designs = rows[order, :4].reshape(-1, _PRINTS, 4)
    if (designs != designs[:, :1]).any():
        raise IntegrityError(f"{path.name}: expected {_PRINTS} prints of each design")
    return card.table(designs[:, 0], rows[order, 4].reshape(-1, _PRINTS))


def direct_arylation(card: Card, paths: Paths, _options: Options) -> Table:
    """Compounds one-hot, amounts as they are; the compounds' SMILES are among the notes."""
    (path,) = paths.values()
    cells = read_columns(path, (*_COMPOUNDS.values(), *_AMOUNTS, "yield"))
    columns, digits, sizes = [], [], []
    compounds: dict[str, list[str]] = {}
    for kind, column in _COMPOUNDS.items():
        compounds[kind] = list(dict.fromkeys(cells[column]))
        index = np.array([compounds[kind].index(smiles) for smiles in cells[column]])
        columns.append(np.eye(len(compounds[kind]))[index])
        digits.append(index)
        sizes.append(len(compounds[kind]))
    for column in _AMOUNTS:
        amount = np.array(cells[column], dtype=np.float64)
        columns.append(amount[:, None])
        digits.append(np.unique(amount, return_inverse=True)[1])
    return card.table(
        np.hstack(columns),
        np.array(cells["yield"], dtype=np.float64)[:, None],
        neighbours=_one_step(np.stack(digits, axis=1)),
        notes={"smiles": compounds, "categories": one_hot_columns(sizes)},
    )


def _one_step(digits: np.ndarray) -> np.ndarray:
    """Arms that differ in one column: in a compound by anything, in an amount by one level."""
    distance = np.abs(digits[:, None, :] - digits[None, :, :])
    adjacent = ((distance > 0).sum(axis=2) == 1) & (distance[:, :, len(_COMPOUNDS) :].max(axis=2) <= 1)
    neighbours: np.ndarray = padded([np.flatnonzero(row) for row in adjacent], -1)
    return neighbours


def hplc(card: Card, paths: Paths, options: Options) -> Table:
    """Settings in order of first appearance with the areas of their runs, or every run as an arm of its own."""
    settings = read_numbers(paths["hplc-feats.csv"], header=card.columns)
    areas = read_numbers(paths["hplc-targets.csv"], header=("peak_area",))
    if options["repeats"] == "separate":
        return card.table(settings, areas)
    runs: dict[tuple[float, ...], list[float]] = {}
    for setting, area in zip(settings.tolist(), areas[:, 0].tolist()):
        runs.setdefault(tuple(setting), []).append(area)
    return card.table(np.array(list(runs)), padded(list(runs.values()), np.nan))


def neurostimulation(card: Card, paths: Paths, options: Options) -> Table:
    """Places of the electrodes, and the scores of one rat."""
    from scipy.io import loadmat

    scores = np.asarray(loadmat(paths["rat_mapping_2D_intact.mat"])["scoreThresh"], dtype=np.float64)
    stored = json.loads(paths["ch2xy_online.json"].read_text(encoding="utf-8"))
    places = np.array(stored["ch2xy"], dtype=np.float64)
    rat = int(str(options["rat"]))
    beside = np.abs(places[:, None] - places[None]).sum(axis=2) == 1
    neighbours = padded([np.flatnonzero(row) for row in beside], -1)
    return card.table(places, scores[rat][:, None], neighbours=neighbours, notes={"rat": rat})


def oer_plate(card: Card, paths: Paths, options: Options) -> Table:
    """Fractions of a plate's six elements, and minus the overpotential."""
    (path,) = paths.values()
    rows, plate = read_numbers(path, header=None), int(str(options["plate"]))
    return card.table(rows[:, :6].copy(), -rows[:, 6:], names=_ELEMENTS[plate], notes={"plate": plate})


def vehicle_silhouettes(card: Card, paths: Paths, _options: Options) -> Table:
    """Features of shape, and the number of the vehicle's class."""
    rows = [line.split() for name in sorted(paths) for line in paths[name].read_text("ascii").splitlines() if line]
    return _classes(card, rows, [_VEHICLES.index(row[-1]) for row in rows], list(_VEHICLES))


def software_defect(card: Card, paths: Paths, _options: Options) -> Table:
    """Measures of the code of modules, and whether they had a defect."""
    (path,) = paths.values()
    # The comments hold a few bytes of an old encoding; the data are plain.
    lines = iter(path.read_text("latin-1").splitlines())
    if not any(line.strip().lower() == "@data" for line in lines):
        raise IntegrityError(f"{path.name}: expected a line @data")
    rows = [line.strip().split(",") for line in lines if line.strip() and not line.startswith("%")]
    had = [("false", "true").index(row[-1].strip().lower()) for row in rows]
    return _classes(card, rows, had, ["no defect", "defect"])


def _classes(card: Card, rows: list[list[str]], labels: list[int], classes: list[str]) -> Table:
    """A table whose values are classes, which is not one of candidates."""
    return Table(
        name=card.name,
        features=np.array([row[:-1] for row in rows], dtype=np.float64),
        feature_names=card.columns,
        values=np.array(labels, dtype=np.float64)[:, None],
        notes={"task": "classification", "classes": classes, "preprocessing": card.notes},
    )
