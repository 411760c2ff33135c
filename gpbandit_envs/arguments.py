"""Checks of arguments, and the one rule about the size of numbers.

Posteriors and widths square what they are given, and multiply two such squares. So that none of it overflows, a number
has a magnitude of at most `LARGEST`, and one that something is divided by, of at least `LEAST`; a variance, which is a
square already, lies between the squares of both. Features, rewards, costs and means may be as small as they like. What
is counted, horizons and repetitions of runs among it, is at most `MANY`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np

LARGEST, LEAST = 1e50, 1e-50
MANY = 10_000_000


def shown(value: object) -> str:
    """`repr(value)` for a message: in one line, and not longer than one."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # another's __repr__, or an integer of too many digits
        return f"<{type(value).__name__}>"
    return text if len(text) <= 80 else f"{text[:77]}..."


def is_finite(value: Any) -> bool:
    """Whether a number is finite and has a float: an integer of 400 digits has none."""
    try:
        return isfinite(value)
    except OverflowError:
        return False


def as_text(name: str, text: str) -> str:
    """A text that files can hold: half of a pair of surrogates is no character.

    Raises:
        ValueError: if it has such a half; the message names the argument.
    """
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError(f"{name}: expected text that can be written as UTF-8, got {shown(text)}")
    return text


def moderate(values: np.ndarray) -> bool:
    """Whether all numbers of an array are finite and at most `LARGEST` in magnitude."""
    return bool((np.abs(values) <= LARGEST).all())  # False for NaN


def as_number(name: str, value: object, expected: str, allowed: Callable[[float], bool] = lambda _: True) -> float:
    """`value` as a float that is finite and of moderate size.

    Args:
        name: Name of the argument.
        value: What was given.
        expected: What the message says was expected.
        allowed: Whether a finite number is in the argument's range.

    Raises:
        TypeError: if it is no real number.
        ValueError: if it is not finite, not allowed, or beyond the sizes of this module.
    """
    return _number(name, value, expected, allowed, LEAST, LARGEST)


def as_variance(name: str, value: object, expected: str = "a finite number > 0") -> float:
    """`value` as a positive float in squared units; raises as `as_number`."""
    return _number(name, value, expected, lambda number: number > 0, LEAST**2, LARGEST**2)


def _number(
    name: str, value: object, expected: str, allowed: Callable[[float], bool], least: float, largest: float
) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name}: expected {expected}, got {shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if not (isfinite(number) and allowed(number)):
        raise ValueError(f"{name}: expected {expected}, got {shown(value)}")
    if number and not least <= abs(number) <= largest:
        raise ValueError(f"{name}: expected {expected}, between {least:g} and {largest:g} in size, got {shown(value)}")
    return number


def as_count(name: str, number: object, least: int = 1, most: int = MANY) -> int:
    """A whole number from `least` to `most`, as an int; 10.0 is one, True is not.

    Raises:
        ValueError: otherwise; the message names the argument.
    """
    if isinstance(number, (int, float, np.integer, np.floating)) and not isinstance(number, bool):
        if least <= number <= most and int(number) == number:
            return int(number)
        if number > most:
            raise ValueError(f"{name}: expected an integer from {least} to {most:,}, got {shown(number)}")
    raise ValueError(f"{name}: expected an integer >= {least}, got {shown(number)}")


def as_truth(name: str, value: object) -> bool:
    """A truth value: a word would do as True, whatever it says.

    Raises:
        TypeError: if it is none.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}: expected True or False, got {shown(value)}")
    return bool(value)


def as_word(name: str, value: object, words: Sequence[str]) -> str:
    """`value`, one of `words`.

    Raises:
        ValueError: if it is none of them.
    """
    if isinstance(value, str) and value in words:
        return value
    *most, last = map(repr, words)
    raise ValueError(f"{name}: expected {', '.join(most)} or {last}, got {shown(value)}")


def did_you_mean(
    word: object,
    known: Iterable[str],
    otherwise: str | None = None,
    *,
    aliases: Mapping[str, str] | None = None,
    n: int = 1,
    cutoff: float = 0.6,
) -> str:
    """The hint in a message about a word that is none of those known: the closest of them, whatever their case.

    Args:
        word: What was given.
        known: The names there are.
        otherwise: The hint where no name is close; if None, all names.
        aliases: Other spellings that may have been meant, each with the name it stands for.
        n: How many names at the most, closest first. One that differs in case alone is named alone.
        cutoff: The least likeness, from 0 to 1, see `difflib`.

    Returns:
        `"did you mean 'a' or 'b'?"`, `"there are 'a', 'b', 'c'"`, or `otherwise`.
    """
    names = tuple(known)
    meant: dict[str, str] = {}
    for spelling, name in (*zip(names, names), *(aliases or {}).items()):
        meant.setdefault(_folded(spelling), name)
    wanted = _folded(word)
    close = [wanted] if wanted in meant else difflib.get_close_matches(wanted, meant, n, cutoff)
    if close:
        return f"did you mean {' or '.join(map(repr, dict.fromkeys(meant[spelling] for spelling in close)))}?"
    return f"there are {', '.join(map(repr, names))}" if otherwise is None else otherwise


def _folded(word: object) -> str:
    return str(word).strip().casefold()


def positive_int(name: str, value: object) -> int:
    """`value` as an int.

    Raises:
        TypeError: if it is no integer.
        ValueError: if it is below 1, or above `MANY`.
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name}: expected an integer >= 1, got {shown(value)}")
    return as_count(name, value)


def positive_number(name: str, value: object, least: float = LEAST, largest: float = LARGEST) -> float:
    """`value` as a float.

    Raises:
        TypeError: if it is no number.
        ValueError: if it is not finite, not above 0, or not between `least` and `largest`.
    """
    return _number(name, value, "a finite number > 0", lambda number: number > 0, least, largest)
