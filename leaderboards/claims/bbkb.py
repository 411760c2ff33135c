"""Claims of Calandriello et al. (2020), Near-linear time Gaussian process optimization with adaptive batching."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from leaderboards.claims.claim import ALIKE, Claim
from leaderboards.claims.measures import (
    at_best,
    bandwidths,
    batches,
    faster,
    fewer_batches,
    growth,
    more_regret,
    ratio_to_uniform,
)

__all__ = ["abalone", "cadata", "regression", "scalings"]

_ABOVE_ZERO = math.nextafter(0.0, 1.0)
_RIVALS = ("EpsGreedy", "BKB", "GP-UCB", "GP-AUCB", "ASYNC-TS")
_FRACTION = "A fraction is read as at most a half."
_BANDWIDTHS = (5.0, 7.5, 10.0, 12.5, 15.0, 17.5)


def _doubling(number: np.ndarray) -> np.ndarray:
    """Mean batch length in the second half of the run over that in the first."""
    half = number[:, number.shape[1] // 2]
    return half / np.maximum(number[:, -1] - half, 1.0)


_TABLE_1 = "bandwidths of Table 1"
_THEORY = "widths of the theorems"
_ABALONE_SECONDS = {
    "GP-UCB": "16 times the time of BBKB (15 to 17).",
    "GP-AUCB": "1.7 times the time of BBKB (1.6 to 1.8).",
    "ASYNC-TS": "26 times the time of BBKB (25 to 28).",
}
_CADATA_SECONDS = {
    "GP-UCB": "0.92 times the time of BBKB (0.82 to 1.03).",
    "GP-AUCB": "0.93 times the time of BBKB (0.83 to 1.03).",
    "ASYNC-TS": "11 times the time of BBKB (6 to 22, three repetitions).",
}
_EXACT = (
    "The paper's rival computes its posterior anew. Here exact posteriors keep pulls of one arm as one and are "
    "updated, so that their time is that of another program. Ours: "
)


def _smaller_at_best(rival: str, rows: Sequence[str], ours: Sequence[str], note: str = "") -> Claim:
    best = (
        "each at the bandwidth that is best for it here" if len(rows) > 1 else "BBKB at the bandwidth that is best here"
    )
    return Claim(
        f"best-smaller-regret-than-{rival.lower()}",
        "section 5, Fig. 1",
        f"BBKB's regret is smaller than that of {rival}.",
        f"relative difference of the cumulative regret, {rival} against BBKB, {best}",
        at_best(rows, ours),
        low=0.0,
        alike=ALIKE,
        note=note,
    )


def _smaller(rival: str, reading: str = _TABLE_1) -> Claim:
    row = ", theory" if reading == _THEORY else ""
    uses_it = rival != "EpsGreedy"
    return Claim(
        f"smaller-regret-than-{rival.lower()}{'-theory' if reading == _THEORY else ''}",
        "section 5, Fig. 1",
        f"BBKB's regret is smaller than that of {rival}.",
        f"relative difference of the cumulative regret, {rival} against BBKB",
        more_regret(f"{rival}{row if uses_it else ''}", f"BBKB{row}"),
        low=0.0,
        alike=ALIKE,
        quick=rival == "EpsGreedy" and reading == _TABLE_1,
        reading=reading,
    )


def _sweep(agent: str, own: float) -> tuple[str, ...]:
    """The rows of an agent at all bandwidths; `own` is that of the row without one in its label."""
    return tuple(agent if width == own else f"{agent}, {width:g}" for width in _BANDWIDTHS)


def _sum_rule() -> Claim:
    return Claim(
        "sum-rule-no-shorter",
        "section 4, after Theorem 1",
        "The rule that ends batches by a sum never gives smaller batches than that of the product.",
        "log of the number of batches by the product over that by the sum, GP-AUCB with either",
        fewer_batches("GP-AUCB, sum", "GP-AUCB"),
        low=-ALIKE,
        note="Pulls of one arm have the same sum and product, so where batches are runs of few arms both rules agree.",
    )


def abalone() -> tuple[Claim, ...]:
    """Claims on Abalone, whose suite has more rows."""
    source = "appendix D.1, Fig. 5"
    own = {"BBKB": 17.5, "BKB": 17.5, "GP-UCB": 5.0, "GP-AUCB": 12.5, "ASYNC-TS": 10.0}
    return (
        *(
            _smaller_at_best(rival, _sweep(rival, own[rival]) if rival in own else (rival,), _sweep("BBKB", 17.5))
            for rival in _RIVALS
        ),
        *regression(17.5, _ABALONE_SECONDS),
        *(_smaller(rival, _THEORY) for rival in _RIVALS),
        *(
            Claim(
                f"robust-on-more-bandwidths-than-{rival.lower()}",
                source,
                f"BBKB remains robust for a wider range of bandwidths than {rival}.",
                "number of the six bandwidths at which the regret ratio is at most 0.5, BBKB less the rival",
                bandwidths(_sweep("BBKB", 17.5), _sweep(rival, own[rival]), 0.5),
                low=_ABOVE_ZERO,
                alike=ALIKE,
                note="Robust is read as at most half the regret of the uniform policy.",
            )
            for rival in ("GP-UCB", "GP-AUCB")
        ),
        _sum_rule(),
    )


_FROM_TABLE_1 = (
    "The bandwidths are Table 1's, 15 and 17.5: regrets fall as they grow, that of BBKB from 391 at 5 to 29 at 17.5, "
    "and below Table 1's a run of the exact policies takes minutes."
)


def cadata() -> tuple[Claim, ...]:
    """Claims on Cadata."""
    few = ("{}", "{}, 15", "{}, 17.5")
    rows = {policy: tuple(row.format(policy) for row in few) for policy in ("BBKB", "GP-UCB", "GP-AUCB", "ASYNC-TS")}
    return (
        *(
            _smaller_at_best(rival, rows.get(rival, (rival,)), rows["BBKB"], _FROM_TABLE_1)
            for rival in _RIVALS
            if rival != "BKB"
        ),
        Claim(
            "best-smaller-regret-than-bkb",
            "section 5, Fig. 1",
            "BBKB's regret is smaller than that of BKB.",
            "relative difference of the cumulative regret, BKB against BBKB, each at the bandwidth that is best for it",
            None,
            note="A run of BKB takes more than half an hour at one bandwidth.",
        ),
        *regression(12.5, _CADATA_SECONDS),
        *(_smaller(rival, _THEORY) for rival in _RIVALS if rival != "BKB"),
        Claim(
            "smaller-regret-than-bkb-theory",
            "section 5, Fig. 1",
            "BBKB's regret is smaller than that of BKB.",
            "relative difference of the cumulative regret, BKB against BBKB",
            None,
            reading=_THEORY,
            note="A run of BKB takes more than half an hour with the narrower width, and wider bands pull more arms.",
        ),
        *(
            Claim(
                f"robust-on-more-bandwidths-than-{rival.lower()}",
                "appendix D.1, Fig. 6",
                f"BBKB remains robust for a wider range of bandwidths than {rival}.",
                "number of the six bandwidths at which the regret ratio is at most 0.5, BBKB less the rival",
                None,
                note="BBKB is robust at all six bandwidths here, see above, so no rival can be at more. Those of the "
                "rival are played on Abalone alone.",
            )
            for rival in ("GP-UCB", "GP-AUCB")
        ),
        _sum_rule(),
    )


_DATA_SETS = ("Abalone", "Cadata")
_SCALINGS = {
    "standard": "features standardised",
    "minmax": "features mapped to [0, 1]",
    "unit-norm": "features to unit norm",
}


def scalings() -> tuple[Claim, ...]:
    """The claim of Fig. 1 on features that are scaled in three ways, all policies at one bandwidth."""
    return tuple(
        claim
        for data in _DATA_SETS
        for scaling, reading in _SCALINGS.items()
        for row in [f"{{}}@{data}, {scaling}"]
        for claim in (
            Claim(
                f"{data}-{scaling}-below-uniform".lower(),
                "section 5, Fig. 1",
                f"BBKB's regret is a fraction of that of uniform sampling ({data}).",
                "regret ratio against the uniform policy",
                ratio_to_uniform(row.format("BBKB"), row.format("Uniform")),
                high=0.5,
                quick=data == "Abalone" and scaling == "standard",
                reading=reading,
                note=f"The paper says a fraction of the time, and of the regret that it is smallest. {_FRACTION}",
                scope="ours",
            ),
            *(
                Claim(
                    f"{data}-{scaling}-{rival}".lower(),
                    "section 5, Fig. 1",
                    f"BBKB's regret is smaller than that of {rival} ({data}).",
                    f"relative difference of the cumulative regret, {rival} against BBKB",
                    more_regret(row.format(rival), row.format("BBKB")),
                    low=0.0,
                    alike=ALIKE,
                    reading=reading,
                )
                for rival in ("GP-UCB", "GP-AUCB")
            ),
        )
    )


def regression(own: float, seconds: Mapping[str, str]) -> tuple[Claim, ...]:
    """Claims on a regression data set.

    Args:
        own: Bandwidth of the row BBKB.
        seconds: By exact rival, what was measured of its time.
    """
    return (
        *(_smaller(rival) for rival in _RIVALS),
        Claim(
            "faster-than-bkb",
            "section 5, Fig. 2",
            "BBKB needs a fraction of the time of BKB.",
            "log10 of the seconds of BKB over those of BBKB in the first 2,000 evaluations",
            faster("BBKB", "BKB", 2_000),
            low=math.log10(2),
            note=_FRACTION,
        ),
        *(
            Claim(
                f"faster-than-{rival.lower()}",
                "section 5, Fig. 2",
                f"BBKB needs a fraction of the time of {rival}.",
                f"log10 of the seconds of {rival} over those of BBKB in the first 2,000 evaluations",
                None,
                note=_EXACT + seconds[rival],
            )
            for rival in _RIVALS[2:]
        ),
        Claim(
            "faster-than-epsgreedy",
            "section 5, Fig. 2",
            "BBKB needs a fraction of the time of EpsGreedy.",
            "log10 of the seconds of EpsGreedy over those of BBKB in the first 2,000 evaluations",
            None,
            note="The paper does not say what model its EpsGreedy has. Ours keeps an average of every arm and costs "
            "next to nothing.",
        ),
        *(
            Claim(
                f"robust-{width:g}",
                "appendix D.1, Fig. 5 and 6",
                f"BBKB is robust over a wide range of bandwidths (bandwidth {width:g}).",
                "regret ratio against the uniform policy",
                ratio_to_uniform("BBKB" if width == own else f"BBKB, {width:g}"),
                high=0.5,
                note="Robust is read as at most half the regret of the uniform policy.",
            )
            for width in _BANDWIDTHS
        ),
        Claim(
            "near-linear",
            "section 5, Fig. 2",
            "BBKB's run time grows near-linearly.",
            "power of t with which its seconds grow over the last decade of the run",
            growth("BBKB"),
            high=1.2,
            note="Near-linear is read as a power of at most 1.2.",
        ),
        Claim(
            "steeper-rivals",
            "section 4, after Theorem 1",
            "The run time of GP-UCB grows like T^3 A, that of BKB like T max(A, T) d_eff^2.",
            "power of t with which seconds grow",
            None,
            note="These are operation counts of textbook forms. Here pulls of one arm are kept as one and posteriors "
            "are updated, so that the cost of a step follows the number of distinct arms; the time of BBKB beside "
            "theirs is measured above.",
        ),
        Claim(
            "batches-grow",
            "section 5, Fig. 3",
            "Batches grow with time.",
            "mean batch length in the second half of the run over that in the first",
            batches("BBKB", _doubling),
            low=1.5,
            quick=True,
            note="The paper shows linear growth on NAS-Bench-101; linear growth gives a factor above 1.5.",
        ),
    )
