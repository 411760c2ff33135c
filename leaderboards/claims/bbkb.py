"""Claims of Calandriello et al. (2020), Near-linear time Gaussian process optimization with adaptive batching."""

from __future__ import annotations

import math

import numpy as np

from leaderboards.claims.claim import Claim
from leaderboards.claims.measures import batches, faster, growth, more_regret, ratio_to_uniform

__all__ = ["regression"]

_ABOVE_ZERO = math.nextafter(0.0, 1.0)
_RIVALS = ("EpsGreedy", "BKB", "GP-UCB", "GP-AUCB", "ASYNC-TS")
_BANDWIDTHS = (5.0, 7.5, 10.0, 12.5, 15.0, 17.5)


def _doubling(number: np.ndarray) -> np.ndarray:
    """Mean batch length in the second half of the run over that in the first."""
    half = number[:, number.shape[1] // 2]
    return half / np.maximum(number[:, -1] - half, 1.0)


def regression(own: float) -> tuple[Claim, ...]:
    """Claims on a regression data set; `own` is the bandwidth of the row BBKB."""
    return (
        *(
            Claim(
                f"smaller-regret-than-{rival.lower()}",
                "section 6, Fig. 1",
                f"BBKB achieves the smallest regret: smaller than {rival}.",
                f"relative difference of the cumulative regret, {rival} against BBKB",
                more_regret(rival, "BBKB"),
                low=0.0,
                quick=rival == "EpsGreedy",
            )
            for rival in _RIVALS
        ),
        *(
            Claim(
                f"faster-than-{rival.lower()}",
                "section 6, Fig. 2",
                f"BBKB needs a fraction of the time of {rival}.",
                f"log10 of the seconds of {rival} over those of BBKB in the first 2,000 evaluations",
                faster("BBKB", rival, 2_000),
                low=_ABOVE_ZERO,
            )
            for rival in _RIVALS[1:]
        ),
        *(
            Claim(
                f"robust-{width:g}",
                "appendix D.1, Fig. 5 and 6",
                f"BBKB is robust over a wide range of bandwidths (here {width:g}).",
                "regret ratio against the uniform policy",
                ratio_to_uniform("BBKB" if width == own else f"BBKB, {width:g}"),
                high=0.5,
                note="Robust is read as at most half the regret of the uniform policy.",
            )
            for width in _BANDWIDTHS
        ),
        Claim(
            "near-linear",
            "section 6, Fig. 2",
            "BBKB's run time grows near-linearly.",
            "power of t with which its seconds grow over the last decade of the run",
            growth("BBKB"),
            high=1.2,
            note="Near-linear is read as a power of at most 1.2.",
        ),
        *(
            Claim(
                f"{rival.lower()}-steeper",
                "section 6, Fig. 2",
                f"The run time of {rival} grows faster than linearly.",
                "power of t with which its seconds grow over the last decade of the run",
                growth(rival),
                low=1.2,
                note="GP-UCB here costs a step per distinct arm, not per evaluation: its growth flattens once it "
                "returns to the same arms."
                if rival == "GP-UCB"
                else "",
            )
            for rival in ("GP-UCB", "BKB")
        ),
        Claim(
            "batches-grow",
            "section 5; Fig. 3",
            "Batches grow with time.",
            "mean batch length in the second half of the run over that in the first",
            batches("BBKB", _doubling),
            low=1.5,
            quick=True,
            note="The paper shows linear growth on NAS-Bench-101; linear growth gives a factor above 1.5.",
        ),
    )
