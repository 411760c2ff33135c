"""Corrupted feedback: an adversary that sees the mean function and every pull, and adds to the feedback.

In place of `y = f(x) + noise` the feedback of the t-th pull is `y + c_t`, until the budget is spent: `sum_t abs(c_t)`
never exceeds it. An attack is a function `f~` that the adversary makes the feedback look like:
`c_t = f~(x_t) - f(x_t)`, and what is left of the budget where that is less. Regret is always that of f.

| symbol | meaning | unit |
|---|---|---|
| `C` | budget, which policies are told | of the reward |
| target | the half of the arms that is farther from the best arm | |
| `x'` | the best arm of the target | |

Reference: Bogunovic, Li, Krause and Scarlett (2022), A robust phased elimination algorithm for corruption-tolerant
Gaussian process bandits, sections 2 and 4. Their target is a half of the domain that is given for each function.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float

from gpbandit_envs.arguments import as_count, as_number, positive_number


class Attack(ABC):
    """What the adversary makes of a mean function."""

    name: ClassVar[str]

    @abstractmethod
    def shifts(self, mean: Float[np.ndarray, " A"], arms: Float[np.ndarray, "A d"]) -> Float[np.ndarray, " A"]:
        """`f~ - f` at every arm, unit of the reward."""


@dataclass(frozen=True)
class Clipping(Attack):
    """Outside the target `f~ = min(f, f(x') - margin)`: the target's best arm looks best.

    Reference: Han and Scarlett (2022), Adversarial attacks on Gaussian process bandits.

    Attributes:
        margin: By how much it looks better than all others, > 0, unit of the reward.
    """

    margin: float = 0.5
    name: ClassVar[str] = "clipping"

    def __post_init__(self) -> None:
        object.__setattr__(self, "margin", positive_number("margin", self.margin))

    def shifts(self, mean: Float[np.ndarray, " A"], arms: Float[np.ndarray, "A d"]) -> Float[np.ndarray, " A"]:
        inside = target(mean, arms)
        return np.where(inside, 0.0, np.minimum(mean[inside].max() - self.margin - mean, 0.0))


@dataclass(frozen=True)
class AggressiveSubtraction(Attack):
    """Outside the target `f~ = f - drop`, which needs no knowledge of f but how far its best arm is above the target's.

    Reference: Han and Scarlett (2022), Adversarial attacks on Gaussian process bandits.

    Attributes:
        drop: What is taken off, > 0, unit of the reward; None for `f(x*) - f(x') + 0.5`.
    """

    drop: float | None = None
    name: ClassVar[str] = "subtraction"

    def __post_init__(self) -> None:
        if self.drop is not None:
            object.__setattr__(self, "drop", positive_number("drop", self.drop))

    def shifts(self, mean: Float[np.ndarray, " A"], arms: Float[np.ndarray, "A d"]) -> Float[np.ndarray, " A"]:
        inside = target(mean, arms)
        drop = float(mean.max() - mean[inside].max()) + 0.5 if self.drop is None else self.drop
        return np.where(inside, 0.0, -drop)


@dataclass(frozen=True)
class TopK(Attack):
    """The K best arms look like a mean of `low`; those below it stay as they are.

    Attributes:
        k: How many arms, at most all of them.
        low: What they look like, unit of the reward.
    """

    k: int = 3
    low: float = -1.0
    name: ClassVar[str] = "top_k"

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", as_count("k", self.k))
        object.__setattr__(self, "low", as_number("low", self.low, "a finite number", lambda low: low == low))

    def shifts(self, mean: Float[np.ndarray, " A"], arms: Float[np.ndarray, "A d"]) -> Float[np.ndarray, " A"]:
        shifts = np.zeros(len(mean))
        best = np.argsort(-mean, kind="stable")[: self.k]
        shifts[best] = np.minimum(self.low - mean[best], 0.0)
        return shifts


@dataclass(frozen=True)
class Flip(Attack):
    """`f~ = -f`."""

    name: ClassVar[str] = "flip"

    def shifts(self, mean: Float[np.ndarray, " A"], arms: Float[np.ndarray, "A d"]) -> Float[np.ndarray, " A"]:
        return -2.0 * mean


@dataclass(frozen=True)
class Corruption:
    """An attack, until its budget is spent.

    Attributes:
        attack: What feedback is made to look like.
        budget: Bound C on the sum of the sizes of all that is added, >= 0, unit of the reward.
    """

    attack: Attack
    budget: float


def as_corruption(corruption: Mapping[str, Any] | None) -> Corruption | None:
    """The adversary that a spec such as `{"name": "clipping", "budget": 50.0}` stands for; None for none.

    Args:
        corruption: The name of an attack, the budget, and the attack's own attributes.

    Raises:
        TypeError: if it is no mapping, lacks the budget, or has an unknown key.
        ValueError: if the name or a value is wrong.
    """
    if corruption is None:
        return None
    if not isinstance(corruption, Mapping) or "budget" not in corruption:
        raise TypeError(f"corruption: expected a spec such as {{'name': 'flip', 'budget': 50.0}}, got {corruption!r}")
    spec = dict(corruption)
    name, budget = spec.pop("name", None), spec.pop("budget")
    if name not in _ATTACKS:
        raise ValueError(f"corruption: expected a name among {', '.join(_ATTACKS)}, got {name!r}")
    known = [field.name for field in dataclass_fields(_ATTACKS[name])]
    unknown = sorted(map(str, set(spec) - set(known)))
    if unknown:
        takes = ", ".join(["budget", *known])
        raise TypeError(f"corruption: {name!r} takes {takes}, got {', '.join(unknown)}")
    size = as_number("budget", budget, "a finite number >= 0", lambda number: number >= 0)
    attack: Attack = _ATTACKS[name](**spec)
    return Corruption(attack, size)


def target(mean: Float[np.ndarray, " A"], arms: Float[np.ndarray, "A d"]) -> Bool[np.ndarray, " A"]:
    """The half of the arms that is farther from the best arm, rounded up; of one arm, that one."""
    distance = np.sum((arms - arms[np.argmax(mean)]) ** 2, axis=1)
    inside = np.zeros(len(mean), bool)
    inside[np.argsort(-distance, kind="stable")[: (len(mean) + 1) // 2]] = True
    return inside


_ATTACKS: dict[str, Any] = {attack.name: attack for attack in (Clipping, AggressiveSubtraction, TopK, Flip)}
