"""What GP-UCB, GP-EI and GP-TS share: one evaluation at a time, on the posterior with a given kernel."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from agents.core.protocol import Action, Actions, Agent, Capabilities, Feedback, Pending
from agents.core.settings import GivenModel, as_count
from agents.core.space import Search
from agents.sequential.beliefs import ArmBeliefs, Beliefs, BoxBeliefs
from gpbandit_envs.problem import InitialData, Problem

__all__ = ["SequentialAgent"]


class SequentialAgent(Agent):
    """Evaluates the initial design, and then one action at a time, each after the feedback on the one before.

    Args:
        given: Kernel, noise, norm bound and confidence level, where the problem does not decide.
        n_start: Arms or points drawn uniformly and evaluated first.
        search: How acquisition functions are maximised on a box.
        initial: Existing data on arms; None for the problem's, if it has some.

    Attributes:
        model: The settings of the episode, from `reset` on.
        beliefs: The posterior of the episode, from `reset` on.
        width: Half-width of the confidence band that `predict` states, in posterior standard deviations.

    Raises:
        ValueError: if `n_start` is no integer >= 0, or at `reset` if kernel or noise are stated nowhere.
    """

    capabilities = Capabilities(frozenset({"finite", "box"}), batch="sequential", needs=frozenset({"kernel", "noise"}))
    beliefs: Beliefs
    width: float = 1.96

    def __init__(self, given: GivenModel, n_start: int, search: Search, initial: InitialData | None = None) -> None:
        self.given = given
        self.kernel, self.lam = given.kernel, given.lam
        self.n_start = as_count("n_start", n_start, 0)
        self.search = search
        self.initial = initial

    @abstractmethod
    def _choose(self) -> Actions:
        """The next action, as an array of one."""

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        if self.initial is not None and not problem.is_finite:
            raise ValueError(f"initial: expected None on a box, as {problem.name} is, got data of arms")
        self.problem, self.rng = problem, rng
        self.model = self.given.on(problem, doubles=problem.is_finite)
        if problem.is_finite:
            self.beliefs = ArmBeliefs(problem, self.model, self.n_start, self.initial, rng)
        else:
            self.beliefs = BoxBeliefs(problem, self.model, self.n_start, self.search)

    def select(self, n: int, pending: Pending) -> Actions:
        design = self.beliefs.initial_design(n, len(pending), self.rng)
        if len(design) or len(pending):
            return design
        return self._choose()

    def observe(self, feedback: Feedback) -> None:
        self.beliefs.observe(feedback)

    def recommend(self) -> Action:
        """The action of largest posterior mean: among all arms, or among the evaluated points of a box."""
        return self.beliefs.recommend()

    def predict(self, X: Float[np.ndarray, "n d"]) -> tuple[np.ndarray, np.ndarray]:
        mean, variance = self.beliefs.at(np.asarray(X, np.float64))
        return mean, self.width * np.sqrt(variance)

    def diagnostics(self) -> Mapping[str, float]:
        return {"width": self.width, **self.beliefs.diagnostics()}
