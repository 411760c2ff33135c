"""What intervals of mean scores cover: on these tasks, and on tasks like these.

    python -m benchmarks.wide_boards

prints the table of `docs/robustness.md`. A board has E tasks with n repetitions; the score of an agent is that of the
task, plus noise of standard deviation 1 in each repetition. Tasks are drawn anew for each board; the mean over all
tasks that could be drawn is known, and counted is how often an interval holds it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from leaderboards.score.statistics import Interval, mean_interval, stratified_means

Draw = Callable[[np.random.Generator, int], np.ndarray]

TASKS: dict[str, Draw] = {
    "normal, sd 0.3": lambda rng, E: 0.3 * rng.standard_normal(E),
    "normal, sd 1": lambda rng, E: rng.standard_normal(E),
    "exponential, sd 1": lambda rng, E: rng.exponential(size=E) - 1.0,
    "one in ten of size 4": lambda rng, E: 4.0 * (rng.random(E) < 0.1) - 0.4,
    "lognormal, sigma 1": lambda rng, E: rng.lognormal(0, 1, E) - np.exp(0.5),
    "one in twenty of size 10": lambda rng, E: 10.0 * (rng.random(E) < 0.05) - 0.5,
}
"""Scores of tasks about their mean, which is 0."""


def coverage(draw: Draw, E: int, n: int, boards: int, rng: np.random.Generator) -> tuple[float, float]:
    """Share of boards whose wide interval holds the mean over all tasks, and share of those whose narrow one does."""
    held = np.zeros(2)
    for _ in range(boards):
        strata = list(draw(rng, E)[:, None] + rng.standard_normal((E, n)))
        wide = mean_interval(np.array([x.mean() for x in strata]))
        found: tuple[Interval, Interval] = wide, stratified_means([x[:, None] for x in strata])[0]
        held += [0.0 in one for one in found]
    return float(held[0] / boards), float(held[1] / boards)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boards", type=int, default=2_000)
    boards = parser.parse_args().boards
    print("| scores of tasks | tasks | repetitions | on tasks like these | on these tasks |")
    print("|---|---:|---:|---:|---:|")
    for name, draw in TASKS.items():
        for E in (6, 10, 18, 28):
            for n in (5, 10) if E == 28 else (10,):
                wide, narrow = coverage(draw, E, n, boards, np.random.default_rng([E, n]))
                print(f"| {name} | {E} | {n} | {wide:.1%} | {narrow:.1%} |")


if __name__ == "__main__":
    main()
