"""Which tasks can rank campaigns of a laboratory: `python -m benchmarks.lab_pilot [repetitions] [label ...]`.

A task is left out where uniform sampling is within 1.5 times the best policy after 48 evaluations, by the regret of the
recommendation, or where it evaluates an arm within a tenth of a unit of the best one in half of the campaigns by then:
nobody can be better there. Prints a line a task of lab-v1 and of those that were left out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np

from leaderboards.play.run import run_spec
from leaderboards.play.suite import EnvironmentEntry, load_suite

_Half = Literal["tuning", "held out"]

POLICIES = ("MAP-BUCB, width 1", "MAP-BUCB, width 2")
AT = 48
NEAR = 0.1
"""Regret in units below which a candidate is as good as the best."""
LEAST_RATIO, MOST_HITS = 1.5, 0.5

_SEED = 1  # not that of the suite: its repetitions have not chosen its tasks


def _rough(dim: int, length: float, short: float) -> dict[str, Any]:
    parts = [
        {"name": "se", "lengthscale": length, "variance": 0.7},
        {"name": "matern", "lengthscale": short, "nu": 0.5, "variance": 0.3},
    ]
    return {"n_arms": 500, "dim": dim, "kernel": {"name": "sum", "kernels": parts}}


_DRAWN: tuple[tuple[str, str, float, _Half, dict[str, Any]], ...] = (
    ("Cliff", "Cliff, d = 5, noise 1", 1.0, "tuning", {"dim": 5, "lengthscale": 0.6}),
    ("GPSample", "Wrong kernel, d = 3", 0.2, "held out", _rough(3, 0.5, 0.2)),
    ("GPSample", "Wrong kernel, d = 6, noise 1", 1.0, "held out", _rough(6, 0.8, 0.4)),
)
_TABLES: tuple[tuple[str, float, _Half, dict[str, tuple[Any, ...]]], ...] = (
    ("OERPlates", 1.0, "tuning", {"plate": (3496, 3851, 3860, 4098)}),
    ("HPOBenchMLP", 0.2, "held out", {"dataset": ("blood-transfusion", "kc1", "phoneme")}),
    ("Abalone", 1.0, "held out", {}),
    ("Cadata", 0.2, "held out", {}),
    ("Cadata", 1.0, "held out", {}),
)
LEFT_OUT = tuple(
    EnvironmentEntry(
        id=f"GPBandit/{name}-v0",
        label=name if noise < 1 else f"{name}, noise 1",
        half=half,
        kwargs={"untold": True, "noise_std": noise, "noise": "gaussian", "rows": 500},
        members=members,
    )
    for name, noise, half, members in _TABLES
) + tuple(
    EnvironmentEntry(
        id=f"GPBandit/{name}-v0", label=label, half=half, kwargs={"untold": True, "noise_std": noise, **kwargs}
    )
    for name, label, noise, half, kwargs in _DRAWN
)
"""Tasks that fell."""


def measured(entry: EnvironmentEntry, repetitions: int) -> tuple[dict[str, float], float]:
    """Mean regret of each agent's recommendation, and the share of campaigns in which Random comes near the best."""
    suite = load_suite("lab-v1")
    alone = entry.model_copy(update={"repetitions": repetitions})
    regrets: dict[str, list[float]] = {}
    hits = []
    for spec in suite.model_copy(update={"environments": (alone,), "seed": _SEED}).specs():
        if spec.agent.label not in ("Random", *POLICIES):
            continue
        record = run_spec(spec)
        if record.status != "done":
            raise RuntimeError(f"{spec.agent.label} on {entry.ref.label}: {record.status}, {record.reason}")
        trace = record.trace.iloc[:AT]
        regrets.setdefault(spec.agent.label, []).append(float(trace["inference_regret"].iloc[-1]))
        if spec.agent.label == "Random":
            hits.append(bool(trace["regret"].min() <= NEAR))
    return {name: float(np.mean(values)) for name, values in regrets.items()}, float(np.mean(hits))


def lines(repetitions: int, labels: Sequence[str] = ()) -> Iterator[str]:
    """A line a task, as a table in Markdown."""
    yield f"| task | half | {' | '.join(('Random', *POLICIES))} | Random / best | Random near | |"
    yield "|---|---|---|---|---|---|---|---|"
    for entry in (*load_suite("lab-v1").environments, *LEFT_OUT):
        if labels and entry.ref.label not in labels:
            continue
        regret, hits = measured(entry, repetitions)
        ratio = regret["Random"] / max(min(regret[name] for name in POLICIES), 1e-9)
        falls = ratio < LEAST_RATIO or hits > MOST_HITS
        numbers = " | ".join(f"{regret[name]:.2f}" for name in ("Random", *POLICIES))
        verdict = "falls" if falls else ""
        yield f"| {entry.ref.label} | {entry.half} | {numbers} | {min(ratio, 99.0):.1f} | {hits:.0%} | {verdict} |"


if __name__ == "__main__":
    for line in lines(int(sys.argv[1]) if len(sys.argv) > 1 else 20, sys.argv[2:]):
        print(line, flush=True)
