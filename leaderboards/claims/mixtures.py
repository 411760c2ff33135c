"""Claims of Flynn and Reeb: their bounds beside those of Chowdhury and Gopalan, on the data of real runs.

| symbol | meaning |
|---|---|
| theory | `F + R / sqrt(lam) sqrt(2 (gamma + 1 + log(1 / delta)))` times the posterior standard deviation |
| AMM, DMM | see `agents.core.widths.AnalyticMixture` and `agents.exact.dual_mixture.DualMixture` |

Half-widths are worked out anew from the pulls and rewards of each run, for all arms after every pull, whatever the
policy that made the pulls had for its own width. The figure of a repetition is the largest ratio of all its runs.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from agents.core.gp_settings import WidthContext
from agents.core.widths import AnalyticMixture, InformationGain
from agents.exact.dual_mixture import DualArms, DualMixture, Evidence, intersection
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.problem import Problem
from leaderboards.claims.claim import LESS, Claim, Figure, Range
from leaderboards.claims.measures import more_regret
from leaderboards.claims.runs import NotPlayedError, Runs, of_each, told
from leaderboards.score.statistics import Interval, mean_interval

SUITE = "widths"
COLUMNS = ("action", "reward")

_ROWS = ("theory", "AMM", "DMM", "theory, 3 F", "DMM, 3 F")
_TASKS = ("SE, d = 1", "SE, d = 2", "SE, d = 3", "Matern, d = 1", "Matern, d = 2", "Matern, d = 3")


def ratios(problem: Problem, mean: Float[np.ndarray, " A"], arms: np.ndarray, rewards: np.ndarray) -> dict[str, float]:
    """The largest ratios of half-widths over the arms and pulls of a run, with `delta = 1 / T`.

    Args:
        problem: Arms with a kernel, noise and a bound on the norm.
        mean: Noise-free mean of each arm; not needed.
        arms: The pulls, shape (T,).
        rewards: Their feedback, shape (T,).
    """
    X, kernel, noise_std = told(problem)
    assert problem.norm_bound is not None
    del mean
    lam, band, least = noise_std**2, DualMixture(), 1e-9 * math.sqrt(kernel.diag(X).max())
    dual = DualArms(ExactPosterior(kernel, X, lam), band.grid)
    largest = np.zeros(3)
    for t, (arm, reward) in enumerate(zip(arms.tolist(), rewards.tolist())):
        for posterior in dual.posteriors:
            posterior.update_one(arm, reward)
        plain = dual.posteriors[0]
        context = WidthContext(
            t=t + 2,
            n_arms=problem.n_arms,
            lam=lam,
            noise_std=noise_std,
            norm_bound=problem.norm_bound,
            delta=1 / len(arms),
            prior_variance=float(plain.rows.prior.max()),
            information_gain=plain.information_gain,
        )
        found_band = band.band(context, Evidence(dual.misfits()), problem.pairs)
        known_means = ((posterior.mean, posterior.variance) for posterior in dual.posteriors)
        lower, upper = intersection(known_means, found_band)
        sd = np.sqrt(plain.variance)
        known = sd > least  # below, a half-width is rounding
        half, amm, theory = (upper - lower)[known] / 2, AnalyticMixture()(context), InformationGain()(context)
        dmm = (half / sd[known]).max()
        largest = np.maximum(largest, (amm / theory, dmm / theory, dmm / amm))
    return dict(zip(("AMM over theory", "DMM over theory", "DMM over AMM"), largest.tolist(), strict=True))


def _largest(text: str, ratio: str) -> Figure:
    """Mean over repetitions of the largest such ratio of all rows and tasks that were played."""

    def measure(runs: Runs) -> Interval:
        rows = [row for task in _TASKS for agent in _ROWS if (row := f"{agent}@{task}") in runs.agents]
        if not rows:
            raise NotPlayedError(f"no row of {', '.join(_TASKS)} was played")
        played = runs.together(*rows)
        found = [[of[ratio] for of in of_each(ratios, runs, SUITE, row, played)] for row in rows]
        return mean_interval(np.max(found, axis=0), runs.level)

    return Figure(text, measure)


def _narrower(name: str, source: str, statement: str, ratio: str) -> Claim:
    a, b = ratio.split(" over ")
    text = f"half-width of {a} over that of {b} on the same data, largest over pulls, arms, runs and tasks"
    return Claim(name, source, statement, _largest(text, ratio), Range(high=1.0), quick=True)


_LESS = "cumulative regret of {} less that of theory, over the latter's mean"
CLAIMS: tuple[Claim, ...] = (
    *(
        _narrower(
            *(f"{name.lower()}-below-theory", f"abstract; the {name} bound"),
            f"{name} is never wider than the bound of Chowdhury and Gopalan, on any data.",
            f"{name} over theory",
        )
        for name in ("AMM", "DMM")
    ),
    replace(
        _narrower(
            "dmm-within-amm",
            "the DMM bound",
            "DMM is never wider than AMM, which relaxes the same programme further.",
            "DMM over AMM",
        ),
        expected=Range(high=1.0 + 1e-6),
        exact=True,
        note="1 at arms that are known well, where the band of lam alone is the narrowest; the range allows for "
        "rounding.",
    ),
    Claim(
        "dmm-holds",
        "the DMM bound",
        "DMM holds for all arms at all times with probability 1 - delta.",
        Figure("share of runs in which DMM holds"),
        note="A share so near to 1 cannot be told from ten repetitions. On average over them, what every mean needs is "
        "0.90 (0.87 to 0.93) of the half-width of DMM, at its largest over pulls, arms, runs and tasks.",
    ),
    *(
        Claim(
            f"{row.lower()}-less-regret-{task.lower().replace(', d = ', '-')}",
            "abstract",
            f"With {row} in the place of the wider bound, GP-UCB has less regret ({task}).",
            more_regret(row, "theory", row=f"{{}}@{task}".format, text=_LESS.format(row)),
            LESS,
            note="The task is one of ours, not of the paper's.",
        )
        for row in ("AMM", "DMM")
        for task in _TASKS
    ),
)
