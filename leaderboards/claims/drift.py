"""Claims of Bogunovic, Scarlett and Cevher on functions that drift, and of the papers on forgetting after them.

All rows have a width of 2, so that they differ in what they forget. `TV-GP-UCB` is told a rate of drift of 0.01, which
is true on the task `drift 0.01` alone; `TV-GP-UCB, 0.001` is told 0.001. The paper's experiments are on grids of 2,500
arms and on data that are not public; these tasks have 200 arms.
"""

from __future__ import annotations

import numpy as np

from leaderboards.claims.claim import Claim
from leaderboards.claims.contexts import exponents
from leaderboards.claims.measures import Measure, more_regret
from leaderboards.claims.runs import Runs
from leaderboards.score.statistics import Interval, mean_interval, paired_difference

__all__ = ["CLAIMS"]

_FAST, _SLOW, _STILL, _JUMPS = "drift 0.01", "drift 0.001", "no drift", "change points"


def _exponent(row: str) -> Measure:
    def measure(runs: Runs) -> Interval:
        return mean_interval(exponents(runs.column(row, "regret", runs.together(row)), share=0.5))

    return measure


def _average_on(row: str, a: str, b: str) -> Measure:
    """Difference of the average regrets of a row on two tasks, over their mean on the second."""

    def measure(runs: Runs) -> Interval:
        both = runs.together(f"{row}@{a}", f"{row}@{b}")
        x, y = (runs.column(f"{row}@{task}", "regret", both).mean(axis=1) for task in (a, b))
        unit = float(np.mean(y))
        return paired_difference(x / unit, y / unit)

    return measure


def _less(name: str, a: str, b: str, task: str, source: str, text: str, paper: str = "", quick: bool = False) -> Claim:
    return Claim(
        name,
        source,
        text,
        f"cumulative regret of {a} less that of {b}, over the latter's mean ({task})",
        more_regret(f"{a}@{task}", f"{b}@{task}"),
        high=0.0,
        paper=paper,
        quick=quick,
    )


CLAIMS: tuple[Claim, ...] = (
    _less(
        "tv-beats-gp-ucb",
        "TV-GP-UCB",
        "GP-UCB",
        _FAST,
        "section 5; abstract",
        "TV-GP-UCB significantly outperforms GP-UCB where the function drifts.",
        quick=True,
    ),
    _less(
        "tv-beats-gp-ucb-slow",
        "TV-GP-UCB, 0.001",
        "GP-UCB",
        _SLOW,
        "section 5",
        "TV-GP-UCB outperforms GP-UCB where the function drifts slowly.",
    ),
    _less(
        "r-beats-gp-ucb",
        "R-GP-UCB",
        "GP-UCB",
        _FAST,
        "section 5; abstract",
        "R-GP-UCB significantly outperforms GP-UCB where the function drifts.",
    ),
    _less(
        "tv-beats-r",
        "TV-GP-UCB",
        "R-GP-UCB",
        _FAST,
        "section 5; abstract",
        "Gradual forgetting does better than sharp resetting.",
    ),
    _less(
        "gp-ucb-beats-tv-without-drift",
        "GP-UCB",
        "TV-GP-UCB",
        _STILL,
        "section 3",
        "Forgetting costs regret where the function stays as it is: GP-UCB does better than TV-GP-UCB.",
    ),
    Claim(
        "regret-is-linear",
        "Theorem 4.1",
        "Where the function drifts, the regret of every policy is linear in t.",
        "power of t with which the cumulative regret of TV-GP-UCB grows, over the last half of the run",
        _exponent(f"TV-GP-UCB@{_FAST}"),
        low=0.9,
        high=1.15,
    ),
    Claim(
        "faster-drift-costs-more",
        "Theorem 4.3",
        "The average regret R_t / t is larger where the function drifts faster.",
        "average regret at a rate of 0.01, by TV-GP-UCB told so, less that at 0.001 of the same, over the latter",
        _average_on("TV-GP-UCB, 0.001", _FAST, _SLOW),
        low=0.0,
        note="The row is the one that is told 0.001.",
    ),
    _less(
        "window-beats-gp-ucb",
        "SW-GP-UCB",
        "GP-UCB",
        _JUMPS,
        "section 4",
        "A sliding window does better than GP-UCB where the function changes.",
        "zhou-shroff",
    ),
    _less(
        "restarts-beat-gp-ucb",
        "R-GP-UCB",
        "GP-UCB",
        _JUMPS,
        "section 4",
        "Restarts do better than GP-UCB where the function changes.",
        "zhou-shroff",
    ),
    _less(
        "weights-beat-gp-ucb",
        "WGP-UCB",
        "GP-UCB",
        _JUMPS,
        "abstract",
        "Weights that fade do better than GP-UCB where the function changes.",
        "deng",
    ),
    _less(
        "weights-beat-window",
        "WGP-UCB",
        "SW-GP-UCB",
        _FAST,
        "abstract",
        "Weights that fade do better than a sliding window where the function drifts.",
        "deng",
    ),
)
