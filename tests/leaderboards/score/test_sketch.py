"""Sketched variances against the exact posterior, and bytes, on cases with known answers."""

from __future__ import annotations

import numpy as np
import pytest

from gpbandit_envs.gp import SE
from gpbandit_envs.gp.sketch import SketchedArmPosterior
from gpbandit_envs.problem import Problem
from leaderboards.score.memory import held_bytes
from leaderboards.score.sketch import SKETCH_COLUMNS, look_at_sketch, sketched_posterior

X = np.linspace(0, 1, 40)[:, None]
LAM = 0.05
PULLED, COUNTS = np.array([3, 11, 20, 30]), np.array([1.0, 5.0, 2.0, 40.0])


class Sketched:
    """Nothing but a sketched posterior of `PULLED` on a dictionary."""

    resparsifications = 7

    def __init__(self, dictionary: list[int]) -> None:
        self.posterior = SketchedArmPosterior(SE(0.15), X, LAM)
        self.posterior.record(PULLED, COUNTS, np.ones(4))
        self.posterior.embed(np.array(dictionary, np.int64))


def exact_variance() -> tuple[np.ndarray, float]:
    """Dense formula with every pull written out; variance at all arms, effective dimension."""
    arms = np.repeat(PULLED, COUNTS.astype(int))
    K = SE(0.15)(X[arms], X[arms])
    inverse = np.linalg.inv(K + LAM * np.eye(len(arms)))
    k = SE(0.15)(X[arms], X)
    return 1 - np.einsum("ij,ij->j", k, inverse @ k), float(np.trace(K @ inverse))


def test_a_dictionary_of_all_pulled_arms_is_exact() -> None:
    found = look_at_sketch(Sketched(PULLED.tolist()), np.arange(40))
    assert found["dictionary"] == 4
    assert found["resparsifications"] == 7
    for name in ("ratio_low", "ratio_median", "ratio_high"):
        assert found[name] == pytest.approx(1, abs=1e-6)
    assert found["d_eff"] == pytest.approx(exact_variance()[1], rel=1e-9)
    assert found["sketched_d_eff"] == pytest.approx(found["d_eff"], rel=1e-6)


def test_what_a_dictionary_leaves_out_shows_in_the_ratio() -> None:
    agent = Sketched([3])
    found = look_at_sketch(agent, np.arange(40))
    ratio = agent.posterior.variance / exact_variance()[0]
    assert found["ratio_high"] == pytest.approx(ratio.max(), rel=1e-6)
    assert found["ratio_low"] == pytest.approx(ratio.min(), rel=1e-6)
    assert found["ratio_median"] == pytest.approx(np.median(ratio), rel=1e-6)
    assert found["ratio_high"] > 100, "the arm pulled 40 times is unknown to the dictionary"
    assert look_at_sketch(agent, PULLED[:1])["ratio_high"] < 3


def test_what_has_no_sketch_has_nothing_to_tell() -> None:
    assert sketched_posterior(object()) is None
    assert all(np.isnan(x) for x in look_at_sketch(object(), np.arange(3)).values())
    assert tuple(look_at_sketch(object(), np.arange(3))) == SKETCH_COLUMNS


def test_before_the_first_pull_the_sketch_is_the_prior() -> None:
    agent = Sketched([3])
    agent.posterior = SketchedArmPosterior(SE(0.15), X, LAM)
    found = look_at_sketch(agent, np.arange(40))
    assert (found["dictionary"], found["d_eff"], found["ratio_low"], found["ratio_high"]) == (0, 0, 1, 1)


class Holder:
    """Holds arrays in several ways."""

    def __init__(self) -> None:
        arms = np.zeros((1000, 10))
        self.problem = Problem(name="x", dim=10, arms=arms)
        self.block = np.zeros(100)
        self.view = self.block[:50]
        self.box = {"a": [np.zeros(10), (np.zeros(5, np.int8),)], "again": self.block}
        self.mine = self
        self.arms = self.problem.arms


def test_every_block_counts_once_and_the_card_not_at_all() -> None:
    assert held_bytes(Holder()) == 800 + 80 + 5
    assert held_bytes(object()) == 0


def test_kernel_rows_count_by_what_is_in_use() -> None:
    few, more = Sketched([3]), Sketched([3])
    more.posterior.rows.add(np.arange(12, 18))
    grown = held_bytes(more) - held_bytes(few)
    assert grown == more.posterior.rows.nbytes - few.posterior.rows.nbytes
    assert grown >= (10**2 - 4**2) * 8, "six more arms in the Gram matrix at least"
    assert held_bytes(few) < 64**2 * 8, "what is reserved for a Gram matrix of 64 arms is not in use"
