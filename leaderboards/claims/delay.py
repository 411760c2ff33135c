"""Claims of Vakili, Ahmed, Bernacchia and Pike-Burke (2023), Delayed feedback in kernel bandits."""

from __future__ import annotations

from leaderboards.claims.claim import ALIKE, Claim
from leaderboards.claims.measures import Measure, gap, more_regret
from leaderboards.claims.runs import Runs
from leaderboards.score.statistics import Interval, ratio_interval

__all__ = ["CLAIMS"]

_MEANS = (25, 50, 100)
_AT_ONCE = "BPE-Delay@no delay"
_BATCHES = 4  # those of T = 1,000


def _late(mean: int, agent: str = "BPE-Delay") -> str:
    return f"{agent}@mean {mean}"


def extra_evaluations(late: str, at_once: str, uniform: str, mean: float) -> Measure:
    """Extra regret under delay in evaluations of `uniform`, over the mean delay: 1 where each of them costs one."""

    def measure(runs: Runs) -> Interval:
        played = runs.together(late, at_once, uniform)
        x, y, z = (runs.column(row, "regret", played) for row in (late, at_once, uniform))
        return ratio_interval(x.sum(axis=1) - y.sum(axis=1), mean * z.mean(axis=1), runs.level)

    return measure


CLAIMS: tuple[Claim, ...] = (
    *(
        Claim(
            f"less-regret-{mean}{suffix}",
            "abstract; section on experiments",
            f"Under delays of mean {mean}, BPE-Delay has less regret than GP-UCB-SDF{words}.",
            f"relative difference of the cumulative regret, BPE-Delay against {rival}",
            more_regret(_late(mean), _late(mean, rival)),
            high=0.0,
            alike=ALIKE,
            quick=mean == 50 and not suffix,
            reading=reading,
            note=f"The paper's text could not be consulted; settings are those of the code that its authors published, "
            f"and the order is that of its bounds, sqrt(T gamma) + E[tau] and gamma sqrt(T) + E[tau] gamma.{note}",
        )
        for suffix, words, rival, reading, note in (
            ("", "", "GP-UCB-SDF", "", " Rewards are plus 2.35, as in that code."),
            (
                "-not-shifted",
                " with rewards as they are",
                "GP-UCB-SDF, not shifted",
                "rewards as they are",
                " Without a shift the zeros of open evaluations are the mean of the prior, and drive the policy away "
                "from them less; its theory asks for a mean that is never negative.",
            ),
        )
        for mean in _MEANS
    ),
    *(
        Claim(
            f"additive-{mean}",
            "abstract; Theorem 1",
            f"Delay adds to the regret no more than the order of E[tau] does (mean {mean}).",
            "extra regret of BPE-Delay over that without delay, in evaluations of Uniform, over E[tau]",
            extra_evaluations(_late(mean), _AT_ONCE, "Uniform@no delay", mean),
            high=_BATCHES,
            quick=mean == 50,
            note="The order of E[tau] is read as at most E[tau] uniform evaluations for each of the four batches.",
        )
        for mean in _MEANS
    ),
    Claim(
        "linear",
        "abstract; Theorem 1",
        "The regret grows no faster than linearly with E[tau].",
        "extra regret of BPE-Delay from mean 50 to 100 less that from 0 to 50, over the regret at 50",
        gap(_late(100), _late(50), _late(50), _AT_ONCE),
        high=0.1,
        note="No faster is read as at most a tenth of the regret more.",
    ),
    *(
        Claim(
            f"delay-costs-less-{mean}",
            "abstract",
            f"Delay costs BPE-Delay less than GP-UCB-SDF, where it multiplies gamma (mean {mean}).",
            "extra regret under delay, BPE-Delay less GP-UCB-SDF, over the regret of BPE-Delay without delay",
            gap(_late(mean), _AT_ONCE, _late(mean, "GP-UCB-SDF"), "GP-UCB-SDF@no delay"),
            high=0.0,
            alike=ALIKE,
        )
        for mean in _MEANS
    ),
)
