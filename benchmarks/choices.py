"""Whether two checkouts of the project make the same choices, policy by policy on finite arms.

    python -m benchmarks.choices --against PATH [--runs 50] [--agent GP-UCB]

Every policy plays short episodes on drawn functions, with existing data in every fifth of them and batches as the
policy makes them; both checkouts play the same. Where the arms differ, so does the first differing evaluation: then the
relative gap between the scores `mean + width * sd` of the two arms is printed, which rounding explains below 1e-9.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import agents
from agents import Agent, Feedback, Pending
from gpbandit_envs.gp import SE, Matern
from gpbandit_envs.problem import InitialData, Problem

SETTINGS: dict[str, list[dict[str, Any]]] = {
    "GP-UCB": [{}, {"width": "practical"}, {"norm_bound": "double"}, {"width": "dmm"}],
    "GP-BUCB": [{}, {"batch_size": 5, "t_init": 4, "width": "practical"}],
    "GP-AUCB": [{}, {"rule": "sum", "c": 4.0, "width": "practical"}],
    "BKB": [{}, {"width": "practical", "draws": "pull"}],
    "BBKB": [{}, {"width": "practical", "draws": "pull"}, {"min_batch": 3.0}],
    "BBKB-GlobalLocal": [{"width": "practical"}],
    "BPE": [{}, {"posterior": "full", "width": "growing"}],
    "EC-GP-UCB": [{"misspecification": 0.05}],
    "RGP-UCB": [{"corruption": 2.0}],
    "TV-GP-UCB": [{"eps": 0.01}],
    "R-GP-UCB": [{"block": 40}, {"block": 40, "width": "practical"}],
    "SW-GP-UCB": [{"window": 30}],
    "SM-UCB": [{"batch_size": 5, "n_simulations": 8}],
    "SM-MEI": [{"batch_size": 5, "n_simulations": 8}],
}
LEARNED = ("UHE-BO", "RA-BO", "Random+EXP3", "MAP-UCB", "MCMC-UCB", "A-GP-UCB", "Wang-deFreitas", "Portfolio")
OUTSIDE = ("Optuna", "BoTorch", "REG-EVOLUTION")
T = 120


def finite_policies() -> list[str]:
    """The ids that play on any finite set of arms with a given kernel, or without one."""
    return [id for id in agents.registered() if id not in LEARNED and not id.startswith(OUTSIDE)]


def task(seed: int) -> tuple[Problem, Callable[[np.ndarray], np.ndarray]]:
    """A drawn function on 150 arms, and its noisy feedback."""
    rng = np.random.default_rng(seed)
    X = rng.random((150, 2))
    kernel = SE(0.3) if seed % 2 else Matern(0.4, 2.5)
    noise_std = (0.05, 0.2, 1.0)[seed % 3]
    f = np.linalg.cholesky(kernel(X, X) + 1e-9 * np.eye(len(X))) @ rng.standard_normal(len(X))
    initial = None
    if seed % 5 == 4:
        arms = rng.integers(0, len(X), 12)
        initial = InitialData(arms=arms, rewards=f[arms] + noise_std * rng.standard_normal(12))
    problem = Problem(
        name="drawn", dim=2, arms=X, kernel=kernel, noise_std=noise_std, norm_bound=2.0, horizon=T, initial=initial
    )
    noise = np.random.default_rng((seed, 1))
    return problem, lambda arms: f[arms] + noise_std * noise.standard_normal(len(arms))


def play(agent: Agent, seed: int, until: int = T) -> list[int]:
    """The arms of one episode, or of its first `until` evaluations."""
    problem, feedback = task(seed)
    agent.reset(problem, np.random.default_rng((seed, 2)))
    played: list[int] = []
    nothing = Pending.empty(problem)
    adaptive = agent.capabilities.batch == "adaptive"
    while len(played) < until:
        arms = agent.select(T - len(played) if adaptive else 1, nothing)
        agent.observe(Feedback.of(np.arange(len(played), len(played) + len(arms)), arms, feedback(arms)))
        played += arms.tolist()
    return played


def choices(ids: list[str], runs: int) -> dict[str, list[list[int]]]:
    """The arms of every run of every policy."""
    found = {}
    for id in ids:
        settings = SETTINGS.get(id, [{}])
        found[id] = [play(agents.make(id, **settings[seed % len(settings)]), seed) for seed in range(runs)]
    return found


def score_gap(id: str, seed: int, ours: list[int], theirs: list[int]) -> float:
    """Relative gap between the scores of the two arms that differ first, on the posterior of all feedback before."""
    first = next(t for t, (a, b) in enumerate(zip(ours, theirs)) if a != b)
    settings = SETTINGS.get(id, [{}])
    problem, feedback = task(seed)
    y = feedback(np.array(ours[:first], np.int64)) if first else np.zeros(0)
    assert problem.arms is not None
    assert problem.kernel is not None
    assert problem.noise_std is not None
    agent = agents.make(id, **settings[seed % len(settings)])
    play(agent, seed, max(first, 1))
    pair = [ours[first], theirs[first]]
    band = agent.predict(problem.arms[pair])
    if band is None or not len(y):
        return float("nan")
    scores = band[0] + band[1]
    return float(abs(scores[0] - scores[1]) / max(abs(float(scores.max())), 1e-300))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, help="root of another checkout")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--agent", action="append", help="only these")
    parser.add_argument("--json", action="store_true", help="print the arms and compare nothing")
    arguments = parser.parse_args()
    ids = arguments.agent or finite_policies()
    ours = choices(ids, arguments.runs)
    if arguments.json or arguments.against is None:
        print(json.dumps(ours))
        return
    # This file, played by the other checkout.
    command = [sys.executable, __file__, "--json", "--runs", str(arguments.runs), *(f"--agent={id}" for id in ids)]
    environment = {**os.environ, "PYTHONPATH": str(arguments.against.resolve())}
    done = subprocess.run(command, cwd=arguments.against, env=environment, capture_output=True, text=True, check=True)
    theirs = json.loads(done.stdout)
    print("| policy | runs | same arms | relative score gap where they first differ |\n|---|---|---|---|")
    for id in ids:
        differ = [i for i, (a, b) in enumerate(zip(ours[id], theirs[id])) if a != b]
        gaps = ", ".join(f"{score_gap(id, i, ours[id][i], theirs[id][i]):.1e}" for i in differ)
        print(f"| {id} | {arguments.runs} | {arguments.runs - len(differ)} | {gaps or '-'} |")


if __name__ == "__main__":
    main()
