"""A known function translated at random in its box, so that knowing where its optimum is does not help."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from jaxtyping import Float

from gpbandit_envs.functions.base import BoxFamily, BoxFunction
from gpbandit_envs.functions.closed_forms import ClosedForm

__all__ = ["MOST_SHIFT", "Shifted"]

MOST_SHIFT = 0.1
"""Largest shift of a coordinate, as a share of its side of the box."""


class Shifted(BoxFamily):
    """A closed form on the unit cube, translated anew in each episode: `x` has the value that `x + s` had.

    Each coordinate of `s` is uniform among the shifts of at most `MOST_SHIFT` that leave the known optimum in the box.
    Where `x + s` is outside the box the function is mirrored at its faces, so that its values and its maximum are those
    that it has inside. The box and its true bounds stay as they are.

    Args:
        form: The function.
    """

    fixed = False
    kernel = None
    norm_bound = None

    def __init__(self, form: ClosedForm) -> None:
        self.dim, self.low, self.high = form.dim, form.low, form.high
        self._form = form

    def draw(self, rng: np.random.Generator) -> BoxFunction:
        known = self._form.certify()
        best = np.asarray(known.optimal_action, np.float64)
        s = rng.uniform(np.maximum(-MOST_SHIFT, best - 1), np.minimum(MOST_SHIFT, best))

        # What rounding of the coordinates costs at the optimum is of second order, and at a cusp of first.
        optimal = tuple(np.clip(best - s, 0.0, 1.0).tolist())
        return BoxFunction(partial(_mirrored, self._form, s), partial(replace, known, optimal_action=optimal))


# Not a function inside of the draw: what is saved of a run while it runs has to be pickled.
def _mirrored(form: ClosedForm, s: Float[np.ndarray, " d"], X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
    """The values at `X + s`, mirrored at the faces of the unit cube."""
    Y = np.abs(X + s)
    return form.evaluate(np.where(Y > 1, 2 - Y, Y))
