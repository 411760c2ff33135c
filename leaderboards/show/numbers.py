"""Numbers as text: as many digits as they deserve."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from leaderboards.score.statistics import Interval

__all__ = ["between", "duration", "duration_between", "moment", "number", "rounded", "size", "span"]

NONE = "–"


def number(x: float, digits: int = 3) -> str:
    """`digits` significant digits, plain between 1e-3 and 1e5, else as 1.2e-05; a dash for what is not known."""
    if x is None or not math.isfinite(x):
        return NONE
    if x == 0:
        return "0"
    size = math.floor(math.log10(abs(x)))
    if -4 < size < 5:
        return f"{x:.{max(digits - 1 - size, 0)}f}"
    return f"{x:.{digits - 1}e}"


def between(interval: Interval, digits: int = 3, least: float = 0.0) -> str:
    """The interval as "low – high" with the decimals of the estimate, cut at `least`, which no value is below.

    Empty where the interval is not known or has no length.
    """
    if not interval.is_known or interval.low == interval.high:
        return ""
    low = max(interval.low, least)
    _, dot, decimals = number(interval.estimate, digits).partition(".")
    if "e" in decimals:
        return f"{number(low, 2)} – {number(interval.high, 2)}"
    places = len(decimals) if dot else 0
    return f"{low:.{places}f} – {interval.high:.{places}f}" if low else f"0 – {interval.high:.{places}f}"


def rounded(x: float, digits: int = 4) -> float | None:
    """`x` to `digits` significant digits for JSON, which has no NaN."""
    return float(f"{x:.{digits}g}") if math.isfinite(x) else None


def moment(seconds: float) -> str:
    """Seconds since 1970 as a date and time in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def span(low: int, high: int) -> str:
    """Ranks "2" or "2–4"."""
    return str(low) if low == high else f"{low}–{high}"


def duration(seconds: float) -> str:
    """Seconds as µs, ms or s."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{number(seconds / scale)} {unit}"
    return f"{number(seconds * 1e6)} µs"


def duration_between(interval: Interval) -> str:
    """The interval of a time as "low – high"; empty where it is not known."""
    return f"{duration(max(interval.low, 0.0))} – {duration(interval.high)}" if interval.is_known else ""


def size(n: float) -> str:
    """Bytes as B, KiB, MiB or GiB."""
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if n >= scale:
            return f"{number(n / scale)} {unit}"
    return f"{n:.0f} B"
