"""Several outcomes: a policy for each, which learns its kernel, and the point that gains most in all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from agents.core.maximise import finite_values
from agents.core.protocol import Action, Actions, Feedback, Pending
from agents.experiment.goals import Goal
from agents.experiment.hypervolume import LogHypervolumeImprovement, boxes_above, is_dominated, reference_of
from agents.learned.gp_bucb import MAPBUCB

_BLOCK = 1_024  # candidates that are compared at a time
_NEAR = 16  # candidates drawn around the points that are best so far


class SeveralOutcomes:
    """Evaluates the point of largest expected hypervolume improvement, times the probability that limits are kept.

    Each outcome has the model of a policy of its own. Points that are open count as told: their outcomes are the
    posterior means (kriging believer), in the front of the best as in the variance; those that failed count so in the
    variance alone. The front is made of posterior means, so that noise does not push it up. An outcome that is there
    before the others is learnt at once: the point is open for the models of the others alone.

    Args:
        parts: A policy for each outcome, at the start of the experiment.
        goals: What is wanted of each outcome, in the same order.
        prior_mean: Of all outcomes, which is left out of their rewards, unit of the outcome.

    Attributes:
        parts: As given.
        goals: As given.

    Reference: Emmerich, Deutz and Klinkenberg (2011), see `hypervolume`; Ginsbourger, Le Riche and Carraro (2010),
    Kriging is well-suited to parallelize optimization, for open points.
    """

    def __init__(self, parts: Sequence[MAPBUCB], goals: Sequence[Goal], prior_mean: float = 0.0) -> None:
        self.parts, self.goals = tuple(parts), tuple(goals)
        self._tickets: list[list[int]] = [[] for _ in parts]  # of what each has learnt
        self.capabilities = self.parts[0].capabilities
        # Those with a direction first, as `LogHypervolumeImprovement` has them.
        self._order = sorted(range(len(goals)), key=lambda j: goals[j].direction is None)
        self._n_objectives = sum(goal.direction is not None for goal in goals)
        shift = np.array([0.0 if goals[j].target is not None else goals[j].sign * prior_mean for j in self._order])
        self._least = np.array([goals[j].least for j in self._order]) - shift
        self._most = np.array([goals[j].most for j in self._order]) - shift

    def offer(self, arms: Int[np.ndarray, " k"]) -> None:
        """Until the next call select among these arms."""
        for part in self.parts:
            part.offer(arms)

    def observe(self, *feedback: Feedback) -> None:
        """New results: one feedback for each outcome."""
        for part, tickets, each in zip(self.parts, self._tickets, feedback, strict=True):
            tickets += each.tickets.tolist()
            if len(each.tickets):
                part.observe(each)

    def select(self, n: int, pending: Pending) -> Actions:
        """`n` actions, one after the other."""
        first, open_ = self.parts[0], pending
        for _ in range(n):
            if len(self._known(open_)) < first.design_size:
                pick = first.space.random(1, first.rng, first.offered)
            else:
                pick = self._best(open_)
            open_ = Pending(np.append(open_.tickets, -1), np.concatenate([open_.actions, pick]))
        return open_.actions[len(pending) :]

    def _open(self, j: int, pending: Pending) -> Actions:
        """The open points of which the j-th outcome is not there."""
        return pending.actions[~np.isin(pending.tickets, self._tickets[j])]

    def _best(self, open_: Pending) -> Actions:
        space, offered = self.parts[0].space, self.parts[0].offered
        gain = self.gain(open_)
        if self.parts[0].problem.is_finite:
            X = space.coordinates(offered.arms)
            blocks = [gain(X[start : start + _BLOCK]) for start in range(0, len(X), _BLOCK)]
            return np.array([offered.best(finite_values(np.concatenate(blocks), offered.arms))])
        near = self._front(open_)
        near = near[self.parts[0].rng.integers(len(near), size=_NEAR)]
        return space.maximise(gain, self.parts[0].rng, near)  # type: ignore[attr-defined]

    def gain(self, open_: Pending) -> LogHypervolumeImprovement:
        """The acquisition function, with these points open."""
        Y, kept = self._believed(open_)
        Y = Y[:, : self._n_objectives]
        reference = reference_of(Y, self._least[: self._n_objectives])
        lower, upper = boxes_above(Y[kept], reference)
        ordered = [(self.parts[j], self._open(j, open_)) for j in self._order]
        models = [part._hallucinated(np.concatenate([part.failed, there])) for part, there in ordered]
        least, most = self._least[self._n_objectives :], self._most[self._n_objectives :]
        return LogHypervolumeImprovement(models, lower, upper, least, most)

    def _known(self, open_: Pending) -> Actions:
        return np.concatenate([self.parts[0].actions, self._open(0, open_)])

    def _believed(self, open_: Pending) -> tuple[Float[np.ndarray, "n m"], np.ndarray]:
        """Posterior means of all outcomes at evaluated and open points, and which of these keep to all limits."""
        X = self.parts[0].space.coordinates(self._known(open_))
        Y = np.column_stack([self.parts[j].posterior.at(X)[0] for j in self._order])
        return Y, np.all((self._least <= Y) & (self._most >= Y), axis=1)

    def _front(self, open_: Pending) -> Float[np.ndarray, "k d"]:
        """The points of the front; if none keeps to the limits, all points."""
        Y, kept = self._believed(open_)
        known = self._known(open_)
        if not kept.any():
            return known
        return known[kept][~is_dominated(Y[kept][:, : self._n_objectives])]

    def recommend(self, allowed: Bool[np.ndarray, " n"]) -> Action:
        """The evaluated point of best posterior mean among those whose means keep to all limits.

        Args:
            allowed: Which of the evaluated points, in the order of `parts[0].actions`, may be named.

        Raises:
            ValueError: if several outcomes have a direction, or no point is there that keeps to the limits.
        """
        if self._n_objectives > 1:
            raise ValueError(
                "recommend: expected a single outcome with a direction; pareto() has all points that are best"
            )
        Y, kept = self._believed(Pending.empty(self.parts[0].problem))
        kept &= allowed
        if not kept.any():
            limits = ", ".join(str(goal) for goal in self.goals if goal.limit is not None)
            raise ValueError(f"recommend: expected a point whose means keep to {limits}, got none yet")
        action: Action = self.parts[0].actions[int(np.argmax(np.where(kept, Y[:, 0], -np.inf)))]
        return action
