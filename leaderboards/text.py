"""Numbers as text, for the terminal and the pages alike."""

from __future__ import annotations

__all__ = ["duration"]


def duration(seconds: float) -> str:
    """A running time as text: `7 s`, `12 min`, `3 h 20 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
