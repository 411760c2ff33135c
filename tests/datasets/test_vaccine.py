from __future__ import annotations

import csv
import io
import zipfile

import numpy as np
import pytest

from gpbandit_envs import datasets
from gpbandit_envs.datasets.vaccine import FACTORS, count_peptides, peptide_features
from tests.datasets.conftest import Load


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
