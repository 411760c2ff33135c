"""Test functions with a formula and a known optimum, all to be maximised.

Functions that their source minimises are negated here. Inputs are in the true bounds; `ClosedForm` maps the unit cube
onto them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from jaxtyping import Float

from gpbandit_envs.functions.base import BoxFamily, BoxFunction, FixedBox
from gpbandit_envs.problem import Certificate

Points = Float[np.ndarray, "n d"]
Values = Float[np.ndarray, " n"]


@dataclass(frozen=True)
class Formula:
    """A function, its box and its maximum.

    Attributes:
        evaluate: Values `(n,)` at points `(n, d)` of the true box.
        low: Lower bounds.
        high: Upper bounds.
        optimum: Largest value.
        argmax: A point of the true box that attains it.
        optimum_tol: Bound on the error of `optimum`.
    """

    evaluate: Callable[[Points], Values]
    low: tuple[float, ...]
    high: tuple[float, ...]
    optimum: float
    argmax: tuple[float, ...]
    optimum_tol: float = 0.0


def branin(X: Points) -> Values:
    """`-(y - b x^2 + c x - 6)^2 - 10 (1 - t) cos x - 10`, `b = 5.1 / (4 pi^2)`, `c = 5 / pi`, `t = 1 / (8 pi)`."""
    x, y = X.T
    parabola = y - 5.1 / (4 * np.pi**2) * x * x + 5 / np.pi * x - 6
    return -(parabola * parabola) - 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) - 10


def cosines(X: Points) -> Values:
    """`1 - (u^2 + v^2 - 0.3 cos(3 pi u) - 0.3 cos(3 pi v))` with `(u, v) = 1.6 (x, y) - 0.5` (Azimi et al. 2010)."""
    u, v = (1.6 * X - 0.5).T
    return 1 - (u * u + v * v - 0.3 * np.cos(3 * np.pi * u) - 0.3 * np.cos(3 * np.pi * v))


def rosenbrock(X: Points) -> Values:
    """`10 - 100 (y - x^2)^2 - (1 - x)^2` (Azimi et al. 2010)."""
    x, y = X.T
    valley, slope = y - x * x, 1 - x
    return 10 - 100 * valley * valley - slope * slope


_H1_PEAK = (8.6998, 6.7665)


def h1(X: Points) -> Values:
    """`(sin^2(x - y/8) + sin^2(y + x/8)) / sqrt((x - 8.6998)^2 + (y - 6.7665)^2 + 1)`, as Ha et al. (2023) print it."""
    ripples, distance2 = _ripples(X)
    return ripples / np.sqrt(distance2 + 1)


def h1_cusp(X: Points) -> Values:
    """h1 with the 1 outside the root, `.. / (sqrt(..) + 1)`: the form of DEAP's benchmarks, whose peak is a cusp."""
    ripples, distance2 = _ripples(X)
    return ripples / (np.sqrt(distance2) + 1)


def _ripples(X: Points) -> tuple[Values, Values]:
    """Numerator of h1, and the squared distance to its peak (Van Soest and Casius 2003)."""
    x, y = X.T
    p, q = np.sin(x - y / 8), np.sin(y + x / 8)
    u, v = x - _H1_PEAK[0], y - _H1_PEAK[1]
    return p * p + q * q, u * u + v * v


_HARTMANN_WEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
_HARTMANN3_A = np.array([[3.0, 10, 30], [0.1, 10, 35], [3.0, 10, 30], [0.1, 10, 35]])
_HARTMANN3_P = 1e-4 * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]])
_HARTMANN6_A = np.array(
    [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
)
_HARTMANN6_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def _hartmann(X: Points, A: np.ndarray, P: np.ndarray) -> Values:
    total = np.zeros(len(X))
    for weight, a, p in zip(_HARTMANN_WEIGHTS, A, P, strict=True):
        exponent = np.zeros(len(X))
        for j in range(X.shape[1]):
            offset = X[:, j] - p[j]
            exponent += a[j] * (offset * offset)
        total += weight * np.exp(-exponent)
    return total


def hartmann3(X: Points) -> Values:
    """`sum_i alpha_i exp(-sum_j A_ij (x_j - P_ij)^2)` with the 4 x 3 tables of Hartmann (1972)."""
    return _hartmann(X, _HARTMANN3_A, _HARTMANN3_P)


def hartmann6(X: Points) -> Values:
    """`sum_i alpha_i exp(-sum_j A_ij (x_j - P_ij)^2)` with the 4 x 6 tables of Hartmann (1972)."""
    return _hartmann(X, _HARTMANN6_A, _HARTMANN6_P)


def _deceptive(X: Points) -> Values:
    dim = X.shape[1]
    total = np.zeros(len(X))
    for i in range(dim):
        a, x = (i + 1) / (dim + 1), X[:, i]
        pieces = [x <= 0.8 * a, x <= a, x <= (1 + 4 * a) / 5]
        values = [0.8 - x / a, 5 * x / a - 4, 1 + 5 * (x - a) / (a - 1)]
        total += np.select(pieces, values, (x - 1) / (1 - a) + 0.8)
    total /= dim
    return total * total


def deceptive(dim: int) -> Formula:
    """`(mean_i g_i(x_i))^2`, where `g_i` has a narrow peak 1 at `a_i = i / (d + 1)` and wide slopes up to 0.8.

    The slopes lead to the edges of the box. (The UHE-BO paper prints the last two pieces of `g_i` without their
    constants 1 and 4/5; with them `g_i` is continuous and the maximum is where the paper states it.)
    """
    return Formula(_deceptive, (0.0,) * dim, (1.0,) * dim, 1.0, tuple((i + 1) / (dim + 1) for i in range(dim)))


FORMULAS: dict[str, Formula] = {
    "branin": Formula(branin, (-5.0, 0.0), (10.0, 15.0), -10 / (8 * np.pi), (np.pi, 2.275)),
    "cosines": Formula(cosines, (0.0, 0.0), (1.0, 1.0), 1.6, (0.3125, 0.3125)),
    "rosenbrock": Formula(rosenbrock, (0.0, 0.0), (1.0, 1.0), 10.0, (1.0, 1.0)),
    # Polished numerically; the tolerances cover the rounding, and for h1 the distance to its upper bound 2.
    "hartmann3": Formula(
        hartmann3, (0.0,) * 3, (1.0,) * 3, 3.862779787332663, (0.11458889638, 0.5556488948, 0.85254698477), 1e-12
    ),
    "hartmann6": Formula(
        hartmann6,
        (0.0,) * 6,
        (1.0,) * 6,
        3.322368011415515,
        (0.20168951307, 0.15001068933, 0.47687397382, 0.2753324296, 0.31165161783, 0.65730053439),
        1e-12,
    ),
    "h1": Formula(h1, (-25.0, -25.0), (25.0, 25.0), 1.9999999999610945, (8.69979750625393, 6.766503652353026), 4e-11),
}

H1_FORMS: dict[str, Formula] = {
    "inside": FORMULAS["h1"],
    # At the cusp the denominator falls faster than the numerator can rise, so that the maximum is there.
    "outside": Formula(h1_cusp, (-25.0, -25.0), (25.0, 25.0), float(h1_cusp(np.array([_H1_PEAK]))[0]), _H1_PEAK),
}
"""h1 by where its 1 stands: inside the root or outside."""


class ClosedForm(FixedBox):
    """A fixed formula, rescaled to the unit cube; it comes without a kernel."""

    def __init__(self, formula: Formula) -> None:
        self.low, self.high = np.array(formula.low), np.array(formula.high)
        self.dim = len(formula.low)
        self._formula = formula
        self._function = BoxFunction(self.evaluate, self.certify)

    def evaluate(self, X: Points) -> Values:
        """Values at points of the unit cube."""
        return self._formula.evaluate(self.low + X * (self.high - self.low))

    def certify(self) -> Certificate:
        """The formula's known maximum, in the coordinates of the unit cube."""
        unit = (np.array(self._formula.argmax) - self.low) / (self.high - self.low)
        return Certificate(
            optimum=self._formula.optimum,
            optimal_action=tuple(unit.tolist()),
            optimum_tol=self._formula.optimum_tol,
        )


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
def _mirrored(form: ClosedForm, s: Float[np.ndarray, " d"], X: Points) -> Values:
    """The values at `X + s`, mirrored at the faces of the unit cube."""
    Y = np.abs(X + s)
    return form.evaluate(np.where(Y > 1, 2 - Y, Y))
