"""Checks of arguments, and numbers as people write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpbandit_envs.arguments import (
    LARGEST,
    LEAST,
    MANY,
    as_count,
    as_number,
    as_variance,
    as_word,
    did_you_mean,
    moderate,
    positive_int,
    positive_number,
    shown,
)
from gpbandit_envs.numerals import hint, numerals


@pytest.mark.parametrize("value", [0, -0.0, 1, -3.5, np.float32(0.5), np.int64(7), LARGEST, -LARGEST, LEAST, -LEAST])
def test_numbers_of_moderate_size_are_floats(value: Any) -> None:
    number = as_number("x", value, "a number")
    assert type(number) is float
    assert number == float(value)


@pytest.mark.parametrize("value", [None, "1", True, np.True_, [1.0], np.zeros(1), 1j, object()])
def test_what_is_no_number_is_a_type_error(value: Any) -> None:
    with pytest.raises(TypeError, match=r"^x: expected a number, got "):
        as_number("x", value, "a number")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -(10**400), 2.0])
def test_what_is_not_finite_or_not_allowed_is_a_value_error(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^x: expected a number below 1, got "):
        as_number("x", value, "a number below 1", lambda number: number < 1)


def test_sizes() -> None:
    for value in (1.1 * LARGEST, 0.9 * LEAST, -1.1 * LARGEST, 5e-324):
        with pytest.raises(ValueError, match=r"^x: expected a number, between 1e-50 and 1e\+50 in size, got "):
            as_number("x", value, "a number")
    assert as_variance("v", LARGEST**2) == LARGEST**2
    assert as_variance("v", LEAST**2) == LEAST**2
    with pytest.raises(ValueError, match=r"^v: expected a finite number > 0, between 1e-100 and 1e\+100 in size, got"):
        as_variance("v", 2 * LARGEST**2)
    assert positive_number("v", 1e300, 0.0, float("inf")) == 1e300
    for zero in (0.0, -1.0):
        with pytest.raises(ValueError, match=r"^v: expected a finite number > 0, got "):
            positive_number("v", zero)
    assert moderate(np.array([LARGEST, -LARGEST, 0.0]))
    assert moderate(np.zeros(0))
    assert not any(moderate(np.array([0.0, bad])) for bad in (np.nan, np.inf, -np.inf, 1.1 * LARGEST))


def test_counts() -> None:
    assert [as_count("n", value, 0) for value in (0, 1.0, np.int32(3), MANY)] == [0, 1, 3, MANY]
    for value in (0, 1.5, float("nan"), True, "1", None, np.zeros(2), -(10**400)):
        with pytest.raises(ValueError, match=r"^n: expected an integer >= 1, got "):
            as_count("n", value)
    for value in (MANY + 1, float("inf"), 10**400, 1e300):
        with pytest.raises(ValueError, match=r"^n: expected an integer from 1 to 10,000,000, got "):
            as_count("n", value)
    with pytest.raises(ValueError, match=r"^n: expected an integer from 1 to 5, got 6"):
        as_count("n", 6, most=5)
    assert positive_int("n", np.int64(3)) == 3
    with pytest.raises(TypeError, match=r"^n: expected an integer >= 1, got 3.0"):
        positive_int("n", 3.0)
    with pytest.raises(ValueError, match=r"^n: expected an integer from 1 to 10,000,000, got "):
        positive_int("n", 10**400)


def test_words() -> None:
    assert as_word("w", "b", ("a", "b")) == "b"
    others: tuple[Any, ...] = ("x", None, np.array(["a", "b"]), {}, ("a",))
    for value in others:
        with pytest.raises(ValueError, match=r"^w: expected 'a', 'b' or 'c', got "):
            as_word("w", value, ("a", "b", "c"))


def test_what_is_shown_is_one_short_line() -> None:
    class Silent:
        def __repr__(self) -> str:
            raise RuntimeError

    assert shown(1.5) == "1.5"
    assert shown(np.eye(2)) == "array([[1., 0.], [0., 1.]])"
    assert len(shown("x" * 1000)) == 80
    assert shown(Silent()) == "<Silent>"
    assert shown(10**5000) == "<int>"  # Python writes out no more than 4,300 digits


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("Uniforn", "did you mean 'Uniform'?"),
        (" uniform", "did you mean 'Uniform'?"),
        ("rkhs", "did you mean 'GPBandit/RKHS-v0'?"),
        ("GPBandit/RKSH-v0", "did you mean 'GPBandit/RKHS-v0'?"),
        (3, "there are 'Uniform', 'uni', 'GPBandit/RKHS-v0'"),
        ("", "there are 'Uniform', 'uni', 'GPBandit/RKHS-v0'"),
    ],
)
def test_the_closest_name_or_all_are_hinted_at(word: object, hint: str) -> None:
    known = ["Uniform", "uni", "GPBandit/RKHS-v0"]
    aliases = {"RKHS": "GPBandit/RKHS-v0", "Uniform": "uni"}
    assert did_you_mean(word, known, aliases=aliases) == hint


def test_hints_name_each_name_once_and_say_something_else_where_asked() -> None:
    assert did_you_mean("ab", ["abc", "abd", "x"], n=2) == "did you mean 'abd' or 'abc'?"
    assert did_you_mean("ab", ["abc"], aliases={"abd": "abc"}, n=2) == "did you mean 'abc'?"
    assert did_you_mean("ab", ["abc"], cutoff=0.9) == "there are 'abc'"
    assert did_you_mean("q", ["abc"], "see the list") == "see the list"
    assert did_you_mean("q", [], "") == ""


# ---- which columns of text are numbers that somebody wrote in another way ----


WRITTEN = {
    "numbers as text": ["20 30", "1e-3 2.5", "\uff12 \uff13", "20 n/a", "20 k.A.", "20 #N/A", "20 -inf 30 \u2014"],
    "numbers beside quotes, or characters that do not show": [
        *("'20' '30'", "\u201c20\u201d 30", "=20 30", "\u200b20 30", "\ufeff20 30", "20\u200f 30", "+5 \u200e6")
    ],
    "numbers with decimal commas": [
        *("20,0 30", "1.234,5 2,5", "0,5 1,234", ",5 .5", "1,5e3 2", "20,0 n/a", "-0,5 0,5", "\u0661\u066b\u0665 2")
    ],
    "numbers with thousands separators": ["1,234 5,678", "1,234,567.8 20", "1,00,000 2,50,000"],
    "numbers in groups of three digits": [
        *("1_234 2_345", "1'000 2'000", "1\u202f234 5\u202f678", "1.234.567 1.000.000", "1\u2019000.5 2")
    ],
    "numbers with another minus sign": [
        *("\u22125 5", "\u20130,5 1", "(5) 6", "5- 6-", "-_5 6", "+_5 6", "1e\u22123 2", "\u20105 \u20116")
    ],
    "percentages": ["5% 10%", "5,5_% 10_%", "5_percent 6_percent", "5\u2030 6"],
    "powers of ten": [
        *("1.5x10^3 2x10^3", "1,5\u00d710\u00b3 2\u00d710\u00b3", "2\u00b710\u22124 1", "10^-3 10**-4", "1_E3 2_E3")
    ],
    "dates or times": [
        *("2024-01-05 2024-02-06", "05.01.2024 06.01.2024", "1/5/24 2/5/24", "5_Jan_2024 6_Feb_2024"),
        *("Mai_5,_2024 Feb_6,_2024", "12:30 13:45", "2024-01-05T12:00:00 2024-01-06T12:00:00"),
        *("2024-01-05_12:00:00+01:00 05.01.2024", "2024-01 2024-02", "2024-W01 2024-Q2", "1_h_30_min 2_h"),
    ],
    "ratios": ["1:2 1:3", "1/2 1/3", "50/50 60/40", "1:2:1 2:1:1", "\u00bd \u00bc", "1_1/2 2_1/2"],
    "limits or ranges": [
        *("<5 10", "~20 ~30", "5\u00b11 6\u00b11", "5-10 10-20", "5\u201310 10\u201320", ">=5 6"),
        *("<5_mg 10", "5-10_% 6", "1.23(4) 2"),
    ],
    "numbers with a unit": [
        *("20_\u00b0C 30_\u00b0C", "20C 30C", "5_mg 1_g 10_mg", "$5 $6", "10_mol% 5_mol%", "5_mmol/L 6_mmol/L"),
        *("2_h 4_h", "10_mL_min-1 20_mL_min-1", "5_cm^2 6_cm^2", "1,5_M 2,5_M"),
        *("EUR_5 EUR_6", "5\u20ac 6\u20ac", "\u20b95 \u20b96", "5_mol_per_L 6_mol_per_L", "20_(C) 30_(C)"),
        *("1e3_mg +5_mg", "5\u00d7 6\u00d7", "5_mg 10_mg 1_g 2_kg"),
    ],
}
NAMES = [
    *("KOAc CsOPiv", "1,4-dioxane 2-MeTHF", "1a 1b 1c", "1st 2nd 3rd", "64-17-5 7732-18-5", "1.2.3 1.2.4", "A1 A2"),
    *("pH7 pH8", "yes no", "n/a -", "18-crown-6 15-crown-5", "20 30 1O", "10%_Pd/C Ni", "20_mg 30_mg none-at-all", ""),
]


def cells(text: str) -> list[str]:
    return [cell.replace("_", " ") for cell in text.split(" ")]


@pytest.mark.parametrize(("what", "text"), [(what, text) for what, texts in WRITTEN.items() for text in texts])
def test_numbers_as_people_write_them(what: str, text: str) -> None:
    found: Any = numerals(cells(text))
    assert found.what == what
    assert found.such <= set(cells(text))
    assert cells(text)[0] in found.such or cells(text)[1] in found.such


@pytest.mark.parametrize("text", NAMES)
def test_names_are_none(text: str) -> None:
    assert numerals(cells(text)) is None


def test_long_texts_take_no_time() -> None:
    assert numerals(["1" * 4_000 + "x"]) is None
    assert numerals(["1" * 400]) is not None


def test_what_is_told_of_one_text() -> None:
    assert hint("0,83").startswith(' (numbers with decimal commas: read the file by pandas.read_csv(file, decimal=",")')
    assert hint("much") == hint(None) == ""
