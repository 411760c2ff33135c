"""Which columns of text are numbers that somebody wrote in another way."""

from __future__ import annotations

import pytest

from gpbandit_envs.numerals import hint, numerals

WRITTEN = {
    "numbers as text": ["20 30", "1e-3 2.5", "\uff12 \uff13", "20 n/a"],
    "numbers with decimal commas": ["20,0 30", "1.234,5 2,5", "0,5 1,234", ",5 .5", "1,5e3 2", "20,0 n/a", "-0,5 0,5"],
    "numbers with thousands separators": ["1,234 5,678", "1,234,567.8 20"],
    "numbers in groups of three digits": ["1_234 2_345", "1'000 2'000", "1\u202f234 5\u202f678", "1.234.567 1.000.000"],
    "numbers with another minus sign": ["\u22125 5", "\u20130,5 1", "(5) 6", "5- 6-", "-_5 6"],
    "percentages": ["5% 10%", "5,5_% 10_%", "5_percent 6_percent", "5\u2030 6"],
    "powers of ten": ["1.5x10^3 2x10^3", "1,5\u00d710\u00b3 2\u00d710\u00b3", "2\u00b710\u22124 1"],
    "dates or times": [
        *("2024-01-05 2024-02-06", "05.01.2024 06.01.2024", "1/5/24 2/5/24", "5_Jan_2024 6_Feb_2024"),
        *("Mai_5,_2024 Feb_6,_2024", "12:30 13:45", "2024-01-05T12:00:00 2024-01-06T12:00:00"),
    ],
    "ratios": ["1:2 1:3", "1/2 1/3", "50/50 60/40", "1:2:1 2:1:1", "\u00bd \u00bc"],
    "limits or ranges": ["<5 10", "~20 ~30", "5\u00b11 6\u00b11", "5-10 10-20", "5\u201310 10\u201320", ">=5 6"],
    "numbers with a unit": [
        *("20_\u00b0C 30_\u00b0C", "20C 30C", "5_mg 1_g 10_mg", "$5 $6", "10_mol% 5_mol%", "5_mmol/L 6_mmol/L"),
        *("2_h 4_h", "10_mL_min-1 20_mL_min-1", "5_cm^2 6_cm^2", "1,5_M 2,5_M"),
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
    found = numerals(cells(text))
    assert found is not None
    assert found.what == what
    assert found.such <= set(cells(text))
    assert cells(text)[0] in found.such or cells(text)[1] in found.such


@pytest.mark.parametrize("text", NAMES)
def test_names_are_none(text: str) -> None:
    assert numerals(cells(text)) is None


def test_what_is_told_of_one_text() -> None:
    assert hint("0,83").startswith(' (numbers with decimal commas: read the file by pandas.read_csv(file, decimal=",")')
    assert hint("much") == hint(None) == ""
