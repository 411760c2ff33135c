"""Searches for the best hyperparameters of an environment whose maximum nobody knows, and prints them.

python benchmarks/best_known.py LogisticRegression
python benchmarks/best_known.py XGBoost --set program=pc1
python benchmarks/best_known.py LunarLanding

The documented values are those that these commands found when they started from round numbers, for LunarLanding from
Gymnasium's own heuristic with --sobol 64 --local 400 --starts 1. Started from them, a command can only do better.

First scrambled Sobol points, the best known ones and the middle of the box; then, from the best few, Gaussian steps
that shrink where they fail. The same arguments search the same points.
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium as gym
import numpy as np
from scipy.stats import qmc

import gpbandit_envs  # noqa: F401 - registers the ids
from gpbandit_envs.envs.live_training import Training

_FIRST, _SHRINK, _LEAST = 0.15, 0.9, 1e-3


def search(training: Training, n_sobol: int, n_local: int, n_starts: int) -> tuple[float, np.ndarray]:
    """The best score met, and its point of the unit cube."""
    dim = training.domain.dim
    rng = np.random.default_rng(0)
    sobol = qmc.Sobol(dim, rng=rng).random_base2((n_sobol - 1).bit_length())
    known = training.domain.unit([training.best_known.values])
    points = np.concatenate([known, np.full((1, dim), 0.5), sobol])
    scores = np.array([training.result(x).score for x in points])
    best = np.argsort(-scores, kind="stable")[:n_starts]
    found = [_climb(training, points[i], scores[i], n_local // n_starts, rng) for i in best]
    return max(found, key=lambda pair: pair[0])


def _climb(
    training: Training, x: np.ndarray, score: float, evaluations: int, rng: np.random.Generator
) -> tuple[float, np.ndarray]:
    size = _FIRST
    for _ in range(evaluations):
        # Some coordinates at a time: few directions are good ones late in a search.
        moved = rng.random(len(x)) < max(0.3, 1 / len(x))
        step = np.where(moved, size * rng.standard_normal(len(x)), 0.0)
        tried = np.clip(x + step, 0.0, 1.0)
        value = training.result(tried).score
        if value >= score:
            # An equal score moves, too: accuracies have plateaus.
            size = size / _SHRINK if value > score else size
            x, score = tried, value
        else:
            size = max(size * _SHRINK**0.25, _LEAST)
    return score, x


def _setting(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    return name, int(value) if value.isdigit() else value


def main() -> None:
    """Search and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="LogisticRegression, XGBoost or LunarLanding")
    parser.add_argument("--sobol", type=int, default=2_048, help="points of the first stage, rounded to a power of two")
    parser.add_argument("--local", type=int, default=2_048, help="evaluations of the second stage")
    parser.add_argument("--starts", type=int, default=8, help="points from which the second stage starts")
    parser.add_argument("--set", type=_setting, action="append", default=[], metavar="NAME=VALUE", help="keyword")
    a = parser.parse_args()
    env: Any = gym.make(f"GPBandit/{a.name}-v0", **dict(a.set)).unwrapped
    training: Training = env.recipe.family
    before = training.result(training.domain.unit([training.best_known.values])[0]).score
    score, x = search(training, a.sobol, a.local, a.starts)
    values = training.domain.values(x[None])[0]
    for dimension, value in zip(training.domain, values, strict=True):
        print(f"{dimension.name:20} {value:.6g}")
    print(f"score                {score:.6f}  (documented: {before:.6f}, upper bound: {training.ceiling:.6f})")
    # Rounded values must still have the score: they are what is written into the source.
    rounded = tuple(float(f"{value:.6g}") for value in values)
    print(f"rounded              {rounded}  score {training.result(training.domain.unit([rounded])[0]).score:.6f}")


if __name__ == "__main__":
    main()
