"""Coupled dictionaries: the probabilities of fresh ones, and little change from one to the next."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import agents
import leaderboards
from agents.sketched.base import SketchedBeliefs
from agents.sketched.dictionary import CoupledDraws, Draws, inclusion_probabilities, posterior_sampling
from gpbandit_envs.gp import SE
from gpbandit_envs.problem import Problem
from tests.agents.play import noisy, play

ARMS = np.arange(4)
# Three dictionaries in a row: arms are pulled on, their leverage scores fall.
PULLS = np.array([[1.0, 4.0, 100.0, 1.0], [2.0, 4.0, 150.0, 1.0], [2.0, 9.0, 400.0, 1.0]])
LEVERAGE = np.array([[0.1, 0.05, 0.004, 0.4], [0.08, 0.05, 0.002, 0.35], [0.07, 0.02, 0.0005, 0.3]])
ENV = ("GPBandit/GPSample-v0", {"n_arms": 400})
REPEATS = 20_000


def frequencies(draws: Draws) -> tuple[np.ndarray, float]:
    """How often each arm was in each of the three dictionaries, and how many arms changed from one to the next.

    Arms are drawn independently, so that copies of the four are as good as repetitions.
    """
    sampler, rng = CoupledDraws(4 * REPEATS, draws), np.random.default_rng(0)
    copies = np.arange(4 * REPEATS)
    inside = np.zeros((3, 4 * REPEATS), bool)
    for step in range(3):
        pulls, leverage = np.tile(PULLS[step], REPEATS), np.tile(LEVERAGE[step], REPEATS)
        inside[step, sampler.draw(copies, pulls, leverage, 2.0, rng)] = True
    changed = np.count_nonzero(inside[1:] != inside[:-1]) / REPEATS
    return inside.reshape(3, REPEATS, 4).mean(axis=1), changed


@pytest.mark.parametrize("draws", ["pull", "arm"])
def test_every_dictionary_has_the_probabilities_of_a_fresh_one(draws: Draws) -> None:
    found, changed = frequencies(draws)
    fresh_changes = 0.0
    for step in range(3):
        p = inclusion_probabilities(PULLS[step], LEVERAGE[step], 2.0, draws)
        if step:
            q = inclusion_probabilities(PULLS[step - 1], LEVERAGE[step - 1], 2.0, draws)
            fresh_changes += float((p * (1 - q) + q * (1 - p)).sum())
        assert (np.abs(found[step] - p) < 4.5 * np.sqrt(p * (1 - p) / REPEATS) + 1e-9).all()
    assert changed < 0.6 * fresh_changes


def test_one_number_an_arm_decides_alone() -> None:
    sampler = CoupledDraws(3, "arm")
    rng = np.random.default_rng(0)
    arms, pulls = np.arange(3), np.ones(3)
    sampler.draw(arms, pulls, np.full(3, 0.1), 1.0, rng)
    numbers = sampler.lowest.copy()
    for scale in np.linspace(0.02, 1.0, 30):
        drawn = sampler.draw(arms, pulls, np.full(3, scale), 1.0, rng)
        np.testing.assert_array_equal(sampler.lowest, numbers)
        assert set(drawn.tolist()) >= set(np.flatnonzero(numbers < scale).tolist())
    assert set(drawn.tolist()) == {0, 1, 2}


def test_an_arm_leaves_four_times_at_most() -> None:
    """The worst case: a score that is high whenever the arm is out and low whenever it is in."""
    sampler = CoupledDraws(2, "arm")
    rng = np.random.default_rng(0)
    inside, history = False, []
    for _ in range(100):
        leverage = np.array([0.001 if inside else 1.0, 1.0])  # the other arm is always in
        inside = 0 in sampler.draw(np.arange(2), np.ones(2), leverage, 1.0, rng)
        history.append(inside)
    assert sampler.lowest[0] > 0.001  # so that the number alone would toggle for ever
    assert int((np.diff(np.array(history, int)) == -1).sum()) == 4
    assert all(history[10:])
    assert sampler.departures.tolist() == [4, 0]


X = np.random.default_rng(0).random((150, 2))
MEAN = np.sin(5 * X[:, 0]) * np.cos(3 * X[:, 1])
PROBLEM = Problem(name="test", dim=2, arms=X, kernel=SE(0.2), noise_std=0.3, norm_bound=1.5, horizon=400)


def dictionaries(**kwargs: Any) -> list[set[int]]:
    agent: Any = agents.make("BBKB", width="practical", **kwargs)
    drawn: list[set[int]] = []
    draw = SketchedBeliefs._draw

    def noted(beliefs: SketchedBeliefs, arms: np.ndarray, pulls: np.ndarray, leverage: np.ndarray) -> np.ndarray:
        dictionary = draw(beliefs, arms, pulls, leverage)
        drawn.append(set(dictionary.tolist()))
        return dictionary

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SketchedBeliefs, "_draw", noted)
        play(agent, PROBLEM, noisy(MEAN, 0.3, 0), 0)
    return drawn


@pytest.mark.parametrize("draws", ["pull", "arm"])
def test_along_a_run_coupled_dictionaries_change_less_and_are_no_larger(draws: Draws) -> None:
    changes, sizes = {}, {}
    for resampling in ("fresh", "coupled"):
        drawn = dictionaries(resampling=resampling, draws=draws)
        changes[resampling] = np.mean([len(a ^ b) for a, b in pairwise(drawn)])
        sizes[resampling] = len(drawn[-1])
    assert changes["coupled"] < 0.5 * changes["fresh"]
    assert sizes["coupled"] < 1.5 * sizes["fresh"]


@pytest.mark.slow
def test_fresh_dictionaries_cost_bkb_regret_and_coupled_ones_do_not() -> None:
    """Over the same six episodes; fresh ones leave arms out now and then, and the policy plays just those."""

    def regret(id: str, **kwargs: Any) -> float:
        agent = (id, {"width": "practical", **kwargs})
        runs = [leaderboards.run(ENV, agent, horizon=400, repetition=r) for r in range(6)]
        return float(np.mean([run.trace["regret"].sum() for run in runs]))

    exact, fresh, coupled = regret("GP-UCB"), regret("BKB"), regret("BKB", resampling="coupled")
    assert coupled == pytest.approx(exact, rel=0.05)
    assert fresh > 1.2 * exact


@pytest.mark.parametrize("draws", ["pull", "arm"])
@pytest.mark.parametrize("id", ["BKB", "BBKB"])
def test_protocol(id: str, draws: Draws) -> None:
    agents.check_agent(lambda: agents.make(id, resampling="coupled", draws=draws))


def test_fresh_draws_are_as_they_were() -> None:
    """One random number an arm and dictionary, in the order of the arms."""
    inclusion = inclusion_probabilities(PULLS[0], LEVERAGE[0], 2.0, "pull")
    expected = ARMS[np.random.default_rng(5).random(4) < inclusion]
    drawn = posterior_sampling(ARMS, PULLS[0], LEVERAGE[0], 2.0, np.random.default_rng(5), "pull")
    np.testing.assert_array_equal(drawn, expected)


def test_bad_settings_are_named() -> None:
    with pytest.raises(ValueError, match="resampling: expected 'fresh' or 'coupled', got 'both'"):
        agents.make("BKB", resampling="both")
