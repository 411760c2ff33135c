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
from gpbandit_envs.datasets.archive import open_member
from gpbandit_envs.datasets.card import Card
from gpbandit_envs.datasets.table import Table, padded

LENGTH = 9
WEAKEST_NM = 50_000.0

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

_MEMBER = "curated_training_data.no_mass_spec.csv"


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
    scores = np.zeros((128, len(FACTORS["A"])))
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


def read(card: Card, paths: Mapping[str, Path], options: Mapping[str, object]) -> Table:
    """The peptides whose binding to one molecule was measured, in alphabetical order."""
    (path,), wanted = paths.values(), str(options["allele"])
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
    affinities = [1 - np.log(found[peptide]) / np.log(WEAKEST_NM) for peptide in peptides]
    return card.table(
        peptide_features(peptides), padded(affinities, np.nan), labels=tuple(peptides), notes={"allele": wanted}
    )
