"""Rehearsals of further plates: what they are drawn from, and how they are counted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import agents
from benchmarks.rehearsal import draws, rehearsed, statements

X = np.linspace(0.0, 1.0, 41)
F = np.sin(5 * X)


def told(n: int) -> agents.Experiment:
    """An experiment on a smooth function without noise, after so many evaluations."""
    lab = agents.Experiment(pd.DataFrame({"x": X}), seed=1)
    for point in lab.ask(n) if n else ():
        lab.tell(point, float(np.sin(5 * point["x"])))
    return lab


def test_a_drawn_function_agrees_with_tight_data_and_is_free_elsewhere() -> None:
    lab, rows = told(0), np.arange(0, 20, 2)  # the first half of the range
    for i in rows:
        lab.tell({"x": float(X[i])}, float(F[i]))
    found = list(draws(lab, 24, np.random.default_rng(0)))
    for _, f, sd in found:
        np.testing.assert_allclose(f[rows], F[rows], atol=5 * sd)
    spread = np.std([f for _, f, _ in found], axis=0)
    assert spread[-1] > 5 * spread[rows].max()


def test_a_rehearsal_on_the_function_itself_is_the_campaign_that_follows() -> None:
    lab = told(10)
    before = repr(lab)
    gap = rehearsed(lab, F, np.zeros((2, 4)))
    assert repr(lab) == before
    for _ in range(2):
        for point in lab.ask(4):
            lab.tell(point, float(np.sin(5 * point["x"])))
    assert gap == pytest.approx(F.max() - np.sin(5 * lab.recommend()["x"]))


def test_a_truth_from_the_rehearsals_own_distribution_is_fair_in_four_of_five() -> None:
    """Whatever is equal: each gap is the truth of a campaign whose rehearsals have the others."""
    gaps = np.concatenate([np.zeros(15), np.arange(1.0, 36.0)])
    one = {"half": "tuning", "family": "f", "task": "f", "form": "as it is"}
    rows = [one | {"repetition": i, "true gap": gaps[i], "gap": gap} for i in range(50) for gap in np.delete(gaps, i)]
    assert statements(pd.DataFrame(rows))["fair"].mean() == pytest.approx(0.8)
