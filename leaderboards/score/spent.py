"""How long the runs of a folder or a board took, in words."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["spent"]


def spent(seconds: Sequence[float]) -> str:
    """The wall-clock time of runs, each of which computes in one thread, and of the longest; "" of none.

    On a machine that did other things as well it is more than the processor's time.

    Args:
        seconds: Of each run.
    """
    if not len(seconds):
        return ""
    total = sum(seconds)
    text = f"{total / 3600:.1f} core hours" if total >= 360 else f"{total:.0f} core seconds"
    return f"{text} by the wall clock, which counts what else the machine did; the longest run {max(seconds):.0f} s"
