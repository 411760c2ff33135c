"""Labels of rows: one way to write each, and none that is taken for another's."""

from __future__ import annotations

import pytest

from leaderboards.publish.boards import board, board_names
from leaderboards.publish.labels import fault, looks_like
from leaderboards.text import visible

ON_BOARD = ["MAP-BUCB", "GP-EI", "GP-UCB, width 2", "Uniform"]


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("МAP-BUCB", r"expected letters of one script in each word, got CYRILLIC and LATIN in '\u041cAP-BUCB'"),
        ("GP-EI ", "expected a label without blanks at its ends"),
        (" GP-EI", "expected a label without blanks at its ends"),
        ("GP  EI", "expected a label without blanks at its ends"),
        ("GP\u00a0EI", r"expected a label in its normal form (NFKC), got 'GP\xa0EI'"),
        ("GP\u2010EI", "expected letters, digits and plain punctuation"),
        ("GP\u2212EI", "expected letters, digits and plain punctuation"),
        ("GP\u3164EI", "expected a label in its normal form"),
        ("GP\u1160EI", "expected letters, digits and plain punctuation"),
        ("GP\u2800EI", "expected letters, digits and plain punctuation"),
        ("GP\u200bEI", "expected letters, digits and plain punctuation"),
        ("GP\u202eEI", "expected letters, digits and plain punctuation"),
        ("\uff27\uff30-EI", "expected a label in its normal form"),
        ("\U0001d40cine", "expected a label in its normal form"),
        ("Mine ✓", "expected letters, digits and plain punctuation"),
        ("Mine\nOther", "expected letters, digits and plain punctuation"),
        ("\ua4df\ua4ee\ua4d1", "expected letters of Latin, Greek, Cyrillic, Chinese, Japanese or Korean"),  # Lisu
        ("\u13b7\u13aa\u13e2", "expected letters of Latin, Greek"),  # Cherokee
        ("\u1d0d\u1d00\u1d18", "expected letters of Latin, Greek"),  # small capitals
        (
            "\u05d0\u05d1 12 (3)",
            "expected letters of Latin, Greek",
        ),  # from right to left: digits and signs change places
        ("GP\u034fEI", "expected letters, digits and plain punctuation"),  # a joiner, drawn as nothing
        ("GP-E\u0337I", "expected letters, digits and plain punctuation"),  # a stroke through the letter before
        ("GP-EI" + "\u0e49" * 9, "expected letters, digits and plain punctuation"),  # a tower of marks
        ("GP\ufe0fEI", "expected letters, digits and plain punctuation"),  # a variation selector
        ("MAP-BUCB (verified)", "expected a label without 'verified', which is for boards to say"),
        ("Mine, Verified!", "expected a label without 'verified'"),
        ("", "expected a label without blanks"),
    ],
)
def test_a_label_has_one_form(label: str, message: str) -> None:
    assert message in str(fault(label))


@pytest.mark.parametrize("label", ["Greedy", "every 3rd", "Grüßi, α = 0.5", "灰色 ベイズ", "ВОРЕ 2", "a|b_c (x)"])
def test_honest_labels_are_taken(label: str) -> None:
    assert fault(label) is None
    assert looks_like(label, ON_BOARD) is None


@pytest.mark.parametrize(
    ("label", "other"),
    [
        ("МАР-ВUСВ", "MAP-BUCB"),
        ("map bucb", "MAP-BUCB"),
        ("GP-E1", "GP-EI"),
        ("GP-El", "GP-EI"),
        ("Un\u0131form", "Uniform"),
        ("\u039c\u0391\u03a1-\u0392UC\u0392", "MAP-BUCB"),
        ("Unif0rrn", "Uniform"),
    ],
)
def test_a_label_is_not_taken_for_another(label: str, other: str) -> None:
    assert looks_like(label, ON_BOARD) == other
    assert looks_like("Unifоrm", ON_BOARD) == "Uniform"


def test_the_labels_of_the_boards_are_such() -> None:
    for name in board_names():
        labels = sorted({entry.ref.label for entry in board(name).suite().agents})
        assert not [label for label in labels if fault(label)]
        assert not [one for one in labels if looks_like(one, [other for other in labels if other != one])]


@pytest.mark.parametrize("character", ["\u3164", "\u2800", "\u00a0", "\u1160", "\u200b"])
def test_what_is_not_seen_is_shown(character: str) -> None:
    assert visible(f"a{character}b") == f"a{character.encode('unicode_escape').decode()}b"
