"""Environments over real data."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

from gpbandit_envs import datasets
from gpbandit_envs.gp import SE

pytestmark = pytest.mark.network


def table(name: str) -> datasets.Table:
    try:
        return datasets.load(name)
    except datasets.FetchError as error:
        pytest.skip(str(error))


def test_abalone() -> None:
    raw = table("Abalone")
    env = gym.make("GPBandit/Abalone-v0")
    env.reset(seed=0)
    card = env.unwrapped.problem  # type: ignore[attr-defined]
    assert card.arms.shape == (4_177, 8)
    np.testing.assert_allclose(card.arms.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(card.arms.std(axis=0), 1, rtol=1e-12)
    # Male, female and infant are one number, in this order.
    sexes = np.unique(raw.features[:, 0], return_counts=True)
    assert sexes[0].tolist() == [0.0, 1.0, 2.0]
    assert sexes[1].tolist() == [1_528, 1_307, 1_342]
    rings = raw.values[:, 0]
    expected = (rings - 1) / 28
    mean = env.unwrapped.mean(np.arange(4_177))  # type: ignore[attr-defined]
    np.testing.assert_allclose(mean, expected, atol=1e-15)
    assert env.unwrapped.certificate.optimum == 1.0  # type: ignore[attr-defined]
    assert (card.noise_std, card.norm_bound, card.knowledge, card.horizon) == (0.01, 1.0, "learned", 10_000)
    assert card.kernel == SE(17.5)
    chosen = gym.make("GPBandit/Abalone-v0", kernel={"name": "se", "lengthscale": 5.0}).unwrapped
    assert chosen.problem.kernel == SE(5.0)  # type: ignore[attr-defined]


def test_environments_of_one_table_share_its_arrays() -> None:
    table("Abalone")
    one, other = (gym.make("GPBandit/Abalone-v0").unwrapped for _ in range(2))
    assert one.problem.arms is other.problem.arms  # type: ignore[attr-defined]
