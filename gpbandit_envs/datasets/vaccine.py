"""Vaccine design: how strongly peptides of nine residues bind to an MHC class I molecule."""

from __future__ import annotations

import io
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from csv import DictReader
from pathlib import Path
from types import MappingProxyType

import numpy as np
from jaxtyping import Float

from gpbandit_envs.arguments import did_you_mean
from gpbandit_envs.datasets.archive import PinnedArchive, PinnedMember, open_member
from gpbandit_envs.datasets.data_set import Card, DataFile, DataSet
from gpbandit_envs.datasets.table import Table

__all__ = ["FACTORS", "VACCINE", "count_peptides", "peptide_features"]

LENGTH = 9
WEAKEST_NM = 50_000.0

FACTOR_NAMES = ("polarity", "secondary_structure", "volume", "codon_diversity", "charge")

FACTORS = MappingProxyType(
    {
        "A": (-0.591, -1.302, -0.733, 1.570, -0.146),
        "C": (-1.343, 0.465, -0.862, -1.020, -0.255),
        "D": (1.050, 0.302, -3.656, -0.259, -3.242),
        "E": (1.357, -1.453, 1.477, 0.113, -0.837),
        "F": (-1.006, -0.590, 1.891, -0.397, 0.412),
        "G": (-0.384, 1.652, 1.330, 1.045, 2.064),
        "H": (0.336, -0.417, -1.673, -1.474, -0.078),
        "I": (-1.239, -0.547, 2.131, 0.393, 0.816),
        "K": (1.831, -0.561, 0.533, -0.277, 1.648),
        "L": (-1.019, -0.987, -1.505, 1.266, -0.912),
        "M": (-0.663, -1.524, 2.219, -1.005, 1.212),
        "N": (0.945, 0.828, 1.299, -0.169, 0.933),
        "P": (0.189, 2.081, -1.628, 0.421, -1.392),
        "Q": (0.931, -0.179, -3.005, -0.503, -1.853),
        "R": (1.538, -0.055, 1.502, 0.440, 2.897),
        "S": (-0.228, 1.399, -4.760, 0.670, -2.647),
        "T": (-0.032, 0.326, 2.213, 0.908, 1.313),
        "V": (-1.337, -0.279, -0.544, 1.242, -1.262),
        "W": (-0.595, 0.009, 0.672, -2.128, -0.184),
        "Y": (0.260, 0.830, 3.097, -0.838, 1.512),
    }
)
"""Factor scores of 54 measured attributes: Atchley, Zhao, Fernandes and Drüke (2005), PNAS 102(18), table 2."""

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


def peptide_features(peptides: list[str]) -> Float[np.ndarray, "n d"]:
    """The five factors of every residue, position by position.

    Args:
        peptides: Sequences of one length `L` in the letters of the twenty amino acids.

    Returns:
        Shape `(n, 5 L)`.

    Raises:
        ValueError: if a letter is unknown or the lengths differ.
    """
    lengths = {len(peptide) for peptide in peptides}
    unknown = set("".join(peptides)) - set(FACTORS)
    if len(lengths) != 1 or unknown:
        raise ValueError(f"peptides: expected one length of known residues, got lengths {lengths}, unknown {unknown}")
    scores = np.zeros((128, len(FACTOR_NAMES)))
    for letter, factors in FACTORS.items():
        scores[ord(letter)] = factors
    letters = np.frombuffer("".join(peptides).encode("ascii"), dtype=np.uint8)
    return scores[letters].reshape(len(peptides), -1)


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
        common = ", ".join(repr(allele) for allele, _ in alleles.most_common(5))
        hint = did_you_mean(wanted, alleles, f"there are {common} and others", n=5, cutoff=0.5)
        raise ValueError(f"allele: expected one of {len(alleles)} alleles, got {wanted!r}; {hint}")
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
