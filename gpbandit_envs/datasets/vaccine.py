"""Vaccine design: how strongly peptides of nine residues bind to an MHC class I molecule."""

from __future__ import annotations

import difflib
import io
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from csv import DictReader
from pathlib import Path

import numpy as np

from gpbandit_envs.datasets.amino_acids import FACTOR_NAMES, peptide_features
from gpbandit_envs.datasets.archives import open_member
from gpbandit_envs.datasets.card import Card, DataFile, PinnedArchive, PinnedMember
from gpbandit_envs.datasets.data_set import DataSet
from gpbandit_envs.datasets.table import Table

__all__ = ["VACCINE", "count_peptides"]

LENGTH = 9
WEAKEST_NM = 50_000.0

_FILE = "curated_training_data.no_mass_spec.zip"
_MEMBER = "curated_training_data.no_mass_spec.csv"

CARD = Card(
    name="Vaccine",
    title="Binding of peptides of nine residues to any of 164 MHC class I molecules, from measured IC50",
    shape=(8_566, 45),
    columns=tuple(f"position_{i + 1}_{name}" for i in range(LENGTH) for name in FACTOR_NAMES),
    target="affinity, 1 - log(IC50 in nM) / log(50,000)",
    licence="CC BY 4.0 (IEDB)",
    citation=(
        "R. Vita et al. (2019). The Immune Epitope Database (IEDB): 2018 update. Nucleic Acids Research 47(D1); "
        "curated by T. J. O'Donnell et al. (2018). Cell Systems 7(1); task of C. Widmer et al. (2010). Features: W. R. "
        "Atchley et al. (2005). Solving the protein sequence metric problem. PNAS 102(18)"
    ),
    files=(
        DataFile(
            name=_FILE,
            sha256="b8571d29a5b40cbc8b43fc9f7e3633cc0b5443e56c46c08ae8356408ddded748",
            size=2_179_599,
            sources=(
                PinnedMember(
                    PinnedArchive(
                        requirement="epitopepredict==0.5.0",
                        filename="epitopepredict-0.5.0.tar.gz",
                        sha256="1292e24bb66f91f731f5abe61229a3081fe8ebd173fc561e299c4007bb2fef77",
                    ),
                    f"epitopepredict-0.5.0/epitopepredict/mhcdata/{_FILE}",
                ),
            ),
        ),
    ),
    options={"allele": ("HLA-A*02:01",)},
    notes=(
        "Only quantitative measurements (inequality '='). A peptide measured more than once has its measurements as "
        "replicates, and the mean of their affinities is the affinity of the geometric mean of their IC50; the optimum "
        "is the largest mean. Affinities are not clipped: IC50 above 50,000 nM gives values below 0, under 1 nM above "
        "1. Each residue has the five factors of Atchley et al. A later snapshot of the database than the paper's."
    ),
)


def count_peptides(path: Path) -> Counter[str]:
    """Number of different peptides of each allele in the raw file."""
    return Counter(allele for allele, _ in {(allele, peptide) for allele, peptide, _ in _measurements(path)})


def _measurements(path: Path) -> Iterator[tuple[str, str, float]]:
    with open_member(path, _MEMBER) as stream:
        for row in DictReader(io.TextIOWrapper(stream, encoding="utf-8", newline="")):
            if row["measurement_inequality"] == "=" and len(row["peptide"]) == LENGTH:
                yield row["allele"], row["peptide"], float(row["ic50"])


def _read(files: Mapping[str, Path], options: Mapping[str, object]) -> Table:
    path, wanted = files[_FILE], str(options["allele"])
    found: defaultdict[str, list[float]] = defaultdict(list)
    for allele, peptide, ic50 in _measurements(path):
        if allele == wanted:
            found[peptide].append(ic50)
    if not found:
        alleles = count_peptides(path)
        close = difflib.get_close_matches(wanted, alleles, n=5, cutoff=0.5)
        common = [allele for allele, _ in alleles.most_common(5)]
        raise ValueError(
            f"allele: expected one of {len(alleles)} alleles such as {', '.join(close or common)}, got {wanted!r}"
        )
    peptides = sorted(found)
    values = np.full((len(peptides), max(map(len, found.values()))), np.nan)
    for row, peptide in zip(values, peptides):
        row[: len(found[peptide])] = 1 - np.log(found[peptide]) / np.log(WEAKEST_NM)
    return Table(
        name=CARD.name,
        features=peptide_features(peptides),
        feature_names=CARD.columns,
        values=values,
        labels=tuple(peptides),
        notes={"target": CARD.target, "preprocessing": CARD.notes, "allele": wanted},
    )


VACCINE = DataSet(card=CARD, read=_read)
