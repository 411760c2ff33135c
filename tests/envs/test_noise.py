"""Noise models: moments, one-by-one against arrays, specs."""

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
from gpbandit_envs.noise import ArmNoise, GaussianNoise, Noise, TableNoise, as_noise
from gpbandit_envs.problem import NoiseTails
from tests.envs.catalogue import CORRUPTED, Case

SPECS: list[dict[str, Any]] = [
    {"name": "gaussian", "std": 0.3},
    {"name": "bounded", "std": 0.3},
    {"name": "student_t", "std": 0.3, "df": 5.0},
    {"name": "heteroscedastic", "std": 0.3, "relative": 0.5},
]
BY_ARM = ArmNoise(stds=[0.1, 0.0, 2.0, 0.5])
REPLICATES = np.array([[1.0, 2.0, np.nan], [4.0, np.nan, np.nan], [np.nan, 7.0, 9.0], [3.0, 3.5, 5.5]])
MODELS: list[Noise] = [*(as_noise(spec, 0.0) for spec in SPECS), TableNoise(REPLICATES), BY_ARM]

models = pytest.mark.parametrize("noise", MODELS, ids=lambda noise: noise.name)


@models
def test_blocks_of_any_size_give_one_sequence(noise: Noise) -> None:
    whole = noise.draw(np.random.default_rng(1), 200)
    rng = np.random.default_rng(1)
    parts = np.concatenate([noise.draw(rng, n) for n in (1, 7, 64, 128)])
    np.testing.assert_array_equal(parts, whole)


@models
def test_floats_and_arrays_agree_to_the_bit(noise: Noise) -> None:
    rng = np.random.default_rng(2)
    variates, means, arms = noise.draw(rng, 500), rng.normal(size=500), rng.integers(0, 4, 500)
    together = noise.reward(means, arms, variates)
    alone = [noise.reward(float(m), int(a), float(z)) for m, a, z in zip(means, arms, variates, strict=True)]
    assert all(type(y) is float for y in alone)
    assert together.tolist() == alone


@pytest.mark.parametrize("mean", [0.0, -1.5])
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec["name"])
def test_moments(spec: dict[str, Any], mean: float) -> None:
    noise = as_noise(spec, 0.0)
    n = 400_000
    y = noise.reward(np.full(n, mean), np.zeros(n, int), noise.draw(np.random.default_rng(3), n))
    sd = np.hypot(0.3, 0.5 * mean) if spec["name"] == "heteroscedastic" else 0.3
    assert abs(y.mean() - mean) < 5 * sd / np.sqrt(n)
    # The variance of the sample variance is (kurtosis - 1) sd^4 / n; the kurtosis of Student-t at 5 is 9.
    kurtosis = 9.0 if spec["name"] == "student_t" else 3.0
    assert abs(y.var() - sd**2) < 6 * np.sqrt((kurtosis - 1) / n) * sd**2


def test_bounded_is_bounded() -> None:
    z = as_noise("bounded", 2.0).draw(np.random.default_rng(0), 10_000)
    assert np.abs(z).max() <= np.sqrt(3)


def test_table_gives_real_replicates_each_as_often() -> None:
    noise = TableNoise(REPLICATES)
    rng = np.random.default_rng(4)
    n = 60_000
    for arm, row in enumerate(REPLICATES):
        real = row[~np.isnan(row)]
        y = noise.reward(np.full(n, np.nan), np.full(n, arm), noise.draw(rng, n))
        values, counts = np.unique(y, return_counts=True)
        np.testing.assert_array_equal(values, real)
        p = 1 / len(real)
        assert (np.abs(counts - n * p) <= 5 * np.sqrt(n * p * (1 - p)) + 1e-9).all()


def test_table_std_is_pooled_within_arms() -> None:
    # Squared deviations 0.5 (1 freedom), 2 (1 freedom), 3.5 (2 freedoms).
    assert TableNoise(REPLICATES).std == pytest.approx(np.sqrt(6.0 / 4))
    assert TableNoise(np.ones((3, 1))).std == 0.0
    with pytest.raises(ValueError, match="arm 1 has none"):
        TableNoise(np.array([[1.0], [np.nan]]))


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec["name"])
def test_spec_round_trip(spec: dict[str, Any]) -> None:
    noise = as_noise(spec, 9.9)
    assert noise.to_spec() == spec
    assert as_noise(noise.to_spec(), 0.0) == noise
    assert as_noise(noise, 0.0) is noise


def test_defaults_and_errors() -> None:
    assert as_noise(None, 0.2) == GaussianNoise(0.2)
    assert as_noise("student_t", 0.2).std == 0.2
    with pytest.raises(ValueError, match="noise: expected one of gaussian"):
        as_noise("gauss", 0.1)
    with pytest.raises(TypeError, match="noise"):
        as_noise(3, 0.1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="dg"):
        as_noise({"name": "student_t", "dg": 3}, 0.1)
    for std in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="noise_std"):
            as_noise(None, std)
    with pytest.raises(TypeError, match="noise_std"):
        as_noise(None, "0.1")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="df"):
        as_noise({"name": "student_t", "df": 2.0}, 0.1)
    with pytest.raises(ValueError, match="relative"):
        as_noise({"name": "heteroscedastic", "relative": -1.0}, 0.1)


def test_the_table_has_a_name_where_there_is_one() -> None:
    table = TableNoise(REPLICATES)
    for noise in ("table", {"name": "table"}, table.to_spec()):
        assert as_noise(noise, 0.1, table) is table
        with pytest.raises(ValueError, match=r"noise: expected one of .*, heteroscedastic, by_arm, got 'table'"):
            as_noise(noise, 0.1)
    assert as_noise(None, 0.1, table) == GaussianNoise(0.1)
    with pytest.raises(ValueError, match="heteroscedastic, by_arm, table, got 'tabel'"):
        as_noise("tabel", 0.1, table)
    with pytest.raises(TypeError, match="noise: expected no parameters besides the name 'table', got std"):
        as_noise({"name": "table", "std": 0.1}, 0.1, table)


@pytest.mark.parametrize("number", [np.float32, np.float64, np.int64, int])
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec["name"])
def test_numpy_numbers_give_plain_rewards(spec: dict[str, Any], number: type) -> None:
    given = {key: value if key == "name" else number(4 * value) for key, value in spec.items()}
    noise = as_noise(given, 0.1)
    assert type(noise.reward(0.5, 0, 0.25)) is float
    assert type(noise.std) is float
    assert noise.to_spec() == {key: value if key == "name" else float(given[key]) for key, value in spec.items()}


def test_what_is_no_number_is_named() -> None:
    for name, parameter in (("student_t", "df"), ("heteroscedastic", "relative"), ("bounded", "std")):
        with pytest.raises(TypeError, match=f"{parameter}: expected a finite number"):
            as_noise({"name": name, parameter: "4"}, 0.1)


def test_noise_by_arm_has_the_deviation_of_each_arm() -> None:
    n = 100_000
    for arm, sd in enumerate([0.1, 0.0, 2.0, 0.5]):
        y = BY_ARM.reward(np.full(n, 1.0), np.full(n, arm), BY_ARM.draw(np.random.default_rng(arm), n))
        assert abs(y.std() - sd) <= 6 * sd / np.sqrt(2 * n)
    assert BY_ARM.std == 2.0


def test_noise_by_arm_grows_geometrically_along_the_first_feature() -> None:
    arms = np.array([[2.0, 9.0], [4.0, 0.0], [3.0, 5.0]])
    bound = as_noise({"name": "by_arm", "low": 0.1, "high": 10.0}, 0.0).on(arms)
    assert bound.stds is not None
    np.testing.assert_allclose(bound.stds, np.array([0.1, 10.0, 1.0]), rtol=1e-12)
    assert bound.to_spec() == {"name": "by_arm", "low": 0.1, "high": 10.0}
    again = as_noise(bound.to_spec(), 0.0).on(arms)
    assert again.stds is not None
    np.testing.assert_array_equal(again.stds, bound.stds)
    one = ArmNoise(0.3, 0.1).on(np.zeros((1, 1)))
    assert one.stds is not None
    assert one.stds.tolist() == [0.3]
    assert as_noise(BY_ARM.to_spec(), 0.0).on(np.zeros((4, 1))).stds == pytest.approx([0.1, 0.0, 2.0, 0.5])


@pytest.mark.parametrize(
    ("spec", "error", "text"),
    [
        ({}, ValueError, "expected low and high, or stds"),
        ({"low": 0.1}, ValueError, "expected low and high, or stds"),
        ({"low": 0.1, "high": 0.2, "stds": [1.0]}, ValueError, "expected low and high, or stds"),
        ({"low": 0.0, "high": 1.0}, ValueError, "low: expected a finite number > 0"),
        ({"low": 0.1, "high": "1"}, TypeError, "high: expected"),
        ({"stds": [0.0, 0.0]}, ValueError, "stds: expected finite numbers >= 0"),
        ({"stds": [0.1, -0.1]}, ValueError, "stds: expected finite numbers >= 0"),
        ({"stds": [[0.1]]}, ValueError, "stds: expected finite numbers >= 0"),
        ({"stds": ["a"]}, TypeError, "stds: expected a number for each arm"),
    ],
)
def test_wrong_noise_by_arm(spec: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        as_noise({"name": "by_arm", **spec}, 0.0)


@pytest.mark.parametrize("arms", [None, np.zeros((3, 1))])
def test_noise_by_arm_must_fit_the_arms(arms: np.ndarray | None) -> None:
    with pytest.raises(ValueError, match=r"which has no arms|expected 3 numbers, one an arm, got 4"):
        BY_ARM.on(arms)


def test_the_deviations_of_a_table_are_those_of_its_replicates() -> None:
    noise = TableNoise(REPLICATES)
    assert noise.stds is not None
    np.testing.assert_allclose(noise.stds, [np.std(row[~np.isnan(row)]) for row in REPLICATES], rtol=1e-12)
    assert noise.stds[1] == 0.0
    variates = noise.draw(np.random.default_rng(0), 200_000)
    drawn = noise.reward(np.zeros(200_000), np.full(200_000, 3), variates)
    assert drawn.std() == pytest.approx(noise.stds[3], rel=0.01)


@pytest.mark.parametrize(
    ("noise", "tails"),
    [
        (as_noise("gaussian", 0.3), NoiseTails(0.3, gaussian=True)),
        (as_noise("bounded", 0.3), NoiseTails(0.3)),
        (as_noise("student_t", 0.3), None),
        (as_noise({"name": "student_t", "df": 50.0}, 0.3), None),
        (as_noise("student_t", 0.0), NoiseTails(0.0, gaussian=True)),
        (as_noise("heteroscedastic", 0.3), None),
        (as_noise({"name": "heteroscedastic", "relative": 0.0}, 0.3), NoiseTails(0.3, gaussian=True)),
        (BY_ARM, NoiseTails(2.0, gaussian=True)),
        (TableNoise(REPLICATES), NoiseTails(1.25)),  # half of 3.0 to 5.5
        (TableNoise(np.array([[1.0], [2.0]])), NoiseTails(0.0, gaussian=True)),
    ],
)
def test_every_model_states_its_tails(noise: Noise, tails: NoiseTails | None) -> None:
    assert noise.tails == tails


@pytest.mark.parametrize("constant", [-1.0, np.nan, np.inf])
def test_a_bad_constant_is_named(constant: float) -> None:
    with pytest.raises(ValueError, match="sub_gaussian: expected a finite number >= 0"):
        NoiseTails(constant)


# ---- corrupted feedback and means that are off by a certified distance ----


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
    corruption: Any = as_corruption({**attack, "budget": 1.0})
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
    attack: Any = as_corruption({"name": "top_k", "k": 99, "low": 0.5, "budget": 1.0})
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
        (
            "RKHS",
            {"n_arms": None, "misspecification": {"sup": 0.1}},
            r"misspecification\['sup'\]: expected finite arms",
        ),
        ("TVGPSample", {"misspecification": {"sup": 0.1}}, r"'sup'\]: expected a mean function that stays as it is"),
        ("Branin", {"corruption": {"name": "flip", "budget": 1.0}}, "corruption: expected None on a box"),
        (
            "TVGPSample",
            {"corruption": {"name": "flip", "budget": 1.0}},
            "expected None where the mean function changes",
        ),
    ],
)
def test_wrong_distances_and_what_takes_no_corruption(id: str, kwargs: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        gym.make(f"GPBandit/{id}-v0", **kwargs)
