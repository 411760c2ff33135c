"""The search for the best point of a region, in the place of that over a whole box."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize

from agents.adapters.base import HistoryAgent
from agents.core.acquisition import Objective
from agents.core.finite import Offer
from agents.core.maximise import finite_values
from agents.core.protocol import Action, Actions, Agent
from agents.core.space import BoxSpace
from agents.experiment.region import Region

_VERTICES = 4  # one candidate in so many is at a vertex
_NEAR = 0.1  # distance of the candidates around a good point, in the spread of the polytope
_ROUNDS = 8  # of climbing and stepping


class FeasibleSpace(BoxSpace):
    """The part of a box that constraints and fixed values leave.

    Candidates are drawn from the region, some at its vertices; the best are climbed by sequential quadratic programming
    within their polytopes, and stepped to neighbouring levels.

    Args:
        box: The whole box.
        region: What is left of it.
    """

    def __init__(self, box: BoxSpace, region: Region) -> None:
        super().__init__(box.problem, box._search)
        self.box, self.region = box, region

    def random(self, n: int, rng: np.random.Generator, offered: Offer | None = None) -> Actions:
        return self.region.sample(n, rng)

    @property
    def middle(self) -> Action:
        return self.region.middle

    def maximise(self, objective: Objective, rng: np.random.Generator, near: Float[np.ndarray, "k d"]) -> Actions:
        n = self._search.candidates
        X = np.concatenate(
            [
                self.region.sample(n, rng),
                self.region.vertices(max(1, n // _VERTICES), rng),
                self.region.around(near, _NEAR, rng),
            ]
        )
        values = finite_values(objective(X), X)
        chosen = np.argsort(-values, kind="stable")[: self._search.starts]
        found = [self._climbed(objective, X[i], float(values[i])) for i in chosen]
        best, value = max(found, key=lambda each: each[1])
        for _ in range(_ROUNDS):
            around = self.region.neighbours(best)
            if len(around) == 0:
                break
            beside = finite_values(objective(around), around)
            top = int(np.argmax(beside))
            stepped = self._climbed(objective, around[top], float(beside[top]))
            if not stepped[1] > value:
                break
            best, value = stepped
        return best[None]

    def _climbed(
        self, objective: Objective, x: Float[np.ndarray, " d"], value: float
    ) -> tuple[Float[np.ndarray, " d"], float]:
        """The best point on the way up from a point, its levels held, and its value."""
        polytope, columns = self.region.polytope_of(x)
        q = polytope.axes.shape[1]
        if q == 0:
            return x, value
        origin, best, largest = x[columns].copy(), x, value

        def point(z: Float[np.ndarray, " q"]) -> Float[np.ndarray, " d"]:
            moved = x.copy()
            moved[columns] = np.clip(origin + polytope.axes @ z, 0.0, 1.0)
            return moved

        def loss(z: Float[np.ndarray, " q"]) -> tuple[float, Float[np.ndarray, " q"]]:
            found, gradient = objective.with_gradient(point(z)[None])
            return -float(found[0]), -(gradient[0, columns] @ polytope.axes)

        rows = polytope.A @ polytope.axes
        room = polytope.b - polytope.A @ origin
        inside = {"type": "ineq", "fun": lambda z: room - rows @ z, "jac": lambda _: -rows}
        options = {"maxiter": self._search.iterations, "ftol": 1e-9}
        end = minimize(loss, np.zeros(q), jac=True, method="SLSQP", constraints=[inside], options=options).x
        moved = x
        if np.isfinite(end).all():  # solvers end up to their tolerance outside: then the last point within on the way
            forwards = polytope.chords(origin[None], (polytope.axes @ end)[None])[1][0]
            moved = point(end * min(1.0, float(forwards)))
        found = float(objective(moved[None])[0])
        return (moved, found) if found > largest else (best, largest)


def hold_to(agent: Agent, region: Region) -> bool:
    """Let a policy search a region in place of its box; False if it has no search that can be held to one."""
    if isinstance(agent, HistoryAgent):
        return False
    held = False
    holders: list[Any] = [agent, vars(agent).get("beliefs")]
    for holder in holders:
        space = None if holder is None else vars(holder).get("space")
        if isinstance(space, BoxSpace):
            box = space.box if isinstance(space, FeasibleSpace) else space
            holder.space = FeasibleSpace(box, region) if region.constraints or region.fixed else box
            held = True
    return held
