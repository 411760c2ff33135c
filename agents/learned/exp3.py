"""EXP3: which of a few ways to go on pays, when only the reward of the chosen one is seen."""

from __future__ import annotations

from math import e, log, sqrt

import numpy as np
from jaxtyping import Float

__all__ = ["Exp3", "exploration_rate"]


def exploration_rate(pulls: float, n_arms: int = 2) -> float:
    """`gamma = min(1, sqrt(K log K / ((e - 1) g)))` after `g` pulls of `K` arms.

    UHE-BO pulls an arm every two evaluations: with `g = t / 2` this is its `sqrt(4 log 2 / ((e - 1) t))`.

    Reference: Auer, Cesa-Bianchi, Freund and Schapire (2002), The nonstochastic multiarmed bandit problem,
    Corollary 3.2; Ha et al. (2023), Algorithm 1, line 5.
    """
    return min(1.0, sqrt(n_arms * log(n_arms) / ((e - 1) * pulls)))


class Exp3:
    """Exponential weights with exploration.

    `p_m = (1 - gamma) w_m / sum w + gamma / K`; the arm `a` that was played with reward `r` in [0, 1] gets
    `w_a *= exp(gamma r / (K p_a))`.

    Args:
        n_arms: Number of arms `K >= 2`.

    Attributes:
        arm: The arm drawn last.
        probability: The probability it was drawn with.
    """

    def __init__(self, n_arms: int = 2) -> None:
        self._log_weights = np.zeros(n_arms)
        self.arm = 0
        self.probability = 1.0

    def probabilities(self, gamma: float) -> Float[np.ndarray, " K"]:
        """`p` under the current weights."""
        # The largest weight is taken out, so that none overflows.
        weights = np.exp(self._log_weights - self._log_weights.max())
        return (1 - gamma) * weights / weights.sum() + gamma / len(weights)

    def draw(self, gamma: float, rng: np.random.Generator) -> int:
        """Draw an arm and remember its probability."""
        p = self.probabilities(gamma)
        self.arm = int(np.searchsorted(np.cumsum(p)[:-1], rng.random(), side="right"))
        self.probability = float(p[self.arm])
        return self.arm

    def update(self, gamma: float, reward: float) -> None:
        """Reward the arm drawn last.

        Raises:
            ValueError: if the reward is not in [0, 1].
        """
        if not 0 <= reward <= 1:
            raise ValueError(f"reward: expected a number in [0, 1], got {reward!r}")
        self._log_weights[self.arm] += gamma * reward / (len(self._log_weights) * self.probability)

    def state(self) -> dict[str, object]:
        """Plain values from which `restore` goes on."""
        return {"log_weights": self._log_weights.copy(), "arm": self.arm, "probability": self.probability}

    def restore(self, state: dict[str, object]) -> None:
        """Take over a state of `state`."""
        self._log_weights = np.array(state["log_weights"], np.float64)
        self.arm, self.probability = int(state["arm"]), float(state["probability"])  # type: ignore[call-overload, arg-type]
