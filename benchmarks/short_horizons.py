"""Which policy for eighty experiments: `agents.Experiment` and its default on tables of real measurements.

Ten batches of eight out of each table, every candidate once, nothing known beforehand. What is measured is the simple
regret of the best candidate so far, by its mean in the table, over the spread: 0 is the best candidate of the table, 1
an average one. Called as

    python -m benchmarks.short_horizons --repetitions 20

The data sets are fetched at first use, as by `gpbandit data fetch`.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

import agents
from gpbandit_envs import datasets
from gpbandit_envs.datasets.table import Table

BATCH, BATCHES = 8, 10
TABLES: tuple[tuple[str, dict[str, object]], ...] = (
    ("DirectArylation", {}),
    ("CrossedBarrel", {}),
    ("OERPlates", {"plate": 3496}),
    ("OERPlates", {"plate": 3860}),
)
FLAT = {"name": "flat"}
SETTINGS: dict[str, tuple[str, Mapping[str, Any]]] = {
    "MAP-BUCB, the default": ("MAP-BUCB", {}),
    "width 0.5": ("MAP-BUCB", {"width": 0.5}),
    "width 1.96": ("MAP-BUCB", {"width": 1.96}),
    "16 random first": ("MAP-BUCB", {"n_initial": 16}),
    "squared exponential": ("MAP-BUCB", {"family": "se"}),
    "mixture": ("agents.learned.gp_bucb:MixtureBUCB", {}),
    "flat priors": ("MAP-BUCB", {"prior": {"variance": FLAT, "noise": FLAT, "lengthscale": FLAT}}),
    "GP-BUCB, SE of lengthscale 0.5": (
        "GP-BUCB",
        {"kernel": {"name": "se", "lengthscale": 0.5}, "lam": 0.01, "width": 1.0, "batch_size": BATCH},
    ),
    "Random": ("Random", {}),
}


def regrets(table: Table, agent: tuple[str, Mapping[str, Any]], seed: int) -> np.ndarray:
    """Simple regret over the spread after each batch, shape (BATCHES,)."""
    frame = pd.DataFrame(table.features, columns=list(table.feature_names))
    # A policy with a given kernel needs outcomes of about mean 0 and variance 1; the others do not care.
    centre, scale = float(table.mean.mean()), float(table.mean.std())
    lab = agents.Experiment(frame, agent, seed=seed)
    noise, best, found = np.random.default_rng(1_000 + seed), -np.inf, []
    rows = {tuple(row): i for i, row in enumerate(table.features.tolist())}
    for _ in range(BATCHES):
        for point in lab.ask(BATCH):
            arm = rows[tuple(point.values())]
            replicates = table.values[arm][~np.isnan(table.values[arm])]
            lab.tell(point, (float(noise.choice(replicates)) - centre) / scale)
            best = max(best, float(table.mean[arm]))
        found.append(best)
    return (table.mean.max() - np.array(found)) / (table.mean.max() - centre)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument(
        "policies", nargs="*", metavar="policy", help=f"among {', '.join(SETTINGS)}; all of them if none"
    )
    chosen = parser.parse_args()
    repetitions = chosen.repetitions
    for label in chosen.policies:
        if label not in SETTINGS:
            parser.error(f"policy: expected one of {', '.join(SETTINGS)}, got {label!r}")
    print("| policy | " + " | ".join(" ".join([name, *map(str, options.values())]) for name, options in TABLES) + " |")
    print("|---|" + "---|" * len(TABLES))
    for label in chosen.policies or SETTINGS:
        cells, agent = [], SETTINGS[label]
        for name, options in TABLES:
            table = datasets.load(name, **options)
            each = np.array([regrets(table, agent, seed) for seed in range(repetitions)])
            half, whole = each[:, BATCHES // 2 - 1], each[:, -1]
            error = whole.std(ddof=1) / np.sqrt(repetitions) if repetitions > 1 else float("nan")
            cells.append(f"{half.mean():.3f}, {whole.mean():.3f} ± {error:.3f}")
        print(f"| {label} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
