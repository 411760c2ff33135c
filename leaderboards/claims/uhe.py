"""Claims of Ha et al. (2023), Provably efficient Bayesian optimization with unbiased GP hyperparameter estimation.

The paper gives no numbers, no horizons and no units, so most of its statements are orders of simple regrets. Where it
says *comparable*, the difference is read in a unit that every problem has: the simple regret of random search. Verdicts
on regret need five repetitions. Run times are seconds of the clock, those of a machine with other work if it had any.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from leaderboards.claims.claim import Claim
from leaderboards.claims.measures import Measure, faster, found, lower_simple, more_regret, simple, simple_in
from leaderboards.claims.runs import Runs
from leaderboards.score.statistics import Interval

__all__ = ["HILL", "RIVALS", "real", "synthetic"]

RIVALS = ("MAP-UCB", "MCMC-UCB", "A-GP-UCB", "Wang-deFreitas", "Portfolio", "Random")
"""The baselines of section 7."""

_OURS = "UHE-BO"
_ABOVE_ZERO = math.nextafter(0.0, 1.0)
_ENOUGH = 5
_TOP = ("Deceptive", "H1", "Hartmann3")
_EASY = ("Branin", "Hartmann6")
HILL = {"Deceptive": 0.18, "H1": 1.3}
"""Regret below which the hill of the global maximum has been met: that of every other local maximum is larger."""
_WORSE = (("Branin", "MCMC-UCB"), ("Branin", "Portfolio"))
_COMPARABLE = 0.1
_NOISE = (
    "Copied feedback passes for noise, whose variance is estimated as 190 on Branin instead of 0.01. Tried afterwards "
    "on the same ten repetitions with the true noise stated (noise=), UHE-BO's simple regret is 0.0066 instead of "
    "0.080 on Branin, 0.095 instead of 0.185 on Hartmann6, 0.0003 instead of 0.0061 on Hartmann3, 0.32 instead of 0.47 "
    "on h1 and 0.177 instead of 0.187 on Deceptive."
)
_TRIED = {
    "Portfolio": _NOISE,
    "A-GP-UCB": "Random+EXP3, which plays by UHE-BO's rule with the plain loss, ends about as low on Deceptive and "
    "lower in the mean on h1 and Hartmann3: here nothing shows that the new loss helps, though the intervals do not "
    "rule it out. Not tried: other units of A-GP-UCB's reference, which the paper leaves open, and longer runs.",
}
_READ = "Comparable is read as at most 10 % of random search's simple regret more."


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


def _better(problem: str, rival: str, source: str, note: str = "") -> Claim:
    return Claim(
        f"{problem}-better-than-{rival}".lower(),
        source,
        f"UHE-BO is significantly better than {rival} on {problem}.",
        f"difference of the simple regrets at the end, UHE-BO less {rival}, in units of the reward",
        _hide_small_sample_interval(simple(*_pair(_OURS, rival, problem))),
        high=0.0,
        note=note,
    )


def _comparable(problem: str, rival: str, source: str, note: str = "") -> Claim:
    return Claim(
        f"{problem}-comparable-to-{rival}".lower(),
        source,
        f"UHE-BO performs comparably to {rival} on {problem}.",
        f"difference of the simple regrets at the end, UHE-BO less {rival}, over that of Random",
        _hide_small_sample_interval(simple_in(*_pair(_OURS, rival, problem), _at("Random", problem))),
        high=_COMPARABLE,
        note=f"{_READ} {note}".strip(),
    )


def _mostly(rival: str, problems: tuple[str, ...], source: str, statement: str, note: str = "") -> Claim:
    return Claim(
        f"mostly-better-than-{rival}".lower(),
        source,
        statement,
        f"share of runs on {', '.join(problems)} in which UHE-BO's simple regret is below that of {rival}",
        _hide_small_sample_interval(lower_simple([_pair(_OURS, rival, problem) for problem in problems])),
        low=0.5,
        note=note,
    )


def _trapped(problem: str, rival: str) -> Claim:
    return Claim(
        f"{problem}-{rival}-trapped".lower(),
        "section 7.1",
        f"{rival} is easily trapped at a local optimum, here of {problem}.",
        "share of runs that meet the hill of the global maximum, UHE-BO less " + rival,
        _hide_small_sample_interval(found(*_pair(_OURS, rival, problem), tolerance=HILL[problem])),
        low=_ABOVE_ZERO,
        note=f"Met is read as: a simple regret below {HILL[problem]:g}, which no other local maximum has.",
    )


def _over_explores(problem: str, rival: str) -> Claim:
    return Claim(
        f"{problem}-{rival}-explores".lower(),
        "section 7.1",
        f"{rival} tends to explore too much, here on {problem}.",
        f"relative difference of the cumulative regret, {rival} against MAP-UCB, whose lengthscales it divides",
        _hide_small_sample_interval(more_regret(*_pair(rival, "MAP-UCB", problem))),
        low=_ABOVE_ZERO,
    )


def _times(problem: str, quick: bool = True) -> Iterator[Claim]:
    yield Claim(
        f"{problem}-as-fast-as-map".lower(),
        "section 7.2; Fig. 4, right",
        f"UHE-BO's run time is similar to that of MAP, on {problem}.",
        "log10 of the policy's seconds, UHE-BO over MAP-UCB",
        _slower(*_pair(_OURS, "MAP-UCB", problem)),
        low=-math.log10(2),
        high=math.log10(2),
        note="Similar is read as within a factor of 2.",
    )
    yield Claim(
        f"{problem}-faster-than-mcmc".lower(),
        "section 7.2; Fig. 4, right",
        f"UHE-BO's run time is far below that of MCMC, on {problem}.",
        "log10 of the policy's seconds, MCMC-UCB over UHE-BO",
        faster(*_pair(_OURS, "MCMC-UCB", problem)),
        low=math.log10(5),
        quick=quick,
        note="Far is read as a factor of 5 or more.",
    )


def _slower(a: str, b: str) -> Measure:
    return faster(b, a)


def _ablations(problem: str) -> Iterator[Claim]:
    for rival, what in (("Random+EXP3", "without the unbiased loss"), ("RA-BO", "without EXP3")):
        yield _better(
            problem,
            rival,
            "section 7.2; Fig. 4, left and middle",
            f"{rival} is UHE-BO {what}; the text does not name the figure's two problems.",
        )


def _conservative(problem: str) -> Claim:
    return Claim(
        f"{problem}-ra-bo-conservative".lower(),
        "section 7.2; Fig. 4, left and middle",
        f"RA-BO, which plays every second point at random, is conservative next to UHE-BO, on {problem}.",
        "relative difference of the cumulative regret, RA-BO against UHE-BO",
        _hide_small_sample_interval(more_regret(*_pair("RA-BO", _OURS, problem))),
        low=_ABOVE_ZERO,
    )


def synthetic() -> tuple[Claim, ...]:
    """Claims on Deceptive, h1, Hartmann3, Branin and Hartmann6."""
    top, rest = "section 7.1; Fig. 2, top", "appendix D; Fig. 5"
    return (
        *(_better(problem, rival, top) for problem in ("Deceptive", "H1") for rival in RIVALS),
        *(_comparable("Hartmann3", rival, top) for rival in RIVALS),
        *(_trapped(problem, rival) for problem in ("Deceptive", "H1") for rival in ("MAP-UCB", "MCMC-UCB")),
        *(
            _mostly(rival, _TOP, "section 7.1", f"UHE-BO outperforms {rival} most of the time.", _TRIED.get(rival, ""))
            for rival in ("A-GP-UCB", "Wang-deFreitas", "Portfolio", "Random")
        ),
        *(_over_explores(problem, rival) for problem in _TOP for rival in ("A-GP-UCB", "Wang-deFreitas")),
        *(claim for problem in ("Deceptive", "H1") for claim in _ablations(problem)),
        *(_conservative(problem) for problem in _TOP),
        *(claim for problem in ("Deceptive", "Hartmann3") for claim in _times(problem, problem == "Deceptive")),
        *(
            _comparable(problem, rival, rest, _NOISE if (problem, rival) in _WORSE else "")
            for problem in _EASY
            for rival in RIVALS
        ),
    )


def real() -> tuple[Claim, ...]:
    """Claims on logistic regression, boosted trees and the lunar lander."""
    source = "section 7.1; Fig. 2, bottom"
    others = tuple(rival for rival in RIVALS if rival != "MCMC-UCB")
    return (
        *(_better(problem, rival, source) for problem in ("LogisticRegression", "XGBoost") for rival in RIVALS),
        *(_better("LunarLanding", rival, source) for rival in others),
        _comparable("LunarLanding", "MCMC-UCB", source),
        *_times("XGBoost"),
    )
