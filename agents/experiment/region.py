"""Ranges of parameters: every point of them can be tried that constraints and fixed values leave.

Levels that a constraint is about are *tied*: their combinations that are left are listed (`listing`). Each has a
polytope of the parameters that take any number, in coordinates of the unit cube; those with the same polytope share it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from agents.core.protocol import Action
from agents.experiment.constraints import Constraint, Forbidden, Linear
from agents.experiment.listing import MOST, Excluded, Listing, Ranges, TooManyError, listed
from agents.experiment.parameters import SAME, Parameters, Point
from agents.experiment.polytope import Polytope
from gpbandit_envs.domain import Domain

_CELL, _GOLDEN = 1e-5, (5**0.5 - 1) / 2
_AT_ONCE = 64  # polytopes: a hundredth to a tenth of a second each
_MOST_POLYTOPES = 20_000  # where all of them may have to be tried to find one that is not empty
_FINER = 8  # further digits that are tried where rounding leaves the region
_WEIGHED = 1e-3  # of the largest term of a sum, by which what was tried may miss its bounds
_EXACT = 1e-11  # of the sizes of its terms, by which an equality may be missed: one in the last of twelve digits


class Region:
    """The points that keep to all constraints, and have the fixed values.

    Args:
        parameters: The parameters.
        constraints: The constraints between them, checked and with forbidden combinations listed; see `of`.
        fixed: Values that some of them are held at.

    Attributes:
        parameters: As given.
        constraints: As given.
        fixed: As given.

    Raises:
        ValueError: if nothing is left, or a fixed value is none of its parameter's.
    """

    def __init__(
        self, parameters: Parameters, constraints: Sequence[Constraint], fixed: Mapping[str, Any] | None = None
    ) -> None:
        self.parameters, self.constraints, self.fixed = parameters, tuple(constraints), dict(fixed or {})
        self._find()

    @classmethod
    def of(cls, parameters: Parameters, constraints: Sequence[Constraint] = ()) -> Region:
        """What these constraints leave.

        Raises:
            ValueError: if a constraint does not fit the parameters, or nothing is left; then the message names
                constraints that leave nothing, of which none could be left out.
        """
        by_name = {each.name: each for each in parameters.all}
        for each in constraints:
            each.check(by_name)
        tabled = [each.tabled(by_name) if isinstance(each, Forbidden) else each for each in constraints]
        return _left(parameters, tabled, {})

    def __deepcopy__(self, memo: dict[int, Any]) -> Region:
        return self  # nothing changes it

    @property
    def domain(self) -> Domain:
        """The box that it is a part of."""
        return self.parameters.domain

    @property
    def names(self) -> list[str]:
        """What the parameters are called."""
        return self.parameters.names

    def problem_fields(self) -> dict[str, Any]:
        """What a problem says of them."""
        notes = {"domain": self.domain.to_spec(), "categories": self.parameters.groups}
        return {"dim": self.domain.dim, "notes": notes}

    def restricted(self, fixed: Mapping[str, Any]) -> Region:
        """The part of it with these values; raises as the class, and names constraints as `of`."""
        return _left(self.parameters, self.constraints, fixed) if fixed else self

    def proposed(self, action: Action) -> tuple[Point, Float[np.ndarray, " d"]]:
        """The point that is shown for an action, which is rounded, and the action that the policy learns about."""
        point = self.rounded(self.domain.values(np.asarray(action)[None])[0])
        return point, self.domain.unit(self.parameters.row(point)[None])[0]

    def stated(self, point: Any) -> tuple[Point, Float[np.ndarray, " d"]]:
        """A point as it was stated, with its action.

        Raises:
            TypeError, ValueError: as `Parameters.row`, or if it breaks a constraint.
        """
        row = self.parameters.row(point)
        exact = self.parameters.exact_point(row)
        self.check(exact)
        return exact, self.domain.unit(row[None])[0]

    def cells(self, action: Action) -> tuple[Hashable, ...]:
        """Where an action is kept, and where those that are the same may be: pieces of one direction."""
        x = np.asarray(action, np.float64)
        along = float(x @ np.modf(np.arange(1, len(x) + 1) * _GOLDEN)[0])  # of which hardly two points have the same
        near = len(x) * SAME
        return tuple(dict.fromkeys(math.floor((along + shift) / _CELL) for shift in (0.0, -near, near)))

    def same(self, action: Action, actions: Sequence[Action]) -> list[int]:
        """Which actions are `action`, up to rounding."""
        if len(actions) == 0:
            return []
        return np.flatnonzero(np.abs(np.asarray(actions) - action).max(axis=1) <= SAME).tolist()

    # What is left.

    def _find(self) -> None:
        all_ = self.parameters.all
        levelled = [each.dimension.levels is not None for each in all_]
        self._levels, self._free = np.flatnonzero(levelled), np.flatnonzero(~np.array(levelled))
        linear = [each for each in self.constraints if isinstance(each, Linear)]
        about = {name for each in self.constraints for name in each.names}
        names = self.parameters.names
        self._held = {names.index(name): all_[names.index(name)].number(value) for name, value in self.fixed.items()}
        self._tied = [j for j in self._levels.tolist() if names[j] in about]
        self._loose = [j for j in self._levels.tolist() if names[j] not in about]
        listing = self._left(linear)
        entries = np.column_stack([listing.beginnings, listing.first])[:, : len(self._tied)]
        ends = [all_[j].dimension for j in self._free]
        starts = np.array([d.low for d in ends])
        spans = np.array([d.high - d.low for d in ends])
        # Rows of all constraints that are about numbers of a range: `low <= C v + (sum over tied levels) <= high`.
        rows = [each for each in linear if any(names[j] in each.coefficients for j in self._free)]
        C = np.array([[each.coefficients.get(names[j], 0.0) for j in self._free] for each in rows])
        C = C.reshape(len(rows), len(self._free))
        sizes = np.abs(C * spans).max(axis=1, initial=0.0)
        values = self._values_of(entries, self._tied)
        taken = np.array([values @ [each.coefficients.get(names[j], 0.0) for j in self._tied] for each in rows])
        taken = taken.reshape(len(rows), len(values)) + (C @ starts)[:, None]
        unit = C * spans / sizes[:, None]
        low = (np.array([each.low for each in rows])[:, None] - taken) / sizes[:, None]
        high = (np.array([each.high for each in rows])[:, None] - taken) / sizes[:, None]
        bounds = [
            (float(d.unit(np.array([self._held[j]]))[0]),) * 2 if j in self._held else (0.0, 1.0)
            for j, d in zip(self._free.tolist(), ends, strict=True)
        ]
        lower, upper = np.array(bounds, dtype=np.float64).reshape(len(ends), 2).T
        sides, which = np.unique(np.concatenate([low, high]).T.round(12), axis=0, return_inverse=True)
        if len(sides) > _MOST_POLYTOPES:
            raise ValueError(
                self._too_many(self._tied, f"{_MOST_POLYTOPES:,} different ranges, one for each combination")
            )
        self._sides = (unit, sides, lower, upper)
        self._polytopes: dict[int, Polytope | None] = {}
        self._listing, self._which = listing, which.ravel()
        if len(sides) > _AT_ONCE:  # they are made when they are met
            if not any(self._polytope_at(w) for w in range(len(sides))):
                raise _EmptyError
            return
        kept = np.array([self._polytope_at(w) is not None for w in range(len(sides))])[self._which]
        if not kept.any():
            raise _EmptyError
        self._listing, self._which = listing.kept(kept), self._which[kept]

    def _levels_of(self, j: int) -> tuple[float, int]:
        """The first number of a level that is left by fixed values, and how many there are."""
        d = self.parameters.all[j].dimension
        assert d.levels is not None
        if j in self._held:
            return self._held[j], 1
        return (0.0 if self.parameters.all[j].labels else float(int(d.low))), d.levels

    def _values_of(self, rows: Float[np.ndarray, "M c"], columns: Sequence[int]) -> Float[np.ndarray, "M c"]:
        """The true values of levels; 0 for categories, which are in no sum."""
        out = np.zeros_like(rows)
        for column, j in enumerate(columns):
            parameter = self.parameters.all[j]
            if parameter.dimension.choices:
                continue
            at, labels = rows[:, column], parameter.labels
            if isinstance(labels, range):
                out[:, column] = labels.start + labels.step * at
            else:
                out[:, column] = np.array(labels, dtype=np.float64)[at.astype(int)] if labels else at
        return out

    def _left(self, linear: Sequence[Linear]) -> Listing:
        """The combinations of tied levels that forbidden ones leave, and sums whatever the others are.

        Levels are listed in the order of the parameters; where these are too many, those with most levels come last.
        """
        names = self.parameters.names
        if not self._tied:
            return Listing(np.zeros((1, 0)), np.zeros(1), np.ones(1, np.int64))
        beside = {
            name for each in linear if any(names[j] in each.names for j in self._free) for name in each.names
        }  # beside parameters that take any number: each level has a polytope
        wide = sorted(self._tied, key=lambda j: (names[j] not in beside, self._levels_of(j)[1]))
        for order in (self._tied, wide):
            try:
                found = listed(
                    len(order),
                    partial(self._within_reach, linear, order),
                    self._excluded(order),
                    names[order[-1]] in beside,
                )
            except TooManyError:
                continue
            if found is None:
                raise _EmptyError
            self._tied = order
            return found
        raise ValueError(
            self._too_many(wide, f"{MOST:,} combinations of levels that leave a value to {names[wide[-1]]}")
        )

    def _excluded(self, order: Sequence[int]) -> list[Excluded]:
        """The forbidden combinations, by the columns of a listing."""
        names, out = [self.parameters.names[j] for j in order], []
        for each in self.constraints:
            if isinstance(each, Forbidden) and each.rows:
                owners = [self.parameters.named(name) for name in each.names]
                rows = [[owner.number(v) for owner, v in zip(owners, row, strict=True)] for row in each.rows]
                out.append(Excluded([names.index(name) for name in each.names], np.array(rows)))
        return out

    def _too_many(self, order: Sequence[int], most: str) -> str:
        """What to do where there are more combinations of levels than are listed."""
        all_ = [self.parameters.all[j] for j in order]
        numbers = [each for each in all_ if not each.dimension.choices]
        advice = "leave out some of the values"
        if numbers:
            widest = max(numbers, key=lambda each: each.dimension.levels or 0)
            low, high = map(float, self._ends(widest.name))
            steps = f"range({low:.0f}, {high + 1:.0f}, {max(2, (high - low) // 50):.0f})"
            if not (low.is_integer() and high.is_integer() and high - low >= 100):
                steps = f"numpy.linspace({low:g}, {high:g}, 21)"
            advice = (
                f"give {widest.name} in fewer steps, such as {steps}, or as a range, ({low:g}, {high:g}), and round "
                "what is proposed"
            )
        return f"constraints: expected of {', '.join(each.name for each in all_)} at most {most}, got more; {advice}"

    def _within_reach(
        self, linear: Sequence[Linear], order: Sequence[int], column: int, rows: Float[np.ndarray, "M c"]
    ) -> Ranges:
        """For each beginning, the levels of the next parameter that no sum excludes, whatever the others are."""
        j, names = order[column], self.parameters.names
        parameter, seen = self.parameters.all[j], [names[t] for t in order[:column]]
        values = self._values_of(rows, order[:column])
        start, levels = self._levels_of(j)
        first, last = np.full(len(rows), start), np.full(len(rows), start + levels - 1)
        for each in linear:
            total = values @ np.array([each.coefficients.get(name, 0.0) for name in seen])
            others = np.array(
                [
                    np.sort(c * np.array(self._ends(name)))
                    for name, c in each.coefficients.items()
                    if name not in seen and name != names[j]
                ]
            ).reshape(-1, 2)
            sizes = [abs(c * end) for name, c in each.coefficients.items() for end in self._ends(name)]
            slack = SAME * max([*sizes, *(abs(end) for end in (each.low, each.high) if math.isfinite(end))])
            least = each.low - slack - total - others[:, 1].sum()
            most = each.high + slack - total - others[:, 0].sum()
            c = each.coefficients.get(names[j], 0.0)
            if c == 0:
                last[(least > 0) | (most < 0)] = start - 1
                continue
            low, high = (least / c, most / c) if c > 0 else (most / c, least / c)
            if parameter.labels:
                labels = np.array(parameter.labels, np.float64)
                low, high = np.searchsorted(labels, low), np.searchsorted(labels, high, side="right") - 1.0
            first, last = np.maximum(first, np.ceil(low)), np.minimum(last, np.floor(high))
        return first, np.maximum(last - first + 1, 0).astype(np.int64)

    def _ends(self, name: str) -> tuple[float, float]:
        """Least and largest value of a parameter that is a number."""
        parameter = self.parameters.named(name)
        if name in self.fixed:
            return (float(self.fixed[name]),) * 2
        if parameter.labels:
            return float(parameter.labels[0]), float(parameter.labels[-1])
        return parameter.dimension.low, parameter.dimension.high

    # Points: rows of numbers, as of `Parameters.row`, and points of the unit cube.

    def sample(self, n: int, rng: np.random.Generator) -> Float[np.ndarray, "n d"]:
        """`n` points of the unit cube: combinations of levels that are left are equally likely, the others uniform."""
        tied, which = self._combinations(n, rng)
        U = np.zeros((n, len(self._free)))
        for w in np.unique(which).tolist():
            U[which == w] = self._polytope(w).sample(int((which == w).sum()), rng)
        rows = self._rows(tied, U)
        for j in self._loose:
            first, levels = self._levels_of(j)
            rows[:, j] = first + rng.integers(levels, size=n)
        return self._unit(rows, U)

    def _combinations(self, n: int, rng: np.random.Generator) -> tuple[Float[np.ndarray, "n t"], Int[np.ndarray, " n"]]:
        """`n` combinations of tied levels, and their polytopes; of many polytopes a few that are drawn."""
        few = int(self._which.max()) < _AT_ONCE
        while True:
            tied, entry = self._listing.take(rng.integers(len(self._listing), size=n if few else min(n, _AT_ONCE)))
            which = self._which[entry]
            if few:
                return tied, which
            good = np.flatnonzero([self._polytope_at(w) is not None for w in which.tolist()])
            if len(good):
                chosen = good[rng.integers(len(good), size=n)]
                return tied[chosen], which[chosen]

    def vertices(self, n: int, rng: np.random.Generator) -> Float[np.ndarray, "n d"]:
        """`n` points of the unit cube at vertices of the polytopes, drawn at random: optima are often at a boundary."""
        X = self.sample(n, rng)
        rows = self.domain.values(X)
        U = np.zeros((n, len(self._free)))
        for i, w in enumerate(self._cells(rows).tolist()):
            V = self._polytope(w).vertices
            U[i] = V[rng.integers(len(V))]
        rows[:, self._free] = self._numbers(U)
        return self._unit(rows, U)

    def around(self, X: Float[np.ndarray, "n d"], scale: float, rng: np.random.Generator) -> Float[np.ndarray, "m d"]:
        """A point near each of those points of the unit cube that are in the region, with the same levels."""
        rows = self.domain.values(X)
        cells = self._cells(rows)
        rows, cells = rows[cells >= 0], cells[cells >= 0]
        U = self._coordinates(rows)
        for w in np.unique(cells).tolist():
            U[cells == w] = self._polytope(w).around(U[cells == w], scale, rng)
        rows[:, self._free] = self._numbers(U)
        return self._unit(rows, U)

    def neighbours(self, x: Float[np.ndarray, " d"]) -> Float[np.ndarray, "m d"]:
        """The points of the region with one or two levels next to, or other than, those of a point; see `Domain`."""
        found = self.domain.neighbours(x)
        if len(found) == 0:
            return found
        return found[self._cells(self.domain.values(found)) >= 0]

    def with_level(self, X: Float[np.ndarray, "n d"], columns: tuple[int, ...], level: int) -> Float[np.ndarray, "m d"]:
        """Those of `X` that are in the region once the coordinate `level` is 1 among those of its category."""
        Z = X.copy()
        Z[:, columns], Z[:, level] = 0.0, 1.0
        return Z[self._cells(self.domain.values(Z)) >= 0] if self.constraints else Z

    def polytope_of(self, x: Float[np.ndarray, " d"]) -> tuple[Polytope, Int[np.ndarray, " k"]]:
        """The polytope around a point of the region, and the coordinates of the unit cube that are its own."""
        cell = int(self._cells(self.domain.values(x[None]))[0])
        starts = np.cumsum([0, *(d.size for d in self.domain)])
        return self._polytope(cell), starts[self._free]

    @property
    def middle(self) -> Float[np.ndarray, " d"]:
        """A point of the region that is at no boundary, with the levels in the middle of what is left."""
        half = len(self._listing) // 2
        for place in chain(range(half, len(self._listing)), range(half)):
            tied, entry = self._listing.take(np.array([place]))
            polytope = self._polytope_at(int(self._which[entry[0]]))
            if polytope is not None:
                break
        assert polytope is not None
        U = polytope.centre
        rows = self._rows(tied, U[None])
        for j in self._loose:
            first, levels = self._levels_of(j)
            rows[:, j] = first + levels // 2
        middle: np.ndarray = self._unit(rows, U[None])[0]
        return middle

    def check(self, point: Mapping[str, Any]) -> None:
        """Raise where a point has values that the constraints exclude; the message names the constraint.

        What was tried was weighed: a sum may miss its bounds by a thousandth of its largest term.
        """
        for each in self.constraints:
            missed = each.missed_by(point, _WEIGHED) if isinstance(each, Linear) else each.missed_by(point)
            if missed:
                what = "expected a combination that is not forbidden" if isinstance(each, Forbidden) else "expected it"
                raise ValueError(f"point: {what} under {each.text!r}, got {missed}")

    def rounded(self, row: Float[np.ndarray, " D"]) -> Point:
        """The point of a row, rounded as far as the constraints allow; fixed values are what they are."""
        for finer in range(_FINER):
            point = self.parameters.point(row, finer) | self.fixed
            for name, equality in self._balanced.items():
                rest = math.fsum(c * point[other] for other, c in equality.coefficients.items() if other != name)
                # A sum of decimals has no more of them, but for the rounding of its terms.
                point[name] = float(f"{(equality.high - rest) / equality.coefficients[name]:.12g}")
            kept = not any(each.missed_by(point, _EXACT) for each in self._equalities)
            if kept and all(not each.missed_by(point) for each in self.constraints) and self._in_ranges(point):
                return point
        return self.parameters.exact_point(row) | self.fixed

    @cached_property
    def _rounded(self) -> list[str]:
        """The parameters that are rounded: they take any number, and are not held."""
        return [self.parameters.all[j].name for j in self._free if j not in self._held]

    @cached_property
    def _equalities(self) -> list[Linear]:
        """The equalities between parameters that are rounded, in an order that is that of no list."""
        linear = [each for each in self.constraints if isinstance(each, Linear) and each.low == each.high]
        about = [each for each in linear if set(each.names) & set(self._rounded)]
        return sorted(about, key=lambda each: (len(each.names), sorted(each.coefficients.items()), each.high))

    @cached_property
    def _balanced(self) -> Mapping[str, Linear]:
        """The parameters that take what is left of equalities when the others are rounded.

        Each has an equality of its own, in which no other of them is: Gauss and Jordan's elimination. An equality that
        shares no parameter with another is balanced by its last one. Of others preferably those take what is left that
        are sums of whole or decimal multiples: with `a == 9 * b` this is `a`, as a ninth has no last digit.
        """
        solved: dict[str, _Row] = {}
        for each in self._equalities:
            row: _Row = {name: Fraction(str(c)) for name, c in {**each.coefficients, _TOTAL: each.high}.items()}
            for name, other in solved.items():
                row = _without(name, row, other)
            mine = [name for name in row if name in self._rounded]
            if any(set(mine) & set(other.names) for other in self._equalities if other is not each):
                mine = sorted(mine, key=self.parameters.names.index)
                mine = [name for name in mine if _is_decimal(name, row)] or mine
            if mine:
                solved = {name: _without(mine[-1], other, row) for name, other in solved.items()} | {mine[-1]: row}
        out = {}
        for name, row in solved.items():
            numbers = {other: float(c) for other, c in row.items()}
            total = numbers.pop(_TOTAL, 0.0)
            out[name] = Linear(numbers, total, total, name)
        return out

    def _in_ranges(self, point: Point) -> bool:
        ends = {each.name: each.dimension for each in self.parameters.all if each.dimension.levels is None}
        return all(d.low <= point[name] <= d.high for name, d in ends.items())

    def _polytope_at(self, w: int) -> Polytope | None:
        """A polytope, made when it is first asked for; None if it is empty."""
        if w not in self._polytopes:
            unit, sides, lower, upper = self._sides
            low, high = sides[w].reshape(2, len(unit))
            self._polytopes[w] = _polytope(unit, low, high, lower, upper)
        return self._polytopes[w]

    def _polytope(self, w: int) -> Polytope:
        found = self._polytope_at(w)
        assert found is not None
        return found

    def _cells(self, rows: Float[np.ndarray, "n D"]) -> Int[np.ndarray, " n"]:
        """The polytope that each row is in; -1 for one that is not in the region."""
        entry = self._listing.find(rows[:, self._tied] if self._tied else np.zeros((len(rows), 1)))
        out = np.where(entry < 0, -1, self._which[entry])
        for j in self._loose:
            first, levels = self._levels_of(j)
            out[(rows[:, j] < first) | (rows[:, j] >= first + levels)] = -1
        U = self._coordinates(rows)
        for w in set(out.tolist()) - {-1}:
            mine, polytope = np.flatnonzero(out == w), self._polytope_at(w)
            out[mine if polytope is None else mine[~polytope.contains(U[mine])]] = -1
        return out

    def _coordinates(self, rows: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n k"]:
        columns = [self.parameters.all[j].dimension.unit(rows[:, j]) for j in self._free]
        return np.array(columns).reshape(len(self._free), len(rows)).T.copy()

    def _numbers(self, U: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
        columns = [self.parameters.all[j].dimension.value(u) for j, u in zip(self._free, U.T, strict=True)]
        return np.array(columns).reshape(U.shape[1], len(U)).T

    def _rows(self, tied: Float[np.ndarray, "n t"], U: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n D"]:
        rows = np.zeros((len(U), len(self.parameters.all)))
        rows[:, self._tied], rows[:, self._free] = tied[:, : len(self._tied)], self._numbers(U)
        return rows

    def _unit(self, rows: Float[np.ndarray, "n D"], U: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n d"]:
        """Points of the unit cube, with the coordinates of ranges as they are rather than through their values."""
        X = self.domain.unit(rows)
        starts = np.cumsum([0, *(d.size for d in self.domain)])
        X[:, starts[self._free]] = U
        return X


_Row = dict[str, Fraction]
_TOTAL = ""  # in place of a name: the other side
_SAME_COEFFICIENT = 1e-12  # relative difference


def _without(name: str, row: _Row, other: _Row) -> _Row:
    """An equality less a multiple of another, such that a parameter is no longer in it; thirds are no exact numbers."""
    if name not in row:
        return row
    share, none = row[name] / other[name], Fraction(0)
    pairs = {each: (row.get(each, none), share * other.get(each, none)) for each in {**row, **other}}
    return {each: a - b for each, (a, b) in pairs.items() if abs(a - b) > _SAME_COEFFICIENT * max(abs(a), abs(b))}


def _is_decimal(name: str, row: _Row) -> bool:
    """Whether the numbers by which a parameter is the sum of the others have finitely many decimals."""
    denominators = [(c / row[name]).denominator for c in row.values()]
    return all(10 ** d.bit_length() % d == 0 for d in denominators)


class _EmptyError(ValueError):
    """Nothing is left."""


def _left(parameters: Parameters, constraints: Sequence[Constraint], fixed: Mapping[str, Any]) -> Region:
    """The region; if nothing is left, the error names constraints of which none could be left out."""
    try:
        return Region(parameters, constraints, fixed)
    except _EmptyError:
        needed = list(constraints)
    for each in constraints:
        others = [other for other in needed if other is not each]
        try:
            Region(parameters, others, fixed)
        except _EmptyError:
            needed = others
    named = ", ".join(repr(each.text) for each in needed)
    if not fixed:
        raise ValueError(f"constraints: expected some points to be left, got none under {named}")
    raise ValueError(f"fixed: expected some points to be left with {dict(fixed)!r}, got none under {named}")


def _polytope(
    C: Float[np.ndarray, "r k"],
    low: Float[np.ndarray, " r"],
    high: Float[np.ndarray, " r"],
    lower: Float[np.ndarray, " k"],
    upper: Float[np.ndarray, " k"],
) -> Polytope | None:
    """`{lower <= u <= upper, low <= C u <= high}`; None if it is empty."""
    equal = low == high
    up, down = ~equal & np.isfinite(high), ~equal & np.isfinite(low)
    A, b = np.concatenate([C[up], -C[down]]), np.concatenate([high[up], -low[down]])
    try:
        return Polytope(lower, upper, A, b, C[equal], high[equal])
    except ValueError:
        return None
