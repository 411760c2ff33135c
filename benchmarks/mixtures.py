"""A mixture with two outcomes: `agents.Experiment` beside Ax and BayBE, as their guides say. Hypervolume and seconds.

    python -m benchmarks.mixtures [--seeds 8] [--first 0] [--plates 8] [--player Ax]

The reaction is made up: the fractions of three solvents, of which water is at most 0.6, the temperature, and one of
three bases; the yield is to be large, the cost small. All play the same function, eight points a plate, each with the
noise of its seed; those that are not installed are left out. The hypervolume is that of the outcomes without noise
above a yield of 0 and below a cost of 100, which all but BayBE are told, as a share of what the front of 200,000 random
points has. Seconds are those of the processor while a plate is chosen, with one thread, so that the load of the
machine does not matter.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from threadpoolctl import threadpool_limits

import agents
from agents.experiment.hypervolume import boxes_above

PLATE = 8
BASES = ("KOAc", "CsOPiv", "K3PO4")
SOLVENTS = ("dioxane", "toluene", "water")
MOST_WATER = 0.6
MOST_COST = 100.0
NOISE = {"yield": 1.0, "cost": 0.5}

Point = dict[str, Any]


def reaction(p: Point) -> dict[str, float]:
    """Yield in percent and cost, without noise."""
    warm = (p["temperature"] - {"KOAc": 85, "CsOPiv": 70, "K3PO4": 100}[p["base"]]) / 35
    polar = p["water"] + 0.3 * p["dioxane"]
    base = {"KOAc": 70, "CsOPiv": 85, "K3PO4": 55}[p["base"]]
    yield_ = base * np.exp(-(warm**2) - ((polar - 0.45) / 0.25) ** 2 - 0.8 * (p["toluene"] - 0.35) ** 2) + 8
    cost = 12 + 45 * p["dioxane"] + 18 * p["toluene"] + 3 * p["water"] + 0.12 * p["temperature"]
    return {"yield": float(yield_), "cost": float(cost + {"KOAc": 2, "CsOPiv": 25, "K3PO4": 6}[p["base"]])}


class Player(Protocol):
    """One that is asked for a plate and told its outcomes."""

    def ask(self) -> list[Point]: ...

    def tell(self, told: list[tuple[Point, dict[str, float]]]) -> None: ...


class Ours:
    """`agents.Experiment` with its defaults."""

    def __init__(self, seed: int, agent: str = "MAP-BUCB") -> None:
        self._lab = agents.Experiment(
            {**dict.fromkeys(SOLVENTS, (0, 1)), "temperature": (20, 120), "base": list(BASES)},
            agent,
            outcome={"yield": ("max", ">= 0"), "cost": ("min", f"<= {MOST_COST}")},
            constraints=[agents.mixture(*SOLVENTS), f"water <= {MOST_WATER}"],
            seed=seed,
        )

    def ask(self) -> list[Point]:
        return self._lab.ask(PLATE)

    def tell(self, told: list[tuple[Point, dict[str, float]]]) -> None:
        for point, outcomes in told:
            self._lab.tell(point, outcomes)


class Random:
    """Uniform points of the constrained ranges."""

    def __init__(self, seed: int) -> None:
        self._seed, self._plate = seed, 0

    def ask(self) -> list[Point]:
        self._plate += 1
        return random_points(PLATE, (self._seed, self._plate))

    def tell(self, told: list[tuple[Point, dict[str, float]]]) -> None:
        pass


class Ax:
    """Ax's client with its defaults; it has no equalities, so that water is what the others leave of 1."""

    def __init__(self, seed: int) -> None:
        from ax.api.client import Client
        from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig

        self._client = Client(random_seed=seed)
        ranges = {"dioxane": (0.0, 1.0), "toluene": (0.0, 1.0), "temperature": (20.0, 120.0)}
        self._client.configure_experiment(
            parameters=[
                *(RangeParameterConfig(name=n, bounds=b, parameter_type="float") for n, b in ranges.items()),
                ChoiceParameterConfig(name="base", values=list(BASES), parameter_type="str", is_ordered=False),
            ],
            parameter_constraints=["dioxane + toluene <= 1", f"dioxane + toluene >= {1 - MOST_WATER}"],
        )
        # `yield` is a word of Python's, which Ax reads. Its guide has thresholds stated as constraints on objectives.
        self._client.configure_optimization(
            objective="percent, -cost", outcome_constraints=["percent >= 0", f"cost <= {MOST_COST}"]
        )
        self._open: dict[int, Point] = {}

    def ask(self) -> list[Point]:
        self._open = {
            i: {**found, "water": max(0.0, 1 - found["dioxane"] - found["toluene"])}
            for i, found in self._client.get_next_trials(max_trials=PLATE).items()
        }
        return list(self._open.values())

    def tell(self, told: list[tuple[Point, dict[str, float]]]) -> None:
        for i, (_, outcomes) in zip(self._open, told):
            self._client.complete_trial(i, raw_data={"percent": outcomes["yield"], "cost": outcomes["cost"]})


class BayBE:
    """A campaign of BayBE with a Pareto objective and its default recommender, which begins with random points."""

    def __init__(self, seed: int) -> None:
        from baybe import Campaign
        from baybe.constraints import ContinuousLinearConstraint
        from baybe.objectives import ParetoObjective
        from baybe.parameters import CategoricalParameter, NumericalContinuousParameter
        from baybe.searchspace import SearchSpace
        from baybe.targets import NumericalTarget
        from baybe.utils.random import set_random_seed

        set_random_seed(seed)
        space = SearchSpace.from_product(
            [
                *(NumericalContinuousParameter(name, (0, 1)) for name in SOLVENTS[:2]),
                NumericalContinuousParameter("water", (0, MOST_WATER)),
                NumericalContinuousParameter("temperature", (20, 120)),
                CategoricalParameter("base", list(BASES)),
            ],
            constraints=[ContinuousLinearConstraint(list(SOLVENTS), "=", [1.0] * 3, 1.0)],
        )
        targets = [NumericalTarget("yield"), NumericalTarget("cost", minimize=True)]
        self._campaign = Campaign(space, ParetoObjective(targets))
        self._rows: Any = None

    def ask(self) -> list[Point]:
        self._rows = self._campaign.recommend(batch_size=PLATE)
        found: list[Point] = self._rows.to_dict("records")
        return found

    def tell(self, told: list[tuple[Point, dict[str, float]]]) -> None:
        rows = self._rows.copy()
        for name in NOISE:
            rows[name] = [outcomes[name] for _, outcomes in told]
        self._campaign.add_measurements(rows)


PLAYERS: dict[str, Callable[[int], Player]] = {"Experiment": Ours, "Ax": Ax, "BayBE": BayBE, "Random": Random}


def random_points(n: int, seed: Any) -> list[Point]:
    """Uniform points that keep to the constraints."""
    rng = np.random.default_rng(seed)
    found: list[Point] = []
    while len(found) < n:
        for mixed in rng.dirichlet(np.ones(3), n).tolist():
            if mixed[2] <= MOST_WATER:
                found.append(
                    {**dict(zip(SOLVENTS, mixed)), "temperature": rng.uniform(20, 120), "base": str(rng.choice(BASES))}
                )
    return found[:n]


def hypervolume(Y: np.ndarray, reference: np.ndarray) -> float:
    """Volume above `r` that is dominated by rows of `Y`."""
    Y = Y[(reference < Y).all(axis=1)]
    if len(Y) == 0:
        return 0.0
    top = Y.max(axis=0)
    lower, upper = boxes_above(Y, reference)
    sides = np.clip(np.minimum(upper, top) - np.minimum(lower, top), 0.0, None)
    return float(np.prod(top - reference) - np.prod(sides, axis=1).sum())


def front_volume(points: list[Point]) -> float:
    """The hypervolume of points, of outcomes without noise."""
    Y = np.array([[found["yield"], MOST_COST - found["cost"]] for found in map(reaction, points)])
    best = Y[np.lexsort((-Y[:, 1], -Y[:, 0]))]  # what follows one of larger yield has to cost less
    return hypervolume(best[best[:, 1] > np.r_[-np.inf, np.maximum.accumulate(best[:, 1])[:-1]]], np.zeros(2))


def play(player: Player, plates: int, seed: int) -> tuple[list[float], list[float]]:
    """The hypervolume after each plate, and the seconds that it took to choose it."""
    noise, points, volumes, spent = np.random.default_rng((seed, 1)), [], [], []
    for _ in range(plates):
        started = time.process_time()
        asked = player.ask()
        spent.append(time.process_time() - started)
        for p in asked:
            total = sum(p[name] for name in SOLVENTS)
            if abs(total - 1) > 1e-3 or p["water"] > MOST_WATER + 1e-3:
                raise ValueError(f"{type(player).__name__} broke a constraint: {p}")
        player.tell([(p, {k: y + NOISE[k] * noise.standard_normal() for k, y in reaction(p).items()}) for p in asked])
        points += asked
        volumes.append(front_volume(points))
    return volumes, spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--plates", type=int, default=8)
    parser.add_argument("--player", choices=PLAYERS, action="append")
    chosen = parser.parse_args()
    whole = front_volume(random_points(200_000, 0))
    print(f"| player | after {chosen.plates // 2} plates | after {chosen.plates} | seconds a plate | in all |")
    print("|---|---|---|---|---|")
    for name in chosen.player or PLAYERS:
        volumes, spent = [], []
        try:
            for seed in range(chosen.first, chosen.first + chosen.seeds):
                with threadpool_limits(1), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    logging.disable(logging.WARNING)
                    found, seconds = play(PLAYERS[name](seed), chosen.plates, seed)
                volumes.append(np.array(found) / whole)
                print(
                    f"{name}, seed {seed}: {volumes[-1].round(3).tolist()} in {sum(seconds):.1f} s",
                    file=sys.stderr,
                    flush=True,
                )
                spent.append(seconds)
        except ImportError as error:
            print(f"| {name} | skipped: {error} | | | |", flush=True)
            continue
        V, S = np.array(volumes), np.array(spent)
        cells = [
            f"{V[:, t].mean():.3f} ± {V[:, t].std(ddof=1) / np.sqrt(len(V)):.3f}" for t in (len(V[0]) // 2 - 1, -1)
        ]
        print(f"| {name} | {cells[0]} | {cells[1]} | {S[:, 1:].mean():.2f} | {S.sum(axis=1).mean():.1f} |", flush=True)


if __name__ == "__main__":
    main()
