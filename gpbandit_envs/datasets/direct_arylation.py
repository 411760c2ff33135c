"""Yield of a direct arylation, over every combination of base, ligand, solvent, concentration and temperature."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from gpbandit_envs.datasets.data_set import Card, DataFile, DataSet, WebAddress
from gpbandit_envs.datasets.readers import read_columns
from gpbandit_envs.datasets.table import Table

__all__ = ["DIRECT_ARYLATION"]

_FILE = "direct_arylation_experiment_index.csv"
_CHOICES = {"base": "Base_SMILES", "ligand": "Ligand_SMILES", "solvent": "Solvent_SMILES"}
_AMOUNTS = {"concentration_mol_per_l": "Concentration", "temperature_celsius": "Temp_C"}
_LEVELS = {"base": 4, "ligand": 12, "solvent": 4}

CARD = Card(
    name="DirectArylation",
    title="Yield of 1,728 direct arylations: 4 bases, 12 ligands, 4 solvents, 3 concentrations, 3 temperatures",
    shape=(1_728, 22),
    columns=(*(f"{kind}_{i}" for kind, n in _LEVELS.items() for i in range(n)), *_AMOUNTS),
    target="yield (%)",
    licence="MIT",
    citation="B. J. Shields et al. (2021). Bayesian reaction optimization as a tool for chemical synthesis. Nature 590",
    files=(
        DataFile(
            name=_FILE,
            sha256="2e07b31fdc537098feb11cbf53dacdbaeffcb946b565144d77edaeb8d97bddfd",
            size=169_936,
            sources=(
                WebAddress(
                    "https://raw.githubusercontent.com/b-shields/edbo/f7890ae84ca6347de7010cfd9dad9a3df3bd8a8f/"
                    "experiments/data/direct_arylation/experiment_index.csv"
                ),
            ),
        ),
    ),
    notes=(
        "Base, ligand and solvent are one-hot, in the order in which the file first names them; notes list their "
        "SMILES. A full factorial with one value for each arm; neighbours differ in one factor, amounts by one level."
    ),
)


def _read(files: Mapping[str, Path], _options: Mapping[str, object]) -> Table:
    cells = read_columns(files[_FILE], (*_CHOICES.values(), *_AMOUNTS.values(), "yield"))
    columns: list[np.ndarray] = []
    digits: list[np.ndarray] = []
    compounds: dict[str, list[str]] = {}
    for kind, column in _CHOICES.items():
        compounds[kind] = list(dict.fromkeys(cells[column]))
        index = np.array([compounds[kind].index(smiles) for smiles in cells[column]])
        columns.extend((index == i).astype(np.float64) for i in range(len(compounds[kind])))
        digits.append(index)
    for column in _AMOUNTS.values():
        amount = np.array(cells[column], dtype=np.float64)
        columns.append(amount)
        digits.append(np.unique(amount, return_inverse=True)[1])
    return Table(
        name=CARD.name,
        features=np.stack(columns, axis=1),
        feature_names=CARD.columns,
        values=np.array(cells["yield"], dtype=np.float64)[:, None],
        neighbours=_one_step(np.stack(digits, axis=1)),
        notes={"target": CARD.target, "preprocessing": CARD.notes, "smiles": compounds},
    )


def _one_step(digits: np.ndarray) -> np.ndarray:
    """Arms that differ in one column: in a choice by anything, in an amount by one level."""
    differs = digits[:, None, :] != digits[None, :, :]
    distance = np.abs(digits[:, None, :] - digits[None, :, :])
    adjacent = (differs.sum(axis=2) == 1) & (distance[:, :, len(_CHOICES) :].max(axis=2) <= 1)
    rows = [np.flatnonzero(row) for row in adjacent]
    neighbours = np.full((len(rows), max(row.size for row in rows)), -1)
    for i, row in enumerate(rows):
        neighbours[i, : row.size] = row
    return neighbours


DIRECT_ARYLATION = DataSet(card=CARD, read=_read)
