"""Catalysts, crossed barrels, reactions and stimulation, from the files beside the repository."""

from __future__ import annotations

import csv
from functools import reduce

import numpy as np
import pytest

from gpbandit_envs import datasets
from tests.datasets.conftest import Load, beside


def test_plates_hold_fractions_and_negative_overpotentials(real: Load) -> None:
    plates = [real("OERPlates", plate=plate) for plate in (3496, 3851, 3860, 4098)]
    assert [plate.n_arms for plate in plates] == [2_121, 2_119, 2_120, 2_121]
    for plate in plates:
        np.testing.assert_allclose(plate.features.sum(axis=1), 1, atol=1e-12)
        assert (plate.values < 0).all()
    common = reduce(set.__and__, ({tuple(row) for row in plate.features.tolist()} for plate in plates))
    assert len(common) == 2_118
    assert plates[0].values.max() == -0.340246
    assert plates[0].feature_names == ("Ni", "Fe", "Co", "Mn", "Ce", "La")
    assert len({plate.feature_names for plate in plates}) == 4
    with pytest.raises(ValueError, match=r"^plate: expected one of 3496, 3851, 3860, 4098, got 1"):
        real("OERPlates", plate=1)


def test_three_prints_of_each_barrel_in_the_order_of_the_file(real: Load) -> None:
    table = real("CrossedBarrel")
    assert table.values.shape == (600, 3)
    with (beside("crossed_barrel") / "Crossed_barrel_dataset.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    prints: dict[tuple[float, ...], list[float]] = {}
    for row in rows:
        prints.setdefault(tuple(float(row[name]) for name in ("n", "theta", "r", "t")), []).append(
            float(row["toughness"])
        )
    found = {tuple(design): values for design, values in zip(table.features.tolist(), table.values.tolist())}
    assert found == prints


def test_reactions_are_a_full_factorial(real: Load) -> None:
    table = real("DirectArylation")
    blocks = np.split(table.features, [4, 16, 20], axis=1)
    for block in blocks[:3]:
        assert (block.sum(axis=1) == 1).all()
        assert set(np.unique(block)) == {0, 1}
    assert set(blocks[3][:, 0]) == {0.057, 0.1, 0.153}
    assert set(blocks[3][:, 1]) == {90, 105, 120}
    assert (table.values.min(), table.values.max()) == (0, 100)
    smiles = table.notes["smiles"]
    assert isinstance(smiles, dict)
    assert [len(smiles[kind]) for kind in ("base", "ligand", "solvent")] == [4, 12, 4]
    assert smiles["solvent"][table.features[0, 16:20].argmax()] == "CC(N(C)C)=O"
    assert table.values[0, 0] == 5.47
    assert table.notes["categories"] == [list(range(4)), list(range(4, 16)), list(range(16, 20))]
    # 3 other bases, 11 ligands, 3 solvents, one or two levels of each amount.
    assert table.neighbours is not None
    degrees = (table.neighbours >= 0).sum(axis=1)
    assert (degrees.min(), degrees.max()) == (19, 21)
    for arm in (0, 700, 1_727):
        changed = (table.features[table.neighbours[arm][: degrees[arm]]] != table.features[arm]).sum(axis=1)
        assert set(changed) == {1, 2}


def test_rats_with_a_response(real: Load) -> None:
    card = datasets.cards()["Neurostimulation"]
    assert len(card.options["rat"]) == 20
    for rat in card.options["rat"]:
        table = real("Neurostimulation", rat=rat)
        assert table.values.max() > 0
    table = real("Neurostimulation", rat=11)
    assert table.values[:, 0].tolist()[16:24] == [0, 3, 0, 6, 0, 6, 0, 8]
    assert {tuple(p) for p in table.features.tolist()} == {(c, r) for c in range(1, 9) for r in range(1, 5)}
    assert table.neighbours is not None
    assert np.bincount((table.neighbours >= 0).sum(axis=1)).tolist() == [0, 0, 4, 16, 12]
    with pytest.raises(ValueError, match=r"^rat: expected one of"):
        real("Neurostimulation", rat=3)
