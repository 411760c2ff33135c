"""Scores of two checkouts: what prints otherwise is a line, what does not is a relative difference."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from benchmarks.scores import _numbers, compare


def test_what_prints_otherwise_is_named() -> None:
    ours = {"a": 1.0, "b": 2.0, "c": math.nan, "d": 5.0}
    largest, lines = compare(ours, {"a": 1.0 + 1e-9, "b": 2.01, "c": math.nan, "e": 1.0})
    assert lines == ["b: 2.0 here, 2.01 there", "d: 5.0 here, None there", "e: None here, 1.0 there"]
    assert compare({"a": 1.0}, {"a": 1.0 + 1e-9})[0] < 2e-9
    assert largest == pytest.approx(0.01 / 2.01)
    assert compare(ours, ours) == (0.0, [])


def test_a_number_is_named_by_the_text_of_its_row() -> None:
    frame = pd.DataFrame({"agent": ["A", "B"], "score": [1.0, 2.0]})
    assert _numbers("ranking", frame) == [("ranking, A, score", 1.0), ("ranking, B, score", 2.0)]
