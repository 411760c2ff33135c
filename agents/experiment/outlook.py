"""How good the recommended point is, how much better anything could be, and whether to stop.

The model is a mixture of Gaussian processes whose hyperparameters are drawn given the outcomes. *Intervals* are between
quantiles of the mixture of normal distributions that it gives a point, in the middle at a level, widened around the
mean (`_WIDER`): those of the figures too. The *gap* is from the mean of the recommended point to the largest upper end
of all candidates, those left out that keep to a limit nowhere in their interval.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from math import floor, log10
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import ndtr

from agents.core.acquisition import Predictive
from agents.experiment.candidates import Candidates
from agents.experiment.goals import Goal
from agents.experiment.history import Evaluation, History
from agents.experiment.parameters import Point
from agents.experiment.plot import moved, outlook_figure
from agents.experiment.region import Region
from agents.learned.base import Mixture
from agents.learned.gp_bucb import MAPBUCB, MixtureBUCB
from gpbandit_envs.arguments import as_number
from gpbandit_envs.gp.threads import one_blas_thread
from gpbandit_envs.problem import InitialData, Problem

if TYPE_CHECKING:
    import plotly.graph_objects as go

FEWEST = 10
"""Outcomes below which nobody is told to stop."""

_DRAWS = 24  # of hyperparameters; with 12 the same outcomes gave gaps twice as far apart from seed to seed
_RANDOM = 2_048  # points of ranges that are looked at
_MOVED = 512  # points at which each parameter takes another value, for its effect
_WIDE = 2.0  # deviations of the bound around whose largest values more of them are
_HALVINGS = 40
_WIDER = 1.75
"""By how much intervals are wider than the mixture's own, around its mean.

Chosen on the tuning half of lab-v1, where categories were one-hot columns and the width 1 then. As it is now, 70
campaigns of `python -m benchmarks.statements 10 --half tuning --wider 1 1.75`: intervals at 90 % as the mixture has
them hold in 71 and 79 % of campaigns after 24 and 48 evaluations, and gaps in 69 and 77 %; so widened in 89 and 96 %,
and 93 and 100 %.
"""
_TRUE = {24: (83, 86, 65, 57), 48: (87, 87, 57, 70)}
"""In how many percent of 240 campaigns intervals and gaps at 90 % held, and of the worst family of six; by experiments.

On families of lab-v1 that chose nothing: `python -m benchmarks.statements 40 --half "held out"`.
"""
_PLATES = 12  # of a picture


@dataclass(frozen=True, eq=False, repr=False)
class Outlook:
    """What a model says of the recommended point, and of what else there may be; print it.

    Attributes:
        recommended: The point, a dict.
        mean: What is expected of it without noise, unit of the outcome.
        low: Lower end of the interval in which that lies.
        high: Upper end.
        gap: By how much something else may be better, same unit, >= 0.
        level: Of the interval, and of those of all candidates.
        n: Experiments with an outcome.
        note: What is not covered; "" for nothing.
        outcome: Name of the outcome.
    """

    recommended: Point
    mean: float
    low: float
    high: float
    gap: float
    level: float
    n: int
    note: str
    outcome: str
    _where: str
    _draw: Callable[[], go.Figure]

    def plot(self) -> go.Figure:
        """The best measured, the recommended point with its interval, and the best there may be, by plate.

        Raises:
            ImportError: if Plotly is not installed (extra `plot`).
        """
        return self._draw()

    def __repr__(self) -> str:
        mean, low, high, gap = rounded((self.mean, self.low, self.high, self.gap), self.high - self.low)
        lines = [
            f"Best so far by the model: {named(self.recommended)}: {self.outcome} {mean}, between {low} and {high} "
            f"({self.level:.0%}).",
            f"Nothing {self._where} is better by more than {gap} ({self.level:.0%}).",
        ]
        if self.n >= FEWEST:
            after = 24 if self.n < 36 else 48
            lines.append(
                f"After {after} experiments at 90% the first kind of statement was true in {{}}%, the second in {{}}% "
                "of 240 campaigns on six kinds of tables, each on its worst kind in {}% and {}%.".format(*_TRUE[after])
            )
        return "\n".join([*lines, self.note] if self.note else lines)

    def _repr_mimebundle_(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """For a notebook: the picture, and the text."""
        try:
            picture: dict[str, Any] = self.plot()._repr_mimebundle_(*args, **kwargs)
        except ImportError:
            picture = {}
        return picture | {"text/plain": repr(self)}


@dataclass(frozen=True, eq=False, repr=False)
class Stop:
    """Whether to stop; true if so, and printed with the reason.

    Attributes:
        stop: Whether nothing is better by more than `within`.
        gap: By how much something may be better, unit of the outcome.
        within: The wish.
        likely: Where something better by more than `within` is most likely.
    """

    stop: bool
    gap: float
    within: float
    likely: Point
    _text: str

    def __bool__(self) -> bool:
        return self.stop

    def __repr__(self) -> str:
        return self._text


def as_level(level: Any) -> float:
    """A number between 0 and 1; raises if it is none."""
    return as_number("level", level, "a number between 0 and 1", lambda q: 0 < q < 1)


def named(point: Mapping[str, Any]) -> str:
    """A point in words."""
    return ", ".join(f"{name} {value}" for name, value in point.items())


def rounded(numbers: Sequence[float], width: float) -> list[str]:
    """Numbers with two digits of a width."""
    digits = max(0, 1 - floor(log10(width))) if width > 0 else 3
    return [f"{number:.{digits}f}" for number in numbers]


def quantile(posterior: Predictive, Z: Float[np.ndarray, "m d"], share: float) -> Float[np.ndarray, " m"]:
    """The value below which `f` is with that probability at points, widened: of a mixture by halving."""
    found = [part.at(Z) for part in (posterior.parts if isinstance(posterior, Mixture) else (posterior,))]
    means, sds = np.array([mean for mean, _ in found]), np.sqrt([np.maximum(each, 1e-300) for _, each in found])
    low, high = (means - 9 * sds).min(axis=0), (means + 9 * sds).max(axis=0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        less = ndtr((middle - means) / sds).mean(axis=0) < share
        low, high = np.where(less, middle, low), np.where(less, high, middle)
    mean = means.mean(axis=0)
    out: np.ndarray = mean + _WIDER * ((low + high) / 2 - mean)
    return out


def _between(posterior: Predictive, Z: Float[np.ndarray, "m d"], low: float, high: float) -> Float[np.ndarray, " m"]:
    """The probability that `f` is between two numbers, at points."""
    found = [part.at(Z) for part in (posterior.parts if isinstance(posterior, Mixture) else (posterior,))]
    sds = np.sqrt([np.maximum(variance, 1e-300) for _, variance in found])
    means = np.array([mean for mean, _ in found])
    mean = means.mean(axis=0)
    low_end, high_end = (mean + (end - mean) / _WIDER for end in (low, high))
    share: np.ndarray = (ndtr((high_end - means) / sds) - ndtr((low_end - means) / sds)).mean(axis=0)
    return share


class Beliefs:
    """What is believed of all outcomes given evaluations, whatever the policy.

    Args:
        history: What was tried, and what is wanted.
        choices: What can be tried.
        problems: Of each outcome, as policies have it.
        seed: Of the draws, which depend on it and on how many evaluations count.
        evaluations: Those that count; None for all.
        lent: The policy where it is a mixture; None for one of its own.

    Attributes:
        known: The evaluations that count, with numbers.
        X: Their coordinates.
        models: Of the rewards of each outcome.

    Raises:
        ValueError: if outcomes with a direction do not differ.
    """

    def __init__(
        self,
        history: History,
        choices: Region | Candidates,
        problems: Sequence[Problem],
        seed: int,
        evaluations: Sequence[Evaluation] | None = None,
        lent: MAPBUCB | None = None,
    ) -> None:
        self.history, self.choices, self.problems = history, choices, problems
        self.known = [each for each in evaluations or history.all if each.numbers]
        self.seed, self.models = [seed, len(self.known)], []
        name = "points" if isinstance(choices, Region) else "arms"
        for goal, problem in zip(history.goals, problems, strict=True):
            told = [each for each in self.known if goal.name in each.numbers]
            y = np.array([history.reward(each, goal) for each in told])
            actions = np.array([each.action for each in told])
            if len(np.unique(y)) < 2 and (goal.direction is not None or len(y) == 0):
                same = f", all {told[0].numbers[goal.name]:g}" if len(y) > 1 else ""
                raise ValueError(f"{goal.name}: expected at least two outcomes that differ, got {len(y)}{same}")
            model = lent
            if model is None:
                model = MixtureBUCB(draws=_DRAWS, n_initial=1)
                sds = np.array([each.sds.get(goal.name, np.nan) for each in told])
                initial = InitialData(rewards=y, sds=sds, **{name: actions})
                model.reset(replace(problem, initial=initial), np.random.default_rng(seed))
            self.models.append(model)
        self.X = self.coordinates(self.known)

    @property
    def ends(self) -> list[tuple[float, float]]:
        """The limits of each outcome's rewards."""
        shifts = [goal.sign * self.history.expected(goal) for goal in self.history.goals]
        return [(goal.least - by, goal.most - by) for goal, by in zip(self.history.goals, shifts, strict=True)]

    def coordinates(self, evaluations: Sequence[Evaluation]) -> Float[np.ndarray, "n d"]:
        """Their points of the unit cube."""
        actions = np.array([each.action for each in evaluations])
        return actions if isinstance(self.choices, Region) else self.choices.arms[actions.astype(int)]

    def best(self, j: int) -> Evaluation:
        """The evaluation of best mean in an outcome among those whose means keep to all limits; raises if none does."""
        Y = [model.posterior.at(self.X)[0] for model in self.models]
        kept = np.array([each.status == "done" for each in self.known])
        for mean, (least, most) in zip(Y, self.ends, strict=True):
            kept &= (least <= mean) & (mean <= most)
        if not kept.any():
            limits = limits_of(self.history.goals)
            raise ValueError(f"outlook: expected a point whose means keep to {limits}, got none yet")
        return self.known[int(np.argmax(np.where(kept, Y[j], -np.inf)))]

    def candidates(self, j: int) -> Float[np.ndarray, "m d"]:
        """The candidates of a table that have not failed; of ranges many points, most where the bound is large."""
        if not isinstance(self.choices, Region):
            failed = [int(each.action) for each in self.history.own if each.status == "failed"]
            return np.delete(self.choices.arms, failed, axis=0)
        rng = np.random.default_rng(self.seed)
        found = np.concatenate([self.X, self.choices.sample(_RANDOM, rng)])
        for scale in (0.2, 0.05, 0.01):
            mean, variance = self.models[j].posterior.at(found)
            best = found[np.argsort(-mean - _WIDE * np.sqrt(variance))[: _RANDOM // 16]]
            found = np.concatenate([found, self.choices.around(best, scale, rng)])
        return found

    def point_at(self, x: Float[np.ndarray, " d"]) -> Point:
        """The point at coordinates."""
        if isinstance(self.choices, Region):
            return self.choices.proposed(x)[0]
        return self.choices.proposed(int(np.argmin(np.abs(self.choices.arms - x).max(axis=1))))[0]

    def band(self, j: int, level: float, Z: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "3 m"]:
        """Mean, and lower and upper end of the interval at points, unit of the outcome."""
        posterior, goal = self.models[j].posterior, self.history.goals[j]
        ends = [quantile(posterior, Z, share) for share in ((1 - level) / 2, (1 + level) / 2)]
        found = self.history.in_units(np.minimum([posterior.at(Z)[0], *ends], goal.best), goal)
        return np.array([found[0], found[1:].min(axis=0), found[1:].max(axis=0)])

    def effects(self, j: int, level: float) -> dict[str, tuple[float, float, float]]:
        """Of each parameter its total effect on the mean, with its interval over the hyperparameters.

        That is the share of the variance over all points which is left once all other parameters are known, so that
        what a parameter does together with others counts for each of them. Points are those that can be tried; one
        parameter at a time takes its value at another point. Under constraints the parts of a sum keep their ratios.

        Reference: Sobol (2001), Global sensitivity indices for nonlinear mathematical models; Jansen (1999), Analysis
        of variance designs for model output, for the estimate.
        """
        rng, parameters = np.random.default_rng(self.seed), self.choices.parameters
        if isinstance(self.choices, Region):
            A, B = self.choices.sample(_MOVED, rng), self.choices.sample(_MOVED, rng)
        else:
            A, B = self.choices.arms[rng.integers(len(self.choices.arms), size=(2, _MOVED))]
        posterior = self.models[j].posterior
        parts = posterior.parts if isinstance(posterior, Mixture) else (posterior,)
        before, found, start = [part.at(A)[0] for part in parts], {}, 0
        for each in parameters.all:
            columns = slice(start, start + each.dimension.size)
            start = columns.stop
            Z, there = self._moved(A, B, columns, each.name)
            shares = [
                float(np.square(part.at(Z)[0] - f[there]).mean() / (2 * f.var())) if len(Z) and f.var() else 0.0
                for part, f in zip(parts, before, strict=True)
            ]
            low, high = np.quantile(shares, [(1 - level) / 2, (1 + level) / 2]).tolist()
            found[each.name] = (float(np.mean(shares)), low, high)
        return found

    def _moved(
        self, A: Float[np.ndarray, "m d"], B: Float[np.ndarray, "m d"], columns: slice, name: str
    ) -> tuple[Float[np.ndarray, "k d"], Bool[np.ndarray, " m"]]:
        """Points with the value of one parameter at others, and of which of them there are such."""
        if not isinstance(self.choices, Region) or not self.choices.constraints:
            out = A.copy()
            out[:, columns] = B[:, columns]
            return out, np.ones(len(A), bool)
        parameters = self.choices.parameters
        rows = [parameters.domain.values(X) for X in (A, B)]
        pairs = [(parameters.exact_point(a), parameters.exact_point(b)) for a, b in zip(*rows, strict=True)]
        found = [moved(a, {name: b[name]}, self.choices) for a, b in pairs]
        there = np.array([point is not None for point in found], bool)
        kept = [parameters.row(point) for point in found if point is not None]
        return parameters.domain.unit(np.array(kept).reshape(-1, len(parameters.all))), there

    def kept(self, Z: Float[np.ndarray, "m d"]) -> Float[np.ndarray, " m"]:
        """The probability that all limits are kept, at points."""
        out = np.ones(len(Z))
        for model, (least, most) in zip(self.models, self.ends, strict=True):
            if np.isfinite(least) or np.isfinite(most):
                out *= _between(model.posterior, Z, least, most)
        return out

    def gap(self, j: int, level: float, Z: Float[np.ndarray, "m d"], mean: float, plate: Sequence[Any] = ()) -> float:
        """The gap above a mean among points, once a plate has been evaluated and came out as expected."""
        model = self.models[j]
        posterior = model._hallucinated(np.array(plate)) if len(plate) else model.posterior
        possible = np.ones(len(Z), bool)
        for other, (least, most) in zip(self.models, self.ends, strict=True):
            if np.isfinite(least) or np.isfinite(most):
                possible &= quantile(other.posterior, Z, (1 + level) / 2) >= least
                possible &= quantile(other.posterior, Z, (1 - level) / 2) <= most
        upper, best = quantile(posterior, Z[possible], (1 + level) / 2), self.history.goals[j].best
        return max(0.0, min(float(upper.max(initial=-np.inf)), best) - min(mean, best))


def limits_of(goals: Sequence[Goal]) -> str:
    """All limits, in words; "" for none."""
    return ", ".join(str(goal) for goal in goals if goal.limit is not None)


def look(beliefs: Beliefs, j: int, level: float, point: Evaluation, note: str = "") -> Outlook:
    """The outlook of the j-th outcome with a point that is recommended."""
    history, goal, x = beliefs.history, beliefs.history.goals[j], beliefs.coordinates([point])
    mean, limits = float(beliefs.models[j].posterior.at(x)[0][0]), limits_of(beliefs.history.goals)
    expected, low, high = beliefs.band(j, level, x)[:, 0].tolist()
    n = sum(goal.name in each.outcomes for each in beliefs.known)
    failed = sum(each.status == "failed" for each in history.all)
    said = [note]
    if n < FEWEST:
        said.append(f"There are {n} outcomes, and nobody has checked statements like these below {FEWEST}.")
    if limits:
        said.append(f"The point keeps to {limits} with a probability of {beliefs.kept(x)[0]:.0%}.")
    if failed:
        said.append(f"{failed} evaluation{'s' * (failed > 1)} failed; how likely another one fails is not covered.")
    where = "among the candidates" if isinstance(beliefs.choices, Candidates) else "in the ranges"
    gap = beliefs.gap(j, level, beliefs.candidates(j), mean)
    return Outlook(
        dict(point.point),
        expected,
        low,
        high,
        gap,
        level,
        n,
        " ".join(filter(None, said)),
        goal.measured,
        f"{where} that may keep to the limits" if limits else where,
        partial(_draw, beliefs, j, level, (n, expected, low, high, gap)),
    )


def stop_of(beliefs: Beliefs, j: int, found: Outlook, within: float, plate: Sequence[Evaluation]) -> Stop:
    """Whether to stop, and why; after a plate that would be tried next."""
    Z, posterior = beliefs.candidates(j), beliefs.models[j].posterior
    mean = float(posterior.at(beliefs.coordinates([beliefs.history.stated(found.recommended)]))[0][0])
    chances = _between(posterior, Z, mean + within, np.inf) * beliefs.kept(Z)
    likely = beliefs.point_at(Z[int(np.argmax(chances))])
    enough, few = found.gap <= within, found.n < FEWEST
    after = beliefs.gap(j, found.level, Z, mean, [each.action for each in plate])
    gap, reached = rounded((found.gap, after), min(found.gap or within, within))
    if few:
        text = f"Not yet: there are {found.n} outcomes, and nobody has checked such statements below {FEWEST}."
    elif enough:
        text = f"Yes: nothing {found._where} is better than {named(found.recommended)} by more than {gap}"
        text += f" ({found.level:.0%}). Asked for a fifth of the range at 90%, such statements stopped 203 campaigns "
        text += "on tables, 16 of them too early."
    else:
        text = f"Not yet: something better by up to {gap} is possible ({found.level:.0%}). It is most likely near "
        text += f"{named(likely)}; the next plate of {len(plate)} is expected to bring the {gap} to {reached}."
    if found.note and not few:
        text += f"\n{found.note}"
    return Stop(enough and not few, found.gap, within, likely, text)


@one_blas_thread()
def _draw(beliefs: Beliefs, j: int, level: float, last: tuple[float, ...]) -> go.Figure:
    """The picture of `Outlook.plot`: the statements, and what they would have been after each plate of the last twelve.

    Those before go from the point of best mean, since what a policy recommended then is not known.
    """
    history, rows, done = beliefs.history, [], [0, len(beliefs.known)]
    sizes = [len(event.get("ask", ())) + ("point" in event) for event in history.events]
    ends = np.cumsum(sizes)[[at for at, event in enumerate(history.events) if "ask" in event]].tolist()
    for end in sorted({*ends})[-_PLATES:]:
        told = [each for each in [*history.before, *history.own[:end]] if each.numbers]
        if len(told) in done:
            continue
        done.append(len(told))
        with suppress(ValueError):  # too early for a statement
            now = Beliefs(history, beliefs.choices, beliefs.problems, beliefs.seed[0], told)
            found = look(now, j, level, now.best(j))
            rows.append((found.n, found.mean, found.low, found.high, found.gap))
    goal = history.goals[j]
    return outlook_figure([*rows, last], history.best_so_far()[goal.name], goal, level)
