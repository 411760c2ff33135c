"""One contract for every registered environment, alone and under every kind of feedback."""

from __future__ import annotations

import copy
import json
import pickle
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import gpbandit_envs
from gpbandit_envs import problem_of
from gpbandit_envs.problem import Problem
from gpbandit_envs.wrappers import BatchFeedback, DelayedFeedback
from tests.envs.catalogue import CASES, CONTEXTUAL, PARAMS, TIME_VARYING, Case, by_default, params

# What Gymnasium's checker says of every environment of a kind and no environment of that kind can help.
UNAVOIDABLE = {
    "wrapped": r".*is different from the unwrapped version",
    "unbounded rewards, low": r".*Box observation space minimum value is -infinity",
    "unbounded rewards, high": r".*Box observation space maximum value is infinity",
}

WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "alone": lambda env: env,
    "batch": lambda env: BatchFeedback(env, batch_size=3),
    "constant": lambda env: DelayedFeedback(env, delay=2, capacity=4),
    "geometric": lambda env: DelayedFeedback(env, delay={"name": "geometric", "mean": 2.0}, capacity=2),
    "workers": lambda env: DelayedFeedback(env, delay={"name": "workers", "workers": 3}, capacity=8),
    "on_request": lambda env: DelayedFeedback(env, delay="on_request", capacity=4),
}

cases = pytest.mark.parametrize("case", PARAMS)
# A wrapper knows no environment: each case has one beside none, and the first few, on arms and boxes, have all.
_ALL_KINDS = 4
wrapped_cases = pytest.mark.parametrize(
    ("case", "kind"),
    [
        pytest.param(*case.values, kind, marks=case.marks, id=f"{kind}-{case.id}")
        for i, case in enumerate(PARAMS)
        for j, kind in enumerate(WRAPPERS)
        if i < _ALL_KINDS or j in (0, 1 + i % (len(WRAPPERS) - 1))
    ],
)
CHANGING = params((*CONTEXTUAL, *TIME_VARYING))
# What offers or means that change from step to step do not touch.
every_case = pytest.mark.parametrize(
    ("case", "kind"),
    wrapped_cases.args[1] + [pytest.param(*case.values, "alone", marks=case.marks, id=case.id) for case in CHANGING],
)


@contextmanager
def only_unavoidable(*kinds: str) -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in kinds:
            warnings.filterwarnings("ignore", message=UNAVOIDABLE[kind])
        yield


def play(env: Any, steps: int, seed: int | None = 5, action_seed: int = 1) -> list[Any]:
    env.action_space.seed(action_seed)
    out: list[Any] = [env.reset(seed=seed)]
    for _ in range(steps):
        out.append(env.step(env.action_space.sample(out[-1][-1].get("action_mask"))))
    return out


def as_json(trace: list[Any]) -> str:
    return json.dumps(trace, default=lambda x: x.tolist())


def test_every_id_has_a_case() -> None:
    assert {case.id for case in (*CASES, *CONTEXTUAL, *TIME_VARYING)} == set(gpbandit_envs.registry.registered())


@pytest.mark.parametrize("case", params(by_default()))
def test_check_env_of_each_id_by_default(case: Case) -> None:
    case.require()
    with only_unavoidable():
        check_env(case.make().unwrapped, skip_render_check=True)


@wrapped_cases
def test_check_env(case: Case, kind: str) -> None:
    env = WRAPPERS[kind](case.make())
    if kind == "alone":
        with only_unavoidable():
            # What is drawn depends on arms, a box and dimensions alone, all of which the tests of rendering have.
            check_env(env.unwrapped, skip_render_check=case not in CASES[:_ALL_KINDS])
        with only_unavoidable("wrapped"):
            check_env(env, skip_render_check=True)
    else:
        with only_unavoidable("wrapped", "unbounded rewards, low", "unbounded rewards, high"):
            # The wrappers hand rendering through; to draw it again for each would cost more than all other checks.
            check_env(env, skip_render_check=True)


@every_case
def test_same_seed_same_episode_and_copies_go_on_alike(case: Case, kind: str) -> None:
    env = WRAPPERS[kind](case.make())
    first = as_json(play(env, 6))
    trace = play(env, 6)
    assert as_json(trace) == first
    assert as_json(play(WRAPPERS[kind](case.make()), 6)) == first
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        action = env.action_space.sample(trace[-1][-1].get("action_mask"))
        expected = copy.deepcopy(env).step(action)
        assert as_json([twin.step(action)]) == as_json([expected])


@every_case
def test_spec_survives_json(case: Case, kind: str) -> None:
    env = WRAPPERS[kind](case.make())
    spec = gym.envs.registration.EnvSpec.from_json(env.spec.to_json())
    assert as_json(play(gym.make(spec), 5)) == as_json(play(env, 5))


@pytest.mark.parametrize("case", PARAMS + CHANGING)
def test_seeds_differ(case: Case) -> None:
    env = case.make()
    assert as_json(play(env, 5, seed=0)) != as_json(play(env, 5, seed=1))
    first, second = play(env, 5, seed=0), play(env, 5, seed=None)
    assert as_json(first) != as_json(second), "the next episode must not repeat the last one's noise"


@cases
def test_instance_seed_pins_the_function_and_not_the_noise(case: Case) -> None:
    one, other = case.make(instance_seed=3), case.make(instance_seed=3)
    one.reset(seed=0), other.reset(seed=1)
    actions = case.actions(one)
    np.testing.assert_array_equal(one.unwrapped.mean(actions), other.unwrapped.mean(actions))
    # Several steps, as one of few real replicates may well come twice.
    assert [one.step(actions[0])[1] for _ in range(8)] != [other.step(actions[0])[1] for _ in range(8)]
    if not one.unwrapped.recipe.family.fixed:
        third = case.make(instance_seed=4)
        third.reset(seed=0)
        assert (one.unwrapped.mean(actions) != third.unwrapped.mean(actions)).any()


@cases
def test_keep_function(case: Case) -> None:
    env = case.make()
    env.reset(seed=0)
    actions = case.actions(env)
    before = env.unwrapped.mean(actions)
    rewards = [env.step(actions[0])[1] for _ in range(8)]
    env.reset(options={"keep_function": True})
    np.testing.assert_array_equal(env.unwrapped.mean(actions), before)
    assert [env.step(actions[0])[1] for _ in range(8)] != rewards
    env.reset()
    changed = (env.unwrapped.mean(actions) != before).any()
    assert changed != env.unwrapped.recipe.family.fixed


@cases
def test_noise_is_indexed_by_evaluation(case: Case) -> None:
    """Two policies meet the same noise at their t-th evaluation, whatever they did before."""
    env = case.make()
    actions = case.actions(env)
    env.reset(seed=7)
    straight = [env.step(actions[0])[1] for _ in range(4)]
    env.reset(seed=7)
    detour = [env.step(actions[k])[1] for k in (1, 2, 0, 0)]
    assert detour[2:] == straight[2:]


@cases
def test_oracle_agrees_with_the_certificate(case: Case) -> None:
    env = case.make()
    _, info = env.reset(seed=2)
    assert "oracle" not in info
    bandit = env.unwrapped
    for action in case.actions(env):
        observation, reward, terminated, truncated, info = env.step(action)
        assert observation == 0
        assert (terminated, truncated) == (False, False)
        assert type(reward) is float
        assert info.keys() == {"cost", "oracle"}
        assert info["oracle"].keys() == {"mean", "regret"}
        assert all(type(x) is float for x in (info["cost"], *info["oracle"].values()))
        assert info["oracle"]["mean"] == bandit.mean(np.asarray([action]))[0]
        assert info["oracle"]["regret"] == bandit.optimum - info["oracle"]["mean"]
        assert info["oracle"]["regret"] >= -bandit.certificate.optimum_tol
    best = np.asarray([bandit.certificate.optimal_action])
    assert abs(bandit.mean(best)[0] - bandit.optimum) <= max(bandit.certificate.optimum_tol, 1e-12)


@every_case
def test_reveal_oracle_false_hides_it(case: Case, kind: str) -> None:
    env = WRAPPERS[kind](case.make(reveal_oracle=False))
    for entry in play(env, 4):
        assert "oracle" not in entry[-1]
        assert "regret" not in as_json([entry])


@cases
def test_problem(case: Case) -> None:
    env = case.make()
    problem = problem_of(env)
    assert isinstance(problem, Problem)
    assert problem.name == case.id
    assert problem.horizon == env.spec.max_episode_steps
    assert problem_of(case.make(horizon=17)).horizon == 17
    env.reset(seed=0)
    assert problem_of(env) is problem, "the problem must not depend on the instance"
    if problem.arms is not None:
        assert problem.arms.shape[0] == env.action_space.n
        assert not problem.arms.flags.writeable
    else:
        assert env.action_space == gym.spaces.Box(0.0, 1.0, (problem.dim,), np.float64)


@cases
def test_misspecification_dial(case: Case) -> None:
    true = problem_of(case.make())
    wrong = problem_of(case.make(misspecification={"noise": 3.0}))
    if true.noise_std is not None:
        assert wrong.noise_std == 3.0 * true.noise_std
    assert wrong.misspecification == {"noise": 3.0}
    if true.kernel is not None:
        wrong = problem_of(case.make(misspecification={"lengthscale": 2.0}))
        assert wrong.kernel is not None
        X = np.random.default_rng(0).random((3, true.dim))
        np.testing.assert_allclose(wrong.kernel(2 * X, 2 * X), true.kernel(X, X), rtol=1e-12)
    one, other = case.make(), case.make(misspecification={"noise": 3.0})
    assert as_json(play(one, 4)) == as_json(play(other, 4)), (
        "misspecification changes the problem description, never the environment"
    )


@cases
def test_step_before_reset(case: Case) -> None:
    env = case.make()
    with pytest.raises(gym.error.ResetNeeded):
        env.unwrapped.step(case.actions(env)[0])
    with pytest.raises(gym.error.ResetNeeded):
        _ = env.unwrapped.optimum


@cases
def test_bad_arguments(case: Case) -> None:
    with pytest.raises(TypeError, match="unknown argument 'typo'; it takes"):
        case.make(typo=1)
    with pytest.raises(ValueError, match="misspecification"):
        case.make(misspecification={"nois": 2.0})
    with pytest.raises(ValueError, match=r"misspecification\['noise'\]"):
        case.make(misspecification={"noise": -1.0})
    with pytest.raises(ValueError, match="instance_seed"):
        case.make(instance_seed=-1)
    with pytest.raises(ValueError, match="options"):
        case.make().reset(options={"keep": True})


@cases
def test_bad_actions(case: Case) -> None:
    env = case.make()
    env.reset(seed=0)
    for action, error in case.bad_actions(env):
        with pytest.raises(error, match="action"):
            env.step(action)


@wrapped_cases
def test_return_is_the_sum_of_feedback_whatever_the_regime(case: Case, kind: str) -> None:
    """Batching and delaying change when feedback comes, never what it is."""
    horizon = 7
    actions = [case.actions(case.make())[k % 3] for k in range(horizon)]
    plain = case.make(max_episode_steps=horizon)
    plain.reset(seed=11)
    expected = [plain.step(action)[1] for action in actions]
    env = WRAPPERS[kind](case.make(max_episode_steps=horizon))
    env.reset(seed=11)
    total, step, truncated = 0.0, 0, False
    q = 3 if kind == "batch" else 1
    while not truncated:
        chunk = [actions[k % horizon] for k in range(step * q, (step + 1) * q)]
        action: Any = np.asarray(chunk) if q > 1 else chunk[0]
        if kind == "on_request":
            action = {"action": action, "flush": 0}
        _, reward, _, truncated, _ = env.step(action)
        total += float(reward)
        step += 1
        assert step < 50
    assert total == pytest.approx(sum(expected), abs=1e-12)
