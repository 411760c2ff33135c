"""What is wanted of each outcome: a direction, a target, limits, or a direction and a limit."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agents.experiment.parameters import is_number
from gpbandit_envs.arguments import as_text, shown

_BOTH: tuple[Literal["max", "min"], ...] = ("max", "min")
_DIRECTIONS = {f"{word}{end}": word for word in _BOTH for end in ("", "imise", "imize")}
_EXPECTED = (
    "expected 'max', 'min', a limit such as '<= 40', or both, as in ('min', '<= 40'), two limits, or 'target 7.2'"
)


@dataclass(frozen=True)
class Goal:
    """What is wanted of one outcome.

    Attributes:
        name: The outcome.
        direction: `"max"` or `"min"`; None if a limit is all that matters.
        limit: `"<="` or `">="` and the number; None for none. That of an outcome with a direction is on the side of bad
            outcomes: it is what has to be reached before more is worth anything.
        most: The upper one of two limits, of which `limit` is the lower.
        target: What the outcome is to be close to: the distance from it is what is minimised, and what policies learn.
    """

    name: str
    direction: Literal["max", "min"] | None = "max"
    limit: tuple[str, float] | None = None
    most: float = math.inf
    target: float | None = None

    def measure(self, outcome: Any) -> Any:
        """What `sign` is about: the outcome, or its distance from the target."""
        return outcome if self.target is None else abs(outcome - self.target)

    @property
    def measured(self) -> str:
        """What `measure` is called."""
        return self.name if self.target is None else f"distance of {self.name} from {self.target:g}"

    @property
    def best(self) -> float:
        """The best that a reward can be: no distance is below 0."""
        return math.inf if self.target is None else 0.0

    @property
    def sign(self) -> float:
        """1 where large outcomes are good, -1 where small ones, or distances, are."""
        if self.direction is not None:
            return 1.0 if self.direction == "max" else -1.0
        return 1.0 if self.limit is not None and self.limit[0] == ">=" else -1.0

    @property
    def least(self) -> float:
        """What `sign * outcome` has to be at least; minus infinity for anything."""
        return -math.inf if self.limit is None else self.sign * self.limit[1]

    @property
    def limits(self) -> list[float]:
        """The numbers of its limits."""
        return [] if self.limit is None else [self.limit[1], *([self.most] if math.isfinite(self.most) else [])]

    def met(self, outcome: Any) -> Any:
        """Whether an outcome, or each of an array, keeps to the limits."""
        return (self.least <= self.sign * outcome) & (self.sign * outcome <= self.most)

    def to_spec(self) -> Any:
        """JSON form, which `as_goals` takes."""
        if self.target is not None:
            return f"target {self.target!r}"
        limit = None if self.limit is None else f"{self.limit[0]} {self.limit[1]!r}"
        if math.isfinite(self.most):
            return [limit, f"<= {self.most!r}"]
        return limit if self.direction is None else self.direction if limit is None else [self.direction, limit]

    def __str__(self) -> str:
        if self.target is not None:
            return f"{self.name} close to {self.target:g}"
        if self.limit is not None and math.isfinite(self.most):
            return f"{self.limit[1]:g} <= {self.name} <= {self.most:g}"
        words = {"max": ["maximise"], "min": ["minimise"], None: []}[self.direction]
        return " ".join([*words, self.name, *(() if self.limit is None else (self.limit[0], f"{self.limit[1]:g}"))])


def as_goals(outcome: Any, *, minimise: bool) -> tuple[Goal, ...]:
    """The goals of `outcome`: the name of one outcome, or `{name: goal}`.

    Raises:
        TypeError: if it is neither.
        ValueError: if a goal cannot be read, or no outcome has a direction.
    """
    if is_number(outcome):
        outcome = str(outcome)  # as the names of columns are
    if isinstance(outcome, str):
        return (Goal(as_text("outcome", outcome), "min" if minimise else "max"),)
    if not isinstance(outcome, Mapping):
        hint = ""
        if isinstance(outcome, (list, tuple)) and outcome and all(isinstance(name, str) for name in outcome):
            goals = ", ".join(f"{name!r}: 'max'" for name in outcome)
            hint = f"; several outcomes need a goal each, as in {{{goals}}}, with 'min' where small ones are good"
        raise TypeError(f"outcome: expected the name of an outcome, or a dict of goals by name, got {outcome!r}{hint}")
    if minimise:
        raise ValueError("minimise: expected with a single outcome only; here the goals of outcome= say 'max' or 'min'")
    found = tuple(_goal(as_text("outcome", str(name)), given) for name, given in outcome.items())
    if not any(goal.direction for goal in found):
        raise ValueError(f"outcome: expected at least one outcome with 'max' or 'min', got {dict(outcome)!r}")
    return found


def _goal(name: str, given: Any) -> Goal:
    parts = list(given) if isinstance(given, (tuple, list)) else [given]
    direction: Literal["max", "min"] | None = None
    limits: dict[str, float] = {}
    for part in parts:
        match = re.fullmatch(r"\s*(<=|>=|target)\s*(\S+)\s*", str(part))
        number = _number(match.group(2)) if match else None
        word = _DIRECTIONS.get(part.strip().lower()) if isinstance(part, str) else None
        if match and number is not None and match.group(1) not in limits:
            limits[match.group(1)] = number
        elif word is not None and direction is None:
            direction = word
        else:
            parts = []
    if not parts or ("target" in limits and len(parts) > 1) or (direction and len(limits) > 1):
        raise ValueError(f"outcome: {name!r}: {_EXPECTED}, got {shown(given)}")
    if "target" in limits:
        return Goal(name, "min", target=limits["target"])
    if len(limits) > 1:
        if not limits[">="] < limits["<="]:
            raise ValueError(f"outcome: {name!r}: expected the lower limit below the upper one, got {shown(given)}")
        return Goal(name, None, (">=", limits[">="]), limits["<="])
    limit = next(iter(limits.items()), None)
    if direction and limit and limit[0] != {"max": ">=", "min": "<="}[direction]:
        raise ValueError(
            f"outcome: {name!r}: expected a limit on the side of bad outcomes, {'>=' if direction == 'max' else '<='} "
            f"with {direction!r}, got {given!r}"
        )
    return Goal(name, direction, limit)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
