"""Claims of Krause and Ong on contextual Gaussian-process bandits.

| row | what it is |
|---|---|
| `GP-UCB` | CGP-UCB: the largest upper bound among the arms offered, with a width of 2 |
| `GP-UCB, theory` | the same with the width of Chowdhury and Gopalan (2017), in place of the paper's Theorem 1 |
| `GP-UCB, context ignored` | the same as `GP-UCB`, with a kernel of the action alone |

Their experiments are on data that are not public; these tasks are drawn, and of known norm.
"""

from __future__ import annotations

from leaderboards.claims.claim import LESS, Claim, Range, within
from leaderboards.claims.measures import exponents, more_regret, of_runs, regret_exponent
from leaderboards.score.statistics import paired_difference

_TASKS = {"product": "8 contexts", "sum": "8 contexts, sum"}
_LIKE = 0.2


def _pays(name: str, task: str) -> Claim:
    said = f"CGP-UCB has less contextual regret than GP-UCB that ignores the context ({task})."
    text = "cumulative contextual regret of GP-UCB less that of the form that ignores the context, over the latter's"
    figure = more_regret(f"GP-UCB@{task}", f"GP-UCB, context ignored@{task}", text=text)
    note = "The paper shows it on data that are not public (section 6); these functions are drawn, and ours."
    return Claim(f"context-pays-{name}", "abstract", said, figure, LESS, quick=name == "product", note=note)


def _sublinear(name: str, task: str) -> Claim:
    said = f"The contextual regret of CGP-UCB with a proven width is sublinear ({task})."
    text = "power of t with which the cumulative contextual regret grows, over the last 90 % of the run"
    figure = regret_exponent(text, f"GP-UCB, theory@{task}")
    return Claim(f"sublinear-{name}", "Theorem 1", said, figure, Range(high=1.0))


def _as_without(row: str) -> Claim:
    text = f"power of t of the contextual regret less that of GP-UCB's regret without contexts; within {_LIKE}"
    return Claim(
        f"grows-like-gp-ucb{'-theory' if row != 'GP-UCB' else ''}",
        "Theorem 1",
        f"Contextual regret grows like the regret of GP-UCB on as many arms: contexts cost no rate ({row}).",
        of_runs(text, paired_difference, exponents, f"{row}@8 contexts", f"{row}@no contexts"),
        within(_LIKE),
        scope="ours",
        note="The bounds of both are `sqrt(T gamma_T beta_T)` of the same kernel. A run without contexts may find its "
        "one optimum within the horizon, and then has no further regret; with contexts there are eight.",
    )


CLAIMS: tuple[Claim, ...] = (
    *(_pays(name, task) for name, task in _TASKS.items()),
    *(_sublinear(name, task) for name, task in _TASKS.items()),
    *map(_as_without, ("GP-UCB, theory", "GP-UCB")),
)
