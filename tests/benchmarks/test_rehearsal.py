"""How rehearsals of further plates are counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.rehearsal import statements, table


def campaigns(gaps: Any, truth: float) -> pd.DataFrame:
    names = {"half": "held out", "family": "f", "task": "f", "repetition": 0}
    return pd.DataFrame([names | {"gap": gap, "true gap": truth} for gap in gaps])


def test_equal_gaps_count_as_in_a_random_order() -> None:
    """Of 49 gaps 29 are nil, and so are the 30 lowest ranks of 50 if the truth is: 25 of them are from .1 on."""
    gaps = [0.0] * 29 + [1.0 + i for i in range(20)]
    one = statements(campaigns(gaps, 0.0)).iloc[0]
    assert one["held"]
    assert not one["above"]
    assert one["fair"] == pytest.approx(25 / 30)
    assert one["width"] == pytest.approx(np.quantile(gaps, 0.9))
    assert (
        table(campaigns(gaps, 0.0)).splitlines()[-1].startswith("| held out | all | 1 | 1.00 (0.03 to 1.00) | 0.00 |")
    )
    over = statements(campaigns(gaps, 99.0)).iloc[0]
    assert (over["held"], over["above"], over["fair"]) == (False, True, 0.0)


def test_a_truth_from_the_rehearsals_own_distribution_is_fair_in_four_of_five() -> None:
    """Over all places that it can have among them the average is .8, whatever is equal."""
    gaps = np.concatenate([np.zeros(15), np.arange(1.0, 36.0)])
    shares = [statements(campaigns(np.delete(gaps, i), float(gaps[i])))["fair"].iloc[0] for i in range(len(gaps))]
    assert np.mean(shares) == pytest.approx(0.8)
