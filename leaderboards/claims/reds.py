"""Claims of Salgia, Vakili and Zhao (2024), Random exploration in Bayesian optimization."""

from __future__ import annotations

from collections.abc import Iterator

from leaderboards.claims.claim import ALIKE, FASTER, Claim, Figure, Range, at_most, within
from leaderboards.claims.measures import faster, more_regret, regret_exponent

_TASKS = {"BPEF1": "2,500 arms", "RKHS, d = 2": "20,000 arms", "RKHS, d = 3": "200,000 arms"}


def _on(task: str, size: str) -> Iterator[Claim]:
    name, row = size.replace(" arms", "").replace(",", ""), f"{{}}@{task}".format
    yield Claim(
        f"shrinking-{name}",
        "abstract",
        f"Random exploration with domain shrinking has sublinear regret ({size}).",
        regret_exponent(
            "power of t with which the cumulative regret of REDS grows, over the last 90 % of the run", row("REDS")
        ),
        Range(high=1.0),
        quick=task == "BPEF1",
    )
    text = "relative difference of the cumulative regret, REDS against BPE"
    for ending, reds, reading, note in (
        (
            "",
            "REDS",
            "",
            "Epochs of REDS double, and those of the row with the lengths of BPE's batches are as long as those.",
        ),
        (
            "-same-lengths",
            "REDS, lengths of BPE",
            "the lengths of BPE's batches",
            "Here the two differ in nothing else.",
        ),
    ):
        yield Claim(
            f"as-by-variance-{name}{ending}",
            "abstract",
            f"Random samples explore as well as those of largest variance ({size}).",
            more_regret(reds, "BPE", row=row, text=text),
            at_most(ALIKE),
            reading=reading,
            note=note,
        )
    yield Claim(
        f"similar-regret-{name}",
        "section on experiments",
        f"The regret is similar to that of the state of the art ({size}).",
        more_regret("REDS", "GP-UCB", row=row),
        within(ALIKE),
        note="The paper's text could not be consulted beyond its abstract and "
        "summaries of it; the tasks are ours. Tried with the lengths of BPE's batches on 2,500 and 20,000 arms: "
        "T = 10,000, where the ratio is larger still, as GP-UCB's regret hardly grows any more; a width of 1, which "
        "leaves it on the first and with which GP-UCB fails in some runs on the second. BPE is farther from GP-UCB: "
        "this is the price of exploring in a few batches, not of drawing at random.",
    )
    yield Claim(
        f"less-time-{name}",
        "abstract",
        f"Random exploration takes less time than exploration by the variance ({size}).",
        faster("REDS", "BPE", row=row),
        FASTER,
    )
    yield Claim(
        f"speed-{name}",
        "section on experiments",
        f"It is faster by orders of magnitude than policies that maximise an acquisition function ({size}).",
        Figure("log10 of the seconds of GP-UCB over those of REDS"),
        note="The paper's rivals maximise an acquisition function over a box. On finite arms GP-UCB takes a maximum of "
        "the posterior that it keeps, and searches nothing; the rows say what either takes.",
    )


CLAIMS: tuple[Claim, ...] = tuple(claim for task, size in _TASKS.items() for claim in _on(task, size))
