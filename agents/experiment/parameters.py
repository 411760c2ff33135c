"""What can be set in an experiment, in its own units and names, and the coordinates that policies play on.

A point is a dict of one value for every parameter. Its row holds the same values as numbers, categories and levels by
their index; `Domain` maps rows to the unit cube.
"""

from __future__ import annotations

import math
import warnings
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, starmap
from numbers import Real
from typing import Any

import numpy as np
from jaxtyping import Float

from gpbandit_envs.arguments import LARGEST, as_text, did_you_mean, is_finite, shown
from gpbandit_envs.domain import Dimension, Domain
from gpbandit_envs.numerals import hint, numerals

Point = dict[str, Any]
"""One value for every parameter, by name."""

_DIGITS = 4  # a real value is proposed to a ten-thousandth of its range, on a wide logarithmic scale to 4 digits
_WIDE = 2  # ratio of the ends from which a logarithmic scale is wide
_NOISY, _ULPS = 15, 16  # digits, and units in the last place, of a level that is the sum of some steps
SAME = 1e-9  # relative difference of numbers that are the same, after a way through text
_LISTED = 10_000  # levels, above which a range is kept as one
_NIL = 1e-6  # of the least difference of levels: sums of steps end as close to 0


def log(low: float, high: float) -> Dimension:
    """A range on a logarithmic scale, such as `log(1e-4, 1)` for a rate.

    Raises:
        ValueError: unless both are finite numbers with `0 < low < high`.
    """
    for name, end in (("low", low), ("high", high)):
        if not is_number(end) or not is_finite(end):
            raise ValueError(f"{name}: expected a finite number > 0 on a logarithmic scale, got {shown(end)}")
    return Dimension(float(plain(low)), float(plain(high)), log=True)


def plain(value: Any) -> Any:
    """A value as Python has it, in place of NumPy's; 0.1 in single precision is 0.1, and not 0.10000000149.

    Fractions are floats, and -0.0 is 0.0.
    """
    if type(value) in (float, str, int, bool):  # nearly all, in a tenth of the time
        return value + 0.0 if type(value) is float else value
    if isinstance(value, (np.float32, np.float16)):
        value = float(str(value))
    elif isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int) or not isinstance(value, Real) or not is_finite(value):
        return value
    return float(value) + 0.0


def nine_digits(values: Sequence[float]) -> Float[np.ndarray, " n"]:
    """Each finite number as it is read again from its text of nine digits: `float(f"{value:.9g}")`.

    An integer below 2^53 times or over a power of 10 up to 10^22 is rounded once. Where it is none, or the tenth digit
    leaves open how to round, the text decides.
    """
    x = np.array(values, np.float64)
    exponent = np.floor(np.log10(np.abs(np.where(x == 0, 1.0, x)))) - 8
    up, down = (10.0 ** np.clip(each, 0, 22) for each in (exponent, -exponent))
    whole = x * down / up
    rounded = np.rint(whole) * up / down
    by_text = (np.abs(exponent) > 22) | (np.abs(np.abs(whole - np.trunc(whole)) - 0.5) < 1e-3)
    rounded[by_text] = [float(f"{value:.9g}") for value in x[by_text].tolist()]
    return rounded


def nil(values: Iterable[Any]) -> float:
    """The size up to which a number is 0 among levels, such as -2.2e-16 among -0.1, -2.2e-16, 0.1; 0 for text."""
    gaps = np.diff(np.unique(nine_digits([value for value in values if is_number(value)])))
    return _NIL * float(gaps.min(initial=np.inf)) if len(gaps) else 0.0


@dataclass(frozen=True)
class Parameter:
    """One parameter.

    Attributes:
        dimension: Its range, with its name.
        labels: Values that it takes, in the order of their numbers; empty where every value of the range is one. Of
            many in equal steps they are not listed.
    """

    dimension: Dimension
    labels: tuple[Any, ...] | range = ()

    @property
    def name(self) -> str:
        """What it is called."""
        return self.dimension.name

    def number(self, value: Any) -> float:
        """The number that stands for a value.

        Raises:
            ValueError: if it is none of the parameter's; the message says what was expected.
        """
        value, d = plain(value), self.dimension
        if self.labels:
            place = self._place(value)
            if place is not None:
                return float(place)
            meant = did_you_mean(value, [label for label in self.labels if isinstance(label, str)], "")
            listed = ", ".join(map(repr, self.labels[:12]))
            listed += f", ... ({len(self.labels)} in all)" if len(self.labels) > 12 else ""
            raise ValueError(
                f"{self.name}: expected one of {listed}, got {shown(value)}{f'; {meant}' if meant else ''}"
            )
        kind = "an integer" if d.integer else "a number"
        low, high = (int(d.low), int(d.high)) if d.integer else (d.low, d.high)
        if not isinstance(value, bool) and isinstance(value, Real) and is_finite(value):
            number, slack = float(value), SAME * max(abs(d.low), abs(d.high))
            if d.low - slack <= number <= d.high + slack and (not d.integer or number.is_integer()):
                return min(max(number, d.low), d.high)
        raise ValueError(f"{self.name}: expected {kind} from {low!r} to {high!r}, got {shown(value)}{hint(value)}")

    def _place(self, value: Any) -> int | None:
        """The place of a value among the labels: text by a table, numbers, which are in order, by halving."""
        if not is_number(value):
            return self._places.get((type(value), value)) if isinstance(value, (str, bool)) else None
        if not is_number(self.labels[0]):
            return None
        at = bisect_left(self.labels, value)
        near = range(max(at - 1, 0), min(at + 1, len(self.labels)))
        return next((i for i in near if _same(self.labels[i], value, self._nil)), None)

    @cached_property
    def _places(self) -> dict[tuple[type, Any], int]:
        if isinstance(self.labels, range):
            return {}
        return {(type(label), label): i for i, label in enumerate(self.labels) if not is_number(label)}

    @cached_property
    def _nil(self) -> float:
        return nil(self.labels[:2] if isinstance(self.labels, range) else self.labels)

    def value(self, number: float, finer: int = 0) -> Any:
        """The value that a number stands for; a real one rounded as for a proposal, or by `finer` digits more."""
        if self.labels:
            return self.labels[int(number)]
        d = self.dimension
        if d.integer:
            return int(number)
        if d.log and d.high >= _WIDE * d.low:
            rounded = float(f"{number:.{_DIGITS + finer}g}")
        else:
            rounded = round(float(number), max(0, _DIGITS - math.floor(math.log10(d.high - d.low))) + finer)
        return min(max(rounded, d.low), d.high)

    def exact(self, value: Any) -> Any:
        """The value that is meant, in the parameter's own type and without rounding; raises as `number`."""
        number = self.number(value)
        return self.value(number) if self.dimension.levels else number

    @property
    def values(self) -> Sequence[Any]:
        """Its levels, all of them.

        Raises:
            ValueError: if it takes any number of its range.
        """
        if self.labels:
            return self.labels
        if self.dimension.levels is None:
            raise ValueError(f"{self.name}: expected a parameter with levels, got a range")
        return range(int(self.dimension.low), int(self.dimension.high) + 1)

    def to_spec(self) -> dict[str, Any]:
        """JSON form: its labels, or else its range."""
        if isinstance(self.labels, range):
            return {"name": self.name, "range": [self.labels.start, self.labels.stop, self.labels.step]}
        if self.labels:
            return {"name": self.name, "labels": list(self.labels)}
        return Domain((self.dimension,)).to_spec()[0]

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Parameter:
        """The parameter of which `to_spec` gave `spec`."""
        if "range" in spec:
            return as_parameter(spec["name"], range(*spec["range"]))
        if "labels" in spec:
            return as_parameter(spec["name"], list(spec["labels"]))
        return cls(Domain.from_spec([dict(spec)]).dimensions[0])


def as_parameter(name: str, setting: Any) -> Parameter:
    """The parameter that a setting stands for.

    Args:
        name: What it is called.
        setting: `(low, high)` for any number between, `log(low, high)`, `range(low, high + 1)` for integers, a list, a
            one-dimensional array or a range in larger steps for these levels in their order, or a list of text for
            categories.

    Raises:
        TypeError: if it is none of these.
        ValueError: if the bounds are out of order, or there are fewer than two values, or two are equal, or three
            numbers may be meant as low, high and step.
    """
    if not as_text("parameters", name).strip():
        raise ValueError(f"parameters: expected a name, got {name!r}")
    try:
        if isinstance(setting, Parameter):
            return setting
        if isinstance(setting, Dimension):
            return Parameter(replace(setting, name=name), setting.choices)
        if isinstance(setting, range):
            _check_sizes((setting.start, setting.stop), setting)
        if isinstance(setting, range) and setting.step == 1:
            if len(setting) < 2:
                raise ValueError(f"expected a range of at least two integers, got {setting!r}")
            return Parameter(Dimension(setting[0], setting[-1], integer=True, name=name))
        if isinstance(setting, tuple) and len(setting) == 2 and all(map(is_number, setting)):
            low, high = map(plain, setting)
            _check_sizes((low, high), setting)
            return Parameter(Dimension(float(low), float(high), name=name))
        if isinstance(setting, tuple) and len(setting) == 2 and all(map(_is_numeral, setting)):
            raise ValueError(f"expected (low, high) as numbers, got text, {setting!r}; a list gives two categories")
        if isinstance(setting, range) and len(setting) > _LISTED:
            steps = setting if setting.step > 0 else setting[::-1]
            return Parameter(Dimension(0, len(steps) - 1, integer=True, name=name), steps)
        values = _values(setting)
        if values is not None:
            return _listed(name, values)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    raise TypeError(
        f"{name}: expected (low, high), log(low, high), range(low, high + 1) or a list, got {shown(setting)}"
    )


def _check_sizes(numbers: Iterable[float], setting: Any) -> None:
    if any(abs(number) > LARGEST for number in numbers):
        raise ValueError(f"expected numbers up to {LARGEST:g} in size, got {shown(setting)}")


def _values(setting: Any) -> list[Any] | None:
    """The values that a setting lists; None if it is no list of them."""
    if hasattr(setting, "ndim") and not isinstance(setting, np.generic):  # an array of NumPy or pandas, or a Series
        if setting.ndim != 1:
            raise ValueError(f"expected an array of shape (n,) with the levels, got shape {setting.shape}")
        return [plain(value) for value in setting]
    if isinstance(setting, tuple) and len(setting) == 3 and all(map(is_number, setting)):
        _refuse_step(*map(plain, setting))
    if isinstance(setting, (set, frozenset)):
        setting = sorted(setting, key=repr)  # a set of text has another order in every process
    return [plain(value) for value in setting] if isinstance(setting, (list, tuple, range)) else None


def _refuse_step(low: float, high: float, step: float) -> None:
    """Raise where a tuple of three numbers may mean `low, high, step`, which would become three levels."""
    if 0 < step <= high - low:
        whole = all(isinstance(number, int) for number in (low, high, step))
        steps = f"range({low!r}, {high + 1!r}, {step!r})" if whole else f"numpy.arange({low!r}, {high!r}, {step!r})"
        raise ValueError(
            f"expected (low, high), got {(low, high, step)!r}; give ({low!r}, {high!r}) for any number between, "
            f"{steps} for steps of {step!r}, or the list {[low, high, step]!r} for these three levels"
        )


def _listed(name: str, values: list[Any]) -> Parameter:
    if len(values) < 2:
        raise ValueError(f"expected at least two values, got {values!r}; leave out what does not vary")
    numbers = all(map(is_number, values))
    if numbers:
        if not all(map(is_finite, values)):
            raise ValueError(f"expected finite numbers, got {shown(values)}")
        values = _decimals(sorted(values))
    elif not all(isinstance(value, (str, bool)) for value in values):
        raise ValueError(f"expected numbers alone or text alone, got {shown(values)}")
    different = len({(type(value), value) for value in values})
    # Of sorted numbers only neighbours can be equal.
    if any(starmap(_same, pairwise(values))) if numbers else different < len(values):
        raise ValueError(f"expected different values, got {values!r}")
    if numbers:
        dimension = Dimension(0, len(values) - 1, integer=True, name=name)
    else:
        for value in values:
            as_text("value", str(value))
        dimension = Dimension(name=name, choices=tuple(map(str, values)))
    return Parameter(dimension, tuple(values))


@dataclass(frozen=True)
class Parameters:
    """All parameters of an experiment.

    Attributes:
        all: The parameters, at least one, with different names.
    """

    all: tuple[Parameter, ...]

    @property
    def names(self) -> list[str]:
        """What they are called."""
        return [parameter.name for parameter in self.all]

    @property
    def coordinates(self) -> list[str]:
        """What the coordinates of the unit cube are called: a category has one for each of its values."""
        return [
            name
            for each in self.all
            for name in ([f"{each.name}={label}" for label in each.labels] if each.dimension.choices else [each.name])
        ]

    @property
    def categories(self) -> list[str]:
        """Those of `coordinates` that stand for a value of a category."""
        return [f"{each.name}={label}" for each in self.all if each.dimension.choices for label in each.labels]

    @property
    def groups(self) -> list[tuple[int, ...]]:
        """The coordinates of each category, one for each of its values."""
        starts = np.cumsum([0, *(each.dimension.size for each in self.all)]).tolist()
        spans = zip(self.all, pairwise(starts), strict=True)
        return [tuple(range(*span)) for each, span in spans if each.dimension.choices]

    @property
    def domain(self) -> Domain:
        """The box that policies play on."""
        return Domain(tuple(parameter.dimension for parameter in self.all))

    def row(self, point: Any) -> Float[np.ndarray, " D"]:
        """The numbers of a point.

        Raises:
            TypeError: if it is no mapping.
            ValueError: if a parameter is missing or unknown, or has a value that is none of its own.
        """
        self.check_names(point)
        point = {str(name): value for name, value in point.items()}
        return np.array([parameter.number(point[parameter.name]) for parameter in self.all])

    def check_names(self, point: Any) -> None:
        """Raise unless a point is a dict with a value for every parameter and for nothing else."""
        if not isinstance(point, Mapping):
            raise TypeError(f"point: expected a dict with {', '.join(self.names)}, got {point!r}")
        for name in map(str, point):
            if name not in self.names:
                raise ValueError(f"point: no parameter {name!r}; {did_you_mean(name, self.names, cutoff=0.5)}")
        missing = [name for name in self.names if name not in map(str, point)]
        if missing:
            raise ValueError(f"point: expected a value for {', '.join(self.names)}, missing {', '.join(missing)}")

    def named(self, name: str) -> Parameter:
        """The parameter of that name."""
        return self.all[self.names.index(name)]

    def point(self, row: Float[np.ndarray, " D"], finer: int = 0) -> Point:
        """The values of a row, as proposed; see `Parameter.value`."""
        return {parameter.name: parameter.value(x, finer) for parameter, x in zip(self.all, row.tolist(), strict=True)}

    def exact_point(self, row: Float[np.ndarray, " D"]) -> Point:
        """The values of a row as they are, without rounding."""
        return {
            parameter.name: parameter.value(x) if parameter.dimension.levels else x
            for parameter, x in zip(self.all, row.tolist(), strict=True)
        }

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Parameters:
        """The parameters of `{name: setting}`; see `as_parameter`."""
        if not settings:
            raise ValueError("parameters: expected at least one, got none")
        found = cls(tuple(as_parameter(str(name), setting) for name, setting in settings.items()))
        for each, setting in zip(found.all, settings.values(), strict=True):
            if each.dimension.choices and not isinstance(setting, Parameter | Dimension):
                written = numerals([label for label in each.labels if isinstance(label, str)])
                if written is not None:
                    warnings.warn(
                        f"{each.name}: {written.what}, such as {each.labels[0]!r}, are categories of which none is "
                        "near another; a list of numbers gives levels",
                        stacklevel=5,
                    )
        return found


def is_number(value: Any) -> bool:
    """Whether a value is a number; a truth value is none."""
    if type(value) in (float, str, int, bool):  # nearly all, in a tenth of the time
        return type(value) in (float, int)
    return isinstance(value, (Real, np.number)) and not isinstance(value, (bool, np.bool_))


def _decimals(values: list[Any]) -> list[Any]:
    """Sorted levels without what sums of steps add to their decimals: 0.85 for 0.8500000000000001, 0 for 5.6e-17."""
    tiny, out = nil(values) * SAME, []
    unit = _ULPS * math.ulp(max(-values[0], values[-1]))
    for value in values:
        short = float(f"{value:.12g}") if isinstance(value, float) else value
        noisy = isinstance(value, float) and len(repr(value).split("e")[0].strip("-0.")) >= _NOISY
        if noisy and (abs(value) <= tiny or abs(short - value) <= unit):
            value = 0.0 if abs(value) <= tiny else short
        out.append(value)
    return out


def _is_numeral(value: Any) -> bool:
    try:
        return isinstance(value, str) and math.isfinite(float(value))
    except ValueError:
        return False


def _same(one: Any, other: Any, nil: float = 0.0) -> bool:
    if is_number(one) and is_number(other) and is_finite(one) and is_finite(other):
        return math.isclose(one, other, rel_tol=SAME) or max(abs(one), abs(other)) <= nil
    return type(one) is type(other) and bool(one == other)
