"""What was tried where a verdict is not what the paper says, by experiment and claim."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["ABALONE", "CADATA", "COSINES", "F1", "F2", "MATERN", "NAS201", "NEURO", "ROSENBROCK", "SE"]

_SIMULATIONS = (
    "Decided by a setting that the paper leaves open, how many runs a batch simulation matching simulates. Tried "
    "afterwards on two repetitions of gpbucb-se, the figure is 0.8 to 1.0 for SM-UCB and 0.9 to 1.1 for SM-MEI with "
    "20 of them, 1.1 to 1.3 and 1.3 to 1.4 with 50, 1.3 to 1.5 and 1.4 to 1.9 with 100."
)
MATERN: Mapping[str, str] = {
    "as-good-as-sm-mei": "Tried afterwards on repetitions 0 to 9: with a constant width instead of the theorem's, the "
    "relative difference is 0.12 +- 0.13 at 4, 0.00 +- 0.11 at 3, -0.06 +- 0.14 at 2 and -0.06 +- 0.18 at 1, against "
    "0.46 +- 0.16 with the theorem's. SM-MEI has no width, so the comparison rests on the widths of the paper's "
    "experiments, which it does not state; narrower ones than the theorem's would be in line with its figures.",
    "faster-than-sm-ucb": _SIMULATIONS,
    "faster-than-sm-mei": _SIMULATIONS,
}
SE: Mapping[str, str] = {
    "as-good-as-sm-mei": "An unstated setting. Tried afterwards on repetitions 0 to 19: with a constant width, not the "
    "theorem's, the relative difference is 0.05 +- 0.04 at 4, 0.00 +- 0.04 at 3, -0.03 +- 0.04 at 2 and "
    "-0.05 +- 0.03 at 1, against 0.19 +- 0.05 with the theorem's.",
    "minimum-regret-sm-ucb": "Of repetitions 0 to 19, GP-BUCB misses the best of 1,000 arms in 8, by less than 0.001 "
    "on average, and so does sequential GP-UCB; SM-UCB misses it in 6. At a constant width of 3 GP-BUCB misses it in 3 "
    "and its mean minimum regret is 0.00023, below SM-UCB's 0.00030; at 2 in 2, 0.00006.",
    "minimum-regret-sm-mei": "The width again: SM-MEI misses the best arm in 2 of repetitions 0 to 19, by 0.00001 on "
    "average; GP-BUCB at the theorem's width in 8, at 2 in 2.",
    "faster-than-sm-ucb": _SIMULATIONS,
    "faster-than-sm-mei": _SIMULATIONS,
}
COSINES: Mapping[str, str] = {
    "gp-ucb-early": "An unstated setting: tried afterwards on repetitions 0 to 19 with a constant width instead of the "
    "theorem's, the relative difference is -0.07 +- 0.06 at 4, 0.16 +- 0.07 at 3, 0.34 +- 0.05 at 2 and 1.46 +- 0.15 "
    "at 1. At the wide ones ten evaluations with feedback explore as those without, on the border of the square; the "
    "paper sees GP-UCB ahead, as with the narrow ones.",
    "as-good-as-sm-mei": "The width again, on repetitions 0 to 19: 0.11 +- 0.08 at 3, -0.03 +- 0.09 at 2 and "
    "-0.11 +- 0.23 at 1, against 0.73 with the theorem's.",
    "faster-than-sm-ucb": _SIMULATIONS,
}
ROSENBROCK: Mapping[str, str] = {
    "as-good-as-sm-mei": "The width again. Tried afterwards on repetitions 0 to 14: the relative difference is "
    "0.14 +- 0.08 at a constant width of 3, 0.10 +- 0.08 at 2 and 0.08 +- 0.08 at 1, against 0.41 +- 0.08 with the "
    "theorem's.",
    "faster-than-sm-ucb": _SIMULATIONS,
    "faster-than-sm-mei": _SIMULATIONS,
}
NEURO: Mapping[str, str] = {
    "as-good-as-sm-mei": "The width again. Tried afterwards on repetitions 0 to 14: the relative difference is "
    "-0.20 +- 0.07 at a constant width of 3, -0.37 +- 0.06 at 2 and -0.47 +- 0.06 at 1, against 0.62 +- 0.07 with the "
    "theorem's.",
}
_BANDWIDTH = (
    "Table 1's bandwidth acts on features whose scale the paper does not give; standardised here. At 15 and 17.5 runs "
    "end in one of two arms, with regret ratios of 0.107 or 0.316, and which of them is chance. "
)
ABALONE: Mapping[str, str] = {
    "smaller-regret-than-epsgreedy": _BANDWIDTH + "At 12.5, the rows of the sweep have EpsGreedy at 1.49 +- 0.81 more.",
    "smaller-regret-than-bkb": _BANDWIDTH + "The same is so for BKB: 5 of its 10 runs are at 0.107. Against BBKB at "
    "12.5, BKB is at 0.97 +- 0.64 more.",
    "smaller-regret-than-gp-ucb": _BANDWIDTH + "Against BBKB at 7.5, 10 and 12.5, all 10 runs of which are at 0.107 to "
    "0.111, GP-UCB has 0.053, 0.070 and 0.075 +- 0.002 more regret: the claim holds there.",
    "smaller-regret-than-gp-aucb": _BANDWIDTH + "Against BBKB at 12.5, the bandwidth of GP-AUCB here, GP-AUCB has "
    "0.24 +- 0.29 more: 7 of its 10 runs are at 0.107 to 0.110 as well.",
    "smaller-regret-than-async-ts": _BANDWIDTH + "Against BBKB at 12.5, ASYNC-TS is at 2.4 +- 1.1 more.",
    "bkb-steeper": "BKB's cost per evaluation grows with its dictionary here and not with t, as pulls of one arm are "
    "kept as one; the paper counts T max(A, T) d_eff^2 for all.",
}
_SKETCHED = (
    "Both are given the same kernel, and the policy that computes exactly what BBKB approximates has less regret. "
    "Tried afterwards on repetitions 0 to 2: BBKB has 47.3 with coupled dictionaries, 46.6 with an oversampling of 8 "
    "(0 and 1 only), as against 52.8 with fresh ones of 2; the rest up to GP-UCB's 41.8 is the price of batches, as "
    "GP-AUCB's 45.4 has it. A bandwidth of 17.5 brings BBKB to 29.5, and GP-AUCB to 25.3 on repetitions 0 and 1."
)
CADATA: Mapping[str, str] = {
    "smaller-regret-than-gp-ucb": _SKETCHED,
    "smaller-regret-than-gp-aucb": _SKETCHED,
    "smaller-regret-than-bkb": "BKB was played once: with 20,640 arms its 10,000 dictionaries take a hundred times as "
    "long.",
}
NAS201: Mapping[str, str] = {
    "simple-regret-matches": "REG-EVOLUTION meets the best of all cells in each of the ten runs, and draws near to it "
    "within the first hundreds of evaluations. Late feedback is not what holds BBKB back: tried afterwards on "
    "repetitions 0 and 1 up to 1,000 evaluations, its regret is 18.8 and 18.8 with batches of about 12 (C = 1.1), 19.0 "
    "and 20.2 with those of 100 (C = 2). At a bandwidth of 30 it is 32.7 at 2,000 on repetition 0, 32.2 at 50.",
    "regret-below-evolution-informed": "As for the simple regret; without initial data the regret is half as large.",
}
F1: Mapping[str, str] = {
    "full-closer": "The posterior of all data lowers the regret of 6-BPE more than that of 3-BPE here, where the paper "
    "sees the larger B lose. Our reading picks arms by the variance of all data too. Tried afterwards on all "
    "repetitions: with picks by the variance of the batch alone and bounds from all data, regrets are 41.9, 26.8 and "
    "18.2 for B = 3, 4 and 6, against 43.8, 29.6 and 21.4 without other batches' data and 44.4, 28.8 and 19.5 with "
    "picks by all data; the figure is -0.06 +- 0.03. All data help every B in either reading.",
}
F2: Mapping[str, str] = {
    "six-beats-original": "Tried afterwards on repetitions 0 to 3, mean regret of BPE and 6-BPE: 16.1 and 12.1 at "
    "width sqrt(2), 19.9 and 21.2 at 2, 24.3 and 28.5 at sqrt(6), 37.8 and 47.4 at 4. The order turns with the width, "
    "which the paper tuned on a function that differs from ours in all but its shape.",
    "smaller-b": "Tried afterwards on repetitions 0 to 3, mean regret of 3-BPE and 6-BPE: 17.1 and 12.1 at width "
    "sqrt(2), 22.7 and 21.2 at 2, 26.3 and 28.5 at sqrt(6).",
    "gp-ucb-spread": "It holds once the width is too small for the function. Tried afterwards on all repetitions, "
    "standard deviations of the regret of GP-UCB and 6-BPE: 0.40 and 2.45 at sqrt(6), 0.35 and 1.37 at sqrt(2), 3.88 "
    "and 2.97 at 1, where GP-UCB's mean, 8.9, is above that of 6-BPE, 8.1.",
    "full-closer": "Picks by the variance of the batch alone and bounds from all data, tried afterwards on all "
    "repetitions: regrets are 23.9, 18.8 and 24.3 for B = 3, 4 and 6; the figure is -0.06 +- 0.05.",
    "growing-beta": "Here 3 log 2i is below the constant 6 for the first three batches, so that it is the narrower "
    "width for most of them. Tried afterwards on six random functions of this kernel and noise with norm 3, one run of "
    "each: the figure is 0.02 +- 0.02, above 0 on five. The direction rests on the function.",
}
