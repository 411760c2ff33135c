"""FC-Net: 62,208 configurations of a two-layer network on four regression tasks."""

from __future__ import annotations

import numpy as np

from gpbandit_envs.datasets.data_set import Card
from gpbandit_envs.datasets.hpo_tables import Factor, grid_data_set, pinned_pickles

__all__ = ["FCNET"]

_UNITS = (4.0, 5.0, 6.0, 7.0, 8.0, 9.0)
_FACTORS = (
    Factor("activation_1_is_tanh", (0.0, 1.0)),
    Factor("activation_2_is_tanh", (0.0, 1.0)),
    Factor("log2_batch_size", (3.0, 4.0, 5.0, 6.0)),
    Factor("dropout_1", (0.0, 0.3, 0.6)),
    Factor("dropout_2", (0.0, 0.3, 0.6)),
    Factor("log10_initial_learning_rate", tuple(np.log10([5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 1e-1]).tolist())),
    Factor("schedule_is_constant", (0.0, 1.0)),
    Factor("log2_units_1", _UNITS),
    Factor("log2_units_2", _UNITS),
)
_FILES = {
    "protein-structure": "protein_structure",
    "slice-localization": "slice_localization",
    "naval-propulsion": "naval_propulsion",
    "parkinsons-telemonitoring": "parkinsons_telemonitoring",
}

CARD = Card(
    name="FCNet",
    title="Validation loss of 62,208 configurations of a two-layer network on four regression tasks, four seeds each",
    shape=(62_208, 9),
    columns=tuple(factor.name for factor in _FACTORS),
    target="negative natural logarithm of the validation loss",
    licence="Apache-2.0 (package)",
    citation=(
        "A. Klein and F. Hutter (2019). Tabular benchmarks for joint architecture and hyperparameter optimization. "
        "arXiv:1905.04970"
    ),
    files=pinned_pickles(
        "hpolib",
        8_834_913,
        {
            "protein_structure": "583e6b45d18d1cd38dc2d823f3567724d92e451694fe82c5c89f80790a5ec620",
            "slice_localization": "9b454266def7d64d38138def520c39017513e748c0ba73be51e9925000332ff1",
            "naval_propulsion": "4d10de47056702a57cf8c0cef19088c1ce830a8eba9175ea5983aa5785256fe4",
            "parkinsons_telemonitoring": "7299fbec18a74f27f3af5355b633cf9854f34ca0569a4fd85fa13d470e722b9d",
        },
    ),
    options={"dataset": tuple(_FILES)},
    notes=(
        "Four true replicates of each arm; the optimum is the largest mean of the values, so of the logarithms: the "
        "losses of one table span twelve orders of magnitude. Sizes and rates enter as logarithms, activations "
        "(relu 0, tanh 1) and schedule (cosine 0, constant 1) as bits. Costs are mean training times. Neighbours "
        "differ in one hyperparameter by one level."
    ),
)

FCNET = grid_data_set(
    CARD, _FACTORS, "val_loss", lambda loss: -np.log(loss), {name: f"{stem}.pkl" for name, stem in _FILES.items()}
)
