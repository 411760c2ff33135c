"""Claims of Ha et al. (2023), Provably efficient Bayesian optimization with unbiased GP hyperparameter estimation.

The paper gives no numbers, no horizons and no units, so most of its statements are orders of simple regrets. Where it
says *comparable*, the difference is read in a unit that every problem has: the simple regret of random search, in which
all differences of simple regrets are told. Verdicts on regret need five repetitions. Run times are those that
the runs record, of a machine with other work if it had any.

Two settings are open, see the suite `uhe-synthetic`: what the noise is estimated from, and the prior. All claims are
checked with noise from the data and the agents' default prior; those that rest on regret again in the other readings,
under names that end in `-pseudo`, `-stated` and `-gamma-rate`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from leaderboards.claims.claim import ALIKE, LESS, MORE, Claim, Figure, Range, at_least, at_most, within
from leaderboards.claims.measures import faster, found_more, lower_simple, more_regret, more_regret_where, simple_in
from leaderboards.claims.runs import Runs
from leaderboards.score.statistics import Interval

RIVALS = ("MAP-UCB", "MCMC-UCB", "A-GP-UCB", "Wang-deFreitas", "Portfolio", "Random")
"""The baselines of section 7."""

_MOSTLY = ("A-GP-UCB", "Wang-deFreitas")
_ENOUGH = 5
_TOP = ("Deceptive", "H1", "Hartmann3")
_EASY = ("Branin", "Hartmann6")
HILL = {"Deceptive": 0.18, "H1": 1.3}
"""Regret below which the hill of the global maximum has been met: that of every other local maximum is larger."""
_MEETS = "share of runs that meet the hill of the global maximum"
_FIG_2, _ABLATION = "section 7.1; Fig. 2, top", "section 7.2; Fig. 4, left and middle"


@dataclass(frozen=True)
class Reading:
    """What the paper leaves open, read in one way.

    Attributes:
        suffix: Of the names of its claims.
        ours: UHE-BO's row.
        ending: What the rows of the rivals that learn are called beyond their names.
        text: The reading in words; empty for the one in which all claims are checked.
    """

    suffix: str
    ours: str
    ending: str = ""
    text: str = ""

    def row(self, agent: str, problem: str) -> str:
        """The row of an agent on a problem; random search has no settings."""
        names = {"UHE-BO": self.ours, "Random": "Random"}
        return f"{names.get(agent, agent + self.ending)}@{problem}"

    def claim(self, name: str, source: str, statement: str, figure: Figure, expected: Range, **more: Any) -> Claim:
        """A claim in this reading, whose figure has no interval where there are too few repetitions to say anything."""

        def measure(runs: Runs) -> Interval:
            found = figure(runs)
            return found if found.n >= _ENOUGH else replace(found, low=math.nan, high=math.nan)

        shown = Figure(figure.text, measure)
        return Claim(f"{name}{self.suffix}".lower(), source, statement, shown, expected, reading=self.text, **more)

    def simple(self, rival: str, problem: str, row: str = "") -> Figure:
        """The difference of the simple regrets of UHE-BO and a rival, or of another row of it."""
        text = f"difference of the simple regrets at the end, UHE-BO less {rival}, over that of Random"
        theirs = f"{row}@{problem}" if row else self.row(rival, problem)
        return simple_in(text, self.row("UHE-BO", problem), theirs, self.row("Random", problem))

    def better(self, problem: str, rival: str, source: str) -> Claim:
        """Of the lunar lander the paper does not say "significantly"."""
        how = "better" if problem == "LunarLanding" else "significantly better"
        said = f"UHE-BO is {how} than {rival} on {problem}."
        return self.claim(f"{problem}-better-than-{rival}", source, said, self.simple(rival, problem), LESS)

    def comparable(self, problem: str, rival: str, source: str) -> Claim:
        """Comparable, on either side; in appendix D "as well as", which better is too."""
        how, expected = ("as well as", at_most(ALIKE)) if problem in _EASY else ("comparably to", within(ALIKE))
        said = f"UHE-BO performs {how} {rival} on {problem}."
        return self.claim(f"{problem}-comparable-to-{rival}", source, said, self.simple(rival, problem), expected)

    def meets(self, problem: str) -> Claim:
        """Beside all that learn but MCMC-UCB: it costs ten times as much, and would leave few repetitions to count."""
        others = [rival for rival in RIVALS[:-1] if rival != "MCMC-UCB"]
        ours, *rivals = (self.row(agent, problem) for agent in ("UHE-BO", *others))
        text = f"{_MEETS}, UHE-BO less the mean of {', '.join(others)}"
        return self.claim(
            f"{problem}-meets-the-hill",
            "section 7.1",
            f"UHE-BO finds the global maximum of {problem} where other policies that learn the kernel miss it.",
            found_more(text, ours, rivals, HILL[problem]),
            MORE,
            note="The paper says that MAP and MCMC are easily trapped, and of the others that they are less efficient. "
            f"{_met(problem)}",
            scope="ours",
        )

    def trapped(self, problem: str, rival: str) -> Claim:
        """More often than UHE-BO is."""
        ours, theirs = (self.row(agent, problem) for agent in ("UHE-BO", rival))
        return self.claim(
            f"{problem}-{rival}-trapped",
            "section 7.1",
            f"{rival} is trapped at a local optimum more often than UHE-BO, here of {problem}.",
            found_more(f"{_MEETS}, UHE-BO less {rival}", ours, [theirs], HILL[problem]),
            MORE,
            note=f'The paper says "easily trapped", and beside whom it does not say. {_met(problem)}',
            scope="ours",
        )

    def mostly(self, rival: str) -> Claim:
        """Of two policies that need not know the hyperparameters; the others are outdone significantly."""
        pairs = [(self.row("UHE-BO", problem), self.row(rival, problem)) for problem in _TOP]
        text = f"share of runs on {', '.join(_TOP)} in which UHE-BO's simple regret is below that of {rival}"
        said = f"UHE-BO outperforms {rival} most of the time."
        figure, expected = lower_simple(text, pairs), Range(low=0.5, alike=ALIKE)
        return self.claim(f"mostly-better-than-{rival}", "section 7.1", said, figure, expected)


_DATA = Reading("", "UHE-BO, noise data")
_PSEUDO = Reading("-pseudo", "UHE-BO, noise pseudo", text="noise from the pseudo-observations")
_STATED = Reading("-stated", "UHE-BO, noise stated", text="UHE-BO's noise stated")
_RATE = Reading(
    "-gamma-rate", "UHE-BO, noise data, prior gamma-rate", ", prior gamma-rate", "a prior of rate 10, for all"
)
_WIDTH = Reading("-width-1.4", "UHE-BO, noise data, width 1.4", ", width 1.4", "a width of 1.4, for both")
_REAL = Reading("", "UHE-BO")
"""The suite `uhe-real` has one row of UHE-BO, with the agent's defaults: noise from the pseudo-observations."""


def _met(problem: str) -> str:
    return f"Met is read as: a simple regret below {HILL[problem]:g}, which no other local maximum has."


def _over_explores(problem: str, rival: str) -> Claim:
    a, b = (_DATA.row(agent, problem) for agent in (rival, "MAP-UCB"))
    text = f"relative difference of the cumulative regret, {rival} against MAP-UCB, whose lengthscales it divides"
    figure, note = more_regret(a, b, text=text), ""
    if problem in HILL:
        at_the_hill = f"{text} in the runs in which that meets the hill of the global maximum"
        figure = more_regret_where(at_the_hill, a, b, HILL[problem])
        note = f"Where MAP-UCB is trapped, exploring is what pays. {_met(problem)}"
    said = f"{rival} tends to explore too much, here on {problem}."
    return _DATA.claim(f"{problem}-{rival}-explores", "section 7.1", said, figure, MORE, note=note, scope="ours")


def _times(reading: Reading, problem: str, quick: bool = True) -> Iterator[Claim]:
    source = "section 7.2; Fig. 4, right"
    ours, plain, mcmc = (reading.row(agent, problem) for agent in ("UHE-BO", "MAP-UCB", "MCMC-UCB"))
    figure = faster(plain, ours, text="log10 of the policy's seconds, UHE-BO over MAP-UCB")
    said = f"UHE-BO's run time is similar to that of MAP, on {problem}."
    yield Claim(f"{problem}-as-fast-as-map".lower(), source, said, figure, within(math.log10(2)))
    figure = faster(ours, mcmc, text="log10 of the policy's seconds, MCMC-UCB over UHE-BO")
    said = f"UHE-BO's run time is far below that of MCMC, on {problem}."
    yield Claim(f"{problem}-faster-than-mcmc".lower(), source, said, figure, at_least(math.log10(5)), quick=quick)


def _ablations(problem: str) -> Iterator[Claim]:
    for rival, row, what in (
        ("Random+EXP3", "Random+EXP3", "without the unbiased loss"),
        ("RA-BO", "RA-BO, noise data", "without EXP3"),
    ):
        name, said = f"{problem}-better-than-{rival}", f"UHE-BO is better than {rival} on {problem}."
        note = f"{rival} is UHE-BO {what}; the text does not name the figure's two problems."
        yield _DATA.claim(name, _ABLATION, said, _DATA.simple(rival, problem, row), LESS, note=note)


def _conservative(problem: str) -> Claim:
    said = f"RA-BO, which plays every second point at random, is conservative next to UHE-BO, on {problem}."
    figure = more_regret("RA-BO", "UHE-BO", row=f"{{}}, noise data@{problem}".format)
    return _DATA.claim(f"{problem}-ra-bo-conservative", _ABLATION, said, figure, MORE)


def _synthetic(reading: Reading, rivals: Sequence[str]) -> Iterator[Claim]:
    """Section 7.1 on the synthetic functions, against these rivals."""
    yield from (reading.better(problem, rival, _FIG_2) for problem in HILL for rival in rivals)
    yield from map(reading.meets, HILL)
    yield from (reading.trapped(problem, rival) for problem in HILL for rival in ("MAP-UCB", "MCMC-UCB"))
    yield from (reading.comparable("Hartmann3", rival, _FIG_2) for rival in rivals)
    yield from map(reading.mostly, _MOSTLY)


def synthetic() -> Iterator[Claim]:
    """Claims on Deceptive, h1, Hartmann3, Branin and Hartmann6."""
    rest = "appendix D; Fig. 5"
    yield from _synthetic(_DATA, RIVALS)
    yield from (_over_explores(problem, rival) for problem in _TOP for rival in _MOSTLY)
    yield from (claim for problem in HILL for claim in _ablations(problem))
    yield from map(_conservative, _TOP)
    yield from _times(_DATA, "Deceptive")
    yield from _times(_DATA, "Hartmann3", quick=False)
    yield from (_DATA.comparable(problem, rival, rest) for problem in _EASY for rival in RIVALS)
    yield from _synthetic(_RATE, RIVALS[:-1])
    yield from (_WIDTH.better(problem, "MAP-UCB", _FIG_2) for problem in HILL)
    yield _WIDTH.comparable("Hartmann3", "MAP-UCB", _FIG_2)
    # The two settings of the noise that the paper's proofs do not speak for: what they change, not all of it again.
    for reading in (_PSEUDO, _STATED):
        yield from map(reading.meets, HILL)
        yield from map(reading.mostly, _MOSTLY)
        yield from (reading.comparable("Branin", rival, rest) for rival in ("MCMC-UCB", "Portfolio"))
    yield from _THEOREMS


_THEOREMS = tuple(
    Claim(source.lower().replace(" ", "-"), source, statement, Figure(figure), note=note)
    for source, statement, figure, note in (
        (
            "Theorem 6.5",
            "With high probability the simple regret of RA-BO is of the order of sqrt(2 beta_T gamma_{T/2} / T) for "
            "large T, with the gain under its estimate.",
            "simple regret over its bound",
            "An order from some T_2 on, which is not stated: no run of finite length can contradict it. That the "
            "estimate comes closer, on which it rests, is judged in uhe-estimates.",
        ),
        (
            "Proposition 6.6",
            "The information gain under the estimate grows as it does under the true lengthscales, for SE and Matern.",
            "growth of the information gain",
            "A rate for large T: logarithms hide it at any horizon that can be played.",
        ),
        (
            "Theorem 6.7",
            "With high probability the expected simple regret of UHE-BO is that of Theorem 6.5 and a term of the "
            "order of sqrt(2 log 2 / T), for large T.",
            "simple regret over its bound",
            "An order for large T, without its constants: no run of finite length can contradict it.",
        ),
    )
)


def real() -> Iterator[Claim]:
    """Claims on logistic regression, boosted trees and the lunar lander."""
    source, twice = "section 7.1; Fig. 2, bottom", ("LogisticRegression", "XGBoost")
    yield from (_REAL.better(problem, rival, source) for problem in twice for rival in RIVALS)
    yield from (_REAL.better("LunarLanding", rival, source) for rival in RIVALS if rival != "MCMC-UCB")
    yield _REAL.comparable("LunarLanding", "MCMC-UCB", source)
    yield from _times(_REAL, "XGBoost")
