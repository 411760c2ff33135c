"""Constraints between parameters: linear ones, mixtures among them, and combinations of levels that are forbidden."""

from __future__ import annotations

import ast
import inspect
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, product
from typing import Any, overload

from agents.experiment.parameters import Parameter, is_number, plain
from gpbandit_envs.arguments import did_you_mean, is_finite, positive_number, shown

_SLACK = 1e-6  # of the sizes of its terms, by which a linear constraint may be missed: decimals that were rounded
_MOST_COMBINATIONS = 100_000
_TURNED = {"<=": ">=", ">=": "<=", "==": "=="}


@dataclass(frozen=True)
class Linear:
    """`low <= sum of coefficient * parameter <= high`, in the parameters' own units.

    Attributes:
        coefficients: Those of the parameters, by name, none of them 0.
        low: Least value of the sum; minus infinity for none.
        high: Largest value; the same as `low` for an equality.
        source: The text that it was given as, if it was.
    """

    coefficients: Mapping[str, float]
    low: float
    high: float
    source: str = ""

    @property
    def text(self) -> str:
        """What it is called in messages."""
        if self.source:
            return self.source
        shown = _shown(self.coefficients)
        if self.low == self.high:
            return f"{shown} == {self.high:g}"
        if not math.isfinite(self.high):
            return f"{shown} >= {self.low:g}"
        return (f"{self.low:g} <= " if math.isfinite(self.low) else "") + f"{shown} <= {self.high:g}"

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters that it is about."""
        return tuple(self.coefficients)

    def missed_by(self, point: Mapping[str, Any], share: float = _SLACK) -> str:
        """What a point has in place of what is allowed, up to a share of the largest term; "" if it keeps to it."""
        terms = [c * point[name] for name, c in self.coefficients.items()]
        slack = share * max(map(abs, [*terms, *(end for end in (self.low, self.high) if math.isfinite(end))]))
        total = math.fsum(terms)
        return "" if self.low - slack <= total <= self.high + slack else f"{total:.6g}"

    def check(self, parameters: Mapping[str, Parameter]) -> None:
        """Raise unless it is about these parameters, and they are numbers on a linear scale."""
        for name in self.names:
            parameter = _known(self.text, name, parameters)
            if parameter.dimension.choices:
                raise ValueError(f"constraint {self.text!r}: expected parameters that are numbers, got {name!r}")
            if parameter.dimension.log:
                raise ValueError(
                    f"constraint {self.text!r}: expected parameters on a linear scale, got {name!r}, which is on a "
                    "logarithmic one"
                )

    def to_spec(self) -> dict[str, Any]:
        """JSON form: its text, or else its numbers."""
        if self.source:
            return {"text": self.source}
        ends = {name: end for name, end in (("low", self.low), ("high", self.high)) if math.isfinite(end)}
        return {"linear": dict(self.coefficients), **ends}


@dataclass(frozen=True)
class Forbidden:
    """Combinations of levels that are not to be tried.

    Attributes:
        names: The parameters, all of which have levels.
        forbids: Whether a combination, one value for each of `names` in their order, is forbidden.
        text: What it is called in messages.
        rows: The forbidden combinations where they are listed; None where a function tells.
    """

    names: tuple[str, ...]
    forbids: Callable[..., object]
    text: str
    rows: frozenset[tuple[Any, ...]] | None = None

    def missed_by(self, point: Mapping[str, Any]) -> str:
        """The combination that a point has, if it is forbidden; else ""."""
        values = {name: point[name] for name in self.names}
        return str(values) if self.forbids(*values.values()) else ""

    def check(self, parameters: Mapping[str, Parameter]) -> None:
        """Raise unless it is about these parameters, all of them have levels, and what is listed are some of these."""
        for name in self._named_as(parameters):
            if _known(self.text, name, parameters).dimension.levels is None:
                raise ValueError(
                    f"constraint {self.text!r}: expected parameters with levels, got {name!r}, which takes any number "
                    "of its range; agents.constraint is about such"
                )
        self._levels(parameters)

    def _named_as(self, parameters: Mapping[str, Parameter]) -> tuple[str, ...]:
        """Its names as the parameters have them: a function's arguments come in their compatibility form."""
        written = {unicodedata.normalize("NFKC", name): name for name in parameters}
        return tuple(name if name in parameters else written.get(name, name) for name in self.names)

    def tabled(self, parameters: Mapping[str, Parameter]) -> Forbidden:
        """The same, with its combinations in a table, so that the function is called once for each."""
        names = self._named_as(parameters)
        if self.rows is not None:
            return _forbidding(names, self._levels(parameters), self.text)
        values = [parameters[name].values for name in names]
        if math.prod(map(len, values)) > _MOST_COMBINATIONS:
            raise ValueError(
                f"constraint {self.text!r}: expected at most {_MOST_COMBINATIONS:,} combinations of "
                f"{', '.join(names)}, got {math.prod(map(len, values)):,}; give numbers in larger steps, or what is "
                "forbidden as a list of dicts or a linear constraint"
            )
        return _forbidding(names, {each for each in product(*values) if self.forbids(*each)}, self.text)

    def _levels(self, parameters: Mapping[str, Parameter]) -> set[tuple[Any, ...]]:
        """The listed combinations, of the levels that their values stand for: 0.3 for 0.30000000000000004.

        Raises:
            ValueError: if a value is none of its parameter's.
        """
        owners = [parameters[name] for name in self._named_as(parameters)]
        try:
            return {tuple(o.value(o.number(v)) for o, v in zip(owners, row, strict=True)) for row in self.rows or ()}
        except ValueError as error:
            raise ValueError(f"constraint {self.text!r}: {error}") from None

    def to_spec(self, parameters: Mapping[str, Parameter]) -> dict[str, Any]:
        """JSON form: the combinations."""
        values = [parameters[name].values for name in self.names]
        rows = [list(each) for each in product(*values) if self.forbids(*each)]
        return {"forbidden": list(self.names), "combinations": rows, "text": self.text}


Constraint = Linear | Forbidden


@overload
def constraint(given: str) -> Linear: ...


@overload
def constraint(given: Mapping[str, float], relation: str, bound: float) -> Linear: ...


def constraint(given: str | Mapping[str, float], relation: str | None = None, bound: float | None = None) -> Linear:
    """A linear constraint between parameters, in their own units.

    Args:
        given: A text such as `"a + 2 * b <= 1"` or `"0.2 <= a + b <= 0.8"`, in which a name that is no word stands
            between backquotes; or the coefficients by name.
        relation: With coefficients, `"<="`, `">="` or `"=="`.
        bound: With coefficients, the number on the other side.

    Raises:
        TypeError: if it is neither of these.
        ValueError: if a text cannot be read or is not linear, or no parameter is left in it.
    """
    if isinstance(given, str):
        if relation is not None or bound is not None:
            raise TypeError(f"constraint: expected a text alone, got {relation!r} and {bound!r} beside {given!r}")
        return _read(given)
    if not isinstance(given, Mapping) or not isinstance(relation, str) or not is_number(bound) or not is_finite(bound):
        raise TypeError(
            "constraint: expected a text such as 'a + b <= 1', or coefficients, a relation and a finite number, as "
            f"in ({{'a': 1, 'b': 1}}, '<=', 1), got {shown((given, relation, bound))}"
        )
    if relation not in _TURNED:
        raise ValueError(f"constraint: expected '<=', '>=' or '==', got {relation!r}")
    for name, c in given.items():
        if not is_number(c) or not is_finite(c):
            raise ValueError(f"constraint: expected finite coefficients, got {shown(c)} for {name!r}")
    text = f"{_shown({name: c for name, c in given.items() if c} or given)} {relation} {plain(bound):g}"
    return _between({str(name): float(c) for name, c in given.items()}, {relation: float(plain(bound))}, text)


def mixture(*names: str, total: float = 1.0) -> Linear:
    """Parameters that sum to a total, such as the fractions of a mixture.

    Args:
        names: The parameters, at least two.
        total: Their sum, > 0.

    Raises:
        ValueError: if they are fewer, or one is there twice.
    """
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(f"mixture: expected at least two different names, got {names!r}")
    return constraint(dict.fromkeys(names, 1.0), "==", positive_number("total", total))


def forbid(forbidden: Callable[..., object] | Iterable[Mapping[str, Any]], *names: str) -> Forbidden:
    """Combinations of levels that are not to be tried.

    Args:
        forbidden: A function that returns whether a combination is forbidden, such as
            `lambda solvent, base: solvent == "water" and base == "NaH"`; or the combinations, as dicts with the same
            names.
        names: The parameters that the function takes, in its order; without them the names of its arguments are
            theirs. They have to have levels: categories, integers, or a list.

    Raises:
        TypeError: if it is neither, or a function has no names.
        ValueError: if combinations are none, or differ in their names.
    """
    if callable(forbidden):
        found = names
        if not found:
            kinds = inspect.signature(forbidden).parameters.values()
            if not kinds or any(each.kind not in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD) for each in kinds):
                raise TypeError("forbid: expected a function of named arguments, or the names of parameters behind it")
            found = tuple(each.name for each in kinds)
        return Forbidden(found, forbidden, f"forbid({', '.join(found)})")
    try:
        rows = [dict(each) for each in forbidden]
    except (TypeError, ValueError):
        raise TypeError(f"forbid: expected a function or a list of dicts, got {forbidden!r}") from None
    if not rows or any(row.keys() != rows[0].keys() or not row for row in rows):
        raise ValueError(f"forbid: expected at least one dict, all with the same names, got {rows!r}")
    of_rows = tuple(map(str, rows[0]))
    combinations = {tuple(plain(row[name]) for name in rows[0]) for row in rows}
    return _forbidding(of_rows, combinations, f"forbid({', '.join(of_rows)})")


def as_constraint(given: Any) -> Constraint:
    """What one entry of `constraints` stands for: itself, a text, a tuple of coefficients, or a function.

    Raises:
        TypeError, ValueError: as of `constraint` and `forbid`.
    """
    if isinstance(given, (Linear, Forbidden)):
        return given
    if isinstance(given, Sequence) and not isinstance(given, str) and len(given) == 3:
        return constraint(*given)
    return forbid(given) if callable(given) else constraint(given)


def from_spec(spec: Mapping[str, Any]) -> Constraint:
    """The constraint of which `to_spec` gave `spec`."""
    if "linear" in spec:
        return Linear(dict(spec["linear"]), spec.get("low", -math.inf), spec.get("high", math.inf))
    if "forbidden" not in spec:
        return constraint(spec["text"])
    return _forbidding(tuple(spec["forbidden"]), set(map(tuple, spec["combinations"])), spec["text"])


def _forbidding(names: tuple[str, ...], rows: set[tuple[Any, ...]], text: str) -> Forbidden:
    found = frozenset(rows)
    return Forbidden(names, lambda *values: values in found, text, found)


def _known(text: str, name: str, parameters: Mapping[str, Parameter]) -> Parameter:
    if name not in parameters:
        raise ValueError(
            f"constraint {text!r}: no parameter {name!r}; {did_you_mean(name, list(parameters), cutoff=0.5)}"
        )
    return parameters[name]


def _shown(coefficients: Mapping[str, float]) -> str:
    terms = (f"{'' if c == 1 else f'{plain(c):g} '}{name}" for name, c in coefficients.items())
    return " + ".join(terms).replace("+ -", "- ")


def _between(coefficients: Mapping[str, float], ends: Mapping[str, float], text: str, source: str = "") -> Linear:
    """The constraint with these bounds of its sum, by relation; `text` is what errors call it."""
    left = {name: c for name, c in coefficients.items() if c != 0}
    if not left:
        raise ValueError(f"constraint {text!r}: expected at least one parameter, got none")
    if not all(map(math.isfinite, [*left.values(), *ends.values()])):
        raise ValueError(f"constraint {text!r}: expected finite numbers")
    low, high = ends.get(">=", -math.inf), ends.get("<=", math.inf)
    if "==" in ends:
        low = high = ends["=="]
    return Linear(left, low, high, source)


# Texts. A linear form is a dict of coefficients, that of "" the constant.

_Form = dict[str, float]
_RELATIONS: Mapping[type, str] = {ast.LtE: "<=", ast.Lt: "<=", ast.GtE: ">=", ast.Gt: ">=", ast.Eq: "=="}


def _read(text: str) -> Linear:
    quoted, number = re.findall("`([^`]+)`", text), count()
    source = re.sub("`[^`]+`", lambda _: f"_quoted_{next(number)}_", text)
    source = re.sub(r"(?<![<>=!])=(?!=)", "==", source)
    # Python reads a name by its compatibility form: the micro sign becomes a Greek letter.
    written = {unicodedata.normalize("NFKC", name): name for name in re.findall(r"[^\W\d]\w*", source)}
    try:
        tree = ast.parse(source.strip(), mode="eval").body
        if not isinstance(tree, ast.Compare) or any(type(op) not in _RELATIONS for op in tree.ops):
            raise ValueError("expected <=, >= or ==")
        sides = [_form(side, quoted, written) for side in [tree.left, *tree.comparators]]
        return _compared(sides, [_RELATIONS[type(op)] for op in tree.ops], text)
    except SyntaxError:
        reason = "it cannot be read; a name that is no word stands between backquotes"
    except ValueError as error:
        reason = str(error)
        if reason.startswith("constraint"):
            raise
    raise ValueError(f"constraint {shown(text)}: expected a linear one, such as 'a + 2 * b <= 1': {reason}")


def _compared(sides: list[_Form], relations: list[str], text: str) -> Linear:
    """The constraint that compares two sides, or a sum with a number on each side."""
    if len(sides) == 2:
        form = _plus(sides[0], sides[1], -1.0)
        return _between(form, {relations[0]: -form.pop("", 0.0)}, text, text)
    if len(sides) != 3 or set(sides[0]) - {""} or set(sides[2]) - {""} or sorted(relations) != [relations[0]] * 2:
        raise ValueError("expected a number, a sum and a number, in one direction")
    form = dict(sides[1])
    constant = form.pop("", 0.0)
    ends = {
        _TURNED[relations[0]]: sides[0].get("", 0.0) - constant,
        relations[1]: sides[2].get("", 0.0) - constant,
    }
    return _between(form, ends, text, text)


def _form(node: ast.expr, quoted: Sequence[str], written: Mapping[str, str]) -> _Form:
    if isinstance(node, ast.Name):
        match = re.fullmatch(r"_quoted_(\d+)_", node.id)
        return {quoted[int(match.group(1))] if match else written.get(node.id, node.id): 1.0}
    if isinstance(node, ast.Constant) and is_number(node.value) and is_finite(node.value):
        return {"": float(node.value)}  # type: ignore[arg-type]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
        return _times(_form(node.operand, quoted, written), -1.0 if isinstance(node.op, ast.USub) else 1.0)
    if isinstance(node, ast.BinOp):
        left, right = _form(node.left, quoted, written), _form(node.right, quoted, written)
        if isinstance(node.op, (ast.Add, ast.Sub)):
            return _plus(left, right, 1.0 if isinstance(node.op, ast.Add) else -1.0)
        if isinstance(node.op, ast.Mult) and (set(left) <= {""} or set(right) <= {""}):
            number, form = (left, right) if set(left) <= {""} else (right, left)
            return _times(form, number.get("", 0.0))
        if isinstance(node.op, ast.Div) and set(right) <= {""} and right.get("", 0.0) != 0:
            return _times(left, 1 / right[""])
    raise ValueError(f"it has {shown(ast.unparse(node))}")


def _plus(one: _Form, other: _Form, sign: float) -> _Form:
    names = dict.fromkeys([*one, *other])
    return {name: one.get(name, 0.0) + sign * other.get(name, 0.0) for name in names}


def _times(form: _Form, number: float) -> _Form:
    return {name: number * c for name, c in form.items()}
