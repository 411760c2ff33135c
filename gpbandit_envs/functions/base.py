"""Families of mean functions, the functions that they draw, each with a certificate of its optimum, and arm sets.

A family draws an instance with a generator; a family that always draws the same one sets `fixed = True`. Over a
finite arm set an instance is the vector of means; over the unit cube it is a callable.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from gpbandit_envs.arguments import as_count, as_number, positive_int
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.problem import Certificate

# The scrambling is part of the arm set's definition: another number would be another environment version.
_SOBOL_SCRAMBLE = 20111
_MOST_SHARE = 0.8
# The rows set apart are part of what a task is: another number would be another task.
_APART = 20111

RowsLike = int | Mapping[str, Any] | None
"""A number of rows, a mapping with `most` and `apart`, or None for all rows, always."""


@dataclass(frozen=True)
class ArmFunction:
    """A mean function on a finite arm set.

    Attributes:
        mean: Mean of each arm, shape `(A,)`, unit of the reward; read-only.
        certificate: Its optimum, exact.
    """

    mean: Float[np.ndarray, " A"]
    certificate: Certificate


@dataclass(frozen=True)
class BoxFunction:
    """A mean function on the unit cube.

    Attributes:
        evaluate: Means `(n,)` of points of the unit cube `(n, d)`.
        certify: Its optimum, exact or with a tolerance; called at most once, as it may be a search.
        norm: Its RKHS norm under the family's kernel; None if unknown.
    """

    evaluate: Callable[[Float[np.ndarray, "n d"]], Float[np.ndarray, " n"]]
    certify: Callable[[], Certificate]
    norm: float | None = None

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate of the optimum, computed at first use."""
        return self.certify()


class ArmFamily(ABC):
    """A distribution over mean functions on one arm set.

    Attributes:
        arms: Arm set, shape `(A, d)`.
        kernel: Prior that describes the draws; None if there is none.
        norm_bound: Bound on the RKHS norm under `kernel` that every draw obeys; None if there is none.
        fixed: Whether every draw is the same function.
        failed: Which arms give no result, shape `(A,)`; None if all give one.
    """

    arms: Float[np.ndarray, "A d"]
    kernel: Kernel | None
    norm_bound: float | None
    fixed: bool
    failed: Bool[np.ndarray, " A"] | None = None

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> ArmFunction:
        """A function of the family."""


class BoxFamily(ABC):
    """A distribution over mean functions on a box, which policies see as the unit cube.

    Attributes:
        dim: Number of coordinates.
        low: True lower bound of each coordinate, shape `(d,)`.
        high: True upper bound of each coordinate, shape `(d,)`.
        kernel: Prior on the unit cube that describes the draws; None if there is none.
        norm_bound: Bound on the RKHS norm under `kernel` that every draw obeys; None if there is none.
        fixed: Whether every draw is the same function.
        expensive: Whether an evaluation has a computing cost of its own, such as a training run.
        fails: Whether an evaluation may give no result.
    """

    dim: int
    low: Float[np.ndarray, " d"]
    high: Float[np.ndarray, " d"]
    kernel: Kernel | None
    norm_bound: float | None
    fixed: bool
    expensive: bool = False
    fails: bool = False

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> BoxFunction:
        """A function of the family."""

    def cost(self, x: Float[np.ndarray, " d"]) -> float:
        """Cost of the evaluation at a point of the unit cube; read only if `expensive`."""
        return 1.0

    def failed(self, x: Float[np.ndarray, " d"]) -> bool:
        """Whether the evaluation at a point gave no result; read only if `fails`."""
        return False


class FixedBox(BoxFamily):
    """One function on a box, which `_function` holds."""

    fixed = True
    kernel: Kernel | None = None
    norm_bound: float | None = None
    _function: BoxFunction

    def draw(self, rng: np.random.Generator) -> BoxFunction:
        return self._function


class OnArms(ArmFamily):
    """A box family seen on a finite arm set of the unit cube.

    The norm that a certificate states is that of the function on the cube, as everywhere for functions drawn there;
    the smoothest function through all arms may have a smaller one.

    Args:
        family: Family on the box.
        arms: Arm set, shape `(A, d)`.
    """

    def __init__(self, family: BoxFamily, arms: Float[np.ndarray, "A d"]) -> None:
        self.arms = arms
        self.kernel = family.kernel
        self.norm_bound = family.norm_bound
        self.fixed = family.fixed
        self.failed = np.array([family.failed(arm) for arm in arms]) if family.fails else None
        self._family = family

    def draw(self, rng: np.random.Generator) -> ArmFunction:
        function = self._family.draw(rng)
        return certify_arms(function.evaluate(self.arms), norm=function.norm)


class FixedArms(ArmFamily):
    """One known mean per arm: a table, or a fixed function on a grid.

    Args:
        arms: Arm set, shape `(A, d)`.
        mean: Mean of each arm, shape `(A,)`, unit of the reward.
        kernel: Prior offered to policies.
        norm_bound: Bound on the RKHS norm offered to policies.
    """

    fixed = True

    def __init__(
        self,
        arms: Float[np.ndarray, "A d"],
        mean: Float[np.ndarray, " A"],
        kernel: Kernel | None = None,
        norm_bound: float | None = None,
    ) -> None:
        self.arms = arms
        self.kernel = kernel
        self.norm_bound = norm_bound
        self._function = certify_arms(mean)

    def draw(self, rng: np.random.Generator) -> ArmFunction:
        return self._function


class NearArms(ArmFamily):
    """Draws of another family, moved up or down by the same distance at every arm, each direction as likely.

    So each mean is exactly `sup` away from a function of that family. A kernel smooths such signs away: what it takes
    for noise does not go away with more pulls.

    Args:
        family: The family near by.
        sup: Distance, >= 0, unit of the reward.
    """

    def __init__(self, family: ArmFamily, sup: float) -> None:
        self.arms, self.kernel, self.norm_bound = family.arms, family.kernel, family.norm_bound
        self.fixed = family.fixed and sup == 0
        self._family, self._sup = family, sup

    def draw(self, rng: np.random.Generator) -> ArmFunction:
        function = self._family.draw(rng)
        if self._sup == 0:
            return function
        signs = rng.choice([-1.0, 1.0], len(self.arms))
        near = function.certificate
        facts = {**near.facts, "sup": self._sup, "norm_of_near_function": near.norm}
        return certify_arms(function.mean + self._sup * signs, facts=facts)


def certify_arms(
    mean: Float[np.ndarray, " A"], norm: float | None = None, facts: dict[str, object] | None = None
) -> ArmFunction:
    """The function with these means, its optimum and gap computed from every arm.

    Raises:
        ValueError: if a mean is not finite.
    """
    mean = np.array(mean, dtype=np.float64)
    if not np.isfinite(mean).all():
        raise ValueError(f"mean: expected finite means, got {mean[~np.isfinite(mean)][0]}")
    mean.flags.writeable = False
    best = int(np.argmax(mean))
    gap = None
    if len(mean) > 1:
        second = np.partition(mean, -2)[-2]
        gap = float(mean[best] - second)
    certificate = Certificate(
        optimum=float(mean[best]), optimal_action=best, gap=gap, norm=norm, facts=dict(facts or {})
    )
    return ArmFunction(mean, certificate)


def even_arms(n_arms: int, dim: int) -> Float[np.ndarray, "n_arms dim"]:
    """Arms that fill the unit cube evenly: a grid with both ends for one dimension, else scrambled Sobol points.

    The same arguments give the same arms, always.

    Raises:
        TypeError, ValueError: if an argument is not a positive integer.
    """
    n_arms, dim = positive_int("n_arms", n_arms), positive_int("dim", dim)
    if dim == 1:
        return _read_only(np.linspace(0.0, 1.0, n_arms)[:, None] if n_arms > 1 else np.full((1, 1), 0.5))
    from scipy.stats import qmc  # here, since `scipy.stats` takes a quarter of the time in which a command starts

    sobol = qmc.Sobol(dim, scramble=True, rng=np.random.default_rng(_SOBOL_SCRAMBLE))
    # Sobol sequences are balanced at powers of two; SciPy warns about any other number.
    points: np.ndarray = sobol.random_base2(max(0, int(n_arms - 1).bit_length()))
    return _read_only(np.ascontiguousarray(points[:n_arms]))


def lattice(per_axis: int, dim: int) -> Float[np.ndarray, "n dim"]:
    """All `per_axis ** dim` points of the regular grid with both ends, the first coordinate varying slowest."""
    axis = even_arms(per_axis, 1)[:, 0]
    grid = np.meshgrid(*[axis] * positive_int("dim", dim), indexing="ij")
    return _read_only(np.stack(grid, axis=-1).reshape(-1, dim))


def _read_only(arms: np.ndarray) -> np.ndarray:
    """The same array, read-only, so that problems share it instead of copying it."""
    arms.flags.writeable = False
    return arms


@dataclass(frozen=True)
class Rows:
    """How many rows of a table an episode has.

    At most four fifths of those that can be drawn, so that no two episodes have the same arms.

    Attributes:
        most: Largest number of rows, > 0.
        apart: Share of all rows, in [0, 1), that no episode ever has, always the same ones: see `set_apart`.
    """

    most: int
    apart: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", as_count("rows['most']", self.most))
        share = as_number("rows['apart']", self.apart, "a number in [0, 1)", lambda share: 0 <= share < 1)
        object.__setattr__(self, "apart", share)

    def number(self, n_arms: int) -> int:
        """How many rows an episode has of a table of `n_arms`.

        Raises:
            ValueError: if that is none.
        """
        n = min(self.most, int(_MOST_SHARE * (~set_apart(n_arms, self.apart)).sum()))
        if n == 0:
            raise ValueError(f"rows: expected a table of which four fifths are a row or more, got one of {n_arms} rows")
        return n

    def draw(self, n_arms: int, rng: np.random.Generator) -> Int[np.ndarray, " n"]:
        """The rows of an episode, in increasing order."""
        among = np.flatnonzero(~set_apart(n_arms, self.apart))
        return np.sort(rng.choice(among, self.number(n_arms), replace=False))


def as_rows(rows: RowsLike) -> Rows | None:
    """What `rows=` of an environment stands for: an integer, `{"most": 2000, "apart": 0.2}`, or None.

    Raises:
        TypeError: if it is none of these, or has an unknown key.
        ValueError: if a number is out of range.
    """
    if rows is None:
        return None
    if not isinstance(rows, Mapping):
        return Rows(as_count("rows", rows))
    if unknown := [name for name in rows if name not in ("most", "apart")]:
        raise TypeError(f"rows: expected the keys most and apart, got {unknown[0]!r}")
    if "most" not in rows:
        raise TypeError(f"rows: expected a number of rows as 'most', got {dict(rows)!r}")
    return Rows(**rows)


def set_apart(n_arms: int, share: float) -> Bool[np.ndarray, " A"]:
    """Which arms of `n_arms` are set apart for good, as for fitting a prior; the same for equal arguments, always."""
    apart = np.zeros(n_arms, bool)
    apart[np.random.default_rng(_APART).permutation(n_arms)[: int(share * n_arms)]] = True
    return apart


@dataclass(frozen=True)
class RowsFunction(ArmFunction):
    """A mean function on some rows.

    Attributes:
        rows: Which rows of the table, shape `(n,)`, in increasing order.
    """

    rows: Int[np.ndarray, " n"]


class DrawnRows(ArmFamily):
    """Draws of another family, each on some of its arms, which are drawn after the function from the same generator.

    Args:
        family: The family on all arms.
        rows: How many of them.
    """

    fixed = False

    def __init__(self, family: ArmFamily, rows: Rows) -> None:
        self.arms: Float[np.ndarray, "A d"] = family.arms
        self.kernel, self.norm_bound = family.kernel, family.norm_bound
        self._family, self._rows = family, rows

    def draw(self, rng: np.random.Generator) -> RowsFunction:
        whole = self._family.draw(rng)
        rows = self._rows.draw(len(self.arms), rng)
        near = whole.certificate
        some = certify_arms(whole.mean[rows], norm=near.norm, facts=dict(near.facts))
        return RowsFunction(some.mean, some.certificate, rows)
