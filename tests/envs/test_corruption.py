"""Corrupted feedback and means that are off by a certified distance."""

from __future__ import annotations

import json
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import gpbandit_envs  # noqa: F401 - registers the ids
from gpbandit_envs.corruption import as_corruption, target
from gpbandit_envs.envs.bandit import FiniteArmEnv
from tests.envs.catalogue import CORRUPTED, Case

ATTACKS: list[dict[str, Any]] = [
    {"name": "clipping"},
    {"name": "subtraction"},
    {"name": "subtraction", "drop": 1.0},
    {"name": "top_k", "k": 5, "low": -2.0},
    {"name": "flip"},
]


def made(**kwargs: Any) -> FiniteArmEnv:
    env = gym.make("GPBandit/GPSample-v0", n_arms=60, dim=2, noise_std=0.1, **kwargs)
    env.reset(seed=1)
    bandit = env.unwrapped
    assert isinstance(bandit, FiniteArmEnv)
    return bandit


def shifts(attack: dict[str, Any], env: FiniteArmEnv) -> np.ndarray:
    corruption = as_corruption({**attack, "budget": 1.0})
    assert corruption is not None
    assert env.problem.arms is not None
    return corruption.attack.shifts(env.mean(np.arange(60)), env.problem.arms)


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_feedback_is_the_clean_one_and_what_the_attack_adds_until_the_budget_is_spent(attack: dict[str, Any]) -> None:
    clean, corrupted = made(), made(corruption={**attack, "budget": 2.0})
    expected, left = shifts(attack, clean), 2.0
    arms = np.random.default_rng(0).integers(0, 60, 200).tolist()
    added = []
    for arm in arms:
        y, info = clean.step(arm)[1::3]
        other, corrupt_info = corrupted.step(arm)[1::3]
        c = corrupt_info["oracle"].pop("corruption")
        assert corrupt_info == info  # regret is that of the clean mean
        assert other == y + c
        assert c == np.clip(expected[arm], -left, left)
        left -= abs(c)
        added.append(c)
    assert left == pytest.approx(0.0, abs=1e-12)
    assert np.abs(added).sum() <= 2.0 + 1e-9
    assert corrupted.optimum == clean.optimum
    corrupted.reset(seed=1)
    assert corrupted.step(arms[0])[4]["oracle"]["corruption"] == added[0]


def test_what_the_attacks_make_of_the_function() -> None:
    env = made()
    mean, arms = env.mean(np.arange(60)), env.problem.arms
    assert arms is not None
    inside = target(mean, arms)
    best = int(np.argmax(mean))
    assert inside.sum() == 30
    assert not inside[best]
    distance = np.linalg.norm(arms - arms[best], axis=1)
    assert distance[inside].min() >= distance[~inside].max()
    looks = {json.dumps(attack): mean + shifts(attack, env) for attack in ATTACKS}
    clipped, subtracted, dropped, topped, flipped = looks.values()
    for fooled in (clipped, subtracted):
        assert np.argmax(fooled) == np.argmax(np.where(inside, mean, -np.inf))
        np.testing.assert_array_equal(fooled[inside], mean[inside])
        assert fooled[~inside].max() <= fooled[inside].max() - 0.5 + 1e-12
    np.testing.assert_allclose(dropped[~inside], mean[~inside] - 1.0)
    top = np.argsort(-mean)[:5]
    np.testing.assert_allclose(topped[top], -2.0)
    np.testing.assert_array_equal(np.delete(topped, top), np.delete(mean, top))
    np.testing.assert_allclose(flipped, -mean)


def test_low_arms_are_not_lifted() -> None:
    attack = as_corruption({"name": "top_k", "k": 99, "low": 0.5, "budget": 1.0})
    assert attack is not None
    mean = np.array([2.0, 0.1, -1.0])
    np.testing.assert_array_equal(attack.attack.shifts(mean, np.arange(3.0)[:, None]), [-1.5, 0.0, 0.0])


def test_the_problem_states_the_budget_and_no_more() -> None:
    problem = made(corruption={"name": "flip", "budget": 4.0}).problem
    assert problem.misspecification == {"corruption": 4.0}
    assert problem.knowledge == "oracle"  # kernel and noise are the true ones
    assert "flip" not in repr(problem) + str(dict(problem.notes))
    nothing = made(corruption={"name": "flip", "budget": 0.0})
    plain = made()
    assert nothing.problem.misspecification == {}
    assert [nothing.step(a)[1] for a in range(5)] == [plain.step(a)[1] for a in range(5)]


def test_without_the_oracle_nothing_is_told() -> None:
    assert made(corruption={"name": "flip", "budget": 4.0}, reveal_oracle=False).step(0)[4] == {"cost": 1.0}


@pytest.mark.parametrize(
    ("corruption", "error", "text"),
    [
        ("flip", TypeError, "corruption: expected a spec"),
        ({"name": "flip"}, TypeError, "corruption: expected a spec"),
        ({"name": "lies", "budget": 1.0}, ValueError, "expected a name among clipping, subtraction, top_k, flip"),
        ({"name": "flip", "budget": -1.0}, ValueError, "budget: expected a finite number >= 0"),
        ({"name": "flip", "budget": float("inf")}, ValueError, "budget: expected a finite number >= 0"),
        ({"name": "flip", "budget": 1.0, "k": 3}, TypeError, "'flip' takes budget, got k"),
        ({"name": "top_k", "budget": 1.0, "k": 0}, ValueError, "k: expected an integer >= 1"),
        ({"name": "top_k", "budget": 1.0, "low": float("nan")}, ValueError, "low: expected a finite number"),
        ({"name": "clipping", "budget": 1.0, "margin": 0.0}, ValueError, "margin: expected a finite number > 0"),
        ({"name": "subtraction", "budget": 1.0, "drop": -1.0}, ValueError, "drop: expected a finite number > 0"),
    ],
)
def test_wrong_corruption(corruption: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        made(corruption=corruption)


@pytest.mark.parametrize("case", CORRUPTED, ids=str)
def test_gymnasium_finds_nothing_wrong(case: Case) -> None:
    check_env(case.make().unwrapped, skip_render_check=True)
    twin: Any = gym.make(gym.envs.registration.EnvSpec.from_json(case.make().spec.to_json()))
    (one, other) = (env.reset(seed=3) and [env.step(arm)[1] for arm in range(20)] for env in (case.make(), twin))
    assert one == other


def test_a_box_is_refused() -> None:
    with pytest.raises(ValueError, match="corruption: expected None on a box"):
        gym.make("GPBandit/Branin-v0", corruption={"name": "flip", "budget": 1.0})
    with pytest.raises(ValueError, match=r"misspecification\['sup'\]: expected finite arms"):
        gym.make("GPBandit/RKHS-v0", n_arms=None, misspecification={"sup": 0.1})


def test_a_mean_that_changes_is_refused() -> None:
    with pytest.raises(ValueError, match="corruption: expected None where the mean function changes"):
        gym.make("GPBandit/TVGPSample-v0", corruption={"name": "flip", "budget": 1.0})
    with pytest.raises(ValueError, match=r"misspecification\['sup'\]: expected a mean function that stays as it is"):
        gym.make("GPBandit/TVGPSample-v0", misspecification={"sup": 0.1})


@pytest.mark.parametrize("id", ["RKHSContext", "SleepingArms"])
def test_arms_that_are_offered_are_attacked_like_all(id: str) -> None:
    env: Any = gym.make(f"GPBandit/{id}-v0", corruption={"name": "flip", "budget": 1.0}).unwrapped
    clean: Any = gym.make(f"GPBandit/{id}-v0").unwrapped
    info, plain = (one.reset(seed=0)[1] for one in (env, clean))
    total = 0.0
    for _ in range(20):
        arm = int(np.argmax(info["action_mask"]))
        (_, y, _, _, info), (_, other, _, _, plain) = env.step(arm), clean.step(arm)
        added = info["oracle"].pop("corruption")
        assert info["oracle"] == plain["oracle"]
        assert y == other + added
        total += abs(added)
    assert 0 < total <= 1.0 + 1e-12


def test_means_are_the_stated_distance_away_from_a_function_of_the_prior() -> None:
    clean, near = made(), made(misspecification={"sup": 0.2})
    arms = np.arange(60)
    difference = near.mean(arms) - clean.mean(arms)
    np.testing.assert_allclose(np.abs(difference), 0.2, rtol=1e-12)
    assert 10 < (difference > 0).sum() < 50
    assert near.certificate.facts["sup"] == 0.2
    assert near.certificate.norm is None
    assert near.optimum == near.mean(arms).max()
    assert near.problem.misspecification == {"sup": 0.2}
    assert near.problem.knowledge == "oracle"
    again = made(misspecification={"sup": 0.2})
    np.testing.assert_array_equal(near.mean(arms), again.mean(arms))
    near.reset()
    assert not np.array_equal(near.mean(arms), again.mean(arms))


def test_a_distance_of_0_changes_nothing() -> None:
    clean, near = made(), made(misspecification={"sup": 0.0})
    np.testing.assert_array_equal(near.mean(np.arange(60)), clean.mean(np.arange(60)))
    assert near.problem.misspecification == {}
    assert near.certificate == clean.certificate


def test_the_norm_of_the_function_near_by_is_certified() -> None:
    env: Any = gym.make("GPBandit/RKHS-v0", n_arms=40, norm=3.0, misspecification={"sup": 0.2, "noise": 2.0}).unwrapped
    env.reset(seed=0)
    assert env.certificate.facts["norm_of_near_function"] == 3.0
    assert env.problem.norm_bound == 3.0
    assert env.problem.knowledge == "misspecified"  # the noise is


@pytest.mark.parametrize(
    ("id", "kwargs", "text"),
    [
        ("RKHS", {"misspecification": {"sup": -0.1}}, "'sup'.*expected a finite number >= 0"),
        ("RKHS", {"misspecification": {"sup": float("nan")}}, "'sup'.*expected a finite number >= 0"),
        (
            "RKHS",
            {"misspecification": {"sup": 0.1}, "lengthscale": 0.1, "kernel": {"name": "se", "lengthscale": 0.5}},
            "expected an environment whose functions the stated prior describes, got one of knowledge 'misspecified'",
        ),
        ("Branin", {"grid": 5, "misspecification": {"sup": 0.1}}, "knowledge 'learned'"),
    ],
)
def test_wrong_distances(id: str, kwargs: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        gym.make(f"GPBandit/{id}-v0", **kwargs)
