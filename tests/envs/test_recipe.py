"""Recipes: what every environment takes, evaluations from before among it."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import gpbandit_envs  # noqa: F401 - registers the ids  # noqa: F401 - registers the ids
from gpbandit_envs.envs.recipe import rescale_lengthscales
from gpbandit_envs.gp import SE, Linear, Matern, RationalQuadratic
from gpbandit_envs.problem import InitialData, NoiseTails, Problem


def make_problem(name: str = "RKHS", **kwargs: Any) -> Problem:
    problem: Problem = gym.make(f"GPBandit/{name}-v0", **kwargs).unwrapped.problem  # type: ignore[attr-defined]
    return problem


def test_every_lengthscale_of_a_composite_kernel_is_wrong_by_the_factor() -> None:
    kernel = 2.0 * SE((0.1, 0.2)) + Matern(0.3, 1.5) * RationalQuadratic(0.5, 2.0) + Linear(1.0, 0.7)
    X, Y = np.random.default_rng(0).random((2, 4, 2))
    np.testing.assert_allclose(rescale_lengthscales(kernel, 3.0)(3 * X, 3 * Y), kernel(X, Y), rtol=1e-12)


def test_factors_change_what_they_name() -> None:
    wrong = make_problem(norm=2.0, noise_std=0.1, misspecification={"norm": 0.5, "noise": 3.0, "lengthscale": 2.0})
    assert wrong.norm_bound == 1.0
    assert wrong.noise_std == pytest.approx(0.3)
    assert wrong.kernel == SE(0.4)
    assert wrong.knowledge == "misspecified"
    assert make_problem().knowledge == "oracle"


def test_a_norm_that_is_off_leaves_kernel_and_noise_true() -> None:
    for factor in (0.5, 3.0):
        problem = make_problem(norm=2.0, misspecification={"norm": factor})
        assert (problem.norm_bound, problem.knowledge) == (2.0 * factor, "oracle")
        assert problem.misspecification == {"norm": factor}
    assert make_problem(norm=2.0, misspecification={"norm": 3.0, "lengthscale": 2.0}).knowledge == "misspecified"


def test_a_problem_states_the_tails_of_its_noise() -> None:
    assert make_problem(noise_std=0.1).noise_tails == NoiseTails(0.1, gaussian=True)
    assert make_problem(noise_std=0.1, noise="bounded").noise_tails == NoiseTails(0.1)
    assert make_problem(noise="student_t").noise_tails is None
    assert make_problem(noise="heteroscedastic").noise_tails is None
    wrong = make_problem(noise_std=0.1, misspecification={"noise": 3.0})
    assert wrong.noise_tails == NoiseTails(0.1 * 3.0, gaussian=True)
    with pytest.raises(TypeError, match="noise_tails: expected NoiseTails or None"):
        Problem(name="x", dim=1, noise_tails=0.1)  # type: ignore[arg-type]


def test_factors_without_anything_to_change() -> None:
    for factors in ({"norm": 2.0}, {"lengthscale": 2.0}):
        with pytest.raises(ValueError, match="misspecification: there is no"):
            make_problem("Branin", misspecification=factors)
    with pytest.raises(TypeError, match="misspecification"):
        make_problem(misspecification=[("norm", 2.0)])


def test_a_kernel_besides_the_lengthscale_is_a_prior_that_is_wrong() -> None:
    """The function is drawn as without it, and the norm under another kernel is not claimed."""
    prior = {"name": "matern", "nu": 1.5, "lengthscale": 0.5}
    both, drawn = (gym.make("GPBandit/RKHS-v0", lengthscale=0.1, kernel=k).unwrapped for k in (prior, None))
    both.reset(seed=0), drawn.reset(seed=0)
    arms = np.arange(1_000)
    np.testing.assert_array_equal(both.mean(arms), drawn.mean(arms))  # type: ignore[attr-defined]
    problem = both.problem  # type: ignore[attr-defined]
    assert (problem.kernel, problem.knowledge, problem.norm_bound) == (Matern(0.5, 1.5), "misspecified", None)
    alone = make_problem(kernel=prior)
    assert (alone.kernel, alone.knowledge, alone.norm_bound) == (Matern(0.5, 1.5), "oracle", 1.0)


def test_no_norm_is_claimed_for_a_gp_sample() -> None:
    assert make_problem("GPSample").norm_bound is None


def test_unequal_noise_is_no_oracle_knowledge() -> None:
    problem = make_problem(noise={"name": "heteroscedastic", "relative": 1.0})
    assert problem.knowledge == "misspecified"
    assert problem.notes["noise"] == {"name": "heteroscedastic", "std": 0.1, "relative": 1.0}


@pytest.mark.parametrize("horizon", [0, -1, 2.5, float("nan"), True, "3"])
def test_bad_horizon_fails_where_it_is_given(horizon: Any) -> None:
    with pytest.raises(ValueError, match="horizon: expected an integer >= 1 or None, got"):
        make_problem(horizon=horizon)
    with pytest.raises(ValueError, match="horizon: expected an integer >= 1 or None, got"):
        Problem(name="p", dim=1, horizon=horizon)


def test_a_horizon_of_numpy_is_a_plain_one() -> None:
    assert type(make_problem(horizon=np.int64(7)).horizon) is int


@pytest.mark.parametrize("noise_std", [np.float32(0.1), np.float64(0.1), 1])
def test_rewards_are_plain_floats(noise_std: Any) -> None:
    for name in ("RKHS", "Branin"):
        env = gym.make(f"GPBandit/{name}-v0", noise_std=noise_std)
        _, _ = env.reset(seed=0)
        assert type(env.step(env.action_space.sample())[1]) is float
        assert type(env.unwrapped.problem.noise_std) is float  # type: ignore[attr-defined]


def test_a_problem_is_equal_to_itself_alone() -> None:
    one, other = make_problem(n_arms=9), make_problem(n_arms=9)
    assert one != other
    assert len({one, other, one}) == 2


@pytest.mark.parametrize(
    ("id", "kernel", "message"),
    [
        ("GPBandit/Branin-v0", {"name": "se", "lengthscale": [1.0, 2.0, 3.0]}, "lengthscale: expected 2 entries"),
        ("GPBandit/RKHS-v0", {"name": "se", "lengthscale": [1.0, 2.0]}, "lengthscale: expected 1 entries"),
        (
            "GPBandit/Branin-v0",
            {"name": "active_dims", "kernel": {"name": "se", "lengthscale": 1.0}, "dims": [5]},
            "dims: expected points with more than 5 features",
        ),
    ],
)
def test_a_kernel_of_other_features_is_refused_where_it_is_given(id: str, kernel: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gym.make(id, kernel=kernel)


# ---- evaluations from before the first step: on the problem, from the environment's own noise, and no steps ----


ID = "GPBandit/RKHS-v0"


def make(**kwargs: Any) -> Any:
    return gym.make(ID, n_arms=40, **kwargs).unwrapped


def test_the_card_holds_noisy_rewards_of_uniform_arms() -> None:
    env = make(initial=4000)
    before = env.problem
    env.reset(seed=3)
    data = env.problem.initial
    assert before.initial is None  # nothing is evaluated before the first reset
    assert len(data) == 4000
    residual = data.rewards - env.mean(data.arms)
    std = env.problem.noise_std
    assert abs(residual.mean()) < 4 * std / np.sqrt(4000)
    assert residual.std() == pytest.approx(std, rel=0.05)
    counts = np.bincount(data.arms, minlength=40)
    assert ((counts - 100) ** 2 / 100).sum() < 39 + 4 * np.sqrt(2 * 39)  # chi-squared


def test_steps_do_not_notice() -> None:
    rewards = []
    for initial in (0, 25):
        env = make(initial=initial)
        env.reset(seed=3)
        rewards.append([env.step(arm)[1] for arm in range(10)])
    assert rewards[0] == rewards[1]


def test_every_episode_has_its_own_and_a_seed_gives_them_again() -> None:
    env = make(initial=25)
    drawn = []
    for seed in (3, None, 3):
        env.reset(seed=seed)
        drawn.append(env.problem.initial)
    np.testing.assert_array_equal(drawn[0].rewards, drawn[2].rewards)
    np.testing.assert_array_equal(drawn[0].arms, drawn[2].arms)
    assert not np.array_equal(drawn[0].rewards, drawn[1].rewards)
    with pytest.raises(ValueError, match="read-only"):
        drawn[0].rewards[0] = 0.0


@pytest.mark.parametrize("initial", [-1, 2.5, True])
def test_bad_numbers_are_named(initial: object) -> None:
    with pytest.raises(ValueError, match="initial: expected an integer >= 0"):
        make(initial=initial)


def test_a_box_has_none() -> None:
    with pytest.raises(ValueError, match="initial: expected 0 on a box"):
        gym.make("GPBandit/Branin-v0", initial=5)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"arms": [], "rewards": []}, "arms: expected at least one index"),
        ({"arms": [0.5], "rewards": [1.0]}, "arms: expected at least one index"),
        ({"arms": [-1], "rewards": [1.0]}, "arms: expected at least one index"),
        ({"arms": [0, 1], "rewards": [1.0]}, "rewards: expected one for each of 2 arms"),
        (
            {"arms": [0, 1], "rewards": [1.0, float("nan")]},
            r"rewards: expected finite numbers of at most 1e\+50 in size, got nan",
        ),
        (
            {"points": [0.1, 0.2], "rewards": [0.0]},
            r"points: expected points of the unit cube, shape \(n, d\), got shape \(2,\)",
        ),
        ({"points": [[0.1, 1.2]], "rewards": [0.0]}, "points: expected points of the unit cube"),
        ({"points": [[0.1, float("nan")]], "rewards": [0.0]}, "points: expected points of the unit cube"),
        ({"points": [[0.1, 0.2], [0.3, 0.4]], "rewards": [0.0]}, "rewards: expected one for each of 2 points"),
    ],
)
def test_what_does_not_fit_together_is_named(data: dict[str, list[Any]], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        InitialData(**{name: np.array(values) for name, values in data.items()})


def test_arms_or_points() -> None:
    with pytest.raises(ValueError, match="arms, points: expected exactly one of them, got neither"):
        InitialData(rewards=np.zeros(1))
    with pytest.raises(ValueError, match="arms, points: expected exactly one of them, got both"):
        InitialData(arms=np.zeros(1, np.int64), points=np.zeros((1, 2)), rewards=np.zeros(1))


def test_the_card_knows_its_arms() -> None:
    data = InitialData(arms=np.array([0, 4]), rewards=np.zeros(2))
    with pytest.raises(ValueError, match="initial: expected data of the problem's 3 arms, got arm 4"):
        Problem(name="p", dim=1, arms=np.zeros((3, 1)), initial=data)


def test_data_from_before_are_those_of_the_first_step_whenever_they_are_read() -> None:
    rewards = []
    for steps in (0, 2):
        env: Any = gym.make("GPBandit/TVGPSample-v0", eps=0.5, initial=3)
        env.reset(seed=0)
        for _ in range(steps):
            env.step(0)
        rewards.append(env.unwrapped.problem.initial.rewards.tolist())
    assert rewards[0] == rewards[1]
