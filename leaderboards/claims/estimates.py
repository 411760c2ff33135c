"""Fig. 1 and 3 of Ha et al. (2023): hyperparameters estimated from data that a policy chose.

Two ways to collect data (MAP-UCB's, UHE-BO's) and uniform points beside them; on each, two ways to estimate: the plain
loss, and the unbiased one of section 5.2. Where the function is drawn from a prior, the truth is the prior's; a fixed
function has none; the reference is then the plain estimate from 300 uniform points.

| symbol | meaning |
|---|---|
| `bias` | mean over features of `log(l / l*)`: positive where lengthscales are too long |
| `distance` | mean over features of its absolute value |
| `rmse` | root mean squared error of the posterior mean over the domain, over the standard deviation of f |

Theorem 6.4 says that RA-BO's estimate converges to the truth: on draws, its distance after many evaluations is compared
with that after a third of them.

What the paper leaves open: which functions its figures show, how many evaluations, and the true hyperparameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

import agents
from agents import Feedback
from agents.learned.base import LearnedAgent
from gpbandit_envs.gp.hyperparameters import map_estimate
from gpbandit_envs.problem import Problem
from leaderboards.claims.claim import LESS, MORE, Claim, Range
from leaderboards.claims.measures import first, of_runs
from leaderboards.claims.runs import Runs
from leaderboards.play.run import instance_env, run_spec
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.score.statistics import paired_difference

COLLECTORS = ("MAP-UCB", "UHE-BO", "Random")
LOSSES = ("plain", "unbiased")
_POINTS, _REFERENCE = 2_000, 300
_FITS = 4
_THIRD, _ALL = "the first third", "all"  # of RA-BO's data


@dataclass(frozen=True)
class Case:
    """A function, or a prior of functions, on a box.

    Attributes:
        name: Name in the rows.
        id: Environment.
        kwargs: Its settings.
        horizon: Number of evaluations.
        drawn: Whether it is drawn from the stated prior.
    """

    name: str
    id: str
    kwargs: Mapping[str, Any]
    horizon: int
    drawn: bool

    def spec(self, agent: str, repetition: int, horizon: int, seed: int) -> RunSpec:
        """A run on it."""
        env = Ref(self.id, self.kwargs)
        return RunSpec(env=env, agent=Ref(agent), repetition=repetition, horizon=horizon, seed=seed)


def _draws(dim: int, horizon: int) -> Case:
    kernel = {"name": "matern", "nu": 2.5, "lengthscale": [0.1] * dim}
    kwargs = {"n_arms": None, "dim": dim, "kernel": kernel}
    return Case(f"draws, d = {dim}", "GPBandit/GPSample-v0", kwargs, horizon, True)


CASES = (
    _draws(1, 40),
    _draws(2, 60),
    Case("Deceptive", "GPBandit/Deceptive-v0", {}, 60, False),
    Case("H1", "GPBandit/H1-v0", {}, 60, False),
)


def estimate(
    loss: str, problem: Problem, X: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"], rng: np.random.Generator
) -> LearnedAgent:
    """A policy that has estimated its hyperparameters from these data by the loss `"plain"` or `"unbiased"`."""
    # All but one of the data are initial: a pair is then half done, and its second point is never a random one.
    agent = agents.make("UHE-BO", loss=loss, n_initial=len(y) - 1, fits=_FITS)
    assert isinstance(agent, LearnedAgent)
    agent.reset(problem, rng)
    agent.observe(Feedback.of(range(len(y)), X, y))
    return agent


def study(repetitions: int, seed: int = 0, cases: tuple[Case, ...] = CASES) -> Runs:
    """A row for each loss, each way to collect data and each case: `bias`, `distance` and `rmse`."""
    references = {case.name: None if case.drawn else _reference(case, seed) for case in cases}

    def measured(repetition: int) -> dict[str, dict[str, float]]:
        found: dict[str, dict[str, float]] = {}
        for case in cases:
            T, reference = case.horizon, references[case.name]
            for collector in COLLECTORS:
                estimated = _played(case.spec(collector, repetition, T, seed))
                found |= {_name(loss, collector, case.name): estimated(loss, reference, T) for loss in LOSSES}
            if case.drawn:
                estimated = _played(case.spec("RA-BO", repetition, 3 * T, seed))
                for share, n in ((_THIRD, T), (_ALL, 3 * T)):
                    found[_from(share, case.name)] = estimated("unbiased", None, n)
        return found

    return Runs.of_study(map(measured, range(repetitions)))


def _name(loss: str, collector: str, case: str) -> str:
    return f"{loss} loss, data of {collector}, {case}"


def _from(share: str, case: str) -> str:
    return f"{_name('unbiased', 'RA-BO', case)}, {share} of it"


def _played(spec: RunSpec) -> Callable[..., dict[str, float]]:
    """Play a run; gives the function that judges the estimate by a loss from the first `n` of its data.

    That is against a reference, or without one against the prior's lengthscales.
    """
    trace, rng = run_spec(spec).trace, np.random.default_rng([spec.seed, spec.repetition])
    with instance_env(spec) as (env, _):
        problem: Problem = env.problem
        X, y = trace[[f"action_{j}" for j in range(problem.dim)]].to_numpy(), trace["reward"].to_numpy()
        Z = rng.random((_POINTS, problem.dim))
        f = env.mean(Z)

    def estimated(loss: str, reference: Float[np.ndarray, " d"] | None, n: int) -> dict[str, float]:
        kernel: Any = problem.kernel
        truth = np.asarray(kernel.lengthscale, np.float64) if reference is None else reference
        agent = estimate(loss, problem, X[:n], y[:n], rng)
        error = np.log(np.asarray(agent.hyperparameters[0].lengthscales) / truth)
        rmse = math.sqrt(float(np.mean((agent.predict(Z)[0] - f) ** 2))) / float(f.std())
        return {"bias": float(error.mean()), "distance": float(np.abs(error).mean()), "rmse": rmse}

    return estimated


def _reference(case: Case, seed: int) -> Float[np.ndarray, " d"]:
    """Lengthscales of a fixed function, from many uniform points."""
    rng = np.random.default_rng([seed, _REFERENCE])
    with instance_env(case.spec("Random", 0, 1, seed)) as (env, problem):
        X = rng.random((_REFERENCE, problem.dim))
        assert problem.noise_std is not None
        y = env.mean(X) + problem.noise_std * rng.standard_normal(_REFERENCE)
    return np.array(map_estimate(X, y, rng, starts=_FITS).hyperparameters.lengthscales)


_NO_TRUTH = (
    f"A fixed function has no true lengthscales: the reference is the plain estimate from {_REFERENCE} uniform points."
)


_DISTANCE = "distance of the log lengthscales from the truth"


def _closer(rows: tuple[str, str], text: str, column: str, *said: str, expected: Range = LESS, note: str = "") -> Claim:
    """A claim on the distances from the truth, or on the errors of the mean, of two rows: name, source, statement."""
    figure = of_runs(text, paired_difference, first, *rows, columns=(column,))
    name, source, statement = said
    return Claim(name, source, statement, figure, expected, note=note)


def _claims(case: Case) -> Iterator[Claim]:
    plain, ours = _name("plain", "MAP-UCB", case.name), _name("unbiased", "UHE-BO", case.name)
    uniform, copied = _name("plain", "Random", case.name), _name("unbiased", "MAP-UCB", case.name)
    short, note = case.name.replace(", d = ", "-").lower(), "" if case.drawn else _NO_TRUTH
    yield _closer(
        *((plain, uniform), f"{_DISTANCE}, plain loss, MAP-UCB's data less uniform ones", "distance"),
        *(f"{short}-map-is-biased", "section 4.1; Fig. 1"),
        f"Data that a policy chose bias the MAP estimate more than uniform ones do ({case.name}).",
        expected=MORE,
        note=note,
    )
    yield _closer(
        *((ours, plain), f"{_DISTANCE}, UHE-BO less MAP-UCB, each with its own data", "distance"),
        *(f"{short}-estimate-closer", "section 7.2; Fig. 3"),
        f"UHE-BO estimates the hyperparameters better than MAP does ({case.name}).",
        note=note,
    )
    yield _closer(
        *((copied, plain), f"{_DISTANCE} on MAP-UCB's data, unbiased loss less plain loss", "distance"),
        *(f"{short}-loss-closer", "section 5.2"),
        f"On the same chosen data, the new loss estimates better than the plain one ({case.name}).",
        note=note,
    )
    text = "error of the posterior mean over the domain, UHE-BO less MAP-UCB, in standard deviations of f"
    yield _closer(
        *((ours, plain), text, "rmse", f"{short}-mean-closer", "section 7.2; Fig. 3"),
        f"UHE-BO's posterior mean is closer to the function than MAP's ({case.name}).",
    )


def _converges(case: Case) -> Claim:
    text = f"{_DISTANCE} after {3 * case.horizon} evaluations of RA-BO, less that after {case.horizon}"
    return _closer(
        *((_from(_ALL, case.name), _from(_THIRD, case.name)), text, "distance"),
        *(f"{case.name.replace(', d = ', '-')}-converges", "Proposition 6.3; Theorem 6.4"),
        f"RA-BO's estimate converges to the truth as evaluations grow ({case.name}).",
        note="The theorem is about the limit and has no constants; where the distance falls, it is not refuted.",
    )


CLAIMS: tuple[Claim, ...] = (
    *(claim for case in CASES for claim in _claims(case)),
    *(_converges(case) for case in CASES if case.drawn),
)
