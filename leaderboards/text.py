"""Numbers and texts as they are shown, in the terminal and on the pages alike."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp", "Zs"})
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # letters and signs that are drawn as nothing


def duration(seconds: float) -> str:
    """A running time as text: `7 s`, `12 min`, `3 h 20 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def visible(text: str) -> str:
    """`text` with every character that would not be seen written as an escape; line ends and tabs stay.

    Control characters drive a terminal, marks of direction let a text read otherwise than it is, characters without
    width make two names look alike, and lone surrogates cannot be written to a file.
    """
    if text.isprintable() and not _BLANK & set(text):
        return text
    return "".join(
        character
        if character in "\n\t " or (unicodedata.category(character) not in _INVISIBLE and character not in _BLANK)
        else character.encode("unicode_escape").decode()
        for character in text
    )


def wall_time(seconds: Sequence[float]) -> str:
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
