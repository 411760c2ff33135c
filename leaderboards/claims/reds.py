"""Claims of Salgia, Vakili and Zhao (2024), Random exploration in Bayesian optimization."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leaderboards.claims.claim import ALIKE, FASTER, Claim, Figure, Range, at_most, within
from leaderboards.claims.measures import faster, more_regret, regret_exponent

_ANYWHERE = Range()
_TASKS = {"BPEF1": "2,500 arms", "RKHS, d = 2": "20,000 arms", "RKHS, d = 3": "200,000 arms"}


_EPOCHS = "Epochs of REDS double, and those of the row with the lengths of BPE's batches are as long as those."
_CLOSEST = (
    "The paper's text could not be consulted beyond its abstract and summaries of it; the tasks are ours. Tried with "
    "the lengths of BPE's batches on 2,500 and 20,000 arms: T = 10,000, where the ratio is larger still, as GP-UCB's "
    "regret hardly grows any more; a width of 1, which leaves it on the first and with which GP-UCB fails in some runs "
    "on the second. BPE is farther from GP-UCB: this is the price of exploring in a few batches, not of drawing at "
    "random."
)
_KEPT = (
    "The paper's rivals maximise an acquisition function over a box. On finite arms GP-UCB takes a maximum of the "
    "posterior that it keeps, and searches nothing; the rows say what either takes."
)


def _on(task: str, size: str) -> Iterator[Claim]:
    number, row = size.replace(" arms", "").replace(",", ""), f"{{}}@{task}".format

    def claim(
        name: str, source: str, statement: str, figure: Figure, expected: Range = _ANYWHERE, **more: Any
    ) -> Claim:
        return Claim(name, source, f"{statement} ({size}).", figure, expected, **more)

    said = "Random exploration with domain shrinking has sublinear regret"
    text = "power of t with which the cumulative regret of REDS grows, over the last 90 % of the run"
    figure, quick = regret_exponent(text, row("REDS")), task == "BPEF1"
    yield claim(f"shrinking-{number}", "abstract", said, figure, Range(high=1.0), quick=quick)
    said = "Random samples explore as well as those of largest variance"
    text = "relative difference of the cumulative regret, REDS against BPE"
    for ending, reading, note in (
        ("", "", _EPOCHS),
        ("-same-lengths", "the lengths of BPE's batches", "Here the two differ in nothing else."),
    ):
        figure = more_regret(f"REDS{', lengths of BPE' if ending else ''}", "BPE", row=row, text=text)
        name = f"as-by-variance-{number}{ending}"
        yield claim(name, "abstract", said, figure, at_most(ALIKE), reading=reading, note=note)
    said, source = "The regret is similar to that of the state of the art", "section on experiments"
    figure = more_regret("REDS", "GP-UCB", row=row)
    yield claim(f"similar-regret-{number}", source, said, figure, within(ALIKE), note=_CLOSEST)
    said = "Random exploration takes less time than exploration by the variance"
    yield claim(f"less-time-{number}", "abstract", said, faster("REDS", "BPE", row=row), FASTER)
    said = "It is faster by orders of magnitude than policies that maximise an acquisition function"
    yield claim(
        f"speed-{number}", source, said, Figure("log10 of the seconds of GP-UCB over those of REDS"), note=_KEPT
    )


CLAIMS: tuple[Claim, ...] = tuple(claim for task, size in _TASKS.items() for claim in _on(task, size))
