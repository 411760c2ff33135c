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
from collections.abc import Iterator
from dataclasses import dataclass, replace

from leaderboards.claims.claim import ALIKE, Claim
from leaderboards.claims.measures import (
    Measure,
    faster,
    found,
    found_more,
    lower_simple,
    more_regret,
    more_regret_where,
    simple_in,
)
from leaderboards.claims.runs import Runs
from leaderboards.score.statistics import Interval

__all__ = ["HILL", "RIVALS", "real", "synthetic"]

RIVALS = ("MAP-UCB", "MCMC-UCB", "A-GP-UCB", "Wang-deFreitas", "Portfolio", "Random")
"""The baselines of section 7."""

_LEARNERS = tuple(rival for rival in RIVALS if rival != "Random")
_ABOVE_ZERO = math.nextafter(0.0, 1.0)
_ENOUGH = 5
_TOP = ("Deceptive", "H1", "Hartmann3")
_EASY = ("Branin", "Hartmann6")
HILL = {"Deceptive": 0.18, "H1": 1.3}
"""Regret below which the hill of the global maximum has been met: that of every other local maximum is larger."""
_READ = "Comparable is read as at most 10 % of random search's simple regret more."


@dataclass(frozen=True)
class Reading:
    """What the paper leaves open, read in one way.

    Attributes:
        suffix: Of the names of its claims.
        ours: UHE-BO's row.
        alternate: RA-BO's.
        rivals: What the rows of the rivals that learn are called beyond their names.
        text: The reading in words; empty for the one in which all claims are checked.
    """

    suffix: str
    ours: str
    alternate: str
    rivals: str = ""
    text: str = ""

    def of(self, rival: str) -> str:
        """The row of a rival; random search has no settings."""
        return rival if rival == "Random" else rival + self.rivals


_DATA = Reading("", "UHE-BO, noise data", "RA-BO, noise data")
_PSEUDO = Reading("-pseudo", "UHE-BO, noise pseudo", "", text="noise from the pseudo-observations")
_STATED = Reading("-stated", "UHE-BO, noise stated", "", text="UHE-BO's noise stated")
_RATE = Reading(
    "-gamma-rate", "UHE-BO, noise data, prior gamma-rate", "", ", prior gamma-rate", "a prior of rate 10, for all"
)
_WIDTH = Reading("-width-1.4", "UHE-BO, noise data, width 1.4", "", ", width 1.4", "a width of 1.4, for both")
_REAL = Reading("", "UHE-BO", "")
"""The suite `uhe-real` has one row of UHE-BO, with the agent's defaults: noise from the pseudo-observations."""


def _at(agent: str, problem: str) -> str:
    return f"{agent}@{problem}"


def _pair(a: str, b: str, problem: str) -> tuple[str, str]:
    return _at(a, problem), _at(b, problem)


def _hide_small_sample_interval(measure: Measure) -> Measure:
    """The measure, without an interval where there are so few repetitions that resampling them says nothing."""

    def measured(runs: Runs) -> Interval:
        found = measure(runs)
        return found if found.n >= _ENOUGH else replace(found, low=math.nan, high=math.nan)

    return measured


def _less_simple_regret(reading: Reading, problem: str, rival: str) -> Measure:
    unit = _at("Random", problem)
    return _hide_small_sample_interval(simple_in(*_pair(reading.ours, rival, problem), unit))


def _better(reading: Reading, problem: str, rival: str, source: str, note: str = "") -> Claim:
    return Claim(
        f"{problem}-better-than-{rival}{reading.suffix}".lower(),
        source,
        f"UHE-BO is significantly better than {rival} on {problem}.",
        f"difference of the simple regrets at the end, UHE-BO less {rival}, over that of Random",
        _less_simple_regret(reading, problem, reading.of(rival)),
        high=0.0,
        alike=ALIKE,
        note=note,
        reading=reading.text,
    )


def _comparable(reading: Reading, problem: str, rival: str, source: str) -> Claim:
    return Claim(
        f"{problem}-comparable-to-{rival}{reading.suffix}".lower(),
        source,
        f"UHE-BO performs comparably to {rival}, or better, on {problem}.",
        f"difference of the simple regrets at the end, UHE-BO less {rival}, over that of Random",
        _less_simple_regret(reading, problem, reading.of(rival)),
        high=ALIKE,
        note=_READ,
        reading=reading.text,
    )


def _mostly(reading: Reading, rival: str, problems: tuple[str, ...], source: str) -> Claim:
    return Claim(
        f"mostly-better-than-{rival}{reading.suffix}".lower(),
        source,
        f"UHE-BO outperforms {rival} most of the time.",
        f"share of runs on {', '.join(problems)} in which UHE-BO's simple regret is below that of {rival}",
        _hide_small_sample_interval(
            lower_simple([_pair(reading.ours, reading.of(rival), problem) for problem in problems])
        ),
        low=0.5,
        alike=ALIKE,
        reading=reading.text,
    )


def _trapped(reading: Reading, problem: str, rival: str) -> Claim:
    return Claim(
        f"{problem}-{rival}-trapped{reading.suffix}".lower(),
        "section 7.1",
        f"{rival} is easily trapped at a local optimum, here of {problem}.",
        "share of runs that meet the hill of the global maximum, UHE-BO less " + rival,
        _hide_small_sample_interval(found(*_pair(reading.ours, reading.of(rival), problem), tolerance=HILL[problem])),
        low=_ABOVE_ZERO,
        alike=ALIKE,
        note=_met(problem),
        reading=reading.text,
    )


def _meets(reading: Reading, problem: str) -> Claim:
    # MCMC-UCB costs ten times as much as the others, and would leave its few repetitions alone to count.
    others = [rival for rival in _LEARNERS if rival != "MCMC-UCB"]
    rivals = [_at(reading.of(rival), problem) for rival in others]
    return Claim(
        f"{problem}-meets-the-hill{reading.suffix}".lower(),
        "section 7.1",
        f"UHE-BO finds the global maximum of {problem} where other policies that learn the kernel miss it.",
        "share of runs that meet the hill of the global maximum, UHE-BO less the mean of " + ", ".join(others),
        _hide_small_sample_interval(found_more(_at(reading.ours, problem), rivals, HILL[problem])),
        low=_ABOVE_ZERO,
        alike=ALIKE,
        note=_met(problem),
        reading=reading.text,
    )


def _met(problem: str) -> str:
    return f"Met is read as: a simple regret below {HILL[problem]:g}, which no other local maximum has."


def _over_explores(problem: str, rival: str) -> Claim:
    pair = _pair(rival, "MAP-UCB", problem)
    hill = HILL.get(problem)
    where = "" if hill is None else " in the runs in which that meets the hill of the global maximum"
    return Claim(
        f"{problem}-{rival}-explores".lower(),
        "section 7.1",
        f"{rival} tends to explore too much, here on {problem}.",
        f"relative difference of the cumulative regret, {rival} against MAP-UCB, whose lengthscales it divides{where}",
        _hide_small_sample_interval(more_regret(*pair) if hill is None else more_regret_where(*pair, hill)),
        low=_ABOVE_ZERO,
        alike=ALIKE,
        note="" if hill is None else f"Where MAP-UCB is trapped, exploring is what pays. {_met(problem)}",
    )


def _times(reading: Reading, problem: str, quick: bool = True) -> Iterator[Claim]:
    yield Claim(
        f"{problem}-as-fast-as-map".lower(),
        "section 7.2; Fig. 4, right",
        f"UHE-BO's run time is similar to that of MAP, on {problem}.",
        "log10 of the policy's seconds, UHE-BO over MAP-UCB",
        _slower(*_pair(reading.ours, "MAP-UCB", problem)),
        low=-math.log10(2),
        high=math.log10(2),
        note="Similar is read as within a factor of 2.",
    )
    yield Claim(
        f"{problem}-faster-than-mcmc".lower(),
        "section 7.2; Fig. 4, right",
        f"UHE-BO's run time is far below that of MCMC, on {problem}.",
        "log10 of the policy's seconds, MCMC-UCB over UHE-BO",
        faster(*_pair(reading.ours, "MCMC-UCB", problem)),
        low=math.log10(5),
        quick=quick,
        note="Far is read as a factor of 5 or more.",
    )


def _slower(a: str, b: str) -> Measure:
    return faster(b, a)


def _ablations(problem: str) -> Iterator[Claim]:
    for rival, row, what in (
        ("Random+EXP3", "Random+EXP3", "without the unbiased loss"),
        ("RA-BO", _DATA.alternate, "without EXP3"),
    ):
        yield Claim(
            f"{problem}-better-than-{rival}".lower(),
            "section 7.2; Fig. 4, left and middle",
            f"UHE-BO is significantly better than {rival} on {problem}.",
            f"difference of the simple regrets at the end, UHE-BO less {rival}, over that of Random",
            _less_simple_regret(_DATA, problem, row),
            high=0.0,
            alike=ALIKE,
            note=f"{rival} is UHE-BO {what}; the text does not name the figure's two problems.",
        )


def _conservative(problem: str) -> Claim:
    return Claim(
        f"{problem}-ra-bo-conservative".lower(),
        "section 7.2; Fig. 4, left and middle",
        f"RA-BO, which plays every second point at random, is conservative next to UHE-BO, on {problem}.",
        "relative difference of the cumulative regret, RA-BO against UHE-BO",
        _hide_small_sample_interval(more_regret(*_pair(_DATA.alternate, _DATA.ours, problem))),
        low=_ABOVE_ZERO,
        alike=ALIKE,
    )


def _synthetic(reading: Reading, rivals: tuple[str, ...]) -> Iterator[Claim]:
    """Section 7.1 on the synthetic functions, against these rivals."""
    top = "section 7.1; Fig. 2, top"
    yield from (_better(reading, problem, rival, top) for problem in HILL for rival in rivals)
    yield from (_meets(reading, problem) for problem in HILL)
    yield from (_trapped(reading, problem, rival) for problem in HILL for rival in ("MAP-UCB", "MCMC-UCB"))
    yield from (_comparable(reading, "Hartmann3", rival, top) for rival in rivals)


def _mostly_better(reading: Reading) -> Iterator[Claim]:
    """Section 7.1 on the policies that need not know the hyperparameters."""
    rivals = ("A-GP-UCB", "Wang-deFreitas", "Portfolio") if reading.text else RIVALS[2:]
    yield from (_mostly(reading, rival, _TOP, "section 7.1") for rival in rivals)


def synthetic() -> tuple[Claim, ...]:
    """Claims on Deceptive, h1, Hartmann3, Branin and Hartmann6."""
    rest = "appendix D; Fig. 5"
    return (
        *_synthetic(_DATA, RIVALS),
        *_mostly_better(_DATA),
        *(_over_explores(problem, rival) for problem in _TOP for rival in ("A-GP-UCB", "Wang-deFreitas")),
        *(claim for problem in HILL for claim in _ablations(problem)),
        *(_conservative(problem) for problem in _TOP),
        *(claim for problem in ("Deceptive", "Hartmann3") for claim in _times(_DATA, problem, problem == "Deceptive")),
        *(_comparable(_DATA, problem, rival, rest) for problem in _EASY for rival in RIVALS),
        *_synthetic(_RATE, _LEARNERS),
        *_mostly_better(_RATE),
        *(_better(_WIDTH, problem, "MAP-UCB", "section 7.1; Fig. 2, top") for problem in HILL),
        _comparable(_WIDTH, "Hartmann3", "MAP-UCB", "section 7.1; Fig. 2, top"),
        # The two settings of the noise that the paper's proofs do not speak for: what they change, not all of it again.
        *(
            claim
            for reading in (_PSEUDO, _STATED)
            for claim in (
                *(_meets(reading, problem) for problem in HILL),
                *_mostly_better(reading),
                *(_comparable(reading, "Branin", rival, rest) for rival in ("MCMC-UCB", "Portfolio")),
            )
        ),
        *_THEOREMS,
    )


_THEOREMS = tuple(
    Claim(source.lower().replace(" ", "-"), source, statement, figure, None, note=note)
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


def real() -> tuple[Claim, ...]:
    """Claims on logistic regression, boosted trees and the lunar lander."""
    source = "section 7.1; Fig. 2, bottom"
    others = tuple(rival for rival in RIVALS if rival != "MCMC-UCB")
    return (
        *(_better(_REAL, problem, rival, source) for problem in ("LogisticRegression", "XGBoost") for rival in RIVALS),
        *(_better(_REAL, "LunarLanding", rival, source) for rival in others),
        _comparable(_REAL, "LunarLanding", "MCMC-UCB", source),
        *_times(_REAL, "XGBoost"),
    )
