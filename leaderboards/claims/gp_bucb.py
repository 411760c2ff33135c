"""Claims of Desautels, Krause and Burdick (2012), Parallelizing exploration-exploitation tradeoffs with GP bandits."""

from __future__ import annotations

import math

from leaderboards.claims.claim import Claim
from leaderboards.claims.measures import faster, found, more_regret, simple

__all__ = ["neuro", "synthetic", "vaccine"]

_AFTER = 11  # the first batch of 10 has been answered


def _close(source: str) -> Claim:
    return Claim(
        "close-to-gp-ucb",
        source,
        "After its first feedback, GP-BUCB performs comparably to sequential GP-UCB.",
        "relative difference of the regret from evaluation 11 on, GP-BUCB against GP-UCB",
        more_regret("GP-BUCB", "GP-UCB", _AFTER),
        high=0.2,
        quick=False,
        note="Comparable is read as at most 20 % more.",
    )


def _as_good(rival: str, source: str) -> Claim:
    return Claim(
        f"as-good-as-{rival.lower()}",
        source,
        f"GP-BUCB's regret is at most about that of {rival}.",
        f"relative difference of the cumulative regret, GP-BUCB against {rival}",
        more_regret("GP-BUCB", rival),
        high=0.1,
        note="About is read as at most 10 % more.",
    )


def _minimum(rival: str, source: str) -> Claim:
    return Claim(
        f"minimum-regret-{rival.lower()}",
        source,
        f"GP-BUCB's minimum regret is at most that of {rival}.",
        f"difference of the simple regrets at the end, GP-BUCB less {rival}, in units of the reward",
        simple("GP-BUCB", rival),
        high=0.0,
    )


def _naive(rival: str, source: str) -> Claim:
    return Claim(
        f"{rival.lower()}-worse",
        source,
        f"The naive batches of {rival} do clearly worse than GP-BUCB.",
        f"relative difference of the cumulative regret, {rival} against GP-BUCB",
        more_regret(rival, "GP-BUCB"),
        low=0.25,
        quick=True,
        note="Clearly is read as at least 25 % more.",
    )


def _order(rival: str, source: str) -> Claim:
    return Claim(
        f"faster-than-{rival.lower()}",
        source,
        f"GP-BUCB's run time is an order of magnitude below that of {rival}.",
        f"log10 of the seconds of {rival} over those of GP-BUCB",
        faster("GP-BUCB", rival),
        low=1.0,
        note="The figures show running times on a logarithmic axis, without numbers in the text.",
    )


def synthetic(source: str) -> tuple[Claim, ...]:
    """Claims on a synthetic function, from the figure `source`."""
    return (
        Claim(
            "gp-ucb-early",
            f"section 5; {source}",
            "GP-UCB, which has feedback at once, outperforms batches during the first ten evaluations.",
            "relative difference of the regret of evaluations 1 to 10, GP-BUCB against GP-UCB",
            more_regret("GP-BUCB", "GP-UCB", 1, 10),
            low=0.0,
        ),
        _close(f"section 5; {source}"),
        *(_as_good(rival, f"section 5; {source}") for rival in ("SM-UCB", "SM-MEI")),
        *(_minimum(rival, f"section 5; {source}") for rival in ("SM-UCB", "SM-MEI")),
        *(_naive(rival, f"section 5; {source}") for rival in ("NRB-UCB", "NTB-UCB")),
        *(_order(rival, f"section 5; {source}") for rival in ("SM-UCB", "SM-MEI")),
    )


def vaccine() -> tuple[Claim, ...]:
    """Claims on vaccine design."""
    source = "section 5; Fig. 2 (b), (f)"
    return (_close(source), *(_as_good(rival, source) for rival in ("SM-UCB", "SM-MEI")))


def neuro() -> tuple[Claim, ...]:
    """Claims on spinal therapy, checked on a public stand-in."""
    source = "section 5; Fig. 2 (c), (g)"
    stuck = tuple(
        Claim(
            f"{agent.lower()}-stuck-less",
            source,
            f"On a multi-modal response GP-UCB misses the optimum more often than {agent}.",
            f"share of runs that evaluate the optimum, {agent} less GP-UCB",
            found(agent, "GP-UCB"),
            low=math.nextafter(0.0, 1.0),
            note="The recordings behind the claim are not public; the stand-in need not be as multi-modal.",
        )
        for agent in ("GP-BUCB", "SM-UCB", "SM-MEI")
    )
    return (*stuck, *(_as_good(rival, source) for rival in ("SM-UCB", "SM-MEI")))
