"""What the rule for stated kernels is worth: regret with the kernel by hand and by the rule, on every certified table.

The rule is that of `docs/families.md`: a kernel is fitted on the table's donors, the other members of its family in
core-v2, or for a table without a family the fifth of its rows that is set apart and never played. Both kernels are
played on the same 2,000 rows at most, drawn anew in each repetition, with the same noise: that of the rule's nugget.
Called as

    python -m benchmarks.stated_kernels --out DIR --repetitions 20

The same command goes on where it was stopped. The data sets are fetched at first use, as by `gpbandit data fetch`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import gpbandit_envs  # noqa: F401 (registers the ids)
from benchmarks.family_kernels import Donor, fit_kernel
from gpbandit_envs.envs.recipe import fixed_table
from gpbandit_envs.functions.base import set_apart
from gpbandit_envs.gp.threads import one_blas_thread
from leaderboards.api.run_suite import run_suite
from leaderboards.play.oracle import MEAN_GAP
from leaderboards.play.suite import Suite, load_suite, parse_suite
from leaderboards.store.store import Store

TABLES = (
    "Abalone",
    "Cadata",
    "CrossedBarrel",
    "DirectArylation",
    "FCNet",
    "HPLC",
    "HPOBenchMLP",
    "NASBench201",
    "Neurostimulation",
    "OERPlates",
    "Vaccine",
)
HORIZON, MOST, APART, ROWS_APART = 150, 2_000, 0.2, 500
BY_HAND, BY_RULE = "by hand", "by the rule"
AGENTS: tuple[dict[str, Any], ...] = (
    {"id": "GP-EI"},
    {"id": "GP-UCB", "label": "GP-UCB, width 2", "kwargs": {"width": 2.0}},
    {"id": "MAP-UCB"},
)


def donors_of(name: str) -> list[Donor]:
    """The tables of the same family but for the one that is played, as core-v2 has them; none without a family."""
    id = f"GPBandit/{name}-v0"
    families = [
        entry for entry in load_suite("core-v2", kernels=False).environments if entry.id == id and entry.members
    ]
    if not families:
        return []
    ((argument, members),) = families[0].members.items()
    _, played = _table(id)
    tables = [_table(id, **{argument: member}) for member in members]
    return [(X, y) for X, y in tables if not np.array_equal(y, played)]


def settings_of(name: str) -> dict[str, dict[str, Any]]:
    """Arguments of the environment with the kernel by hand and with that of the rule."""
    id, donors = f"GPBandit/{name}-v0", donors_of(name)
    rows: Any = MOST
    if donors:
        found = fit_kernel(donors)
    else:
        X, y = _table(id)
        apart, rows = set_apart(len(X), APART), {"most": MOST, "apart": APART}
        found = fit_kernel([(X[apart], y[apart])], ROWS_APART)
    ruled = {"noise": "gaussian", "rows": rows, **found.settings(with_noise=True)}
    noise_std = ruled["noise_std"] * ruled["values"]["scale"]
    return {BY_HAND: {"noise": "gaussian", "rows": rows, "noise_std": noise_std}, BY_RULE: ruled}


def suite_of(tables: tuple[str, ...], repetitions: int) -> Suite:
    """Every table with both kernels."""
    with one_blas_thread():
        environments = [
            {"id": f"GPBandit/{name}-v0", "label": f"{name}, {kernel}", "kwargs": kwargs}
            for name in tables
            for kernel, kwargs in settings_of(name).items()
        ]
    return parse_suite(
        {
            "name": "stated-kernels",
            "horizon": HORIZON,
            "repetitions": repetitions,
            "environments": environments,
            "agents": list(AGENTS),
        }
    )


def regrets(store: Store) -> dict[tuple[str, str], list[float]]:
    """Regret over the expected one of uniform draws, of every repetition, by the labels of environment and agent."""
    found: dict[tuple[str, str], list[float]] = {}
    for run, columns in store.traces(["regret"]):
        ratio = float(columns["regret"].sum()) / (run.facts[MEAN_GAP] * len(columns["regret"]))
        found.setdefault((run.spec.env.label, run.spec.agent.label), []).append(ratio)
    return found


def cell(ratios: list[float]) -> str:
    """Mean and standard error."""
    error = np.std(ratios, ddof=1) / np.sqrt(len(ratios)) if len(ratios) > 1 else float("nan")
    return f"{np.mean(ratios):.2f} ± {error:.2f}"


def _table(id: str, **kwargs: Any) -> Donor:
    """Features and means of all rows of a table."""
    # Any kernel is as good: that of an environment's own choice may be a fit of minutes.
    env = gym.make(id, kernel={"name": "se"}, **kwargs)
    found = fixed_table(env.unwrapped.recipe)  # type: ignore[attr-defined]
    assert found is not None
    return found


def main() -> None:
    """Play what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("tables", nargs="*", metavar="table", help=f"among {', '.join(TABLES)}; all of them if none")
    chosen = parser.parse_args()
    for name in chosen.tables:
        if name not in TABLES:
            parser.error(f"table: expected one of {', '.join(TABLES)}, got {name!r}")
    tables = tuple(chosen.tables) or TABLES
    run_suite(suite_of(tables, chosen.repetitions), out=chosen.out, workers=chosen.workers)
    found = regrets(Store(chosen.out))
    columns = [(agent.get("label", agent["id"]), kernel) for agent in AGENTS for kernel in (BY_HAND, BY_RULE)]
    print("| table | " + " | ".join(", ".join(column) for column in columns) + " |\n|---|" + "---|" * len(columns))
    for name in tables:
        cells = [cell(found[f"{name}, {kernel}", agent]) for agent, kernel in columns]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
