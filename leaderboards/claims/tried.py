"""What was tried where a verdict is not what the paper says, by experiment and claim."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = [
    "ABALONE",
    "CADATA",
    "COSINES",
    "ESTIMATES",
    "F1",
    "F2",
    "NAS201",
    "ROSENBROCK",
    "SCALINGS",
    "UHE",
    "UHE_REAL",
]

_BANDWIDTH = (
    "Table 1's bandwidth acts on features whose scale the paper does not give; standardised here. At 15 and 17.5 most "
    "runs of any policy end in one of two arms, with regret ratios of 0.107 or 0.316, and their first arm decides in "
    "which. "
)
_DISTINCT = (
    "Exact posteriors keep pulls of one arm as one here: looked at afterwards in repetitions 0 and 1, the first 2,000 "
    "evaluations are of {} arms with GP-AUCB, of {} with BBKB, so that a sketch has next to nothing to save."
)
ABALONE: Mapping[str, str] = {
    "smaller-regret-than-epsgreedy": _BANDWIDTH
    + "Against BBKB at 12.5, EpsGreedy has 1.30 +- 0.38 times as much more.",
    "smaller-regret-than-bkb": _BANDWIDTH
    + "Of BKB's first 40 runs 20 end in the arm of 0.107. Against BBKB at 12.5, BKB has 0.80 +- 0.31 times as much "
    "more.",
    "smaller-regret-than-gp-ucb": _BANDWIDTH
    + "In the first 40 repetitions GP-UCB, at 5, has 788; BBKB has 749, 736 and 769 at 7.5, 10 and 12.5: "
    "the claim holds there. At one bandwidth and from the same arms GP-UCB has 736 at 10, 1407 at 12.5, 1736 at 15 and "
    "1377 at 17.5, BBKB 736, 769, 1700 and 1618.",
    "smaller-regret-than-gp-aucb": _BANDWIDTH
    + "From the same arms and at one bandwidth BBKB and GP-AUCB have one regret in the first 40 repetitions: "
    "791 and 790 at 5, 736 and 736 at 10, 769 and 771 at 12.5, which is GP-AUCB's here, 1700 and 1700 at 15, 1618 and "
    "1618 at 17.5. The bandwidth decides, not the policy.",
    "smaller-regret-than-async-ts": _BANDWIDTH + "ASYNC-TS is at 10, where BBKB has 736 and it has 1187.",
    "faster-than-gp-aucb": _DISTINCT.format("30 and 32", "26 and 24"),
    "robust-on-more-bandwidths-than-gp-aucb": "Both are robust at the same bandwidths: at one bandwidth and from the "
    "same arms they have one regret, see Fig. 1.",
    "smaller-regret-than-bkb-theory": "By less than a hundredth, which is the price of batches.",
    "smaller-regret-than-gp-aucb-theory": "By two hundredths; GP-AUCB computes what BBKB approximates, at a bandwidth "
    "of its own.",
}
_SKETCHED = (
    "On Cadata with standardised features both are given the same kernel, and the policy that computes exactly what "
    "BBKB approximates has less regret. "
    "Tried afterwards on repetitions 0 to 2: BBKB has 47.3 with coupled dictionaries, 46.6 with an oversampling of 8 "
    "(0 and 1 only), as against 52.8 with fresh ones of 2; the rest up to GP-UCB's 41.4 is the price of batches, as "
    "GP-AUCB's 46.4 has it. A bandwidth of 17.5 brings BBKB to 29.5, and "
    "GP-AUCB to 25.3 on repetitions 0 and 1."
)
_WIDE = (
    "The width of BBKB's theorem ends at 158, that of its authors' code at 34: it explores up to 10,000 evaluations, "
    "where the exact policies end at 23 (GP-UCB) and 50 (GP-AUCB). On Abalone the same reading has BBKB within two "
    "hundredths of the best, and its code's width does not: neither reproduces both data sets."
)
CADATA: Mapping[str, str] = {
    "smaller-regret-than-epsgreedy-theory": _WIDE,
    "smaller-regret-than-gp-ucb-theory": _WIDE,
    "smaller-regret-than-gp-aucb-theory": _WIDE,
    "smaller-regret-than-async-ts-theory": _WIDE,
    "smaller-regret-than-async-ts": "It ends in one of several arms: regrets of its runs are up to four times as large "
    "as others. Its deviation is a tenth of a width that no theorem asks of it.",
    "smaller-regret-than-gp-ucb": _SKETCHED,
    "smaller-regret-than-gp-aucb": _SKETCHED,
    "faster-than-gp-ucb": _DISTINCT.format("128 and 124", "132 and 129").replace(
        "GP-AUCB", "GP-AUCB, 120 and 108 with GP-UCB"
    ),
    "faster-than-gp-aucb": _DISTINCT.format("128 and 124", "132 and 129"),
    "smaller-regret-than-bkb": "BKB was played once: with 20,640 arms its 10,000 dictionaries take some 300 times the "
    "time of BBKB.",
}
_NARROW = (
    "At so large a bandwidth all arms tell of each other, and within some twenty batches the band is narrow enough "
    "to hold on to one arm. It is the width and not the sketch: tried afterwards on repetitions 0 to 2 of Abalone, "
    "BBKB has 3930 with coupled dictionaries and with an oversampling of 50 or 10,000 as with 2, and 744 to 764 "
    "with the width of its theorem; on 0 and 1 of Cadata 776 and 2 in all of these, 19 and 5 with that width."
)
_START = (
    "From the first arm of the data, where GP-UCB and GP-AUCB begin if left to themselves, none of 60 runs ends in "
    "another arm; from the rows drawn for BBKB 12 and 4 do, and 5 of BBKB's. The first evaluation decides that, not "
    "the sketch: in 4 of its 5 GP-AUCB does so too."
)
_ENDS = (
    "The scaling decides more than the policy does: regrets are some 50 on standardised features and below 10 here. "
    "17 of 60 runs of BBKB lose more than half as much again as the median, 14 of GP-AUCB's and 3 of GP-UCB's."
)
SCALINGS: Mapping[str, str] = {
    "abalone-minmax-gp-ucb": _START,
    "abalone-minmax-gp-aucb": _START,
    "cadata-standard-gp-ucb": _SKETCHED,
    "cadata-standard-gp-aucb": _SKETCHED,
    "abalone-unit-norm-below-uniform": _NARROW,
    "cadata-minmax-gp-ucb": _ENDS,
    "cadata-minmax-gp-aucb": _ENDS,
}
NAS201: Mapping[str, str] = {
    "regret-below-evolution-informed": "REG-EVOLUTION meets the best of all cells in each of the first ten runs, and "
    "draws near to it within the first hundreds of evaluations. Late feedback is not what holds BBKB back: tried "
    "afterwards on repetitions 0 and 1 up to 1,000 evaluations, its regret is 18.8 and 18.8 with batches of about 12 "
    "(C = 1.1), 19.0 and 20.2 with those of 100 (C = 2). At a bandwidth of 30 it is 32.7 at 2,000 on repetition 0, "
    "32.2 at 50.",
}
F1: Mapping[str, str] = {
    "growing-beta": "All repetitions have one order here; on f2 it changes. The paper says that it can.",
    "full-closer": "The posterior of all data lowers the regret of 6-BPE more than that of 3-BPE here, where the paper "
    "sees the larger B lose. Our reading picks arms by the variance of all data too. Tried afterwards on "
    "repetitions 0 to 9: with picks by the variance of the batch alone and bounds from all data, regrets are 41.9, "
    "26.8 and 18.2 for B = 3, 4 and 6, against 43.8, 29.6 and 21.4 without other batches' data and 44.4, 28.8 and 19.5 "
    "with picks by all data; the figure is -0.06 +- 0.03. All data help every B in either reading.",
}
F2: Mapping[str, str] = {
    "gp-ucb-spread": "It holds once the width is too small for the function. Tried afterwards on repetitions 0 to 19, "
    "standard deviations of the regret of GP-UCB and 6-BPE: 0.48 and 3.5 at sqrt(6), 2.8 and 3.0 at sqrt(2), 6.0 and "
    "3.1 at 1.",
    "full-closer": "The posterior of all data lowers the regret of 6-BPE more than that of 3-BPE here, as on f1.",
}
ROSENBROCK: Mapping[str, str] = {
    "as-good-as-sm-mei": "The width decides little of it: tried afterwards on repetitions 0 to 14, the relative "
    "difference is 0.14 +- 0.08 at a constant width of 3, 0.10 +- 0.08 at 2 and 0.08 +- 0.08 at 1.",
}
COSINES: Mapping[str, str] = {
    "gp-ucb-early-theorem": "Looked at afterwards in repetitions 0 to 39: with this width GP-UCB's mean regret rises "
    "from 0.6 at evaluation 2 to 2.4 at 7, where uniform evaluations have 1.3: it goes where it knows least, "
    "which is where this function is low. The first batch covers the domain and has 1.4. With a fifth of beta GP-UCB "
    "has 1.1 or less up to evaluation 7.",
}
_DRAWS = (
    "UHE-BO spends evaluations on draws for its estimate. Looked at afterwards in the first 50 repetitions: its mean "
    "simple regret after 100 evaluations is 0.20 (0.21 with the prior of rate 10), that of Wang-deFreitas after 50 is "
    "0.22 (0.21) and that of A-GP-UCB 0.25 (0.21)."
)
_TRAPS = (
    "It pays where MAP-UCB is trapped. Looked at afterwards: in the 17 of 50 repetitions in which MAP-UCB meets the "
    "hill of the maximum, the regret of A-GP-UCB is larger by 0.06 +- 0.09 and that of Wang-deFreitas by 0.09 +- 0.07; "
    "in the other 33 they are smaller by 0.11 and 0.12 +- 0.04."
)
_COPIES = (
    "Noise that is estimated from pseudo-observations takes copied feedback for noise: where it is stated instead, all "
    "else the same, the difference on Branin is 0.02, and UHE-BO is ahead in about half of the runs."
)
_XGBOOST = (
    "UHE-BO estimates its noise from pseudo-observations here, as it does by default. With noise from the data, tried "
    "afterwards on the same repetitions, half of the difference is left: 0.05 +- 0.05 to MAP-UCB, 0.08 +- 0.05 to "
    "MCMC-UCB, 0.03 +- 0.05 to A-GP-UCB, 0.05 +- 0.08 to Wang-deFreitas."
)
_LOGISTIC = (
    "UHE-BO estimates its noise from pseudo-observations here, as it does by default. With noise from the data, tried "
    "afterwards on the first 134 repetitions, a third of the difference is left: 0.03 +- 0.08 for 0.07 +- 0.09."
)
UHE: Mapping[str, str] = {
    "deceptive-better-than-a-gp-ucb": _DRAWS,
    "deceptive-better-than-wang-defreitas": _DRAWS,
    "deceptive-better-than-a-gp-ucb-gamma-rate": _DRAWS,
    "deceptive-better-than-wang-defreitas-gamma-rate": _DRAWS,
    "h1-a-gp-ucb-explores": _TRAPS,
    "h1-wang-defreitas-explores": _TRAPS,
    "mostly-better-than-a-gp-ucb-pseudo": _COPIES,
    "mostly-better-than-portfolio-pseudo": _COPIES,
    "branin-comparable-to-mcmc-ucb-pseudo": _COPIES,
    "branin-comparable-to-portfolio-pseudo": _COPIES,
}
_COPIED = (
    "The new loss copies the feedback of the nearest evaluation to uniform points, and copies are constant around each "
    "evaluation. Tried afterwards on repetitions 0 to 39 with MAP-UCB's data: with values of the function itself, and "
    "noise, in place of the copies the distance is 0.26 +- 0.05 (d = 1) and 0.35 +- 0.06 (d = 2), with copies 0.70 +- "
    "0.15 and 0.62 +- 0.09, with the plain loss 0.50 +- 0.11 and 0.52 +- 0.10. On uniform data copies have 0.81 +- "
    "0.20 and 0.24 +- 0.04, the plain loss 0.19 +- 0.05 and 0.17 +- 0.04."
)
ESTIMATES: Mapping[str, str] = {
    "draws-1-estimate-closer": _COPIED,
    "draws-1-loss-closer": _COPIED,
    "draws-2-loss-closer": _COPIED,
}
UHE_REAL: Mapping[str, str] = {
    "logisticregression-better-than-a-gp-ucb": _LOGISTIC,
    "xgboost-better-than-mcmc-ucb": _XGBOOST,
    "xgboost-better-than-a-gp-ucb": _XGBOOST,
    "xgboost-better-than-map-ucb": _XGBOOST,
    "xgboost-better-than-wang-defreitas": _XGBOOST,
}
