"""Ranges: what can be tried where every point of them is a candidate, as far as constraints allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from agents.core.protocol import Action
from agents.experiment.constraints import Constraint, Forbidden
from agents.experiment.parameters import SAME, Parameters, Point
from agents.experiment.region import Region

__all__ = ["Ranges"]


class Ranges:
    """Parameters, and the constraints between them.

    Args:
        parameters: The parameters.
        constraints: The constraints.

    Attributes:
        region: What the constraints leave.

    Raises:
        ValueError: if a constraint does not fit the parameters, or nothing is left.
    """

    def __init__(self, parameters: Parameters, constraints: Sequence[Constraint] = ()) -> None:
        self.parameters = parameters
        by_name = {each.name: each for each in parameters.all}
        for each in constraints:
            each.check(by_name)
        self.region = Region(
            parameters, [each.tabled(by_name) if isinstance(each, Forbidden) else each for each in constraints]
        )

    @property
    def names(self) -> list[str]:
        """What the parameters are called."""
        return self.parameters.names

    @property
    def coordinates(self) -> list[str]:
        """What the coordinates of the unit cube are called."""
        return self.parameters.coordinates

    @property
    def categories(self) -> list[str]:
        """Those of them that stand for a value of a category."""
        return self.parameters.categories

    def problem_fields(self) -> dict[str, Any]:
        """What a problem says of them."""
        domain = self.parameters.domain
        return {"dim": domain.dim, "notes": {"domain": domain.to_spec()}}

    def left_by(self, fixed: Mapping[str, Any]) -> Region:
        """What constraints and fixed values leave.

        Raises:
            ValueError: if that is nothing, or a value is none of its parameter's.
        """
        return self.region.restricted(fixed) if fixed else self.region

    def proposed(self, action: Action, region: Region | None = None) -> tuple[Point, Float[np.ndarray, " d"]]:
        """The point that is shown for an action, which is rounded, and the action that the policy learns about.

        Args:
            action: A point of the unit cube.
            region: What it is rounded within; None for all that the constraints leave.
        """
        domain = self.parameters.domain
        point = (region or self.region).rounded(domain.values(np.asarray(action)[None])[0])
        return point, domain.unit(self.parameters.row(point)[None])[0]

    def stated(self, point: Any) -> tuple[Point, Float[np.ndarray, " d"]]:
        """A point as it was stated, with its action.

        Raises:
            TypeError, ValueError: as `Parameters.row`, or if it breaks a constraint.
        """
        row = self.parameters.row(point)
        exact = self.parameters.exact_point(row)
        self.region.check(exact)
        return exact, self.parameters.domain.unit(row[None])[0]

    def same(self, action: Action, actions: Sequence[Action]) -> list[int]:
        """Which actions are `action`, up to rounding."""
        if len(actions) == 0:
            return []
        return np.flatnonzero(np.abs(np.asarray(actions) - action).max(axis=1) <= SAME).tolist()
