"""The recipe of a function of one's own, on a box in its own units."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from gpbandit_envs.arguments import LARGEST, as_text, positive_int, shown
from gpbandit_envs.domain import Dimension, Domain
from gpbandit_envs.envs.recipe import EnvRecipe, KernelLike, NoiseLike, modelled
from gpbandit_envs.functions.base import BoxFunction, FixedBox, OnArms, lattice
from gpbandit_envs.problem import Certificate

Bound = Sequence[float] | range | Dimension
Bounds = Sequence[Bound] | Mapping[str, Bound] | Domain
"""For each coordinate a pair (low, high), a range of integers or a `Dimension`; such by name; or a `Domain`."""

_POINTS, _ARMS, _DIGITS = 8, 256, 9  # at which values are told apart, and how finely
_STEPS = 60  # after which the ratio of the points no longer changes


class OwnFunction(FixedBox):
    """A function of one point in its own units, which is always the same.

    Args:
        function: Takes an array of `d` values in their own units and returns a number.
        domain: The box.
        minimise: Whether small values are good; the mean is then minus the value.
        optimum: Best value, in the function's own sign; None if it is unknown.
        facts: Facts for the certificate.
        failed_as: Value that counts where the function gives no number, if it may.
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        domain: Domain,
        minimise: bool = False,
        optimum: float | None = None,
        facts: Mapping[str, object] | None = None,
        failed_as: float | None = None,
    ) -> None:
        self.fails, self._failed_as = failed_as is not None, failed_as
        self._last: tuple[bytes, bool] = b"", False
        self.domain = domain
        self.dim = domain.dim
        sizes = [d.size for d in domain]
        self.low = np.repeat([d.low for d in domain], sizes)
        self.high = np.repeat([d.high for d in domain], sizes)
        self._f = function
        self._sign = -1.0 if minimise else 1.0
        self._optimum = math.nan if optimum is None else self._sign * optimum
        self._facts = dict(facts or {})
        self._function = BoxFunction(self.evaluate, self.certify)

    def value(self, x: Float[np.ndarray, " d"]) -> float:
        """The function's value at a point in its own units.

        Raises:
            TypeError: if it returns no number.
            ValueError: if it returns NaN or infinity.
        """
        returned = self._f(x.copy())
        try:
            if isinstance(returned, str | bytes):
                raise TypeError
            value = float(returned)
        except (TypeError, ValueError, OverflowError):
            raise TypeError(f"f: expected a number at {x.tolist()}, got {shown(returned)}") from None
        failed = math.isnan(value) and self._failed_as is not None
        self._last = x.tobytes(), failed
        if failed and self._failed_as is not None:
            return self._failed_as
        if not math.isfinite(value):
            hint = "; failed_as= says what it counts as where it gives none" if math.isnan(value) else ""
            raise ValueError(f"f: expected a finite number at {x.tolist()}, got {value}{hint}")
        return value

    def failed(self, x: Float[np.ndarray, " d"]) -> bool:
        """Whether the function gives no number at a point of the unit cube."""
        (values,) = self.domain.values(x[None])
        if self._last[0] != values.tobytes():  # seldom: the evaluation comes just before
            self.value(values)
        return self._last[1]

    def evaluate(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """Means at points of the unit cube."""
        return np.array([self._sign * self.value(x) for x in self.domain.values(X)])

    def certify(self) -> Certificate:
        """The optimum that was stated, if one was."""
        return Certificate(optimum=self._optimum, optimal_action=(), optimum_tol=math.nan, facts=self._facts)


def function_recipe(
    function: Callable[[Any], Any],
    defined: Mapping[str, Any],
    *,
    definition: Mapping[str, Any] | None = None,
    grid: int | None = None,
    noise_std: float = 0.0,
    kernel: KernelLike = None,
    noise: NoiseLike = None,
    failed_as: float | None = None,
) -> EnvRecipe:
    """A function of your own, on its box or on a grid of it.

    Args:
        function: Takes an array of `d` values in their own units and returns a number.
        defined: What `from_function` was given: `bounds`, `minimise`, `optimum`, `code`, the hash of
            a function that cannot be imported, and `values`, see `values_digest`.
        definition: What the function is expected to be; None for whatever it is.
        grid: Points per axis of the regular grid that serves as arm set, see `grid_of`; None for the whole box.
        noise_std: Standard deviation of the noise, unit of the function.
        kernel: Prior stated to policies, on the unit cube; none if None.
        noise: Noise model, a name or a spec; Gaussian if None.
        failed_as: Value that counts where the function gives no number; None if it always gives one.
    """
    if definition is not None and dict(definition) != dict(defined):
        changed = [name for name in defined if definition.get(name) != defined[name]]
        raise ValueError(
            f"definition: the function was defined anew since, with another {' and '.join(changed)}: give each a name= "
            "of its own"
        )
    domain = Domain.from_spec(defined["bounds"])
    facts: dict[str, object] = {
        "optimum": "unknown" if defined["optimum"] is None else "as stated, not proven",
        "instance": _instance(defined),
    }
    box = OwnFunction(function, domain, defined["minimise"], defined["optimum"], facts, failed_as)
    family = None if grid is None else OnArms(box, grid_of(domain, positive_int("grid", grid)))
    notes = {"domain": domain.to_spec(), "minimise": defined["minimise"]}
    return modelled(family or box, kernel, noise, noise_std, notes=notes)


def grid_sizes(domain: Domain, per_axis: int) -> list[int]:
    """Values of each dimension on a grid: `per_axis`, or all levels of an integer that has fewer; every choice."""
    return [d.levels if d.choices and d.levels else min(per_axis, d.levels or per_axis) for d in domain]


def grid_of(domain: Domain, per_axis: int) -> Float[np.ndarray, "n d"]:
    """The regular grid with `per_axis` points an axis, both ends included, the first dimension varying slowest.

    An integer has at most its levels, spread evenly over the unit interval, and a choice all of them: every arm stands
    for other values.
    """
    if not domain.discrete.any():
        return lattice(per_axis, domain.dim)
    axes = []
    for d, n in zip(domain, grid_sizes(domain, per_axis)):
        levels = np.arange(n, dtype=np.float64)
        if d.levels is None:
            axes.append(lattice(n, 1))
        elif d.choices or n == d.levels:
            axes.append(d.unit(d.low + levels).reshape(n, -1))
        else:
            # On a logarithmic scale small levels may coincide.
            axes.append(d.unit(np.unique(d.value(levels / max(n - 1, 1)))).reshape(-1, 1))
    places = np.meshgrid(*(np.arange(len(axis)) for axis in axes), indexing="ij")
    arms = np.hstack([axis[place.ravel()] for axis, place in zip(axes, places)])
    arms.flags.writeable = False
    return arms


def _instance(defined: Mapping[str, Any]) -> str:
    """Hash of a definition: all repetitions of a task play the same function."""
    return hashlib.sha256(json.dumps(dict(defined), sort_keys=True).encode()).hexdigest()[:32]


def values_digest(function: OwnFunction, grid: int | None, strict: bool = False) -> str:
    """Hash of what a function returns at a few points: on its box eight, of a grid up to 256 arms evenly spread.

    To 9 digits of the largest, so that other processors agree. Where it raises or returns no number counts too;
    with `strict`, what is not finite is an error.
    """
    if grid is None:
        # Multiples of the powers of g, which solves g^(d + 1) = g + 1: spread evenly in any dimension (Roberts 2018).
        g = 2.0
        for _ in range(_STEPS):
            g = (1 + g) ** (1 / (function.dim + 1))
        U = (0.5 + np.outer(np.arange(_POINTS), g ** -np.arange(1.0, function.dim + 1))) % 1
    else:
        arms = grid_of(function.domain, grid)
        U = arms[np.linspace(0, len(arms) - 1, min(len(arms), _ARMS)).astype(int)]
    found: list[float | None] = []
    for x in function.domain.values(U):
        try:
            found.append(function.value(x))
        except Exception as error:  # said where a run meets it
            if strict and isinstance(error, ValueError) and str(error).startswith("f: expected a finite number"):
                raise
            found.append(None)
    largest = max((abs(value) for value in found if value is not None), default=0.0)
    digits = _DIGITS - 1 - math.floor(math.log10(largest)) if largest > 0 else 0
    rounded = [None if value is None else round(value, digits) + 0.0 for value in found]
    return hashlib.sha256(json.dumps(rounded).encode()).hexdigest()[:12]


def as_domain(bounds: Bounds) -> Domain:
    """The box with these bounds.

    Raises:
        TypeError: if they are no pairs of numbers.
        ValueError: if there are none, or a pair is not finite or not in order, or two have one name.
    """
    if isinstance(bounds, Domain):
        names = [d.name for d in bounds if d.name]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"bounds: expected different names of dimensions, got {name!r} twice")
        return bounds
    named = bounds.items() if isinstance(bounds, Mapping) else [("", pair) for pair in _pairs(bounds)]
    dimensions = []
    for number, (name, pair) in enumerate(named):
        where = f"bounds[{name!r}]" if name else f"bounds[{number}]"
        if isinstance(pair, range) and pair.step == 1 and -LARGEST <= pair.start < pair.stop - 1 <= LARGEST:
            pair = Dimension(pair.start, pair.stop - 1, integer=True)
        if isinstance(pair, Dimension):
            dimensions.append(replace(pair, name=as_text(where, str(name)) or pair.name))
            continue
        try:
            if isinstance(pair, range | str) or any(isinstance(end, str | bool) for end in pair):
                raise TypeError
            low, high = (float(end) for end in pair)
        except (TypeError, ValueError, OverflowError):
            raise TypeError(
                f"{where}: expected a pair (low, high) of numbers, range(low, high + 1) of at least two integers or "
                f"agents.log(low, high), got {shown(pair)}; for levels or names give range(n), and let f look them up"
            ) from None
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ValueError(f"{where}: expected finite numbers low < high, got {pair!r}")
        if max(abs(low), abs(high)) > LARGEST:
            raise ValueError(f"{where}: expected numbers up to {LARGEST:g} in size, got {pair!r}")
        dimensions.append(Dimension(low, high, name=as_text(where, str(name))))
    if not dimensions:
        raise ValueError("bounds: expected at least one pair (low, high), got none")
    return Domain(tuple(dimensions))


def _pairs(bounds: Any) -> Iterable[Any]:
    if isinstance(bounds, range | Dimension):
        raise TypeError(f"bounds: expected a list, got {bounds!r}; for one coordinate, write [...] around it")
    if isinstance(bounds, str | set | frozenset) or not isinstance(bounds, Iterable):  # sets have no order
        raise TypeError(f"bounds: expected a pair (low, high) for each coordinate, got {bounds!r}")
    pairs = list(bounds)
    if len(pairs) == 2 and all(isinstance(end, int | float) for end in pairs):
        raise TypeError(f"bounds: expected a pair for each coordinate, got {bounds!r}; for one, write [{bounds!r}]")
    return pairs
