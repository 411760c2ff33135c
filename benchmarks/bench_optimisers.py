"""Policies that learn the kernel beside Optuna's Gaussian process and BoTorch: seconds of a step, and what they find.

    python -m benchmarks.bench_optimisers [--seeds 10] [--evaluations 80] [--player MAP-UCB]

All play the same functions with the same noise, one point at a time, each as its own documentation says; those that
are not installed are left out. A step is a suggestion and what is done with its feedback. The regret is that of the
best point evaluated, without noise.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Protocol

import numpy as np
from threadpoolctl import threadpool_limits

import agents
from agents import Feedback, Pending
from benchmarks.measure import Row, against, seconds
from gpbandit_envs.functions.closed_forms import FORMULAS, Formula
from gpbandit_envs.gp.hyperparameters import sample_hyperparameters
from gpbandit_envs.problem import InitialData, Problem

STEPS, N = 6, 100  # steps that are timed, in the middle of which so many points have been evaluated


def ackley(X: np.ndarray) -> np.ndarray:
    """Ackley's function, negated: 0 at the origin, among ripples."""
    return (
        20 * np.exp(-0.2 * np.sqrt(np.mean(X * X, axis=1))) + np.exp(np.mean(np.cos(2 * np.pi * X), axis=1)) - 20 - np.e
    )


FUNCTIONS: dict[str, tuple[Formula, float]] = {
    "Branin": (FORMULAS["branin"], 0.1),
    "Hartmann6": (FORMULAS["hartmann6"], 0.01),
    # Not in the middle of the box, where policies start from and some samplers look first.
    "Ackley5": (Formula(ackley, (-10.0,) * 5, (15.0,) * 5, 0.0, (0.0,) * 5), 0.01),
}
"""Functions, and the standard deviation of the noise."""


@dataclass(frozen=True)
class Task:
    """A function on the unit cube.

    Attributes:
        name: One of `FUNCTIONS`.
    """

    name: str

    @property
    def dim(self) -> int:
        return len(FUNCTIONS[self.name][0].low)

    def mean(self, x: np.ndarray) -> float:
        formula, _ = FUNCTIONS[self.name]
        low, high = np.array(formula.low), np.array(formula.high)
        return float(formula.evaluate((low + x * (high - low))[None])[0])

    def regret(self, x: np.ndarray) -> float:
        return FUNCTIONS[self.name][0].optimum - self.mean(x)

    def noise(self, seed: int) -> Callable[[], float]:
        rng, std = np.random.default_rng((seed, 1)), FUNCTIONS[self.name][1]
        return lambda: std * float(rng.standard_normal())


class Player(Protocol):
    """One that is asked for a point and told its feedback."""

    def ask(self) -> np.ndarray: ...

    def tell(self, x: np.ndarray, y: float) -> None: ...


class Policy:
    """A policy of this project, or BoTorch in the loop of its documentation, with existing data or without."""

    def __init__(self, id: str, task: Task, seed: int, data: InitialData | None = None) -> None:
        problem = Problem(name=task.name, dim=task.dim, noise_std=FUNCTIONS[task.name][1], initial=data)
        self._agent, self._nothing, self._t = agents.make(id), Pending.empty(problem), 0
        self._agent.reset(problem, np.random.default_rng(seed))

    def ask(self) -> np.ndarray:
        point: np.ndarray = self._agent.select(1, self._nothing)[0]
        return point

    def tell(self, x: np.ndarray, y: float) -> None:
        self._agent.observe(Feedback.of([self._t], x[None], [y]))
        self._t += 1


class Study:
    """A study of Optuna with its sampler by a Gaussian process, kept for the whole episode."""

    def __init__(self, task: Task, seed: int, data: InitialData | None = None) -> None:
        agents.make("Optuna-GP")  # says what is missing
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._space: dict[str, Any] = {
            f"x{j}": optuna.distributions.FloatDistribution(0.0, 1.0) for j in range(task.dim)
        }
        self._study = optuna.create_study(direction="maximize", sampler=optuna.samplers.GPSampler(seed=seed))
        if data is not None:
            for x, y in zip(data.actions.tolist(), data.rewards.tolist()):
                self._study.add_trial(
                    optuna.trial.create_trial(params=dict(zip(self._space, x)), distributions=self._space, value=y)
                )
        self._trial: Any = None

    def ask(self) -> np.ndarray:
        self._trial = self._study.ask(self._space)
        return np.array([self._trial.params[name] for name in self._space])

    def tell(self, x: np.ndarray, y: float) -> None:
        self._study.tell(self._trial, y)


OURS = ("MAP-UCB", "UHE-BO", "MCMC-UCB")
PLAYERS: dict[str, Callable[..., Player]] = {
    **{id: partial(Policy, id) for id in (*OURS, "BoTorch-EI", "BoTorch-UCB")},
    "Optuna-GP": Study,
}


def play(player: Player, task: Task, evaluations: int, seed: int) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """The points, their feedback, and the seconds of each step without those of the function."""
    noise, X, y, spent = task.noise(seed), [], [], []
    for _ in range(evaluations):
        asked: list[np.ndarray] = []
        begun = seconds(lambda: asked.append(player.ask()))  # noqa: B023 - called at once
        x = asked[0]
        reward = task.mean(x) + noise()
        spent.append(begun + seconds(lambda: player.tell(x, reward)))  # noqa: B023
        X.append(x)
        y.append(reward)
    return np.array(X), np.array(y), spent


@cache
def history() -> tuple[Task, InitialData]:
    """An episode of MAP-UCB on Hartmann's function in 6 dimensions, so that all steps are timed on the same data."""
    task = Task("Hartmann6")
    X, y, _ = play(Policy("MAP-UCB", task, 0), task, N - STEPS // 2 - 1, 0)
    return task, InitialData(points=X, rewards=y)


def step(name: str) -> float:
    """Mean seconds of a step of that player around `N` evaluations; the first, which fills caches, does not count."""
    task, data = history()
    return float(np.mean(play(PLAYERS[name](task, 0, data), task, STEPS + 1, 1)[2][1:]))


def hmc() -> float:
    """Seconds of the draws behind one step of MCMC-UCB."""
    _, data = history()
    return seconds(lambda: sample_hyperparameters(data.actions, data.rewards, np.random.default_rng(0)))


def nuts() -> float:
    """The same number of draws by BoTorch's fully Bayesian model, which JAX compiles for each number of points."""
    import torch
    from botorch.fit import fit_fully_bayesian_model_nuts
    from botorch.models.fully_bayesian import FullyBayesianSingleTaskGP
    from botorch.models.transforms import Standardize

    one_thread()
    _, data = history()
    X, y = torch.tensor(data.actions), torch.tensor(data.rewards)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = FullyBayesianSingleTaskGP(X, y, outcome_transform=Standardize(1))
        return seconds(
            lambda: fit_fully_bayesian_model_nuts(
                model, warmup_steps=200, num_samples=10, thinning=1, disable_progbar=True
            )
        )


def one_thread() -> None:
    try:
        import torch
    except ImportError:
        return
    torch.set_num_threads(1)


def cases() -> Iterator[tuple[str, Callable[[], Row]]]:
    """For `benchmarks.run`: a step of each policy over one of each peer."""

    def row(ours: str, theirs: str, rounds: int) -> Row:
        one_thread()
        PLAYERS[theirs](Task("Hartmann6"), 0)  # says what is missing before anything is played
        what = f"{ours}, a step on Hartmann6, n = {N}, d = 6"
        return against(what, theirs, lambda: step(ours), lambda: step(theirs), rounds)

    for ours in OURS:
        # BoTorch takes ten times as long, and is as far from any policy.
        for theirs, rounds in {"Optuna-GP": 1 if ours == "MCMC-UCB" else 3, "BoTorch-UCB": 1}.items():
            yield f"{ours}-{theirs.partition('-')[0]}".lower(), partial(row, ours, theirs, rounds)
    yield (
        "hmc",
        lambda: against(
            f"210 draws of hyperparameters given {N} evaluations, d = 6", "BoTorch's NUTS, compiled anew", hmc, nuts, 1
        ),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--evaluations", type=int, default=80)
    parser.add_argument("--player", choices=PLAYERS, action="append", help="only these")
    arguments = parser.parse_args()
    one_thread()
    print("| function | player | seconds a step | regret: median | quartiles | each |\n|---|---|---|---|---|---|")
    with threadpool_limits(1):
        for function in FUNCTIONS:
            task = Task(function)
            for name in arguments.player or PLAYERS:
                regrets, spent = [], []
                for seed in range(arguments.seeds):
                    X, _, times = play(PLAYERS[name](task, seed), task, arguments.evaluations, seed)
                    regrets.append(min(map(task.regret, X)))
                    spent.append(np.mean(times))
                low, median, high = np.quantile(regrets, [0.25, 0.5, 0.75])
                each = " ".join(f"{regret:.2g}" for regret in regrets)
                cells = f"{np.median(spent):.3g} | {median:.2g} | {low:.2g} to {high:.2g} | {each}"
                print(f"| {function} | {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
