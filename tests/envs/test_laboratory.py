"""Tasks as a laboratory meets them: nothing told, means in units of their own, categories and a cliff."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import gpbandit_envs  # noqa: F401 - registers the ids
from agents.learned.gp_bucb import MAPBUCB
from gpbandit_envs.domain import Dimension, Domain
from gpbandit_envs.envs.bandit import BoxEnv
from gpbandit_envs.envs.boosted_trees import BoostedTrees
from gpbandit_envs.envs.live_training import BestKnown, Split, Training, TrainingFailed, split, training_recipe
from gpbandit_envs.envs.lunar_landing import LunarController
from gpbandit_envs.envs.recipe import EnvRecipe
from gpbandit_envs.functions.base import FixedArms
from gpbandit_envs.functions.gp_draws import GPSampleArms
from gpbandit_envs.functions.laboratory import CliffArms, InUnits, mixed_arms, unit_of
from gpbandit_envs.gp import Matern
from gpbandit_envs.noise import GaussianNoise


def made(name: str, **settings: Any) -> Any:
    return gym.make(f"GPBandit/{name}-v0", **settings).unwrapped


def test_the_unit_does_not_know_how_bad_the_bad_ones_are() -> None:
    mean = np.random.default_rng(0).standard_normal(1_001)  # whose lower quartile is one of them
    worse = np.where(mean < np.quantile(mean, 0.25), 100 * mean, mean)
    assert unit_of(mean) == pytest.approx(np.maximum(mean, np.quantile(mean, 0.25)).std())
    assert unit_of(worse) == pytest.approx(unit_of(mean), rel=0.02)
    assert unit_of(3 * mean - 7) == pytest.approx(3 * unit_of(mean))
    with pytest.raises(ValueError, match="untold: expected means that differ above their lower quartile, got 1 alone"):
        unit_of(np.append(np.ones(9), -5.0))


@pytest.mark.parametrize("name", ["RKHS", "Categories", "Cliff", "DrawnPlate"])
def test_nothing_is_told_and_means_are_in_units(name: str) -> None:
    noise = {"noise": "gaussian"} if name == "DrawnPlate" else {}
    env, told = made(name, untold=True, noise_std=0.2, **noise), made(name, **noise)
    for one in (env, told):
        one.reset(seed=3)
    problem, arms = env.problem, np.arange(env.action_space.n)
    assert problem.knowledge == "learned"
    nothing = (problem.kernel, problem.norm_bound, problem.noise_std, problem.noise_stds, problem.noise_tails)
    assert nothing == (None,) * 5
    assert set(problem.notes) == ({"categories"} if name in ("Categories", "DrawnPlate") else set())
    assert np.array_equal(problem.arms, told.problem.arms)
    means = told.mean(arms)
    np.testing.assert_allclose(env.mean(arms), (means - means.mean()) / unit_of(means), atol=1e-12)
    assert unit_of(env.mean(arms)) == pytest.approx(1.0)
    assert env.certificate.optimal_action == told.certificate.optimal_action
    rewards = np.array([env.step(0)[1] for _ in range(400)])
    assert rewards.std() == pytest.approx(0.2, rel=0.15)
    assert rewards.mean() == pytest.approx(env.mean(np.array([0]))[0], abs=0.05)


def test_rows_of_a_table_are_in_the_unit_of_all_of_it() -> None:
    env, whole = (made("DrawnPlate", untold=True, noise="gaussian", rows=rows) for rows in (20, None))
    env.reset(seed=0)
    whole.reset(seed=0)
    among = set(whole.mean(np.arange(whole.action_space.n)).tolist())
    assert set(env.mean(np.arange(20)).tolist()) <= among
    assert env.problem.notes["rows"] == f"20 of {whole.action_space.n}, drawn anew in each episode"


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("Branin", {}, "untold: expected finite arms"),
        ("TVGPSample", {}, "means that stay as they are"),
        ("SleepingArms", {}, "all of them at each step"),
        ("DrawnPlate", {"noise": "table"}, "untold: expected a noise with a deviation, got replicates"),
        ("RKHS", {"misspecification": {"norm": 2.0}}, "untold: expected neither certified nor misspecification"),
        ("RKHS", {"untold": "yes"}, "untold: "),
        ("Categories", {"levels": [3, 1]}, r"levels\[1\]: expected two levels or more, got 1"),
        ("Categories", {"levels": 3}, "levels: expected numbers of levels such as"),
        ("Cliff", {"share": 1.0}, "share: expected a number in "),
        ("Cliff", {"depth": 0.0}, "depth: expected a number > 0"),
    ],
)
def test_what_cannot_be_is_said(name: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        made(name, **{"untold": True, **settings})


def test_categories_are_one_hot_and_their_levels_equally_common() -> None:
    arms = mixed_arms(120, 2, [4, 3])
    assert arms.shape == (120, 9)
    assert np.array_equal(arms[:, 2:6].sum(axis=0), [30] * 4)
    assert np.array_equal(arms[:, 6:].sum(axis=0), [40] * 3)
    assert (arms[:, 2:6].sum(axis=1) == 1).all()
    assert np.array_equal(arms, mixed_arms(120, 2, [4, 3]))
    kernel = made("Categories", dim=1, levels=[2]).problem.kernel
    here, other, far = np.array([[0.5, 1, 0]]), np.array([[0.5, 0, 1]]), np.array([[50.0, 1, 0]])
    assert kernel(here, here)[0, 0] == pytest.approx(1.0)
    assert kernel(here, other)[0, 0] == pytest.approx(0.5)
    assert kernel(here, far)[0, 0] == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("name", "settings", "columns"),
    [("Categories", {"dim": 2, "levels": [4, 3]}, [[2, 3, 4, 5], [6, 7, 8]]), ("DrawnPlate", {}, [[0, 1, 2]])],
)
def test_categories_are_told_if_nothing_else_is(name: str, settings: dict[str, Any], columns: list[list[int]]) -> None:
    for untold in (False, True):
        problem = made(name, **settings, untold=untold, noise="gaussian", noise_std=0.2, horizon=30).problem
        assert problem.notes["categories"] == columns
    assert set(problem.notes) == {"categories"}
    agent = MAPBUCB()
    agent.reset(problem, np.random.default_rng(0))
    assert agent.groups == tuple(map(tuple, columns))


def test_beyond_the_cliff_means_fall_by_its_depth() -> None:
    rng = np.random.default_rng(0)
    arms = rng.random((200, 2))
    family = GPSampleArms(Matern(0.4, nu=2.5), arms)
    plain, fallen = (
        family.draw(np.random.default_rng(7)).mean,
        CliffArms(family, 0.25, 3.0).draw(np.random.default_rng(7)),
    )
    fall = (plain - fallen.mean) / plain.std()
    assert np.isclose(fall, 3.0).sum() == 50
    assert np.isclose(fall, 0.0).sum() == 150
    assert fallen.certificate.optimum == fallen.mean.max()


def test_units_of_a_family_keep_what_is_fixed() -> None:
    table = FixedArms(np.zeros((8, 1)), np.arange(8.0))
    units = InUnits(table)
    assert units.fixed
    assert units.draw(np.random.default_rng(0)).certificate.facts == {"unit": unit_of(np.arange(8.0))}


# ---- tasks with real work at each evaluation: what they compute, what they cost, and what happens when they fail ----


TASKS = [
    pytest.param("LogisticRegression", marks=pytest.mark.network),
    pytest.param("XGBoost", marks=pytest.mark.network),
    pytest.param("LunarLanding"),
]


class Fragile(Training):
    """`-(x - 0.6)^2` that fails below 0.5, in three ways."""

    domain = Domain((Dimension(0.0, 2.0, name="x"),))
    floor, ceiling = -4.0, 0.0
    best_known = BestKnown((0.6,), "by hand")

    def __init__(self) -> None:
        super().__init__()
        self.runs = 0

    def run(self, values: tuple[float, ...]) -> tuple[float, float]:
        (x,) = values
        self.runs += 1
        if x < 0.2:
            raise TrainingFailed("out of memory", cost=7.0)
        if x < 0.3:
            return float("nan"), 2.0
        return (float("-inf") if x < 0.5 else -((x - 0.6) ** 2)), 3.0


def fragile() -> EnvRecipe:
    return training_recipe(Fragile(), 0.1, None, None, {"cost": "none"})


def make(name: str, **kwargs: Any) -> Any:
    extra = {"XGBoost": "xgboost", "LunarLanding": "Box2D"}
    if name in extra and importlib.util.find_spec(extra[name]) is None:
        pytest.skip(f"{extra[name]} is not installed")
    return gym.make(f"GPBandit/{name}-v0", **kwargs).unwrapped


@pytest.mark.parametrize(("x", "cost", "reason"), [(0.05, 7.0, "memory"), (0.125, 2.0, "nan"), (0.2, 3.0, "inf")])
def test_a_failed_training_is_a_result(x: float, cost: float, reason: str) -> None:
    training = Fragile()
    env = BoxEnv(training_recipe(training, 0.1, None, None, {"cost": "none"}))
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(np.array([x]))
    assert info == {"cost": cost, "failed": True, "oracle": {"mean": -4.0, "regret": 4.0}}
    assert np.isfinite(reward)
    assert (terminated, truncated) == (False, False)
    assert reason in str(training.result(np.array([x])).failure)
    assert "failed" not in env.step(np.array([0.4]))[4], "the next evaluation is none the worse for it"


def test_check_env_survives_failures() -> None:
    check_env(BoxEnv(fragile()), skip_render_check=True)


def test_nothing_is_worked_out_twice() -> None:
    training = Fragile()
    for _ in range(3):
        training.evaluate(np.array([[0.3], [0.31], [0.3]]))
    assert training.runs == 2


def test_only_boxes() -> None:
    recipe = EnvRecipe(
        family=FixedArms(np.zeros((1, 1)), np.zeros(1)), noise=GaussianNoise(0.1), kernel=None, norm_bound=None
    )
    with pytest.raises(TypeError, match="recipe: expected a family on a box, got FixedArms"):
        BoxEnv(recipe)


def test_the_split_is_stratified_and_fixed() -> None:
    labels = np.array([0] * 30 + [1] * 9 + [2] * 3)
    train, test = split(labels)
    assert sorted([*train, *test]) == list(range(42))
    np.testing.assert_array_equal(np.bincount(labels[test]), [10, 3, 1])
    np.testing.assert_array_equal(split(labels)[0], train)
    features = np.column_stack([np.arange(42.0), np.full(42, 3.0)])
    data = Split(features, labels)
    np.testing.assert_allclose([data.train_x[:, 0].mean(), data.train_x[:, 0].std()], [0, 1], atol=1e-12)
    assert (data.train_x[:, 1] == 0).all(), "a constant feature stays finite"


@pytest.mark.parametrize("name", TASKS)
def test_results_do_not_depend_on_what_came_before(name: str) -> None:
    training = make(name, **({"n_terrains": 5} if name == "LunarLanding" else {})).recipe.family
    points = np.random.default_rng(0).random((3, training.domain.dim))
    values = [tuple(v) for v in training.domain.values(points).tolist()]
    there = [training.run(v) for v in values]
    assert [training.run(v) for v in values[::-1]] == there[::-1]
    assert all(training.floor < score <= training.ceiling and cost > 0 for score, cost in there)
    assert len({score for score, _ in there}) > 1


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_the_best_known_is_hard_to_beat_and_said_to_be_unproven(name: str) -> None:
    env = make(name)
    env.reset(seed=0)
    certificate = env.certificate
    assert certificate.optimum == env.mean(np.array([certificate.optimal_action]))[0]
    assert certificate.optimum_tol == env.recipe.family.ceiling - certificate.optimum > 0
    assert certificate.facts["optimum"] == "best value known"
    others = env.mean(np.random.default_rng(1).random((12, env.recipe.family.domain.dim)))
    assert certificate.optimum > others.max()


@pytest.mark.network
def test_logistic_regression_agrees_with_scikit_learn() -> None:
    """Converged gradient descent is the penalised maximum likelihood that scikit-learn's solver finds."""
    from sklearn.linear_model import LogisticRegression

    from gpbandit_envs.datasets import load

    training = make("LogisticRegression").recipe.family
    table = load("VehicleSilhouettes")
    data = Split(table.features, table.values[:, 0].astype(np.int64))
    l2 = 0.3
    ours, steps = training.run((0.2, l2))
    assert steps < 500, "it has converged"
    model = LogisticRegression(C=1 / (l2 * len(data.train_x)), tol=1e-8).fit(data.train_x, data.train_y)
    assert ours == model.score(data.test_x, data.test_y)


@pytest.mark.network
def test_logistic_regression_landscape() -> None:
    """Too slow a rate leaves the weights near zero, too strong a penalty too; both cost what the steps say."""
    training = make("LogisticRegression").recipe.family
    good, _ = training.run((0.5, 1e-3))
    slow, steps = training.run((1e-5, 1e-3))
    assert steps == 500
    assert good > max(slow, training.run((0.1, 1.0))[0]) + 0.1


@pytest.mark.network
def test_xgboost_score_is_balanced_accuracy() -> None:
    from sklearn.metrics import balanced_accuracy_score

    training = make("XGBoost").recipe.family
    settings = {"objective": "binary:logistic", "tree_method": "hist", "max_depth": 3, "seed": 0, "reg_lambda": 2.0}
    model = training._xgboost.train(settings | {"eta": 0.25, "colsample_bytree": 1.0}, training._train, 100)
    predicted = model.predict(training._test) > 0.5
    assert training.run((3.0, 1.0, 0.25, 2.0))[0] == balanced_accuracy_score(training._test_y, predicted)


@pytest.mark.network
def test_xgboost_levels_and_columns() -> None:
    training = make("XGBoost").recipe.family
    stumps = training.run((1.0, 1.0, 0.3, 1.0))[1]
    assert stumps == 100 * 21, "100 trees of one level on 21 columns"
    assert training.run((1.0, 0.5, 0.3, 1.0))[1] == 100 * 10
    assert stumps < training.run((6.0, 1.0, 0.3, 1.0))[1] <= 6 * stumps
    pc1 = make("XGBoost", program="pc1").recipe.family
    assert pc1.run((6.0, 1.0, 0.3, 1.0)) != training.run((6.0, 1.0, 0.3, 1.0))
    with pytest.raises(ValueError, match="program"):
        make("XGBoost", program="cm1")


@pytest.mark.network
def test_xgboost_errors_are_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    training = make("XGBoost").recipe.family
    error = training._xgboost.core.XGBoostError

    def broken(*_: Any) -> None:
        raise error("[12:00:00] bad allocation\nStack trace")

    monkeypatch.setattr(training._xgboost, "train", broken)
    with pytest.raises(TrainingFailed, match="bad allocation"):
        training.run((1.0, 0.123, 0.3, 1.0))


def test_lunar_controller_is_gymnasiums_heuristic() -> None:
    """With the parameters of Gymnasium's own heuristic, its actions and its returns."""
    env = make("LunarLanding", n_terrains=3)
    lunar_lander: Any = importlib.import_module("gymnasium.envs.box2d.lunar_lander")

    from gpbandit_envs.envs.lunar_landing import _steer

    w = (0.5, 1.0, 0.4, 0.55, 0.5, 1.0, 0.5, 0.5, 0.0, 0.5, 0.05, 0.05)
    world = lunar_lander.LunarLander()
    totals, frames = [], 0
    for seed in env.recipe.family._seeds:
        state, total, over = world.reset(seed=seed)[0], 0.0, False
        while not over:
            action = lunar_lander.heuristic(world, state)
            assert _steer(state.tolist(), w) == action
            state, reward, over, _, _ = world.step(action)
            total += reward
            frames += 1
        totals.append(total)
    assert env.recipe.family.run(w) == (pytest.approx(np.mean(totals)), frames / 50)
    with pytest.raises(ValueError, match="n_terrains"):
        make("LunarLanding", n_terrains=0)


def test_no_flight_beats_the_bound() -> None:
    """Return minus the bound is what is lost: fuel, and what is missing from a landing on two legs at rest."""
    training = make("LunarLanding", n_terrains=8).recipe.family
    scores = [training.run(tuple(w))[0] for w in 2 * np.random.default_rng(3).random((8, 12))]
    best = training.run(training.best_known.values)[0]
    assert max(*scores, best) < training.ceiling
    assert training.ceiling - best < 150, "and the bound is not empty"


@pytest.mark.parametrize(
    ("training", "package", "extra"), [(BoostedTrees, "xgboost", "hpo"), (LunarController, "Box2D", "lunar")]
)
def test_a_missing_extra_is_named(training: Any, package: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf'pip install "gpbandit-envs\[{extra}\]"'):
        training("kc1" if training is BoostedTrees else 1)
