"""Claims of Li and Scarlett (2022), Gaussian process bandit optimization with few batches."""

from __future__ import annotations

import math

from leaderboards.claims.claim import ALIKE, Claim
from leaderboards.claims.measures import batches, gap, more_regret, order_kept, spread

__all__ = ["fixed_function", "second_function"]

_ABOVE_ZERO = math.nextafter(0.0, 1.0)
_VERSIONS = ("3-BPE", "4-BPE", "6-BPE", "BPE")


def most_batches(T: int) -> int:
    """Proposition 1: the number of batches of BPE is at most `ceil(log2 log2 T) + 1`."""
    return math.ceil(math.log2(math.log2(T))) + 1


def fixed_function(curves: str, fixed: str, full: str, growing: str) -> tuple[Claim, ...]:
    """Claims on one function; the arguments are the figures that show it."""
    return (
        Claim(
            "smaller-b",
            curves,
            "Fewer batches tend to incur higher regret.",
            "relative difference of the cumulative regret, 3-BPE against 6-BPE",
            more_regret("3-BPE", "6-BPE"),
            low=_ABOVE_ZERO,
            alike=ALIKE,
        ),
        Claim(
            "six-beats-original",
            curves,
            "BPE with 6 batches can outperform the original lengths, which make 4 batches of T = 1000.",
            "relative difference of the cumulative regret, BPE against 6-BPE",
            more_regret("BPE", "6-BPE"),
            low=_ABOVE_ZERO,
            alike=ALIKE,
        ),
        Claim(
            "gp-ucb-lowest",
            curves,
            "Fully sequential GP-UCB has the smallest mean regret.",
            "relative difference of the cumulative regret, 6-BPE against GP-UCB",
            more_regret("6-BPE", "GP-UCB"),
            low=_ABOVE_ZERO,
            alike=ALIKE,
            quick=True,
        ),
        *(
            Claim(
                f"fixed-{B}-worse",
                fixed,
                f"Equal batch lengths are highly suboptimal (B = {B}).",
                f"relative difference of the cumulative regret, Fixed {B}-BPE against {B}-BPE",
                more_regret(f"Fixed {B}-BPE", f"{B}-BPE"),
                low=0.25,
                quick=B == 3,
                note="Highly suboptimal is read as at least 25 % more.",
            )
            for B in (3, 4, 6)
        ),
        Claim(
            "fixed-gap-shrinks",
            fixed,
            "The gap between equal and varying lengths shrinks as the number of batches grows.",
            "gap in regret at B = 3 less that at B = 6, over the regret of 3-BPE",
            gap("Fixed 3-BPE", "3-BPE", "Fixed 6-BPE", "6-BPE"),
            low=_ABOVE_ZERO,
            alike=ALIKE,
        ),
        *(
            Claim(
                f"full-{B}-similar",
                full,
                f"The posterior of all data reaches regrets similar to that of the batch alone (B = {B}).",
                f"relative difference of the cumulative regret, {B}-BPE, full, against {B}-BPE",
                more_regret(f"{B}-BPE, full", f"{B}-BPE"),
                low=-0.25,
                high=0.25,
                note="Similar is read as within 25 %.",
            )
            for B in (3, 4, 6)
        ),
        Claim(
            "full-closer",
            full,
            "With all data the versions of BPE move closer together.",
            "gap of 3-BPE over 6-BPE with the batch's data less that with all data, over the regret of 6-BPE",
            gap("3-BPE", "6-BPE", "3-BPE, full", "6-BPE, full"),
            low=_ABOVE_ZERO,
            alike=ALIKE,
        ),
        Claim(
            "growing-beta",
            growing,
            "With a width that grows with the batch index the ordering of the versions changes significantly.",
            "Kendall's tau between the regrets of 3-, 4-, 6-BPE and BPE at a constant and at a growing width, all data",
            order_kept([f"{version}, full" for version in _VERSIONS], [f"{version}, growing" for version in _VERSIONS]),
            high=0.5,
            note="Significantly is read as a rank correlation of at most 0.5.",
        ),
        Claim(
            "few-batches",
            "Proposition 1",
            "BPE makes at most ceil(log2 log2 T) + 1 batches.",
            "number of batches less the bound",
            batches("BPE", lambda number: number[:, -1] - most_batches(number.shape[1])),
            high=0.0,
            quick=True,
        ),
    )


def second_function(curves: str, growing: str) -> tuple[Claim, ...]:
    """Claims that the paper makes of one of its figures, on the function of that figure."""
    return (
        Claim(
            "gp-ucb-spread",
            curves,
            "GP-UCB can suffer more from runs that fail: its regret varies more than that of BPE.",
            "log of the standard deviation of the regret, GP-UCB over 6-BPE",
            spread("GP-UCB", "6-BPE"),
            low=_ABOVE_ZERO,
            alike=ALIKE,
            note="Its width was tuned by hand on a function that the paper shows only as a plot, and a failure needs a "
            "width that is just too small for that function.",
        ),
        Claim(
            "growing-beta-gp-ucb",
            growing,
            "A width that grows with every evaluation raises GP-UCB's regret significantly.",
            "relative difference of the cumulative regret, GP-UCB, growing, against GP-UCB",
            more_regret("GP-UCB, growing", "GP-UCB"),
            low=0.25,
            note="Significantly is read as at least 25 % more.",
        ),
    )
