"""HPOBench's multi-layer perceptron: 30,000 configurations on eight classification tasks."""

from __future__ import annotations

import numpy as np

from gpbandit_envs.datasets.data_set import Card
from gpbandit_envs.datasets.hpo_tables import Factor, grid_data_set, pinned_pickles

__all__ = ["HPOBENCH_MLP"]

# Ten values evenly spaced in the logarithm; the benchmark then rounds the whole numbers down.
_ALPHA = tuple(np.linspace(-8.0, 0.0, 10).tolist())
_RATE = tuple(np.linspace(-5.0, 0.0, 10).tolist())
_BATCH = tuple(np.log2([4, 6, 10, 16, 25, 40, 64, 101, 161, 256]).tolist())
_WIDTH = tuple(np.log2([16, 25, 40, 64, 101, 161, 256, 406, 645, 1024]).tolist())
_FACTORS = (
    Factor("log10_alpha", _ALPHA),
    Factor("log2_batch_size", _BATCH),
    Factor("depth", (1.0, 2.0, 3.0)),
    Factor("log10_initial_learning_rate", _RATE),
    Factor("log2_width", _WIDTH),
)
_PINS = {
    "australian": "9e218898ba8a937f405a25c7b333342b5152bd14ad173218aeae8f2334de1b91",
    "blood_transfusion": "47596acae26fca5803ddb049b02a8dec0c9d999f5618a67f3fe3bc0c24dfad4c",
    "car": "6c348ed056869f8dcc991b498f758e043435eb9ece5b9872940a365fc7940819",
    "credit_g": "97cf95dbead6c11004469e3bc3ee7396ce29b088128b6d3a031d4a9d0318494d",
    "kc1": "c682823ca58c308f2c0ac64430dda6941bbccc6a55c6abccdacbd62a811bb3d9",
    "phoneme": "2e8b9cb0a2726968dd185a4824f14c288c5625a281438550b0d4a46ba2549302",
    "segment": "a6db9d0fbf921a1cda604c376282465f683c8c7a6467eff12aa73260f62a83b5",
    "vehicle": "12cf1793f7860457bf3da149aa3a5b69c9c8e2872181f44162e9858590f35992",
}

CARD = Card(
    name="HPOBenchMLP",
    title="Balanced accuracy of 30,000 configurations of a perceptron on eight classification tasks, five seeds each",
    shape=(30_000, 5),
    columns=tuple(factor.name for factor in _FACTORS),
    target="balanced validation accuracy (0 to 1)",
    licence="Apache-2.0 (package)",
    citation=(
        "K. Eggensperger et al. (2021). HPOBench: a collection of reproducible multi-fidelity benchmark problems for "
        "HPO. NeurIPS Datasets and Benchmarks"
    ),
    files=pinned_pickles("hpobench", 6_480_998, _PINS),
    options={"dataset": tuple(name.replace("_", "-") for name in _PINS)},
    notes=(
        "Five true replicates of each arm; the optimum is the largest mean over them. Sizes, rates and the L2 penalty "
        "alpha enter as logarithms. Costs are mean training times. Neighbours differ in one hyperparameter "
        "by one level."
    ),
)

HPOBENCH_MLP = grid_data_set(
    CARD, _FACTORS, "val_acc", lambda accuracy: accuracy, {name.replace("_", "-"): f"{name}.pkl" for name in _PINS}
)
