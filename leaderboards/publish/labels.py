"""Which labels a row of a board may have: one way to write each name, and none that looks like another row's."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

_PUNCTUATION = frozenset(" -+,.:;()[]/_=*<>%&'#@!?^|~$")
_TOGETHER = {"HIRAGANA": "CJK", "KATAKANA": "CJK"}
# All are written from left to right, and what of them looks like Latin is below. Whole words of Lisu or Cherokee do.
_SCRIPTS = frozenset({"LATIN", "GREEK", "CYRILLIC", "CJK", "HANGUL"})
_LATIN = frozenset("ÆØÞßæðøþĐđıŁłŒœẞ")  # beside those of ASCII, plain or with a mark: no small capitals, no clicks
# Letters and digits that look like Latin ones. Source: the common part of Unicode's table of confusables (UTS 39).
_LOOKS = str.maketrans(
    "авекмнорстухіјѕԁԛԝһӏүѵԍь" + "αβγεηικνορτυχω" + "01|!$5" + "ıłøđ",
    "abekmhopctyxijsdqwhlyvgb" + "abyenikvoptuxw" + "olllss" + "ilod",
)
_CAPITALS = str.maketrans("ΖΗΜΝΥ", "ZHMNY")  # which look like other letters than their small ones
_STANDINGS = frozenset({"local", "submitted", "verified"})


def fault(label: str) -> str | None:
    """Why a board takes no row of this label, in words; None if it does."""
    shown = label.encode("unicode_escape").decode()
    if label != unicodedata.normalize("NFKC", label):
        return f"expected a label in its normal form (NFKC), got '{shown}'"
    for character in label:
        is_word = character.isalpha() and "FILLER" not in unicodedata.name(character, "FILLER")
        if not (is_word or character in _PUNCTUATION or character in "0123456789"):
            return f"expected letters, digits and plain punctuation in a label, got '{shown}'"
        if is_word and not _is_known(character):
            return f"expected letters of Latin, Greek, Cyrillic, Chinese, Japanese or Korean in a label, got '{shown}'"
    if label != " ".join(label.split()) or not label:
        return f"expected a label without blanks at its ends or next to each other, got '{shown}'"
    for word in label.split():
        if len(scripts := {_script(character) for character in word if character.isalpha()}) > 1:
            return f"expected letters of one script in each word, got {' and '.join(sorted(scripts))} in '{shown}'"
    if said := _STANDINGS & set("".join(c if c.isalpha() else " " for c in label.casefold()).split()):
        return f"expected a label without {min(said)!r}, which is for boards to say, got '{shown}'"
    return None


def _is_known(letter: str) -> bool:
    script = _script(letter)
    plain = unicodedata.normalize("NFKD", letter)[0].isascii() or letter in _LATIN
    return plain if script == "LATIN" else script in _SCRIPTS


def _script(character: str) -> str:
    name = unicodedata.name(character).split()[0]
    return _TOGETHER.get(name, name)


def looks_like(label: str, others: Iterable[str]) -> str | None:
    """The first of other labels that a reader may take this one for; None if there is none."""
    return next((other for other in others if _skeleton(other) == _skeleton(label)), None)


def _skeleton(label: str) -> str:
    """What is left of a label without case, punctuation and the differences between letters that look alike."""
    plain = unicodedata.normalize("NFKD", label).translate(_CAPITALS).casefold().translate(_LOOKS)
    return "".join(character for character in plain if character.isalnum()).replace("i", "l").replace("rn", "m")
