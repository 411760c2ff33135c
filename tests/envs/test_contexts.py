"""Environments whose steps offer only some of the arms: what they offer, and what regret is."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from gpbandit_envs import problem_of
from gpbandit_envs.envs.contextual import ContextualArmEnv
from gpbandit_envs.offers import ContextOffers, SleepingOffers
from gpbandit_envs.wrappers import BatchFeedback, DelayedFeedback
from tests.contracts.test_envs import as_json, play
from tests.envs.catalogue import CONTEXTUAL, Case, params

cases = pytest.mark.parametrize("case", params(CONTEXTUAL))
SMALL = CONTEXTUAL[0]


@cases
def test_regret_is_measured_from_the_best_arm_that_was_offered(case: Case) -> None:
    env = case.make()
    bandit = env.unwrapped
    observation, info = env.reset(seed=3)
    means = bandit.mean(np.arange(bandit.problem.n_arms))
    rng = np.random.default_rng(0)
    for _ in range(30):
        mask = info["action_mask"]
        assert mask.dtype == np.int8
        assert mask.any()
        assert observation in env.observation_space
        offered = np.flatnonzero(mask)
        best = means[offered].max()
        np.testing.assert_array_equal(bandit.regret(offered), best - means[offered])
        np.testing.assert_array_equal(bandit.action_masks(), mask)
        arm = int(rng.choice(offered))
        observation, _, terminated, truncated, info = env.step(arm)
        assert info.keys() == {"cost", "oracle", "evaluated", "action_mask"}
        assert info["oracle"] == {"mean": means[arm], "regret": best - means[arm]}
        assert info["evaluated"] == arm
        assert (terminated, truncated) == (False, False)
    assert bandit.optimum == means.max()


@cases
def test_an_arm_that_is_not_offered_can_be_an_error_that_names_it_and_costs_nothing(case: Case) -> None:
    env = case.make(unoffered="error")
    _, info = env.reset(seed=0)
    reference = copy.deepcopy(env)
    asleep = int(np.argmin(info["action_mask"]))
    n = int(info["action_mask"].sum())
    with pytest.raises(ValueError, match=rf"action: expected one of the {n} arms .* offers.* got {asleep}$"):
        env.step(asleep)
    with pytest.raises(ValueError, match=f"actions: expected arms that are offered, got {asleep}"):
        env.unwrapped.regret([asleep])
    awake = int(np.argmax(info["action_mask"]))
    assert as_json([env.step(awake)]) == as_json([reference.step(awake)])
    for action, error in case.bad_actions(env):
        with pytest.raises(error, match="action"):
            env.step(action)


@cases
def test_what_is_offered_does_not_depend_on_what_is_played(case: Case) -> None:
    one, other = case.make(), case.make()
    (_, first), (_, second) = one.reset(seed=7), other.reset(seed=7)
    differ = False
    for _ in range(12):
        np.testing.assert_array_equal(first["action_mask"], second["action_mask"])
        offered = np.flatnonzero(first["action_mask"])
        first, second = one.step(offered[0])[-1], other.step(offered[-1])[-1]
        differ |= len(offered) > 1
    assert differ
    later = [play(one, 6, seed=None)[t][-1]["action_mask"].tolist() for t in range(7)]
    assert later != [play(other, 6, seed=7)[t][-1]["action_mask"].tolist() for t in range(7)], "a new episode"


@cases
def test_a_function_is_kept_where_that_is_asked(case: Case) -> None:
    env = case.make()
    env.reset(seed=1)
    before = env.unwrapped.mean([0, 1, 2])
    env.reset(options={"keep_function": True})
    np.testing.assert_array_equal(env.unwrapped.mean([0, 1, 2]), before)


@cases
def test_problem_and_secrets(case: Case) -> None:
    env = case.make()
    assert problem_of(env).contexts
    assert "some of them offered at a time" in repr(problem_of(env))
    with pytest.raises(gym.error.ResetNeeded):
        case.make().unwrapped.step(0)
    with pytest.raises(gym.error.ResetNeeded):
        case.make().unwrapped.action_masks()
    with pytest.raises(ValueError, match="unoffered"):
        case.make(unoffered="skip")


def test_the_next_arm_stands_in_for_one_that_is_not_offered() -> None:
    env, strict = SMALL.make(), SMALL.make(unoffered="error")
    (z, info), _ = env.reset(seed=0), strict.reset(seed=0)
    for arm in (35, 0, 17, 11, 12, 24, 30):
        mask = info["action_mask"]
        stands_in = next(a % 36 for a in range(arm, arm + 36) if mask[a % 36])
        assert z == stands_in // 12
        z, reward, *_, info = env.step(arm)
        assert info["evaluated"] == stands_in
        assert reward == strict.step(stands_in)[1]


def test_all_arms_awake_is_the_environment_itself() -> None:
    plain = gym.make("GPBandit/RKHS-v0", n_arms=30, noise="student_t")
    awake = gym.make("GPBandit/SleepingArms-v0", settings={"n_arms": 30, "noise": "student_t"}, share=1.0)
    plain.reset(seed=4), awake.reset(seed=4)
    for arm in (3, 29, 0, 3, 17):
        _, reward, _, _, info = plain.step(arm)
        _, same, _, _, other = awake.step(arm)
        assert same == reward
        assert other["oracle"] == info["oracle"]
        assert other["action_mask"].all()


def test_shares_and_contexts_are_drawn_as_stated() -> None:
    mean = np.zeros(50)
    sequence = SleepingOffers(50, 0.3).sequence(mean, np.random.default_rng(0))
    awake = np.array([sequence.next().mask for _ in range(4_000)])
    # The standard error of a share is 0.0072 an arm, 0.001 over all.
    assert abs(awake.mean() - 0.3) < 0.005
    assert np.abs(awake.mean(axis=0) - 0.3).max() < 0.036
    assert abs(np.corrcoef(awake[:-1, 0], awake[1:, 0])[0, 1]) < 0.08
    lonely = SleepingOffers(50, 1e-6).sequence(mean, np.random.default_rng(0))
    alone = np.array([lonely.next().mask for _ in range(4_000)])
    assert (alone.sum(axis=1) == 1).all()
    assert np.abs(alone.mean(axis=0) - 0.02).max() < 5 * np.sqrt(0.02 * 0.98 / 4_000)
    contexts = ContextOffers(np.arange(12) % 4).sequence(np.arange(12.0), np.random.default_rng(0))
    offers = [contexts.next() for _ in range(4_000)]
    assert np.abs(np.bincount([o.observation for o in offers]) / 4_000 - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 4_000)
    assert all(o.optimum == 8 + o.observation for o in offers)


def test_pairs_of_action_and_context() -> None:
    env: Any = gym.make("GPBandit/RKHSContext-v0", n_actions=5, n_contexts=3).unwrapped
    np.testing.assert_array_equal(env.problem.arms[7], [0.5, 0.5])
    z, info = env.reset(seed=0)
    np.testing.assert_array_equal(np.flatnonzero(info["action_mask"]), 5 * z + np.arange(5))
    assert env.problem.notes["context_dims"] == [1]
    assert env.certificate.norm == env.problem.norm_bound == 2.0
    kernel = env.problem.kernel
    x, y = np.array([[0.1, 0.0]]), np.array([[0.3, 0.5]])
    np.testing.assert_allclose(kernel(x, y), np.exp(-0.5) * np.exp(-0.5), rtol=1e-12)
    summed: Any = gym.make("GPBandit/RKHSContext-v0", combine="sum").unwrapped
    np.testing.assert_allclose(summed.problem.kernel(x, y), 2 * np.exp(-0.5), rtol=1e-12)
    features: Any = gym.make("GPBandit/RKHSContext-v0", n_contexts=3, observe="features")
    assert features.reset(seed=0)[0] in [np.array([v]) for v in (0.0, 0.5, 1.0)]


@pytest.mark.parametrize(
    ("id", "kwargs", "error", "words"),
    [
        ("RKHSContext", {"combine": "max"}, ValueError, "combine"),
        ("RKHSContext", {"observe": "all"}, ValueError, "observe"),
        ("RKHSContext", {"n_contexts": 0}, ValueError, "n_contexts: expected an integer >= 1"),
        ("SleepingArms", {"share": 0.0}, ValueError, r"share: expected a probability in \(0, 1\], got 0.0"),
        ("SleepingArms", {"of": "CartPole-v1"}, ValueError, "of: expected an environment of this package"),
        ("SleepingArms", {"of": "GPBandit/Branin-v0"}, ValueError, "of: expected an environment on arms"),
        ("SleepingArms", {"of": "GPBandit/RKHSContext-v0"}, ValueError, "of: expected an environment that offers all"),
        ("SleepingArms", {"settings": {"typo": 1}}, TypeError, "typo"),
        ("DirectArylationContext", {"context": "yield"}, ValueError, "context: expected 'base', 'ligand' or 'solvent'"),
    ],
    ids=str,
)
def test_wrong_arguments(id: str, kwargs: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        gym.make(f"GPBandit/{id}-v0", **kwargs)


def test_a_context_without_an_arm_and_a_recipe_without_offers() -> None:
    with pytest.raises(ValueError, match="context_of: expected an arm of each context, got none of 1"):
        ContextOffers(np.array([0, 0, 2]))
    with pytest.raises(TypeError, match="recipe: expected one with offers"):
        ContextualArmEnv(gym.make("GPBandit/RKHS-v0").unwrapped.recipe)  # type: ignore[attr-defined]


def test_feedback_wrappers_have_no_place_for_a_context() -> None:
    with pytest.raises(TypeError, match="env: each step offers other arms"):
        BatchFeedback(SMALL.make(), batch_size=2)
    with pytest.raises(TypeError, match="env: its steps offer other arms each"):
        DelayedFeedback(SMALL.make(), delay=2)


def test_regret_is_asked_of_arms_alone() -> None:
    env: Any = gym.make("GPBandit/RKHSContext-v0", n_actions=5, n_contexts=2).unwrapped
    _, info = env.reset(seed=0)
    (arm, *_), (other, *_) = np.flatnonzero(info["action_mask"]), np.flatnonzero(info["action_mask"] == 0)
    assert env.regret([arm]) >= 0
    with pytest.raises(TypeError, match=r"action: expected integers in \[0, 10\), got"):
        env.regret([arm + 0.9])
    with pytest.raises(ValueError, match=r"action: expected integers in \[0, 10\), got \[99\]"):
        env.regret([99])
    with pytest.raises(ValueError, match=f"actions: expected arms that are offered, got {other}"):
        env.regret([other])


def test_rendering_shows_the_regret_of_each_step() -> None:
    env = SMALL.make(render_mode="ansi")
    trace = play(env, 8)
    total = sum(entry[-1]["oracle"]["regret"] for entry in trace[1:])
    picture = env.unwrapped._rendering.picture(env.unwrapped)
    assert picture.regrets.sum() == pytest.approx(total)
    assert "RKHSContext" in env.render()
