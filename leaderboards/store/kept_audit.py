"""What a board keeps of the audit of a run: whether the band held at all arms and times, and by how much."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

__all__ = ["KeptAudit"]

_NOT_NUMBERS = ("required_scaling", "half_width", "informative")
"""Numbers that may be NaN, which JSON does not know."""


@dataclass(frozen=True)
class KeptAudit:
    """What is kept of the audit of a run.

    Attributes:
        width: The agent's setting of its confidence width; "" if it has none.
        kind: What the width is, see `agents.core.guarantees.Kind`; "" without a width.
        theorem: Source of the theorem behind the width; "" without one.
        no_guarantee: Why no theorem guarantees the band in this run; "" if one does.
        no_band: Why the run has no audited band; "" if it has one.
        delta: Failure probability that the agent states; None if it states none.
        refuted: Whether the data refuted the norm, the noise or the kernel that the agent was given.
        times: Number of checkpoints.
        first_violation: The first checkpoint at which some mean was outside the band; None if there was none.
        violations: Largest number of arms outside the band at one checkpoint.
        required_scaling: Smallest scaling of the band that covers every mean at every checkpoint; NaN without a band,
            infinite where a band without width is off.
        half_width: Largest half-width at the last checkpoint, unit of the reward; NaN without a band.
        informative: Share of arms whose band at the last checkpoint is narrower than the range of the means; NaN
            without a band.
        regret_bound: The number that the policy's theorem has for its cumulative regret; None where there is none.
        regret_held: Whether the regret of this run is within it; None where either is unknown.
        every_turn: Whether a checkpoint followed every turn, so that nothing was missed; False too where it was not
            recorded.
    """

    width: str
    kind: str
    theorem: str
    no_guarantee: str
    no_band: str
    delta: float | None
    refuted: bool
    times: int
    first_violation: int | None
    violations: int
    required_scaling: float
    half_width: float
    informative: float
    regret_bound: float | None
    regret_held: bool | None
    every_turn: bool = False

    @property
    def held(self) -> bool:
        """Whether there is a band, and every mean was inside it at every checkpoint."""
        return not self.no_band and self.first_violation is None

    def to_dict(self) -> dict[str, Any]:
        """JSON form; NaN is null."""
        values = asdict(self)
        return values | {name: None if math.isnan(values[name]) else values[name] for name in _NOT_NUMBERS}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> KeptAudit:
        """The audit with this JSON form.

        Raises:
            KeyError: if a value is missing.
        """
        stated = {"every_turn": False} | dict(values)
        found = {field.name: stated[field.name] for field in fields(cls)}
        return cls(**found | {name: math.nan if found[name] is None else float(found[name]) for name in _NOT_NUMBERS})
