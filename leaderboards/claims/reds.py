"""Claims of Salgia, Vakili and Zhao (2024), Random exploration in Bayesian optimization."""

from __future__ import annotations

import math

from leaderboards.claims.claim import ALIKE_LOG10, Claim
from leaderboards.claims.measures import faster, more_regret

__all__ = ["CLAIMS"]

_ABOVE_ZERO = math.nextafter(0.0, 1.0)
_TASKS = {"BPEF1": "2,500 arms", "RKHS, d = 2": "20,000 arms", "RKHS, d = 3": "200,000 arms"}
_TEXT = "The paper's text could not be consulted beyond its abstract and summaries of it; the tasks are ours."


def _on(task: str, size: str) -> tuple[Claim, ...]:
    name = size.replace(" arms", "").replace(",", "")

    def row(agent: str) -> str:
        return f"{agent}@{task}"

    return (
        Claim(
            f"shrinking-{name}",
            "abstract",
            f"Random exploration with domain shrinking has sublinear regret ({size}).",
            "relative difference of the cumulative regret, REDS against Uniform",
            more_regret(row("REDS"), row("Uniform")),
            high=-0.5,
            quick=task == "BPEF1",
            note="Sublinear is read as at most half of the regret of drawing from all arms to the end.",
        ),
        Claim(
            f"as-by-variance-{name}",
            "abstract",
            f"Random samples explore as well as those of largest variance ({size}).",
            "relative difference of the cumulative regret, REDS against BPE",
            more_regret(row("REDS"), row("BPE")),
            high=0.25,
            note="As well is read as at most 25 % more regret than BPE, which differs in nothing else.",
        ),
        Claim(
            f"similar-regret-{name}",
            "section on experiments",
            f"The regret is similar to that of the state of the art ({size}).",
            "relative difference of the cumulative regret, REDS against GP-UCB",
            more_regret(row("REDS"), row("GP-UCB")),
            high=0.25,
            note=f"Similar is read as at most 25 % more. {_TEXT} Tried on 2,500 and 20,000 arms: T = 10,000, where the "
            "ratio is larger still, as GP-UCB's regret hardly grows any more; a width of 1, which leaves it on the "
            "first and with which GP-UCB fails in some runs on the second. BPE is as far from GP-UCB: this is the "
            "price of exploring in a few batches, not of drawing at random.",
        ),
        Claim(
            f"less-time-{name}",
            "abstract",
            f"Random exploration takes less time than exploration by the variance ({size}).",
            "log10 of the seconds of BPE over those of REDS",
            faster(row("REDS"), row("BPE")),
            low=_ABOVE_ZERO,
            alike=ALIKE_LOG10,
        ),
        Claim(
            f"speed-{name}",
            "section on experiments",
            f"It is faster by orders of magnitude than policies that maximise an acquisition function ({size}).",
            "log10 of the seconds of GP-UCB over those of REDS",
            faster(row("REDS"), row("GP-UCB")),
            low=1.0,
            note="Orders of magnitude, up to a hundred times, is read as at least ten. On finite arms GP-UCB takes a "
            "maximum of the posterior that it keeps, and searches no box.",
        ),
    )


CLAIMS: tuple[Claim, ...] = tuple(claim for task, size in _TASKS.items() for claim in _on(task, size))
