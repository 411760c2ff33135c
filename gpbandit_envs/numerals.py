"""Numbers that are written as text, which would become categories: what they look like, and what mends them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

_MISSING = {
    *("", "-", "--", ".", "?", "na", "n/a", "nan", "n.a.", "nd", "n.d.", "none", "null", "missing", "\u2013", "\u2014"),
    *(
        "<na>",
        "nat",
        "k.a.",
        "tbd",
        "unknown",
        "not measured",
        "not determined",
        "not available",
        "bdl",
        "<lod",
        "<loq",
    ),
    *("#n/a", "#na", "#div/0!", "#value!", "#ref!", "#num!", "#name?", "#null!", "inf", "+inf", "-inf", "infinity"),
}
_MINUS = "\u2212\u2010\u2012\u2013\u2014\ufe63\uff0d"  # a minus sign, a hyphen, three dashes, two wide hyphens
_ALIKE = str.maketrans("\u2019\u02bc\u00b4\u066b\u066c", "''','")  # apostrophes, and marks of Arabic numbers
_AROUND = "'\"=\u201c\u201d\u2018"
_PLAIN = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_COMMA = r"[-+]?(?:\d+|\d{1,3}(?:[.' ]\d{3})+)?,\d+(?:[eE][-+]?\d+)?"
_NUMBER = rf"(?:{_PLAIN}|{_COMMA})"
_MONTH = r"(?:jan|feb|mar|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)[a-z]*\.?"
_YEAR, _DAY = r"(?:19|20)\d\d", r"[0-3]?\d"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:\s*[ap]m|z|\s*[-+]\d\d:?\d\d)?"
_SPAN = rf"(?:{_PLAIN}\s*(?:days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)\s*){{2,}}"
_DATE = "|".join(
    [
        rf"{_YEAR}([-/.])[01]?\d\1{_DAY}",
        rf"{_DAY}([-/.]){_DAY}\2(?:{_YEAR}|\d\d)",
        rf"{_DAY}[-. ]*{_MONTH}[-. ,]*(?:{_YEAR}|\d\d)",
        rf"{_MONTH}[-. ]*{_DAY}[ ,]*{_YEAR}",
        rf"{_YEAR}[-/.](?:0\d|1[0-2])|(?:0\d|1[0-2])[-/.]{_YEAR}|{_YEAR}-?[wq]\d\d?(?:-\d)?",
    ]
)
_CURRENCY = "$€£¥₹₩₽₺₿"
_UNIT = rf"[(\[]?(?!e[-+]?\d)(?:[^\W\d_]|[°%‰×{_CURRENCY}])[^\s\d,;()]{{0,7}}(?:[ /·*^]*[^\s,;()]{{1,6}}){{0,2}}[)\]]?"

PLAIN = "numbers as text"
"""What numbers are that nothing is wrong with but that they are text."""

_CUT = "write numbers, with the unit in the column's name"
_FORMS = {
    PLAIN: (_PLAIN, "make them numbers, as by DataFrame.astype(float)"),
    "numbers with thousands separators": (
        r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d\d?(?:,\d\d)+,\d{3})(?:\.\d+)?",
        'read the file by pandas.read_csv(file, thousands=",") and give the frame; or decimal=",", if that is meant',
    ),
    "numbers with decimal commas": (
        _COMMA,
        'read the file by pandas.read_csv(file, decimal=","), or read_excel, and give the frame',
    ),
    "numbers in groups of three digits": (
        r"[-+]?\d{1,3}(?:([ '_])\d{3}(?:\1\d{3})*(?:\.\d+)?|(?:\.\d{3}){2,})",
        "take out what separates the groups, as by Series.str.replace",
    ),
    "numbers with another minus sign": (
        rf"[{_MINUS}]\s*{_NUMBER}|[-+]\s+{_NUMBER}|{_NUMBER}-|\({_NUMBER}\)|[-+{_MINUS}]?{_NUMBER}e[{_MINUS}]\d+",
        'write "-" in front of them, as by Series.str.replace',
    ),
    "percentages": (rf"{_NUMBER}\s*(?:[%‰]|percent)", "write numbers without the sign, as by Series.str.rstrip"),
    "powers of ten": (
        rf"{_NUMBER}\s*[x×·*]\s*10\s*(?:\^|\*\*)?\s*[-+{_MINUS}]?\d+|10(?:\^|\*\*)[-+{_MINUS}]?\d+|{_PLAIN}\s+e[-+]?\d+",
        "write them as 1.5e-3",
    ),
    "dates or times": (
        rf"(?:{_DATE})(?:[t ]\s*{_CLOCK})?|{_CLOCK}|{_SPAN}",
        "write the time since the first as a number, as days or hours",
    ),
    "ratios": (
        rf"(?:\d+\s+)?{_NUMBER}(?:\s*[:/\u2044]\s*{_NUMBER})+",
        "write a number, or a column for each part",
    ),
    "limits or ranges": (
        rf"(?:(?:[<>~≤≥≈±]=?|ca\.?|about)\s*{_NUMBER}|{_NUMBER}\s*(?:±|\+/-|-|to|[{_MINUS}])\s*{_NUMBER})(?:\s*{_UNIT})?"
        rf"|{_NUMBER}\(\d+\)",
        "write the number that is meant",
    ),
    "numbers with a unit": (
        rf"(?:[{_CURRENCY}]|(?:eur|usd|gbp|chf|jpy|cny|inr)\s)\s*{_NUMBER}|{_NUMBER}\s*{_UNIT}",
        _CUT,
    ),
}
_PATTERNS = {what: re.compile(rf"(?:{pattern})\Z", re.IGNORECASE) for what, (pattern, _) in _FORMS.items()}
_BESIDE = "numbers beside quotes, or characters that do not show"
_REMEDIES = {what: remedy for what, (_, remedy) in _FORMS.items()} | {
    _BESIDE: "take these out, as by Series.str.replace"
}
_LAST = "numbers with a unit"
_LONGEST = 80  # characters of a number that is not a plain one; of thousands some patterns would take seconds
_UNITS = 3  # as many may be mixed in a column, such as mg, g and kg


class Numerals(NamedTuple):
    """What a column of text holds in place of numbers.

    Attributes:
        what: What it is, in words.
        remedy: What to do.
        such: The cells that are so written.
    """

    what: str
    remedy: str
    such: frozenset[str]


def numerals(cells: Iterable[str]) -> Numerals | None:
    """What the texts of a column are if each of them, but for words for a missing one, is a number; else None."""
    found: dict[str, str] = {}
    units, missing = set(), []
    for cell in dict.fromkeys(cells):
        shown = "".join(letter for letter in cell if unicodedata.category(letter) != "Cf")  # else not seen
        text = unicodedata.normalize("NFKC", shown.translate(_ALIKE)).strip()
        if text.casefold() in _MISSING:
            missing.append(cell)
            continue
        bare = text.strip(_AROUND)
        forms = _PATTERNS if len(bare) <= _LONGEST else (PLAIN,)
        what = next((each for each in forms if _PATTERNS[each].match(bare)), None)
        if what is None:
            return None
        if what == PLAIN and (bare != text or shown != cell):
            what = _BESIDE
        found[cell] = what
        if what == _LAST:
            units.add(re.sub(rf"^{_NUMBER}\s*|\s*{_NUMBER}$", "", text).casefold())
    if not found or len(units) > _UNITS or (units and len(units) >= len(found)):
        return None
    counts = Counter(found.values())
    what = max(counts, key=lambda each: (each != PLAIN, counts[each]))
    if what == "numbers with thousands separators" and counts["numbers with decimal commas"]:
        what = "numbers with decimal commas"  # 1,234 beside 0,5
    if what == _LAST and counts[what] <= counts[PLAIN]:
        return None  # rather a slip, such as 1O
    such = frozenset(cell for cell, form in found.items() if form != PLAIN or what == PLAIN)
    return Numerals(what, _REMEDIES[what], such if what != PLAIN else such | frozenset(missing))


def hint(value: object) -> str:
    """What to add to an error about a text that should be a number; nothing if it is none."""
    found = numerals([value]) if isinstance(value, str) else None
    return "" if found is None else f" ({found.what}: {found.remedy})"
