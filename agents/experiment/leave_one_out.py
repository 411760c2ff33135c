"""Whether the model of an experiment predicts: every outcome from those of all other points."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, isinf, sqrt
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import bdtr

from agents.core.protocol import Agent
from agents.experiment.candidates import Candidates
from agents.experiment.goals import Goal
from agents.experiment.history import History
from agents.experiment.region import Region
from agents.learned.base import LearnedAgent
from gpbandit_envs.gp.hyperparameters.likelihood import free_dim
from gpbandit_envs.gp.leave_one_out import leave_one_out
from gpbandit_envs.gp.regression import GPRegression

if TYPE_CHECKING:
    import pandas as pd

_LEVEL = 0.95  # of the intervals
_DEVIATIONS = 1.959963984540054  # of a normal distribution, within which that share lies
_FEWEST, _PER_LENGTHSCALE = 10, 3  # outcomes, below which nothing is judged
_GOOD, _POOR = 0.7, 0.9  # error, in that of the mean alone
_SELDOM = 4  # outcomes of a category's value, below which it is named, and hardly ever settled
_CHANCE = 0.01  # that as few outcomes lie within their intervals although these are right


@dataclass(frozen=True, eq=False, repr=False)
class Check:
    """How well a model predicts each outcome from those of all other points; print it.

    The model keeps the lengthscales and the noise that it learnt from all outcomes, which flatters it. The rule of
    `verdict` allows for that: of outcomes that are nothing but noise, at most one set in ten reads "Yes" with the
    default policy and the fewest outcomes that are judged, and far fewer with three times as many.

    Attributes:
        outcome: Name of the outcome.
        predictions: A row an outcome, numbered as in `Experiment.results`: `outcome`, and the `mean` and standard
            deviation `sd` of what is predicted of it, noise included, given those of all other points. Unit of the
            outcome.
        points: At how many different points they were: repeats of one tell nothing of others.
        noise_std: Standard deviation of the noise, as learnt; unit of the outcome.
        lengthscales: Distance over which outcomes stay alike, as learnt, as a share of the range of each parameter (on
            a logarithmic scale, of that of its logarithm); a category has one for each of its values. The longer, the
            less, or the more evenly, outcomes change over the range.
        fewest: Different points below which `verdict` is "Too early".
        seldom: How often each value of a category was seen that has fewer than three outcomes: of what it is good for
            little is known, and a campaign may stay with another that is second best.
        best_cases: By how much the best case of each value of a category, its largest mean + 1.96 sd, is above that of
            the best point's value, unit of the outcome; infinite if the value was never seen. Over all candidates, and
            on ranges over all points tried, with the value in place of theirs.
    """

    outcome: str
    predictions: pd.DataFrame
    points: int
    noise_std: float
    lengthscales: Mapping[str, float]
    fewest: int
    seldom: Mapping[str, int] = field(default_factory=dict)
    best_cases: Mapping[str, float] = field(default_factory=dict)

    @property
    def rmse(self) -> float:
        """Root mean squared error of the predictions, unit of the outcome."""
        return _root_mean_square(self.predictions["outcome"] - self.predictions["mean"])

    @property
    def rmse_of_mean(self) -> float:
        """That of predicting the mean of all outcomes everywhere: their standard deviation."""
        return _root_mean_square(self.predictions["outcome"] - self.predictions["outcome"].mean())

    @property
    def inside(self) -> Bool[np.ndarray, " n"]:
        """Which outcomes lie within the 95 % interval that was predicted of them, noise included."""
        error = (self.predictions["outcome"] - self.predictions["mean"]).abs()
        return (error <= _DEVIATIONS * self.predictions["sd"]).to_numpy()

    @property
    def coverage(self) -> float:
        """Share of outcomes inside; 0.95 or a little more is right."""
        return float(self.inside.mean())

    @property
    def open(self) -> tuple[str, ...]:
        """The values of categories never seen, or whose best case is above the best point's by more than the error.

        A smaller gain is no reason: of values that make no difference each may be the better one. A `seldom` value is
        open unless its best case is below by more than `rmse_of_mean`: of those the model is sure too early.
        """
        cases, spread = self.best_cases, self.rmse_of_mean
        found = [name for name in cases if cases[name] > (-spread if name in self.seldom else self.rmse)]
        return tuple(sorted(found, key=lambda name: -cases[name]))

    @property
    def verdict(self) -> str:
        """One sentence, by this rule, in which the ratio is `rmse / rmse_of_mean`; the first that holds.

        | it begins with | if |
        |---|---|
        | Too early | there are fewer than ten different points, three per lengthscale, or the policy's initial design |
        | No | all outcomes are equal, or the ratio is above 0.9 |
        | Hardly | the ratio is above 0.7 |
        | In part | intervals that are right would hold as few outcomes in one of 100 cases, or more rarely |
        | In part | a value of a category is `open` |
        | Yes | none of these |

        A category has one lengthscale where it has a kernel of its own, else one for each value.
        """
        n, inside, mean = len(self.predictions), int(self.inside.sum()), self.rmse_of_mean
        if self.points < self.fewest:
            what = "outcomes" if self.points == n else "different points"
            return f"Too early to tell: {self.points} {what}, and it takes {self.fewest}."
        if mean <= 1e-12 * abs(self.predictions["outcome"]).max():
            return "No: all outcomes are equal, and nothing can be learnt from them."
        error = f"its error is {self.rmse / mean:.2f} times that of the mean alone"
        if self.rmse > _POOR * mean:
            return f"No: {error}."
        if self.rmse > _GOOD * mean:
            return f"Hardly: {error}, which chance may give."
        if bdtr(inside, n, _LEVEL) < _CHANCE:
            return f"In part: {error}, but its intervals are too narrow, with {inside} of {n} outcomes inside."
        if self.open:
            unseen = [name for name in self.open if isinf(self.best_cases[name])]
            few = [name for name in self.open if name in self.seldom]
            listed = unseen or few or self.open
            named = ", ".join(listed[:3]) + ", ..." * (len(listed) > 3)
            why = f"{named} may be better than the best by more than that"
            if few:
                why = f"no outcome has {named}" if unseen else f"less than {_SELDOM} outcomes have {named}"
            return f"In part: {error}, but {why}; ask(n, fixed=...) tries one."
        return f"Yes: {error}, and {inside} of {n} outcomes lie within their {_LEVEL:.0%} intervals."

    def __repr__(self) -> str:
        n = len(self.predictions)
        # A name and its number stay in one line.
        lengths = ", ".join(f"{name} {value:.2g}".replace(" ", "\0") for name, value in self.lengthscales.items())
        listed = ", ".join(f"{name} {n}".replace(" ", "\0") for name, n in self.seldom.items())
        seldom = f"  seen less than {_SELDOM} times {listed}; ask(n, fixed=...) tries one"
        lines = [
            f"{self.outcome}: {n} outcomes, each predicted from the others"
            + ("" if self.points == n else f", those at its own point left out; {self.points} different points"),
            f"  error (RMSE)          {self.rmse:.3g}, of the mean alone {self.rmse_of_mean:.3g}",
            f"  within 95 % interval  {int(self.inside.sum())} of {n}",
            f"  learnt noise          {self.noise_std:.3g}",
            *textwrap.wrap(f"  learnt lengthscales   {lengths}", 100, subsequent_indent=" " * 24),
            *(textwrap.wrap(seldom, 100, subsequent_indent=" " * 24) if self.seldom else ()),
            self.verdict,
        ]
        return "\n".join(lines).replace("\0", " ")


def check_of(agent: Agent, id: str, history: History, goal: Goal, choices: Region | Candidates) -> Check:
    """The check of a policy, called `id`, that knows all that has been told; raises as `Experiment.check`."""
    import pandas as pd

    learned, posterior = _posterior_of(agent, id)
    known = [(i, each) for i, each in enumerate(history.all) if goal.name in each.numbers]
    if not known:
        raise ValueError("check: expected at least one outcome, got none yet")
    X = learned.space.coordinates(np.array([each.action for _, each in known]))
    y = np.array([history.reward(each, goal) for _, each in known])
    groups = np.array(history.points([each for _, each in known]))
    lam = np.array([each.sds.get(goal.name, sqrt(posterior.lam)) ** 2 for _, each in known])
    mean, variance = leave_one_out(posterior.kernel, X, y, lam, posterior.prior_mean, groups)
    told = [goal.measure(each.outcomes.get(goal.name, np.nan)) for _, each in known]
    columns = {"outcome": told, "mean": history.in_units(mean, goal), "sd": np.sqrt(variance)}
    coordinates = choices.parameters.coordinates
    done = np.isfinite(told)
    seen = dict(zip(coordinates, np.rint(X[done].sum(axis=0)).astype(int).tolist(), strict=True))
    predictions = pd.DataFrame(columns, index=[i for i, _ in known])
    return Check(
        goal.name,
        predictions.dropna(),  # what a failure counts as was not measured
        len(set(groups[done].tolist())),
        sqrt(posterior.lam),
        dict(zip(coordinates, learned.hyperparameters[0].lengthscales, strict=True)),
        max(
            _FEWEST,
            _PER_LENGTHSCALE * free_dim(learned.problem.dim, learned.groups),
            learned.design_size if learned.in_initial_design else 0,
        ),
        {name: seen[name] for name in choices.parameters.categories if seen[name] < _SELDOM},
        _best_cases(posterior, X[done], choices, goal) if done.any() else {},
    )


def _best_cases(
    posterior: GPRegression, X: Float[np.ndarray, "n d"], choices: Region | Candidates, goal: Goal
) -> dict[str, float]:
    """As of `Check`, given the points tried; without a direction only values that were never seen matter."""
    best, found = X[int(np.argmax(posterior.at(X)[0]))], {}
    names = choices.parameters.coordinates
    for columns in choices.parameters.groups:
        cases = {}
        for j in columns:
            Z = choices.with_level(X, columns, j)
            if len(Z) and not X[:, j].any():
                found[names[j]] = inf
            elif len(Z) and goal.direction is not None:
                mean, variance = posterior.at(Z)
                cases[j] = float((mean + _DEVIATIONS * np.sqrt(variance)).max())
        found |= {names[j]: case - cases[columns[int(np.argmax(best[[*columns]]))]] for j, case in cases.items()}
    return found


def _posterior_of(agent: Agent, id: str) -> tuple[LearnedAgent, GPRegression]:
    """A policy with one posterior whose kernel it has learnt, and that posterior; raises if it has none."""
    if not isinstance(agent, LearnedAgent):
        raise ValueError(f"check: {id!r} does not learn a kernel, expected a policy that does, such as 'MAP-BUCB'")
    if not isinstance(agent.posterior, GPRegression):
        raise ValueError(
            f"check: {id!r} averages over many kernels, expected a policy with a single one, such as 'MAP-BUCB'"
        )
    return agent, agent.posterior


def _root_mean_square(values: pd.Series[float]) -> float:
    return sqrt(float(np.square(values).mean()))
