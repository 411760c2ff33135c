"""Tables of real data against what their sources say."""

from __future__ import annotations

import csv
import io
import zipfile
from dataclasses import replace
from functools import reduce
from pathlib import Path

import numpy as np
import pytest

from docs import draw_plate
from gpbandit_envs import datasets
from gpbandit_envs.datasets import IntegrityError, cards, load
from gpbandit_envs.datasets.download import fetch_file
from gpbandit_envs.datasets.vaccine import FACTORS, count_peptides, peptide_features
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


# ---- abalone ----


@pytest.mark.network
def test_the_counts_of_the_source(shared_cache: Path) -> None:
    table = datasets.load("Abalone")
    card = datasets.cards()["Abalone"]
    assert table.features.shape == card.shape == (4177, 8)
    assert table.feature_names == card.columns
    assert np.bincount(table.features[:, 0].astype(int)).tolist() == [1528, 1307, 1342]
    assert table.values.shape == (4177, 1)
    assert (table.values.min(), table.values.max()) == (1.0, 29.0)
    np.testing.assert_array_equal(table.features[0], [0, 0.455, 0.365, 0.095, 0.514, 0.2245, 0.101, 0.15])
    assert table.values[0, 0] == 15
    height = np.sort(table.features[:, 3])
    assert height[:2].tolist() == [0.0, 0.0]
    assert height[-2:].tolist() == [0.515, 1.13]
    assert table.costs is None
    assert table.labels is None


# ---- classification ----


@pytest.mark.network
def test_vehicles(real: Load) -> None:
    table = real("VehicleSilhouettes")
    assert table.notes["classes"] == ["bus", "opel", "saab", "van"]
    assert np.bincount(table.values[:, 0].astype(int)).tolist() == [218, 212, 217, 199]
    assert table.features[0].tolist() == [95, 48, 83, 178, 72, 10, 162, 42, 20, 159, 176, 379, 184, 70, 6, 16, 187, 197]
    assert table.values[0, 0] == 3


@pytest.mark.network
@pytest.mark.parametrize(("program", "modules", "defects"), [("kc1", 2_109, 326), ("pc1", 1_109, 77)])
def test_defects(real: Load, program: str, modules: int, defects: int) -> None:
    table = real("SoftwareDefect", program=program)
    assert table.features.shape == (modules, 21)
    assert table.values.sum() == defects
    assert set(np.unique(table.values)) == {0, 1}
    # Halstead's length is the sum of operators and operands, up to the recorder's own slips.
    n, operators, operands = table.features[:, 4], table.features[:, 18], table.features[:, 19]
    assert (n == operators + operands).mean() > 0.95


# ---- cadata and HPLC ----


@pytest.mark.network
def test_cadata_gives_back_the_totals_of_the_original(real: Load) -> None:
    table = real("Cadata")
    # First two blocks of the StatLib file.
    np.testing.assert_array_equal(table.features[0], [8.3252, 41, 880, 129, 322, 126, 37.88, -122.23])
    np.testing.assert_array_equal(table.features[1], [8.3014, 21, 7099, 1106, 2401, 1138, 37.86, -122.22])
    assert table.values[:2, 0].tolist() == [452_600, 358_500]
    assert (table.features[:, 2:6] == np.round(table.features[:, 2:6])).all()
    assert (table.values == 500_001).sum() == 965
    assert table.values.max() == 500_001
    averages = real("Cadata", columns="averages")
    np.testing.assert_array_equal(averages.values, table.values)
    np.testing.assert_allclose(averages.features[:, 2] * table.features[:, 5], table.features[:, 2], rtol=1e-12)
    np.testing.assert_allclose(averages.features[:, 5], table.features[:, 4] / table.features[:, 5], rtol=1e-12)


@pytest.mark.network
def test_hplc_repeats_are_replicates(real: Load) -> None:
    runs, table = real("HPLC", repeats="separate"), real("HPLC")
    assert runs.features.shape == (1_386, 6)
    assert table.features.shape == (1_007, 6)
    assert np.bincount(table.n_replicates).tolist() == [0, 628, 379]
    assert (runs.values == 0).sum() == 229
    expected: dict[tuple[float, ...], list[float]] = {}
    for setting, area in zip(runs.features.tolist(), runs.values[:, 0].tolist()):
        expected.setdefault(tuple(setting), []).append(area)
    assert [tuple(row) for row in table.features.tolist()] == list(expected)
    for row, areas in zip(table.values, expected.values()):
        assert row[~np.isnan(row)].tolist() == areas


# ---- vaccine ----


@pytest.mark.slow
@pytest.mark.network
def test_counts_of_the_snapshot(real: Load) -> None:
    counts = count_peptides(datasets.fetch("Vaccine") / "curated_training_data.no_mass_spec.zip")
    assert len(counts) == 164
    assert counts["HLA-A*02:01"] == real("Vaccine").n_arms == 8_566
    alleles = ("HLA-A*02:01", "HLA-A*02:02", "HLA-A*02:03", "HLA-A*02:06", "HLA-A*68:02")
    shared = set.intersection(*(set(real("Vaccine", allele=allele).labels or ()) for allele in alleles))
    assert len(shared) == 1_949


@pytest.mark.network
def test_means_are_affinities_of_geometric_means(real: Load) -> None:
    table = real("Vaccine", allele="HLA-B*07:02")
    archive = zipfile.ZipFile(datasets.fetch("Vaccine") / "curated_training_data.no_mass_spec.zip")
    with archive, archive.open(archive.namelist()[0]) as stream:
        rows = [row for row in csv.DictReader(io.TextIOWrapper(stream, "utf-8")) if row["allele"] == "HLA-B*07:02"]
    measured: dict[str, list[float]] = {}
    for row in rows:
        if row["measurement_inequality"] == "=" and len(row["peptide"]) == 9:
            measured.setdefault(row["peptide"], []).append(float(row["ic50"]))
    assert table.labels == tuple(sorted(measured))
    assert (table.n_replicates > 1).sum() > 100
    for peptide, mean in zip(table.labels, table.mean):
        geometric = np.exp(np.mean(np.log(measured[peptide])))
        assert mean == pytest.approx(1 - np.log(geometric) / np.log(50_000), abs=1e-12)
    np.testing.assert_array_equal(table.features[0], [x for letter in table.labels[0] for x in FACTORS[letter]])


@pytest.mark.network
def test_an_unknown_allele_is_named_with_close_ones(real: Load) -> None:
    with pytest.raises(ValueError, match=r"^allele: expected one of 164 .*, got 'A\*02:01'; did you mean 'HLA-A\*02:0"):
        real("Vaccine", allele="A*02:01")


def test_twenty_amino_acids_by_position() -> None:
    assert sorted(FACTORS) == list("ACDEFGHIKLMNPQRSTVWY")
    features = peptide_features(["AC", "YY"])
    np.testing.assert_array_equal(features[0], FACTORS["A"] + FACTORS["C"])
    np.testing.assert_array_equal(features[1], FACTORS["Y"] * 2)
    # Factor scores of a factor analysis: centred over the twenty amino acids, as far as three decimals allow.
    assert np.abs(np.mean(list(FACTORS.values()), axis=0)).max() < 0.01
    for wrong in (["AC", "A"], ["AX"]):
        with pytest.raises(ValueError, match=r"^peptides: "):
            peptide_features(wrong)


# ---- a table that comes with this package ----


def test_the_drawn_plate_is_what_its_script_draws() -> None:
    assert draw_plate.FILE.read_text(encoding="utf-8") == draw_plate.text()


def test_it_needs_neither_network_nor_cache(fresh_cache: Path) -> None:
    table = load("DrawnPlate")
    assert table.n_replicates.tolist() == [2] * 48
    np.testing.assert_array_equal(table.features[:, :3].sum(axis=1), 1)
    assert cards()["DrawnPlate"].sources == ("this package",)
    assert not fresh_cache.exists()


def test_an_edited_table_is_refused() -> None:
    card = cards()["DrawnPlate"]
    edited = replace(card.files[0], sha256="0" * 64)
    with pytest.raises(IntegrityError, match=r"DrawnPlate\.csv: expected sha256 0+, got .*edited: state the hash"):
        fetch_file(card, edited)
