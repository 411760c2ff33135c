"""Rehearsals of further plates: what they are drawn from, and how they are counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import agents
from benchmarks.rehearsal import FORMS, draws, rehearsals, rehearsed, statements, table

X = np.linspace(0.0, 1.0, 41)
F = np.sin(5 * X)


def told(n: int) -> agents.Experiment:
    """An experiment on a smooth function without noise, after so many evaluations."""
    lab = agents.Experiment(pd.DataFrame({"x": X}), seed=1)
    for point in lab.ask(n):
        lab.tell(point, float(np.sin(5 * point["x"])))
    return lab


def test_a_drawn_function_agrees_with_tight_data_and_is_free_elsewhere() -> None:
    lab = agents.Experiment(pd.DataFrame({"x": X}), seed=1)
    rows = np.arange(0, 20, 2)  # the first half of the range
    for i in rows:
        lab.tell({"x": float(X[i])}, float(F[i]))
    found = list(draws(lab, 24, np.random.default_rng(0)))
    for _, f, sd in found:
        np.testing.assert_allclose(f[rows], F[rows], atol=5 * sd)
    spread = np.std([f for _, f, _ in found], axis=0)
    assert spread[-1] > 5 * spread[rows].max()


def test_draws_have_mean_and_variance_of_the_mixture() -> None:
    """Within five standard errors, of the variance as of normal draws."""
    lab, n = told(10), 400
    f = np.array([f for _, f, _ in draws(lab, n, np.random.default_rng(3))])
    mean, variance = lab._beliefs().models[0].posterior.at(X[:, None])
    assert np.abs(f.mean(axis=0) - mean).max() < 5 * np.sqrt(variance.max() / n)
    np.testing.assert_allclose(f.var(axis=0), variance, rtol=0.5, atol=0.01 * variance.max())


def test_a_rehearsal_on_the_function_itself_is_the_campaign_that_follows() -> None:
    lab = told(10)
    before = repr(lab)
    gap = rehearsed(lab, F, np.zeros((2, 4)))
    assert repr(lab) == before
    for _ in range(2):
        for point in lab.ask(4):
            lab.tell(point, float(np.sin(5 * point["x"])))
    assert gap == pytest.approx(F.max() - np.sin(5 * lab.recommend()["x"]))


def test_every_form_is_rehearsed_and_has_a_line() -> None:
    rows = rehearsals(told(10), 3, 1, seed=0)
    assert [row["form"] for row in rows] == [*FORMS] * 3
    assert min(row["gap"] for row in rows) >= 0
    same = {"half": "tuning", "family": "sine", "task": "sine", "repetition": 0, "true before": 0.1, "true gap": 0.0}
    lines = table(pd.DataFrame([same | row for row in rows])).splitlines()
    assert [line.split(" | ")[1:4] for line in lines[2:]] == [
        [by, form, "1"] for by in ("sine", "all") for form in FORMS
    ]


def campaigns(gaps: Any, truth: float) -> pd.DataFrame:
    names = {"half": "held out", "family": "f", "task": "f", "repetition": 0, "form": "as it is", "seconds": 0.0}
    return pd.DataFrame([names | {"gap": gap, "true gap": truth} for gap in gaps])


def test_equal_gaps_count_as_in_a_random_order() -> None:
    """Of 49 gaps 29 are nil, and so are the 30 lowest ranks of 50 if the truth is: 25 of them are from .1 on."""
    gaps = [0.0] * 29 + [1.0 + i for i in range(20)]
    one = statements(campaigns(gaps, 0.0)).iloc[0]
    assert one["held"]
    assert not one["above"]
    assert one["fair"] == pytest.approx(25 / 30)
    assert one["width"] == pytest.approx(np.quantile(gaps, 0.9))
    over = statements(campaigns(gaps, 99.0)).iloc[0]
    assert (over["held"], over["above"], over["fair"]) == (False, True, 0.0)


def test_a_truth_from_the_rehearsals_own_distribution_is_fair_in_four_of_five() -> None:
    """Over all places that it can have among them the average is .8, whatever is equal."""
    gaps = np.concatenate([np.zeros(15), np.arange(1.0, 36.0)])
    shares = [statements(campaigns(np.delete(gaps, i), float(gaps[i])))["fair"].iloc[0] for i in range(len(gaps))]
    assert np.mean(shares) == pytest.approx(0.8)
