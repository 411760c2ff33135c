"""Claims about play without noise: how fast regret falls, or stops growing.

| symbol | meaning |
|---|---|
| `nu`, `d` | smoothness of a Matern kernel, dimension |
| error | `max_x abs(f(x) - mean_t(x))` over the arms: recommending the largest mean costs at most twice that |

The theorems bound the regret of every function of a norm, up to constants; a drawn function may do better. What is
checked is the growth over a stated part of a run, against that of the bound with its logarithms over the same part.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from agents.core.gp_settings import GPSettings
from gpbandit_envs.problem import Problem
from leaderboards.claims.claim import MORE, Claim, Figure, Range, at_most, short
from leaderboards.claims.measures import more_regret, of_runs
from leaderboards.claims.runs import Runs, truth
from leaderboards.score.statistics import Interval, mean_interval

SUITE = "noise-free"
COLUMNS = ("action",)
_D = 2
_SMOOTHNESS = {"Matern 1": 1.0, "Matern 2": 2.0, "Matern 3": 3.0}
_TASKS = ("SE", *_SMOOTHNESS)
_QUICK = ("SE", "Matern 3")
_FROM, _TO = 100, 400  # over which the cumulative regret is looked at
_TIMES = np.array([40, 52, 67, 86, 111, 144, 186, 240, 310, 400])
_EARLY = np.arange(8, 81, 8)
_RESOLVED = 1e-4  # ten times what the noise variance of the posterior leaves open


def predictors(
    problem: Problem, pulls: Int[np.ndarray, " T"], times: Int[np.ndarray, " p"]
) -> list[Float[np.ndarray, "A t"]]:
    """`k(X, X_t) (K_t + lam I)^-1` after the first `t` pulls, for each of `times`: what makes feedback the mean."""
    model = GPSettings().resolve(problem)
    assert problem.arms is not None
    K = model.kernel(problem.arms, problem.arms[pulls])
    return [np.linalg.solve(K[pulls[:t], :t] + model.lam * np.eye(t), K[:, :t].T).T for t in times.tolist()]


def _errors(
    task: str, times: Int[np.ndarray, " p"], runs: Runs
) -> tuple[Int[np.ndarray, " q"], Float[np.ndarray, "n q"]]:
    """Those of `times` that the runs have reached, and the errors of MVR in each repetition."""
    row = f"MVR@{task}"
    repetitions = runs.together(row)
    pulled = runs.column(row, "action", repetitions)
    times = times[times <= pulled.shape[1]]
    known: dict[bytes, list[np.ndarray]] = {}  # MVR's pulls do not depend on the feedback, and the arms are the same
    made = []
    for repetition, played in zip(repetitions, pulled, strict=True):
        problem, mean = truth(SUITE, task, repetition)
        pulls = played.astype(np.int64)
        weights = known.setdefault(pulls.tobytes(), []) or predictors(problem, pulls, times)
        known[pulls.tobytes()] = weights
        made.append([np.abs(mean - W @ mean[pulls[:t]]).max() for t, W in zip(times.tolist(), weights, strict=True)])
    return times, np.array(made)


def _power_of_error(task: str) -> Figure:
    def measure(runs: Runs) -> Interval:
        times, found = _errors(task, _TIMES, runs)
        return mean_interval(np.array([np.polyfit(np.log(times), np.log(error), 1)[0] for error in found]), runs.level)

    return Figure(f"slope of the logarithm of the error against that of t, from {_TIMES[0]} to {_TIMES[-1]}", measure)


def _rate_of_error(runs: Runs) -> Interval:
    rates = []
    times, found = _errors("SE", _EARLY, runs)
    for error in found:
        known = error > _RESOLVED
        fit = np.polyfit(times[known] ** (1 / (_D + 1)), np.log(error[known]), 1) if known.sum() > 2 else (math.nan,)
        rates.append(fit[0])
    return mean_interval(np.array(rates), runs.level)


def _growth(agent: str, task: str) -> Figure:
    """Power of t by which the cumulative regret grows from `_FROM` to `_TO`."""

    def power(regret: Float[np.ndarray, "n T"]) -> Float[np.ndarray, " n"]:
        R, last = np.cumsum(regret, axis=1), min(_TO, regret.shape[1])  # a run cut short has the same law
        return np.log(R[:, last - 1] / R[:, _FROM - 1]) / math.log(last / _FROM)

    text = f"power of t by which the cumulative regret of {agent} grows from {_FROM} to {_TO} evaluations"
    return of_runs(text, mean_interval, power, f"{agent}@{task}")


def _power(law: Callable[[float], float], first: float, last: float) -> float:
    """Power of t by which a law grows between two times."""
    return round(math.log(law(last) / law(first)) / math.log(last / first), 3)


def _simple(task: str) -> Claim:
    if task == "SE":
        said = "MVR's simple regret falls exponentially on the SE kernel, as exp(-t^(1/(d+1)) / 2)."
        text = "slope of the logarithm of the error against t^(1/(d+1)), while the error is above 1e-4 of the norm"
        note = "The theorem's root of a logarithm in the exponent is left out, which makes the range stricter."
        figure, expected = Figure(text, _rate_of_error), Range(high=-0.5)
        return Claim("mvr-simple-regret-se", "Theorem 4.2", said, figure, expected, quick=True, note=note)
    ratio = _SMOOTHNESS[task] / _D
    slope = _power(lambda t: (math.log(t) / t) ** ratio, float(_TIMES[0]), float(_TIMES[-1]))
    return Claim(
        f"mvr-simple-regret-{short(task)}",
        "Theorem 4.2; Corollary 3.2",
        f"MVR's simple regret falls as t^(-nu/d) on Matern kernels, here nu = {_SMOOTHNESS[task]:g} in d = {_D}.",
        _power_of_error(task),
        Range(high=slope),
        quick=task in _QUICK,
        note="The range is the slope of (log(t) / t)^(nu/d), the bound with its logarithm.",
    )


def _cumulative(task: str) -> Claim:
    nu = _SMOOTHNESS.get(task, math.inf)
    laws: tuple[tuple[str, Callable[[float], float]], ...] = (
        ("as t^((d - nu)/d), up to logarithms", lambda t: t ** ((_D - nu) / _D) * math.log(t)),
        ("as log(t)^2", lambda t: math.log(t) ** 2),
        ("as log(t)", math.log),
    )
    words, law = laws[0 if nu < _D else 1 if nu == _D else 2]
    said = f"The regret of phased elimination grows at most {words} ({task}, d = {_D})."
    note = "Up to logarithms is read as one factor log(t)." if nu < _D else ""
    expected, name = Range(high=_power(law, _FROM, _TO)), f"pe-regret-{short(task)}"
    return Claim(name, "Theorem 4.1", said, _growth("PE", task), expected, quick=task in _QUICK, note=note)


def _constant(task: str) -> Claim:
    said = f"Without noise the regret of GP-UCB stays constant on smooth kernels ({task}, d = {_D})."
    note = (
        "Constant is read as: at most 5 % more regret after four times as many evaluations. Runs without any more "
        "regret tell no interval: of 20 such runs, on one function in six it may still grow."
    )
    name, most = f"gp-ucb-constant-{short(task)}", at_most(_power(lambda t: 1.05 if t == _TO else 1.0, _FROM, _TO))
    return Claim(name, "abstract", said, _growth("GP-UCB", task), most, paper="iwazaki", note=note)


def _below_elimination(task: str) -> Claim:
    said = f"GP-UCB does better than policies whose pulls do not depend on the feedback ({task}, d = {_D})."
    name, figure = f"gp-ucb-below-pe-{short(task)}", more_regret("PE", "GP-UCB", row=f"{{}}@{task}".format)
    return Claim(name, "abstract; section 1", said, figure, MORE, quick=task in _QUICK, paper="iwazaki")


CLAIMS: tuple[Claim, ...] = (
    *map(_simple, _TASKS),
    *map(_cumulative, _TASKS),
    *map(_constant, ("SE", "Matern 3")),
    *map(_below_elimination, _TASKS),
)
