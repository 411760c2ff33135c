"""Base class of the adapters: keeps the history of an episode, from which the other library suggests each point anew.

A suggestion is a function of the history and of a seed drawn for it. No state of the other library outlives a
suggestion, so that the state of a policy is plain data.
"""

from __future__ import annotations

import contextlib
import sys
from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from agents.core.protocol import Actions, Pending
from agents.core.space import BoxAgent
from gpbandit_envs.domain import Domain


class HistoryAgent(BoxAgent):
    """Plays on boxes, one point at a time; each suggestion depends on the history alone.

    Where the problem's notes state the domain, the other library gets its integers, logarithmic scales and categories.

    Attributes:
        X: Points evaluated, failed or not, existing data among them, shape (n, d).
        y: Their feedback, shape (n,); NaN where the evaluation failed.
    """

    @property
    def domain(self) -> Domain:
        """The box in its own units."""
        return self.space.domain

    @abstractmethod
    def suggest(self, seed: int) -> Float[np.ndarray, " d"]:
        """The next point of the unit cube; all randomness comes from the seed."""

    def select(self, n: int, pending: Pending) -> Actions:
        if len(pending):
            return np.zeros((0, self.problem.dim))
        x = self.suggest(int(self.rng.integers(2**31)))
        return self.domain.snap(np.clip(x[None], 0.0, 1.0))

    def record(self, X: np.ndarray, rewards: np.ndarray) -> None:
        self.X, self.y = np.concatenate([self.X, X]), np.concatenate([self.y, rewards])


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """PyTorch, where it is imported, on one thread: with several, sums and so suggestions are others."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
