"""Batch and delayed feedback: who hears what, and when."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec

from gpbandit_envs import from_function, problem_of
from gpbandit_envs.channels import as_channel
from gpbandit_envs.delays import ParetoLaw
from gpbandit_envs.problem import Problem
from gpbandit_envs.wrappers import BatchFeedback, DelayedFeedback

HORIZON = 12


def bandit(horizon: int = HORIZON, **kwargs: Any) -> Any:
    return gym.make("GPBandit/RKHS-v0", n_arms=20, max_episode_steps=horizon, **kwargs)


def feedback(horizon: int = HORIZON, seed: int = 3, arm: int = 4) -> list[float]:
    env = bandit(horizon)
    env.reset(seed=seed)
    return [env.step(arm)[1] for _ in range(horizon)]


def delivered(env: Any, seed: int = 3, arm: int = 4, flush: Any = None) -> list[list[tuple[int, float]]]:
    """What each step delivers, until the end of the episode."""
    env.reset(seed=seed)
    out, truncated, t = [], False, 0
    while not truncated:
        action = arm if flush is None else {"action": arm, "flush": int(flush(t))}
        observation, reward, terminated, truncated, info = env.step(action)
        n = observation["n"]
        got = list(zip(observation["ticket"][:n].tolist(), observation["reward"][:n].tolist(), strict=True))
        assert reward == sum(y for _, y in got)
        assert (observation["ticket"][n:] == -1).all()
        assert (observation["reward"][n:] == 0).all()
        assert not terminated
        assert ("oracle" in info) == (info["n_evals"] > 0)
        out.append(got)
        t += 1
    assert observation["pending"][0] == 0
    return out


def tickets(steps: list[list[tuple[int, float]]]) -> list[list[int]]:
    return [[ticket for ticket, _ in step] for step in steps]


def test_batch_is_the_sequence_in_pieces() -> None:
    env: Any = BatchFeedback(bandit(), batch_size=5)
    observation, _ = env.reset(seed=3)
    assert observation["rewards"].tolist() == [0.0] * 5
    got, sizes, truncated = [], [], False
    while not truncated:
        observation, reward, _, truncated, info = env.step(np.full(5, 4))
        mask = observation["mask"].astype(bool)
        assert mask.tolist() == [True] * info["n_evals"] + [False] * (5 - info["n_evals"])
        assert (observation["rewards"][~mask] == 0).all()
        assert reward == pytest.approx(observation["rewards"].sum())
        assert info["oracle"]["regret"][~mask].tolist() == [0.0] * int((~mask).sum())
        assert (info["oracle"]["mean"][mask] == env.unwrapped.mean([4])[0]).all()
        assert info["cost"][mask].tolist() == [1.0] * info["n_evals"]
        got += observation["rewards"][mask].tolist()
        sizes.append(info["n_evals"])
    assert sizes == [5, 5, 2]
    assert got == feedback()


def test_time_limit_outside_counts_batches() -> None:
    env = gym.wrappers.TimeLimit(BatchFeedback(bandit(horizon=100), batch_size=5), 3)
    env.reset(seed=0)
    assert [env.step(np.zeros(5, int))[3] for _ in range(3)] == [False, False, True]


@pytest.mark.parametrize("delay", [0, 1, 3])
def test_constant_delay(delay: int) -> None:
    steps = delivered(DelayedFeedback(bandit(), delay=delay))
    expected = [[] if t < delay else [t - delay] for t in range(HORIZON)]
    expected[-1] = list(range(HORIZON - 1 - delay, HORIZON))
    assert tickets(steps) == expected
    assert [y for step in steps for _, y in step] == feedback()


def test_overflow_is_carried_over_and_the_end_is_drained() -> None:
    env = DelayedFeedback(bandit(), delay=5, capacity=2)
    steps = delivered(env)
    # Nothing for 5 steps, one each for 6, then the rest two by two in steps that evaluate nothing.
    assert tickets(steps) == [[]] * 5 + [[t] for t in range(6)] + [[6, 7], [8, 9], [10, 11]]
    env.reset(seed=3)
    for _ in range(HORIZON):
        _, _, _, truncated, info = env.step(0)
    assert (truncated, info["n_evals"]) == (False, 1)
    _, _, _, truncated, info = env.step(0)
    assert (truncated, info["n_evals"]) == (False, 0)
    assert env.step(0)[3]


def test_on_request() -> None:
    steps = delivered(DelayedFeedback(bandit(), delay="on_request"), flush=lambda t: t in (2, 3, 7))
    expected: list[list[int]] = [[] for _ in range(HORIZON)]
    expected[2], expected[3], expected[7], expected[11] = [0, 1, 2], [3], [4, 5, 6, 7], [8, 9, 10, 11]
    assert tickets(steps) == expected
    small = delivered(DelayedFeedback(bandit(), delay="on_request", capacity=2), flush=lambda t: t == 4)
    assert tickets(small)[:8] == [[], [], [], [], [0, 1], [2, 3], [4], []]


@pytest.mark.parametrize("delay", [3, "delay:3", {"name": "delay", "steps": 3}, as_channel("delay:3")], ids=str)
def test_a_channel_in_each_of_its_forms(delay: Any) -> None:
    assert tickets(delivered(DelayedFeedback(bandit(), delay))) == tickets(delivered(DelayedFeedback(bandit(), 3)))


def test_batches_of_single_actions() -> None:
    steps = tickets(delivered(DelayedFeedback(bandit(), "batch:5")))
    assert [(t, got) for t, got in enumerate(steps) if got] == [
        (4, [0, 1, 2, 3, 4]),
        (9, [5, 6, 7, 8, 9]),
        (11, [10, 11]),
    ]


def test_delays_are_seeded_and_indexed_by_evaluation() -> None:
    env = DelayedFeedback(bandit(horizon=40), delay={"name": "geometric", "mean": 3.0})
    first = tickets(delivered(env, arm=1))
    assert tickets(delivered(env, arm=2)) == first, "the delay must not depend on the action"
    assert tickets(delivered(env, arm=1, seed=4)) != first
    assert sorted(t for step in first for t in step) == list(range(40))


def test_pareto_tails() -> None:
    rng = np.random.default_rng(0)
    n = 40_000
    pareto = np.array([ParetoLaw(1.5, 4.0).draw(rng) for _ in range(n)])
    for x in (0, 4, 40):  # floor(X) >= x exactly when X >= x
        p = (1 + x / 4.0) ** -1.5
        assert abs((pareto >= x).mean() - p) <= 5 * np.sqrt(p * (1 - p) / n)


def test_wrapper_info_survives_sync_vector() -> None:
    """Ragged arrays in info would crash `SyncVectorEnv`."""
    for wrap in (lambda env: BatchFeedback(env, batch_size=5), lambda env: DelayedFeedback(env, delay=2, capacity=1)):
        envs = gym.vector.SyncVectorEnv([lambda wrap=wrap: wrap(bandit()) for _ in range(2)])  # type: ignore[misc]
        envs.reset(seed=[1, 2])
        for _ in range(25):
            envs.step(envs.action_space.sample())
        envs.close()


def test_errors() -> None:
    with pytest.raises(ValueError, match="batch_size"):
        BatchFeedback(bandit(), batch_size=0)
    box = gym.make("GPBandit/Branin-v0")
    for env in (
        DelayedFeedback(bandit(), delay=1),
        BatchFeedback(box, batch_size=2),
        gym.wrappers.TimeAwareObservation(bandit()),
    ):
        with pytest.raises(TypeError, match=r"env: expected a bandit's own observation, Discrete\(1\), got .*, once,"):
            BatchFeedback(env, batch_size=2)
    for wrapped in (DelayedFeedback(bandit(), delay=1), BatchFeedback(bandit(), 2)):
        with pytest.raises(TypeError, match=r"env: expected feedback at once and one by one, got (Delay|Batch)"):
            DelayedFeedback(gym.wrappers.TimeLimit(wrapped, 9), delay=1)
    with pytest.raises(TypeError, match="one arm or one point"):
        BatchFeedback(BatchFeedback(bandit(), batch_size=2), batch_size=2)
    with pytest.raises(TypeError, match="bandit environment"):
        DelayedFeedback(gym.make("CartPole-v1"), delay=1)
    with pytest.raises(ValueError, match="capacity"):
        DelayedFeedback(bandit(), delay=1, capacity=0)
    for delay, error in ((-1, ValueError), ({"name": "workers", "worker": 1}, TypeError), (1.5, TypeError)):
        with pytest.raises(error):
            DelayedFeedback(bandit(), delay)  # type: ignore[arg-type]
    env = BatchFeedback(bandit(), batch_size=3)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="expected 3 actions"):
        env.step(np.zeros(2, int))
    asked = DelayedFeedback(bandit(), delay="on_request")
    asked.reset(seed=0)
    with pytest.raises(TypeError, match="flush"):
        asked.step(0)


@pytest.mark.parametrize(
    ("name", "batch", "error"),
    [
        ("RKHS", [1, 2, -1], ValueError),
        ("RKHS", [1, 2, 1_000], ValueError),
        ("RKHS", [1, 2, 0.5], TypeError),
        ("Branin", [[0.1, 0.1], [0.2, 0.2], [0.3, 1.5]], ValueError),
        ("Branin", [[0.1, 0.1], [0.2, 0.2], [0.3, float("nan")]], ValueError),
        ("Branin", [[0.1], [0.2], [0.3]], ValueError),
        ("Branin", [[0.1, 0.1], [0.2, 0.2], ["a", "b"]], TypeError),
    ],
    ids=str,
)
def test_a_batch_with_a_wrong_action_evaluates_nothing(name: str, batch: Any, error: type[Exception]) -> None:
    inside = gym.wrappers.RecordEpisodeStatistics(gym.make(f"GPBandit/{name}-v0"))
    env: Any = BatchFeedback(inside, batch_size=3)
    env.reset(seed=0)
    with pytest.raises(error, match="action: expected"):
        env.step(batch)
    assert inside.episode_lengths == 0
    assert env.step(np.zeros(env.action_space.shape, env.action_space.dtype))[4]["n_evals"] == 3
    assert inside.episode_lengths == 3


def test_batches_of_actions_that_a_wrapper_inside_has_moved() -> None:
    inside = gym.wrappers.RescaleAction(gym.make("GPBandit/Branin-v0"), np.float64(-1), np.float64(1))
    env: Any = BatchFeedback(inside, batch_size=2)
    env.reset(seed=0)
    _, _, _, _, info = env.step(np.array([[-1.0, -1.0], [1.0, 1.0]]))
    np.testing.assert_array_equal(info["oracle"]["mean"], env.unwrapped.mean([[0.0, 0.0], [1.0, 1.0]]))
    with pytest.raises(ValueError, match="action"):
        env.step(np.array([[-1.0, -1.0], [1.0, 1.1]]))


class _Own(gym.Env[Any, Any]):
    """A bandit that is not made of this package's parts."""

    observation_space = gym.spaces.Discrete(1)
    action_space = gym.spaces.Discrete(3)
    problem = Problem(name="own", dim=1, arms=np.arange(3.0)[:, None])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        return 0, float(action), False, False, {"cost": 1.0}


def test_batches_are_for_bandits() -> None:
    with pytest.raises(TypeError, match="env: expected a bandit environment"):
        BatchFeedback(gym.make("FrozenLake-v1"), 2)
    env: Any = BatchFeedback(_Own(), 2)
    env.reset()
    assert env.step([2, 1])[1] == 3.0


@pytest.mark.parametrize("delay", [np.int64(2), {"name": "delay", "steps": np.int64(2)}], ids=str)
def test_numpy_numbers_reach_the_spec_as_plain_ones(delay: Any) -> None:
    env = DelayedFeedback(bandit(), delay=delay, capacity=np.int64(4))  # type: ignore[arg-type]
    assert env.spec is not None
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert tickets(delivered(again)) == tickets(delivered(env))
    assert tickets(delivered(env)) == tickets(delivered(DelayedFeedback(bandit(), delay=2, capacity=4)))
    with pytest.raises(ValueError, match="delay: expected an integer >= 0, got True"):
        DelayedFeedback(bandit(), delay=True)


def test_a_batch_has_what_the_oracle_of_its_steps_has() -> None:
    unknown = BatchFeedback(from_function(lambda x: -(x[0] ** 2), [(0, 1)], name="unknown"), 2)
    unknown.reset(seed=0)
    _, _, _, _, info = unknown.step(np.array([[0.1], [0.2]]))
    assert list(info["oracle"]) == ["mean"]
    assert info["oracle"]["mean"] == pytest.approx([-0.01, -0.04])
    attacked = gym.make("GPBandit/RKHS-v0", corruption={"name": "clipping", "budget": 0.4}, max_episode_steps=3)
    single = gym.make("GPBandit/RKHS-v0", corruption={"name": "clipping", "budget": 0.4})
    batches = BatchFeedback(attacked, 2)
    batches.reset(seed=1)
    single.reset(seed=1)
    for arms, n in (((4, 7), 2), ((9, 2), 1)):
        _, _, _, _, info = batches.step(np.array(arms))
        steps = [single.step(arm)[4]["oracle"] for arm in arms[:n]]
        for name in ("mean", "regret", "corruption"):
            assert info["oracle"][name].tolist() == [step[name] for step in steps] + [0.0] * (2 - n)


def test_a_batch_says_what_failed() -> None:
    class Fails(gym.Wrapper[Any, Any, Any, Any]):
        def step(self, action: Any) -> Any:
            *answer, info = self.env.step(action)
            return *answer, info | ({"failed": True} if action == 3 else {})

    env = BatchFeedback(Fails(gym.make("GPBandit/RKHS-v0")), 3)
    env.reset(seed=0)
    assert env.step(np.array([1, 3, 2]))[4]["failed"].tolist() == [False, True, False]
    assert "failed" not in env.step(np.array([1, 2, 2]))[4]


def test_only_a_wrapper_of_ours_states_a_delay() -> None:
    class Late(gym.Wrapper[Any, Any, Any, Any]):
        delay = 3

    inside = DelayedFeedback(gym.make("GPBandit/RKHS-v0"), 5)
    assert problem_of(Late(gym.make("GPBandit/RKHS-v0"))).delay is None
    assert problem_of(Late(inside)).delay == inside.delay is not None


@pytest.mark.parametrize("wrap", [lambda env: BatchFeedback(env, 3), lambda env: DelayedFeedback(env, 3)])
def test_rows_are_drawn_at_a_reset_and_wrapped_before(wrap: Any) -> None:
    envs = gym.make_vec("GPBandit/RKHS-v0", 2, vectorization_mode="sync", rows=10, n_arms=20, wrappers=[wrap])
    envs.reset(seed=1)
    envs.close()
    env = wrap(bandit(rows=10))
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    for each in (env, again):
        each.reset(seed=0)
        assert problem_of(each).n_arms == 10
