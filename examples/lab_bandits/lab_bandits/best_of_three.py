"""Best-of-Three."""

from __future__ import annotations

import numpy as np

from agents import Action, Actions, Agent, Capabilities, Feedback, Pending
from gpbandit_envs import Problem


class BestOfThree(Agent):
    """Draw three arms at random and pull the one of largest empirical mean; an arm never pulled counts as the best."""

    capabilities = Capabilities(frozenset({"finite"}), batch="fixed", delayed=True)

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        self.rng = rng
        self.counts = np.zeros(problem.n_arms)
        self.sums = np.zeros(problem.n_arms)

    def select(self, n: int, pending: Pending) -> Actions:
        drawn = self.rng.integers(len(self.counts), size=(n, 3))
        return np.take_along_axis(drawn, np.argmax(self._means()[drawn], axis=1)[:, None], axis=1)[:, 0]

    def observe(self, feedback: Feedback) -> None:
        ok = ~feedback.failed
        # Sorted, so that the sums do not depend on the order of arrival within a delivery.
        order = np.lexsort((feedback.rewards[ok], feedback.actions[ok]))
        np.add.at(self.counts, feedback.actions[ok], 1.0)
        np.add.at(self.sums, feedback.actions[ok][order], feedback.rewards[ok][order])

    def recommend(self) -> Action:
        means = np.where(self.counts > 0, self._means(), -np.inf)
        return int(np.argmax(means))

    def diagnostics(self) -> dict[str, float]:
        return {"arms_tried": float(np.count_nonzero(self.counts))}

    def _means(self) -> np.ndarray:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.counts > 0, self.sums / self.counts, np.inf)
