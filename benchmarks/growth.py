"""How time and memory of the finite-arm policies grow with arms A, horizon T and effective dimension d_eff.

    python -m benchmarks.growth [--policy NAME] [--seconds 4] [--out benchmarks/measured]

One size doubles, the others stay; the exponent is the slope of the log-log line through the largest sizes that a run
takes at most `--seconds` for. Every run has a process of its own, whose CPU time in the policy and whose peak of
resident memory over its start are measured. Writes `measurements.csv`, `exponents.csv` and `exponents.png`, with the
exponents that the papers prove beside.

Left out are the policies that fit hyperparameters as they go: their cost is that of the fits.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import linregress
from threadpoolctl import threadpool_limits

import agents
from agents import Feedback, Pending
from gpbandit_envs.gp import SE
from gpbandit_envs.problem import Problem

NOISE, DIM, CLOSEST = 0.1, 2, 3  # the slope goes through at most so many of the largest sizes, and one more


@dataclass(frozen=True)
class Size:
    """One problem: `A` arms uniform in the unit square, `T` evaluations, an SE kernel whose lengthscale sets d_eff."""

    A: int = 2_000
    T: int = 500
    lengthscale: float = 0.2


AXES: Mapping[str, tuple[Size, ...]] = {
    "A": tuple(Size(A=A) for A in (1_000, 2_000, 4_000, 8_000, 16_000, 32_000)),
    "T": tuple(Size(T=T) for T in (125, 250, 500, 1_000, 2_000, 4_000)),
    "d_eff": tuple(Size(lengthscale=scale) for scale in (0.8, 0.4, 0.2, 0.1, 0.05)),
}

_CUBIC = {("A", "seconds"): 1, ("T", "seconds"): 3, ("A", "bytes"): 1, ("T", "bytes"): 1}
_BBKB = {("A", "seconds"): 1, ("T", "seconds"): 1, ("d_eff", "seconds"): 2, ("A", "bytes"): 1, ("d_eff", "bytes"): 2}
PROVED: Mapping[str, Mapping[tuple[str, str], int]] = {
    # Calandriello et al. (2019), abstract and section 1: O(A t^2) time a step and O(A t) space.
    "GP-UCB": _CUBIC,
    # Calandriello et al. (2020), section 4: batch policies share GP-UCB's time.
    "GP-BUCB": _CUBIC,
    "GP-AUCB": _CUBIC,
    # Calandriello et al. (2019), abstract: O(T A d_eff^2) time, O(A d_eff) space, for T up to A.
    "BKB": _BBKB | {("d_eff", "bytes"): 1},
    # Calandriello et al. (2020), section 1 and Theorem 1: near-linear in T, O(A d_eff^2) space.
    "BBKB": _BBKB,
    "BBKB-GlobalLocal": _BBKB,
}


def policies() -> list[str]:
    """Policies on finite arms that fit no hyperparameters."""
    capabilities = {name: agents.make(name).capabilities for name in agents.registered()}
    return [
        name
        for name, c in capabilities.items()
        if "finite" in c.domains and ("kernel" in c.needs or "box" not in c.domains)
    ]


def make_problem(size: Size) -> tuple[Problem, np.ndarray]:
    """The problem and the means."""
    X = np.random.default_rng(0).random((size.A, DIM))
    mean = np.sin(5 * X[:, 0]) * np.cos(4 * X[:, 1])
    problem = Problem(
        name="growth", dim=DIM, arms=X, kernel=SE(size.lengthscale), noise_std=NOISE, norm_bound=1.0, horizon=size.T
    )
    return problem, mean


def play(name: str, size: Size) -> dict[str, float]:
    """Let the policy play; its CPU seconds, the peak of resident memory above the start, and d_eff of its pulls."""
    problem, mean = make_problem(size)
    agent, rng, seconds = agents.make(name), np.random.default_rng(1), 0.0
    adaptive, nothing, pulled = agent.capabilities.batch == "adaptive", Pending.empty(problem), np.zeros(0, np.int64)
    before = _resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts here
    start = time.process_time()
    agent.reset(problem, np.random.default_rng(2))
    seconds += time.process_time() - start
    while len(pulled) < size.T:
        start = time.process_time()
        arms = agent.select(size.T - len(pulled) if adaptive else 1, nothing)
        seconds += time.process_time() - start
        tickets = np.arange(len(pulled), len(pulled) + len(arms))
        feedback = Feedback.of(tickets, arms, mean[arms] + NOISE * rng.standard_normal(len(arms)))
        start = time.process_time()
        agent.observe(feedback)
        seconds += time.process_time() - start
        pulled = np.concatenate([pulled, arms])
    peak = _resident("VmHWM") - before
    return {"seconds": seconds, "bytes": max(peak, 1.0), "d_eff": effective_dimension(problem, pulled)}


def effective_dimension(problem: Problem, pulled: np.ndarray) -> float:
    """`Tr(K_t (K_t + lam I)^-1)`."""
    assert problem.arms is not None
    assert problem.kernel is not None
    arms, n = np.unique(pulled, return_counts=True)
    K = problem.kernel(problem.arms[arms], problem.arms[arms]) * np.sqrt(n[:, None] * n)
    values = np.maximum(np.linalg.eigvalsh(K), 0.0)
    return float((values / (values + NOISE**2)).sum())


def _resident(field: str) -> float:
    """Bytes, as this process's status states them; Linux only."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024.0 * next(float(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def _child(name: str, size: Size, pipe: Any) -> None:
    with threadpool_limits(1):
        play(name, Size(A=50, T=10))  # imports, and whatever is set up once
        pipe.send(play(name, size))


def measured(name: str, size: Size, limit: float) -> dict[str, float] | None:
    """`play` in a process of its own; None if it takes longer than three times the limit."""
    context = multiprocessing.get_context("spawn")  # a fork would have this one's free memory, and need no more
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(name, size, theirs))
    child.start()
    theirs.close()
    try:
        return ours.recv() if ours.poll(3 * limit + 5) else None
    finally:
        child.terminate()
        child.join()


def measurements(names: list[str], limit: float) -> Iterator[dict[str, Any]]:
    """One row a run; an axis ends with the first run beyond the limit."""
    for name in names:
        for axis, sizes in AXES.items():
            for size in sizes:
                found = measured(name, size, limit)
                if found is None:
                    break
                value = found["d_eff"] if axis == "d_eff" else getattr(size, axis)
                yield {"policy": name, "axis": axis, **vars(size), **found, "size": value}
                if found["seconds"] > limit:
                    break


def exponents(rows: pd.DataFrame) -> pd.DataFrame:
    """Slopes of the log-log lines through the largest sizes, with standard errors."""
    found = []
    for (name, axis), group in rows.groupby(["policy", "axis"], sort=False):
        largest = group.sort_values("size").tail(CLOSEST + 1)
        for what in ("seconds", "bytes"):
            if len(largest) < CLOSEST:
                continue
            line = linregress(np.log(largest["size"]), np.log(largest[what]))
            proved = PROVED.get(str(name), {}).get((str(axis), what))
            found.append((name, axis, what, line.slope, line.stderr, proved, len(largest)))
    return pd.DataFrame(found, columns=["policy", "axis", "quantity", "exponent", "stderr", "proved", "sizes"])


def draw(table: pd.DataFrame, path: Path) -> None:
    """Measured exponents with their standard errors, and crosses where a paper proves one."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt
    import seaborn as sns

    sns.set_theme(context="paper", style="whitegrid")
    names = list(dict.fromkeys(table["policy"]))
    figure, axes = plt.subplots(2, len(AXES), figsize=(9, 0.5 * len(names) + 2), sharex=True, sharey=True)
    for row, (what, title) in zip(axes, (("seconds", "time"), ("bytes", "memory"))):
        for panel, axis in zip(row, AXES):
            part = table[(table["axis"] == axis) & (table["quantity"] == what)]
            y = [names.index(name) for name in part["policy"]]
            panel.errorbar(part["exponent"], y, xerr=2 * part["stderr"], fmt="o", ms=4, color=sns.color_palette()[0])
            panel.scatter(part["proved"], y, marker="x", color=sns.color_palette()[3], zorder=3)
            panel.set(title=f"{title}, in {axis}", yticks=range(len(names)), yticklabels=names, xlim=(-0.6, 3.4))
    axes[0, 0].invert_yaxis()
    figure.supxlabel("exponent: measured (dot, two standard errors) and proved (cross)")
    figure.tight_layout()
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", action="append", help="only these")
    parser.add_argument("--seconds", type=float, default=4.0, help="CPU seconds that a run may take")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "measured")
    arguments = parser.parse_args()
    rows = []
    for row in measurements(arguments.policy or policies(), arguments.seconds):
        rows.append(row)
        print(
            f"{row['policy']}, {row['axis']} = {row['size']:.4g}: {row['seconds']:.3f} s, {row['bytes'] / 1e6:.1f} MB",
            flush=True,
        )
    arguments.out.mkdir(parents=True, exist_ok=True)
    frame = pd.DataFrame(rows)
    frame.round(4).to_csv(arguments.out / "measurements.csv", index=False)
    table = exponents(frame)
    table.round(3).to_csv(arguments.out / "exponents.csv", index=False)
    draw(table, arguments.out / "exponents.png")
    print(table.round(2).to_string(index=False))


if __name__ == "__main__":
    main()
