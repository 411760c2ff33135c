"""Claims of Iwazaki and Takeno (2025), section 6, about noise whose variance is known and differs.

The paper's variances differ from step to step, whatever is pulled; here they differ from arm to arm, which its theorems
cover: they bound the regret by the sum `V_T` of the variances of the pulls.

| symbol | meaning |
|---|---|
| error | `max_x abs(f(x) - mean_T(x))` over the arms: recommending the largest mean costs at most twice that |
"""

from __future__ import annotations

import functools
import math
from typing import Literal

import numpy as np
from jaxtyping import Float

from agents.core.finite import group_pulls
from agents.core.gp_settings import GPSettings
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.problem import Problem
from leaderboards.claims.claim import ALIKE_LOG10, LESS, Claim, Figure, Range, short
from leaderboards.claims.measures import more_regret
from leaderboards.claims.runs import Runs, of_each
from leaderboards.score.statistics import Interval, paired_difference

SUITE = "heteroscedastic"
COLUMNS = ("action", "reward")
_T, _D = 1_000, 2
_DRAWN = ("0.1 to 1", "0.01 to 0.1", "0.01 to 1")
_REAL = ("CrossedBarrel", "NASBench201")
_TASKS = (*_DRAWN, *_REAL)
_NOTE = "The paper proves orders of bounds, and has no experiment."
_TABLES = (
    f"{_NOTE} On a table the kernel is a modelling choice, and one variance for all is the pooled one, not the largest."
)


def _log_error(
    noise: Literal["common", "by_arm"],
    problem: Problem,
    mean: Float[np.ndarray, " A"],
    arms: np.ndarray,
    rewards: np.ndarray,
) -> float:
    """The logarithm of the error of the posterior mean after the pulls of a run."""
    model = GPSettings(noise=noise).resolve(problem)
    assert problem.arms is not None
    posterior = ExactPosterior(model.kernel, problem.arms, model.noise_of())
    posterior.update(*group_pulls(arms, rewards))
    return math.log10(np.abs(posterior.mean - mean).max())


_LOG_ERRORS = {
    "VA-MVR": functools.partial(_log_error, "by_arm"),  # with the variance of each arm
    "MVR": functools.partial(_log_error, "common"),
}


def _error_ratio(text: str, a: str, b: str) -> Figure:
    """`log10` of the error of a row over that of another."""

    def measure(runs: Runs) -> Interval:
        both = runs.together(a, b)
        x, y = (of_each(_LOG_ERRORS[row.partition("@")[0]], runs, SUITE, row, both) for row in (a, b))
        return paired_difference(np.array(x), np.array(y), runs.level)

    return Figure(f"log10 of {text}", measure)


def _bound(variance: float) -> float:
    """The order of the SE kernel's bound on the simple regret, for a variance of so much a pull."""
    V = _T * variance
    return math.sqrt(V / _T**2 * math.log(_T**2 / V) ** (_D + 1))


_LEAST_RATIO = round(math.log10(_bound(0.2) / _bound(0.002)), 3)


def _less_regret(task: str, suffix: str, words: str, row: str, reading: str) -> Claim:
    return Claim(
        f"va-pe-less-regret-{short(task)}{suffix}",
        "section 6; Theorem 6.3",
        f"Where the variances differ, VA-PE has less regret than what takes one variance for all ({task}{words}).",
        more_regret("VA-PE", "PE", row=f"{{}}{row}@{task}".format),
        LESS,
        quick=task == "0.1 to 1" and not suffix,
        note=_TABLES if task in _REAL else _NOTE,
        reading=reading,
    )


def _less_error(task: str) -> Claim:
    said = f"Where the variances differ, VA-MVR has less simple regret than what takes one for all ({task})."
    text = f"the error of VA-MVR after {_T:,} pulls over that of MVR"
    figure = _error_ratio(text, f"VA-MVR@{task}", f"MVR@{task}")
    expected, note = Range(high=0.0, alike=ALIKE_LOG10), _TABLES if task in _REAL else _NOTE
    return Claim(f"va-mvr-less-error-{short(task)}", "section 6; Theorem 6.4", said, figure, expected, note=note)


def _with_noise() -> Claim:
    said = "VA-MVR's simple regret falls with the noise as sqrt(V_T) does, up to logarithms, on the SE kernel."
    text = "its error with noise of 0.1 to 1 over that with 0.01 to 0.1"
    figure, expected = _error_ratio(text, "VA-MVR@0.1 to 1", "VA-MVR@0.01 to 0.1"), Range(low=_LEAST_RATIO)
    note = "The range is the ratio of the bounds with their logarithms, for a mean variance of 0.2 and of 0.002."
    name = "va-mvr-error-with-noise"
    return Claim(name, "Theorem 6.4", said, figure, expected, quick=True, note=note, scope="ours")


CLAIMS: tuple[Claim, ...] = (
    *(_less_regret(task, "", "", "", "width 2") for task in _TASKS),
    *(_less_regret(task, "-proven", ", proven width", ", proven", "proven width") for task in _TASKS),
    *map(_less_error, (*_DRAWN, "CrossedBarrel")),
    _with_noise(),
)
