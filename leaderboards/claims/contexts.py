"""Claims of Krause and Ong on contextual Gaussian-process bandits.

| row | what it is |
|---|---|
| `GP-UCB` | CGP-UCB: the largest upper bound among the arms offered, with a width of 2 |
| `GP-UCB, theory` | the same with the width of Chowdhury and Gopalan (2017), in place of the paper's Theorem 1 |
| `GP-UCB, context ignored` | the same as `GP-UCB`, with a kernel of the action alone |

Their experiments are on data that are not public; these tasks are drawn, and of known norm.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from leaderboards.claims.claim import ALIKE, Claim
from leaderboards.claims.measures import Measure, more_regret
from leaderboards.claims.runs import Runs
from leaderboards.score.statistics import Interval, mean_interval, paired_difference

__all__ = ["CLAIMS", "exponents", "regret_exponent"]

_TASKS = ("8 contexts", "8 contexts, sum")
_LIKE = 0.2


def exponents(regret: Float[np.ndarray, "n T"], share: float = 0.9) -> Float[np.ndarray, " n"]:
    """Power of t with which the cumulative regret of each run grows, over the last `share` of it, by least squares."""
    T = regret.shape[1]
    first = T - round(share * T)
    x = np.log(np.arange(first + 1, T + 1))
    y = np.log(np.maximum(np.cumsum(regret, axis=1)[:, first:], 1e-12))
    x -= x.mean()
    slopes: np.ndarray = (y @ x) / (x @ x)
    return slopes


def regret_exponent(row: str, share: float = 0.9) -> Measure:
    """`exponents` of a row."""

    def measure(runs: Runs) -> Interval:
        return mean_interval(exponents(runs.column(row, "regret", runs.together(row)), share), runs.level)

    return measure


def _more_growth(a: str, b: str) -> Measure:
    def measure(runs: Runs) -> Interval:
        both = runs.together(a, b)
        x, y = (exponents(runs.column(row, "regret", both)) for row in (a, b))
        return paired_difference(x, y, runs.level)

    return measure


CLAIMS: tuple[Claim, ...] = (
    *(
        Claim(
            f"context-pays-{name}",
            "abstract",
            f"CGP-UCB has less contextual regret than GP-UCB that ignores the context ({task}).",
            "cumulative contextual regret of GP-UCB less that of the form that ignores the context, over the latter's",
            more_regret(f"GP-UCB@{task}", f"GP-UCB, context ignored@{task}"),
            high=0.0,
            alike=ALIKE,
            quick=name == "product",
            note="The paper shows it on data that are not public (section 6); these functions are drawn, and ours.",
        )
        for name, task in zip(("product", "sum"), _TASKS, strict=True)
    ),
    *(
        Claim(
            f"sublinear-{name}",
            "Theorem 1",
            f"The contextual regret of CGP-UCB with a proven width is sublinear ({task}).",
            "power of t with which the cumulative contextual regret grows, over the last 90 % of the run",
            regret_exponent(f"GP-UCB, theory@{task}"),
            high=1.0,
        )
        for name, task in zip(("product", "sum"), _TASKS, strict=True)
    ),
    *(
        Claim(
            f"grows-like-gp-ucb{'-theory' if row != 'GP-UCB' else ''}",
            "Theorem 1",
            f"Contextual regret grows like the regret of GP-UCB on as many arms: contexts cost no rate ({row}).",
            f"power of t of the contextual regret less that of GP-UCB's regret without contexts; within {_LIKE}",
            _more_growth(f"{row}@8 contexts", f"{row}@no contexts"),
            low=-_LIKE,
            high=_LIKE,
            note="The bounds of both are `sqrt(T gamma_T beta_T)` of the same kernel. A run without contexts may find "
            "its one optimum within the horizon, and then has no further regret; with contexts there are eight.",
        )
        for row in ("GP-UCB, theory", "GP-UCB")
    ),
)
