"""Claims of Salgia, Vakili and Zhao (2024), Random exploration in Bayesian optimization."""

from __future__ import annotations

import math

from leaderboards.claims.claim import ALIKE, ALIKE_LOG10, Claim
from leaderboards.claims.contexts import regret_exponent
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
            "power of t with which the cumulative regret of REDS grows, over the last 90 % of the run",
            regret_exponent(row("REDS")),
            high=1.0,
            quick=task == "BPEF1",
        ),
        Claim(
            f"as-by-variance-{name}",
            "abstract",
            f"Random samples explore as well as those of largest variance ({size}).",
            "relative difference of the cumulative regret, REDS against BPE",
            more_regret(row("REDS"), row("BPE")),
            high=ALIKE,
            note="As well is read as at most a tenth more regret than BPE; epochs of REDS double, and those of the row "
            "with the lengths of BPE's batches are as long as those.",
        ),
        Claim(
            f"as-by-variance-{name}-same-lengths",
            "abstract",
            f"Random samples explore as well as those of largest variance ({size}).",
            "relative difference of the cumulative regret, REDS against BPE",
            more_regret(row("REDS, lengths of BPE"), row("BPE")),
            high=ALIKE,
            reading="the lengths of BPE's batches",
            note="Here the two differ in nothing else.",
        ),
        Claim(
            f"similar-regret-{name}",
            "section on experiments",
            f"The regret is similar to that of the state of the art ({size}).",
            "relative difference of the cumulative regret, REDS against GP-UCB",
            more_regret(row("REDS"), row("GP-UCB")),
            high=ALIKE,
            note=f"Similar is read as at most a tenth more. {_TEXT} Tried with the lengths of BPE's batches on 2,500 "
            "and 20,000 arms: T = 10,000, where the ratio is larger still, as GP-UCB's regret hardly grows any more; a "
            "width of 1, which leaves it on the first and with which GP-UCB fails in some runs on the second. BPE is "
            "farther from GP-UCB: this is the price of exploring in a few batches, not of drawing at random.",
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
            None,
            note="The paper's rivals maximise an acquisition function over a box. On finite arms GP-UCB takes a "
            "maximum of the posterior that it keeps, and searches nothing; the rows say what either takes.",
        ),
    )


CLAIMS: tuple[Claim, ...] = tuple(claim for task, size in _TASKS.items() for claim in _on(task, size))
