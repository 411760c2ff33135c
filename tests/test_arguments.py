"""Checks of arguments: what they let through, and what their messages say."""

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
