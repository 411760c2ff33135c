from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from gpbandit_envs.datasets import standardise, unit_interval


def test_standardise_agrees_with_scikit_learn_and_sets_constant_columns_to_zero() -> None:
    X = np.random.default_rng(0).lognormal(size=(50, 4)) * [1e-6, 1.0, 1e6, 1.0] + [0, 5, 0, 0]
    X[:, 3] = 0.1
    np.testing.assert_allclose(standardise(X)[:, :3], StandardScaler().fit_transform(X)[:, :3], atol=1e-12)
    assert (standardise(X)[:, 3] == 0).all()


def test_unit_interval_is_increasing_and_fills_the_interval() -> None:
    y = np.array([[3.0, np.nan], [-1.0, 7.0]])
    np.testing.assert_allclose(unit_interval(y), [[0.5, np.nan], [0.0, 1.0]])


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match=r"^X: expected a matrix"):
        standardise(np.zeros(3))
    with pytest.raises(ValueError, match=r"^X: expected a matrix"):
        standardise(np.array([[np.nan]]))
    with pytest.raises(ValueError, match=r"^y: expected at least two different values"):
        unit_interval(np.ones(3))
    with pytest.raises(ValueError, match=r"^y: expected finite"):
        unit_interval(np.array([np.inf, 1.0]))
