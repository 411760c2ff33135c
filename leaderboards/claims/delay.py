"""Claims of Vakili, Ahmed, Bernacchia and Pike-Burke (2023), Delayed feedback in kernel bandits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from leaderboards.claims.claim import ALIKE, LESS, Claim, Figure, at_most
from leaderboards.claims.measures import gap, more_regret, of_runs
from leaderboards.score.statistics import Interval, ratio_interval

_MEANS = (25, 50, 100)
_AT_ONCE = "BPE-Delay@no delay"
_BATCHES = 4  # those of T = 1,000
_SETTINGS = (
    "The paper's text could not be consulted; settings are those of the code that its authors published, and the order "
    "is that of its bounds, sqrt(T gamma) + E[tau] and gamma sqrt(T) + E[tau] gamma."
)
# Ending of the name, of the statement, rival, reading, note.
_READINGS = (
    ("", "", "GP-UCB-SDF", "", "Rewards are plus 2.35, as in that code."),
    (
        "-not-shifted",
        " with rewards as they are",
        "GP-UCB-SDF, not shifted",
        "rewards as they are",
        "Without a shift the zeros of open evaluations are the mean of the prior, and drive the policy away from them "
        "less; its theory asks for a mean that is never negative.",
    ),
)


def _extra_evaluations(late: str, mean: float) -> Figure:
    """Extra regret under delay in uniform evaluations, over the mean delay: 1 where each of them costs one."""

    def interval(x: np.ndarray, y: np.ndarray, z: np.ndarray, level: float) -> Interval:
        return ratio_interval(x.sum(axis=1) - y.sum(axis=1), mean * z.mean(axis=1), level)

    text = "extra regret of BPE-Delay over that without delay, in evaluations of Uniform, over E[tau]"
    return of_runs(text, interval, lambda regret: regret, late, _AT_ONCE, "Uniform@no delay")


def _claims() -> Iterator[Claim]:
    late = {mean: f"BPE-Delay@mean {mean}" for mean in _MEANS}
    for suffix, words, rival, reading, note in _READINGS:
        for mean in _MEANS:
            yield Claim(
                f"less-regret-{mean}{suffix}",
                "abstract; section on experiments",
                f"Under delays of mean {mean}, BPE-Delay has less regret than GP-UCB-SDF{words}.",
                more_regret("BPE-Delay", rival, row=f"{{}}@mean {mean}".format),
                LESS,
                quick=mean == 50 and not suffix,
                scope="ours",
                reading=reading,
                note=f"{_SETTINGS} {note}",
            )
    theorem, order = "abstract; Theorem 1", at_most(_BATCHES)
    note = "The order of E[tau] is read as at most E[tau] uniform evaluations for each of the four batches."
    for mean in _MEANS:
        said = f"Delay adds to the regret no more than the order of E[tau] does (mean {mean})."
        figure = _extra_evaluations(late[mean], mean)
        yield Claim(f"additive-{mean}", theorem, said, figure, order, quick=mean == 50, note=note)
    text = "extra regret of BPE-Delay from mean 50 to 100 less that from 0 to 50, over the regret at 50"
    figure = gap(text, late[100], late[50], late[50], _AT_ONCE)
    yield Claim("linear", theorem, "The regret grows no faster than linearly with E[tau].", figure, at_most(ALIKE))
    text = "extra regret under delay, BPE-Delay less GP-UCB-SDF, over the regret of BPE-Delay without delay"
    for mean in _MEANS:
        said = f"Delay costs BPE-Delay less than GP-UCB-SDF, where it multiplies gamma (mean {mean})."
        figure = gap(text, late[mean], _AT_ONCE, f"GP-UCB-SDF@mean {mean}", "GP-UCB-SDF@no delay")
        yield Claim(f"delay-costs-less-{mean}", "abstract", said, figure, LESS, scope="ours")


CLAIMS: tuple[Claim, ...] = tuple(_claims())
