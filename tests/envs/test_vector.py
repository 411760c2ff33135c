"""Native vector environments against `SyncVectorEnv`, to the bit."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from gpbandit_envs.envs.vector import FiniteArmVectorEnv
from tests.envs.catalogue import CASES, CONTEXTUAL, CORRUPTED, PARAMS, TIME_VARYING, Case, params

N = 5
MODES = list(AutoresetMode)

cases = pytest.mark.parametrize("case", PARAMS)


def pair(case: Case, mode: AutoresetMode = AutoresetMode.NEXT_STEP, horizon: int = 4, **kwargs: Any) -> tuple[Any, Any]:
    case.require()
    kwargs = {**case.kwargs, **kwargs}
    sync = gym.make_vec(
        case.id,
        num_envs=N,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": mode},
        max_episode_steps=horizon,
        **kwargs,
    )
    native = gym.make_vec(
        case.id,
        num_envs=N,
        vectorization_mode="vector_entry_point",
        max_episode_steps=horizon,
        autoreset_mode=mode,
        **kwargs,
    )
    return sync, native


def assert_same(one: Any, other: Any, where: str = "") -> None:
    assert type(one) is type(other), where
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            assert_same(one[key], other[key], f"{where}/{key}")
    elif isinstance(one, tuple):
        assert len(one) == len(other), where
        for k, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_same(a, b, f"{where}[{k}]")
    else:
        assert one.dtype == other.dtype, where
        assert one.shape == other.shape, where
        assert one.tolist() == other.tolist(), where
        assert list(map(type, one.tolist())) == list(map(type, other.tolist())), where


@pytest.mark.parametrize(
    ("case", "mode"),  # what begins an episode anew knows no environment: each case meets one mode in turn
    [
        pytest.param(
            *case.values, MODES[i % len(MODES)], marks=case.marks, id=f"{MODES[i % len(MODES)].value}-{case.id}"
        )
        for i, case in enumerate([*PARAMS, *params(CORRUPTED)])
    ],
)
def test_bit_identical_to_sync(case: Case, mode: AutoresetMode) -> None:
    sync, native = pair(case, mode)
    assert native.action_space == sync.action_space
    assert native.observation_space == sync.observation_space
    assert native.single_action_space == sync.single_action_space
    assert native.metadata["autoreset_mode"] is mode
    native.action_space.seed(0)
    assert_same(sync.reset(seed=[3, 1, 4, 159, 26]), native.reset(seed=[3, 1, 4, 159, 26]))
    for t in range(11):
        actions = native.action_space.sample()
        one, other = sync.step(actions), native.step(actions)
        assert_same(one, other, f"step {t}")
        if mode is AutoresetMode.DISABLED and one[3].any():
            options = {"reset_mask": one[3]}
            assert_same(sync.reset(options=dict(options)), native.reset(options=dict(options)))
    np.testing.assert_array_equal(native.optimum, [env.unwrapped.optimum for env in sync.envs])


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_masked_resets_and_options(mode: AutoresetMode) -> None:
    sync, native = pair(Case("GPBandit/RKHS-v0", {"n_arms": 30}), mode, horizon=6)
    assert_same(sync.reset(seed=8), native.reset(seed=8))
    rng = np.random.default_rng(0)
    over = np.zeros(N, bool)
    for t in range(40):
        actions = native.action_space.sample()
        mask = rng.random(N) < 0.3
        if mode is AutoresetMode.DISABLED:
            mask |= over
        if mask.any():
            seeds = [int(s) if s % 2 else None for s in rng.integers(0, 99, N)]
            options = {"reset_mask": mask, "keep_function": bool(t % 2)}
            assert_same(sync.reset(seed=seeds, options=dict(options)), native.reset(seed=seeds, options=dict(options)))
        one = sync.step(actions)
        assert_same(one, native.step(actions), f"step {t}")
        over = one[3]


def test_long_episodes_cross_the_noise_blocks() -> None:
    sync, native = pair(Case("GPBandit/BPEF1-v0"), horizon=700)
    sync.reset(seed=1), native.reset(seed=1)
    for t in range(1_500):
        actions = np.arange(N) * 7 + t % 11
        one, other = sync.step(actions), native.step(actions)
        assert one[1].tolist() == other[1].tolist(), t


@pytest.mark.parametrize("kwargs", [{"instance_seed": 5}, {"reveal_oracle": False}, {"noise": "student_t"}], ids=str)
def test_common_keywords(kwargs: dict[str, Any]) -> None:
    sync, native = pair(Case("GPBandit/RKHS-v0", {"n_arms": 30}), **kwargs)
    assert_same(sync.reset(seed=2), native.reset(seed=2))
    for _ in range(9):
        actions = native.action_space.sample()
        assert_same(sync.step(actions), native.step(actions))


@pytest.mark.parametrize("stated", [{}, {"horizon": 23}])
def test_card_states_the_horizon_that_the_single_form_states(stated: dict[str, Any]) -> None:
    id, kwargs = CASES[0].id, CASES[0].kwargs
    sync, native = (
        gym.make_vec(id, num_envs=2, vectorization_mode=mode, max_episode_steps=11, **kwargs, **stated)
        for mode in ("sync", "vector_entry_point")
    )
    single = sync.envs[0].unwrapped.problem  # type: ignore[attr-defined]
    assert native.problem.horizon == single.horizon == stated.get("horizon", 1_000)  # type: ignore[attr-defined]
    assert native.problem.name == single.name == id  # type: ignore[attr-defined]


def test_copies_go_on_alike() -> None:
    _, native = pair(CASES[0])
    native.reset(seed=0)
    actions = native.action_space.sample()
    native.step(actions)
    for twin in (copy.deepcopy(native), pickle.loads(pickle.dumps(native))):
        assert_same(copy.deepcopy(native).step(actions), twin.step(actions))


def test_returned_arrays_are_not_reused() -> None:
    _, native = pair(CASES[0], horizon=50)
    native.reset(seed=0)
    actions = native.action_space.sample()
    seen: list[np.ndarray] = []

    def arrays(data: Any) -> list[np.ndarray]:
        parts = data.values() if isinstance(data, dict) else data if isinstance(data, tuple) else None
        return [data] if parts is None else [array for part in parts for array in arrays(part)]

    for _ in range(3):
        new = arrays(native.step(actions))
        assert not any(np.shares_memory(a, b) for a in new for b in seen)
        seen += new


def test_bad_input() -> None:
    _, native = pair(CASES[0])
    with pytest.raises(gym.error.ResetNeeded):
        native.step(np.zeros(N, np.int64))
    native.reset(seed=0)
    for actions, error in (
        (np.full(N, 60), ValueError),
        (np.full(N, -1), ValueError),
        (np.zeros(N - 1, np.int64), ValueError),
        (np.zeros(N), TypeError),
    ):
        with pytest.raises(error, match="action"):
            native.step(actions)
    with pytest.raises(ValueError, match="seed"):
        native.reset(seed=[1])
    with pytest.raises(TypeError, match="reset_mask"):
        native.reset(options={"reset_mask": [True] * N})
    with pytest.raises(ValueError, match="reset_mask"):
        native.reset(options={"reset_mask": np.zeros(N, bool)})
    with pytest.raises(ValueError, match="render_mode"):
        pair(CASES[0], render_mode="ansi")
    _, disabled = pair(CASES[0], AutoresetMode.DISABLED, horizon=1)
    disabled.reset(seed=0)
    disabled.step(np.zeros(N, np.int64))
    with pytest.raises(gym.error.ResetNeeded, match="are over"):
        disabled.step(np.zeros(N, np.int64))


@pytest.mark.wrong_arguments
def test_words_are_no_truth_values() -> None:
    sync, native = pair(CASES[0])
    words = "expected True or False, got 'false'"
    for env in (sync.envs[0], native):
        env.reset(seed=0)
        with pytest.raises(TypeError, match=f"keep_function: {words}"):
            env.reset(options={"keep_function": "false"})
    for mode in ("sync", "vector_entry_point"):
        with pytest.raises(TypeError, match=f"reveal_oracle: {words}"):
            gym.make_vec(CASES[0].id, 2, vectorization_mode=mode, **CASES[0].kwargs, reveal_oracle="false")


@pytest.mark.parametrize("case", [CONTEXTUAL[0], TIME_VARYING[0]], ids=str)
def test_contexts_and_changing_functions_are_played_one_by_one(case: Case) -> None:
    envs = gym.make_vec(case.id, num_envs=2, **case.kwargs)
    assert type(envs) is gym.vector.SyncVectorEnv
    with pytest.raises((TypeError, ValueError), match=r"offers: expected None in|recipe: expected .* arms that stay"):
        FiniteArmVectorEnv(2, envs.envs[0].unwrapped.recipe)  # type: ignore[attr-defined]


def test_initial_data_are_for_environments_with_a_problem_of_their_own() -> None:
    with pytest.raises(ValueError, match=r'initial: expected 0 in the native vector form.*vectorization_mode="sync"'):
        gym.make_vec("GPBandit/RKHS-v0", num_envs=2, initial=5)
    none = gym.make_vec("GPBandit/RKHS-v0", num_envs=2, initial=0)
    assert type(none.unwrapped).__name__ == "FiniteArmVectorEnv"


@pytest.mark.parametrize("n_arms", [30, None])
def test_means_before_reset(n_arms: int | None) -> None:
    native: Any = gym.make_vec("GPBandit/RKHS-v0", num_envs=3, n_arms=n_arms).unwrapped
    actions = np.zeros(3, np.int64) if n_arms else np.zeros((3, 1))
    with pytest.raises(gym.error.ResetNeeded):
        native.mean(actions)
    native.reset(seed=0, options={"reset_mask": np.array([True, False, True])})
    with pytest.raises(gym.error.ResetNeeded):
        native.mean(actions)
    native.reset(seed=0)
    assert (native.mean(actions) != 0).all()


def test_time_limits() -> None:
    def limited(max_episode_steps: Any) -> Any:
        return gym.make_vec("GPBandit/RKHS-v0", num_envs=2, n_arms=9, max_episode_steps=max_episode_steps)

    for wrong, error in ((2.5, TypeError), ("3", TypeError), (True, TypeError), (0, ValueError), (-2, ValueError)):
        with pytest.raises(error, match="max_episode_steps: expected an integer >= 1, got"):
            limited(wrong)
    forever = limited(-1)
    forever.reset(seed=0)
    assert not any(forever.step(np.zeros(2, np.int64))[3].any() for _ in range(1_100)), "1,000 is the id's own limit"
