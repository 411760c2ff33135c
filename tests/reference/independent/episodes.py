"""An episode of an agent, with what its form needs to judge every pick."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents import Agent
from gpbandit_envs.problem import Problem
from tests.agents.play import noisy, play


@dataclass(frozen=True)
class Batch:
    """What an agent picked without feedback in between, and what it knew before.

    Attributes:
        arms: The picks, in order.
        rewards: Their feedback, which arrives at the end.
        width: The width in force.
        dictionary: The arms of the dictionary in force; none without a sketch.
    """

    arms: list[int]
    rewards: np.ndarray
    width: float
    dictionary: list[int]


def episode(agent: Agent, problem: Problem, mean: np.ndarray, seed: int) -> list[Batch]:
    assert problem.noise_std is not None
    reward, batches = noisy(mean, problem.noise_std, seed), []

    def feedback(arms: np.ndarray) -> np.ndarray:
        sketch = agent.sketch()
        dictionary = [] if sketch is None else sketch.posterior.dictionary.tolist()
        batches.append(Batch(arms.tolist(), reward(arms), agent.diagnostics()["width"], dictionary))
        return batches[-1].rewards

    play(agent, problem, feedback, seed)
    return batches


class Picks:
    """Holds picks to be maximisers, and counts those that were the only one.

    Papers leave ties open, and two formulas of one score differ by rounding. A pick is right if its score is within
    `tolerance` of the largest, in units of the largest magnitude; arms at mirrored places of a grid tie exactly.
    """

    def __init__(self, tolerance: float = 1e-10) -> None:
        self.tolerance, self.n, self.n_decided = tolerance, 0, 0

    def check(self, arm: int, scores: np.ndarray) -> None:
        least = scores.max() - self.tolerance * np.abs(scores).max()
        assert scores[arm] >= least, f"pick {self.n}: arm {arm} has {scores[arm]!r}, the largest is {scores.max()!r}"
        self.n += 1
        self.n_decided += int(np.count_nonzero(scores >= least) == 1)

    @property
    def decided(self) -> float:
        """Share of the picks that no tie left open."""
        return self.n_decided / self.n
