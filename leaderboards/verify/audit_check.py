"""Compare the audit that a board keeps of a run with one that was made anew."""

from __future__ import annotations

import math

import numpy as np

from leaderboards.store.kept_audit import KeptAudit

__all__ = ["AUDIT_TOLERANCE", "other_audit"]

AUDIT_TOLERANCE = 1e-3
"""Relative and absolute tolerance where another CPU or another library build may round differently.

Means of drawn functions differ by up to 1e-6 between loops, see `leaderboards.verify.verify.TOLERANCE`, and a
half-width may be a thousandth of their range: errors over half-widths differ by a thousandth.
"""

_WORDS = ("width", "kind", "theorem", "no_guarantee", "no_band", "delta", "refuted", "times")
_NUMBERS = ("required_scaling", "half_width", "regret_bound")
_COUNTS = ("first_violation", "violations", "informative", "regret_held")
"""What lies on which side of a threshold, at which rounding decides: compared bit for bit or not at all."""


def other_audit(stated: KeptAudit, found: KeptAudit, *, exact: bool, parted: bool = False) -> str:
    """In what two audits of a run differ; "" if in nothing.

    Args:
        stated: The audit that is kept.
        found: The one that was made anew, at the same checkpoints.
        exact: Whether the same loops of the same libraries computed both, so that every number is to be equal.
            Elsewhere numbers are to be within `AUDIT_TOLERANCE`, and the band is to have held in both or neither,
            unless the required scaling of both is that near to 1.
        parted: Whether the runs part at a choice on another machine: they are two runs then, and words alone are
            compared.
    """
    names = _WORDS + _NUMBERS + _COUNTS if exact else _WORDS if parted else _WORDS + _NUMBERS
    tolerance = 0.0 if exact else AUDIT_TOLERANCE
    for name in names:
        one, other = getattr(stated, name), getattr(found, name)
        if not _same(one, other, tolerance if name in _NUMBERS else 0.0):
            return f"its audit differs: {name} was {one!r}, and is {other!r}"
    near = all(abs(audit.required_scaling - 1) <= AUDIT_TOLERANCE for audit in (stated, found))
    if not parted and stated.held != found.held and not near:
        return f"its audit differs: the band {_held(stated)}, and {_held(found)} now"
    return ""


def _same(one: object, other: object, tolerance: float) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        both_nan = math.isnan(one) and math.isnan(other)
        return both_nan or one == other or bool(tolerance and np.isclose(one, other, rtol=tolerance, atol=tolerance))
    return one == other


def _held(audit: KeptAudit) -> str:
    return "held" if audit.held else f"failed at evaluation {audit.first_violation}"
