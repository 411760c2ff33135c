"""Environments of one's own: from a table and from a function, in one line each."""

from __future__ import annotations

import copy
import json
import math
import pickle
import sys
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import cloudpickle
import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from gymnasium.utils.env_checker import check_env

import gpbandit_envs
from gpbandit_envs import problem_of
from gpbandit_envs.domain import Dimension, Domain
from gpbandit_envs.functions.base import lattice
from gpbandit_envs.gp import SE, Matern
from gpbandit_envs.noise import GaussianNoise, TableNoise
from gpbandit_envs.own import pinned

from_table: Any = gpbandit_envs.from_table
from_function: Any = gpbandit_envs.from_function

# One candidate of four has replicates, on purpose: what a candidate answers that was measured once is tested too.
pytestmark = [
    pytest.mark.usefixtures("own_ids"),
    pytest.mark.filterwarnings("ignore:replicates. . of . candidates were measured once"),
]

ROWS = [(20, "DMF", 40.0), (20, "DMF", 44.0), (60, "water", 10.0), (100, "DMF", 90.0), (100, "none", 70.0)]
FRAME = pd.DataFrame(ROWS, columns=["temperature", "solvent", "yield"])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my yields.csv"
    FRAME.to_csv(path, index=False)
    return path


def valley(x: np.ndarray) -> float:
    """Smallest, 1, at (3, -2)."""
    return float((x[0] - 3) ** 2 + (x[1] + 2) ** 2 + 1)


def bowl(x: np.ndarray) -> float:
    return -valley(x)


BOUNDS = [(0, 10), (-5, 5)]


def best(env: Any) -> float | None:
    env.reset(seed=0)
    optimum: float | None = env.unwrapped.optimum
    return optimum


def rewards(env: Any, actions: list[Any], seed: int = 0) -> list[float]:
    env.reset(seed=seed)
    return [env.step(action)[1] for action in actions]


# ---- tables ----


def test_the_checker_passes_on_a_file_a_frame_and_a_function(file: Path) -> None:
    tables = [from_table(table, "yield", replicates="average") for table in (file, FRAME)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for env in (*tables, from_function(bowl, BOUNDS, noise_std=0.1)):
            check_env(env.unwrapped)


def test_the_id_is_that_of_the_name(file: Path) -> None:
    assert from_table(file, "yield").spec.id == "Own/my-yields-v0"
    env = from_table(FRAME, "yield", name="reactions", horizon=30)
    assert env.spec is not None
    assert (env.spec.id, env.spec.max_episode_steps) == ("Own/reactions-v0", 30)
    problem = problem_of(gym.make("Own/reactions-v0"))
    assert (problem.name, problem.horizon, problem.knowledge) == ("Own/reactions-v0", 30, "learned")
    assert from_table(FRAME, "yield", name="reactions", horizon=40).spec.max_episode_steps == 40


def test_features_are_scaled_and_values_mapped_to_the_unit_interval() -> None:
    env = from_table(FRAME, "yield")
    problem = problem_of(env)
    one = 1 / math.sqrt(2)
    expected = [[0, one, 0, 0], [0.5, 0, 0, one], [1, one, 0, 0], [1, 0, one, 0]]
    np.testing.assert_allclose(problem.arms, expected)  # type: ignore[arg-type]
    env.reset(seed=0)
    np.testing.assert_allclose(env.unwrapped.mean(range(4)), [0.4, 0.0, 1.0, 0.75])
    certificate = env.unwrapped.certificate
    assert (certificate.optimum, certificate.optimal_action, certificate.optimum_tol) == (1.0, 2, 0.0)
    assert problem.kernel == Matern(math.sqrt(2) / 2, nu=2.5)
    assert problem.notes["target_range"] == (10.0, 90.0)
    assert "mapped to [0, 1] by column" in str(problem.notes["scaling"])


def test_the_smallest_is_best_where_it_is_minimised() -> None:
    env = from_table(FRAME, "yield", minimise=True)
    env.reset(seed=0)
    np.testing.assert_allclose(env.unwrapped.mean(range(4)), [0.6, 1.0, 0.0, 0.25])
    assert problem_of(env).notes["target_range"] == (10.0, 90.0)


def test_replicates_are_drawn_from() -> None:
    env = from_table(FRAME, "yield")
    assert isinstance(env.unwrapped.recipe.noise, TableNoise)
    np.testing.assert_allclose(sorted(set(rewards(env, [0] * 40))), [0.375, 0.425])
    assert set(rewards(env, [2] * 5)) == {1.0}
    assert problem_of(env).noise_std == pytest.approx(math.sqrt(8) / 80)


def test_candidates_that_alone_were_measured_once_are_warned_of(file: Path) -> None:
    said = r"replicates: 3 of 4 candidates were measured once and answer without noise; replicates='average' gives all"
    for table in (FRAME, file):
        with pytest.warns(UserWarning, match=said):
            env = from_table(table, "yield")
        np.testing.assert_array_equal(problem_of(env).noise_stds > 0, [True, False, False, False])  # type: ignore[operator]
    with pytest.warns(UserWarning, match=said):
        gym.make("GPBandit/Table-v0", file=str(file), target="yield")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from_table(FRAME, "yield", replicates="average")
        from_table(FRAME.iloc[:0:-1], "yield")
        twice = from_table(pd.concat([FRAME, FRAME.assign(**{"yield": FRAME["yield"] + 1})]), "yield")
    assert np.all(problem_of(twice).noise_stds > 0)  # type: ignore[operator]


def test_replicates_are_averaged_with_stated_noise() -> None:
    noise = from_table(FRAME, "yield", replicates="average", noise_std=8.0).unwrapped.recipe.noise
    assert noise == GaussianNoise(0.1), "8 of a range of 80"
    noise = from_table(FRAME, "yield", replicates="average").unwrapped.recipe.noise
    assert noise.std == pytest.approx(math.sqrt(8) / 80), "the pooled deviation"
    single = FRAME.iloc[1:]
    assert from_table(single, "yield").unwrapped.recipe.noise == GaussianNoise(0.01)
    assert from_table(single, "yield", replicates="refuse").unwrapped.recipe.noise == GaussianNoise(0.01)
    assert from_table(single, "yield", noise_std=4.0).unwrapped.recipe.noise == GaussianNoise(0.05)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "Yield"}, "target: there is no column 'Yield'; did you mean 'yield'"),
        ({"replicates": "refuse"}, "replicates: 1 candidates were measured more than once; 'resample'"),
        ({"replicates": "mean"}, "replicates: expected 'resample', 'average' or 'refuse', got 'mean'"),
        ({"noise_std": 2.0}, "noise_std: expected None where replicates are the noise, got 2.0"),
        ({"replicates": "average", "noise_std": -1.0}, "noise_std: expected a finite number >= 0, got -1.0"),
        ({"name": "my table"}, "name: expected letters, digits, '-', '_' and '.', got 'my table'"),
        ({"horizon": 0}, "horizon: expected an integer >= 1, got 0"),
        ({"ignore": ["solvent", "temperature"]}, "table: expected at least one column besides 'yield'"),
    ],
)
def test_wrong_tables(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_table(FRAME, **{"target": "yield", **options})
    assert "Own/table-v0" not in gym.registry


@pytest.mark.parametrize(
    ("column", "values", "error", "message"),
    [
        ("temperature", [[1], [2], [3], [4], [5]], TypeError, r"should hold numbers or text, got \[1\] in rows 1, 2"),
        ("temperature", [1, 2, 3, -1e300, 5], ValueError, r"should hold numbers up to 1e\+50 in size, got -1e\+300 in"),
        ("yield", [1, 2, 1e300, 4, 5], ValueError, r"should hold numbers up to 1e\+50 in size, got 1e\+300 in row 3"),
    ],
)
def test_values_that_no_kernel_works_with(column: str, values: list[Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"table: column '{column}' {message}"):
        from_table(FRAME.assign(**{column: values}), "yield")


def test_wrong_kinds_of_tables(tmp_path: Path, file: Path) -> None:
    with pytest.raises(TypeError, match=r"table: expected the path of a CSV file or a pandas.DataFrame, got list"):
        from_table([[1, 2]], "yield")
    with pytest.raises(TypeError, match=r"ignore: expected a list of columns, got the text 'solvent'; write \["):
        from_table(FRAME, "yield", ignore="solvent")
    with pytest.raises(FileNotFoundError, match=r"file: expected a file, got the folder"):
        from_table(tmp_path, "yield")
    with pytest.raises(FileNotFoundError, match=r"there is no file .*none\.csv"):
        from_table(tmp_path / "none.csv", "yield")
    same = FRAME.assign(**{"yield": 3.0})
    with pytest.raises(ValueError, match=r"target: expected at least two different values, got only 3\.0"):
        from_table(same, "yield")
    with pytest.raises(TypeError, match="unknown argument 'noise'; it takes file, target"):
        gym.make("GPBandit/Table-v0", file=str(file), target="yield", noise="gaussian")


def test_a_failed_definition_leaves_the_one_before() -> None:
    from_table(FRAME, "yield", name="kept")
    for wrong in ({"target": "none"}, {"target": "yield", "horizon": 0}):
        with pytest.raises(ValueError, match=r"target|horizon"):
            from_table(FRAME, name="kept", **wrong)
    assert best(gym.make("Own/kept-v0")) == 1.0


def test_a_file_is_the_table_id_with_its_hash(file: Path) -> None:
    env = from_table(file, "yield", ignore=["solvent"], kernel=SE(0.3))
    assert env.spec is not None
    found: Any = pinned("Own/my-yields-v0", {})
    assert (found.id, found.name) == ("GPBandit/Table-v0", "my-yields")
    assert found.kwargs == env.spec.kwargs
    json.dumps(found.kwargs)
    assert len(found.kwargs["sha256"]) == 64
    twin = gym.make(found.id, **found.kwargs)
    assert rewards(twin, [0, 1, 2]) == rewards(env, [0, 1, 2])
    assert gym.envs.registration.EnvSpec.from_json(env.spec.to_json()).kwargs == env.spec.kwargs
    plain: Any = pinned("GPBandit/Table-v0", {"file": str(file), "target": "yield"})
    assert (plain.name, plain.kwargs["sha256"]) == ("my yields", found.kwargs["sha256"])


def test_an_edited_file_is_another_environment(file: Path) -> None:
    stated = {"file": str(file), "target": "yield"}
    before: Any = pinned("GPBandit/Table-v0", stated)
    file.write_text(file.read_text().replace("90.0", "95.0"))
    after: Any = pinned("GPBandit/Table-v0", stated)
    assert before.kwargs["sha256"] != after.kwargs["sha256"]
    with pytest.raises(ValueError, match=r"sha256: expected .{8}..., got .{8}...; .*my yields.csv holds other data"):
        gym.make(before.id, **before.kwargs)
    assert problem_of(gym.make(after.id, **after.kwargs)).notes["target_range"] == (10.0, 95.0)


def test_a_frame_is_copied_and_stated_with_its_hash() -> None:
    frame = FRAME.copy()
    from_table(frame, "yield", name="mine")
    frame.loc[0, "yield"] = 1000.0
    assert best(gym.make("Own/mine-v0")) == 1.0
    first: Any = pinned("Own/mine-v0", {})
    from_table(frame, "yield", name="mine")
    second: Any = pinned("Own/mine-v0", {})
    assert first.id == second.id == "Own/mine-v0"
    assert first.kwargs["sha256"] != second.kwargs["sha256"]
    with pytest.raises(ValueError, match=r"sha256: .* another frame has taken the name since: give each a name="):
        gym.make(first.id, **first.kwargs)


def test_other_ids_are_not_touched() -> None:
    assert pinned("GPBandit/RKHS-v0", {"n_arms": 3}) is None
    assert pinned("Own/never-defined-v0", {}) is None


# ---- functions ----


def test_the_function_gets_its_own_units_and_policies_the_cube() -> None:
    env = from_function(bowl, BOUNDS)
    env.reset(seed=0)
    _, reward, _, _, info = env.step(np.array([0.3, 0.3]))
    assert reward == pytest.approx(-1.0), "at (3, -2)"
    assert info["oracle"].keys() == {"mean"}, "no optimum, no regret"
    assert env.action_space == gym.spaces.Box(0.0, 1.0, (2,), np.float64)
    bandit: Any = env.unwrapped
    assert (bandit.low.tolist(), bandit.high.tolist()) == ([0, -5], [10, 5])
    assert best(env) is None


def test_minimise_and_a_stated_optimum() -> None:
    env = from_function(valley, BOUNDS, minimise=True, optimum=1.0)
    env.reset(seed=0)
    _, reward, _, _, info = env.step(np.array([0.3, 0.5]))
    assert reward == pytest.approx(-5.0), "at (3, 0)"
    assert info["oracle"] == {"mean": reward, "regret": pytest.approx(4.0)}
    assert env.unwrapped.certificate.facts["optimum"] == "as stated, not proven"


def test_a_grid_knows_its_optimum() -> None:
    env = from_function(bowl, BOUNDS, grid=11, noise_std=0.1, kernel=SE(0.2))
    assert env.action_space == gym.spaces.Discrete(121)
    assert best(env) == pytest.approx(-1.0)
    assert problem_of(env).kernel == SE(0.2)


def test_bounds_by_name_and_a_domain() -> None:
    env = from_function(bowl, {"a": (0, 10), "b": (-5, 5)})
    assert problem_of(env).notes["domain"] == [{"high": 10.0, "name": "a"}, {"low": -5.0, "high": 5.0, "name": "b"}]
    domain = Domain((Dimension(1, 4, integer=True), Dimension(1e-3, 1.0, log=True)))
    seen = []

    def watched(x: np.ndarray) -> float:
        seen.append(x.tolist())
        return 0.0

    from_function(watched, domain)
    assert seen[0] == [3.0, pytest.approx(10**-1.5)]


def test_bounds_are_given_for_each_coordinate_of_choices_too() -> None:
    domain = Domain((Dimension(1, 4, name="n"), Dimension(name="base", choices=("u", "v", "w"))))
    env = from_function(lambda x: x[0], domain).unwrapped
    assert (env.low.tolist(), env.high.tolist()) == ([1, 0, 0, 0], [4, 1, 1, 1])


def test_one_may_write_into_the_point() -> None:
    def greedy(x: np.ndarray) -> float:
        x *= 2
        return float(x[0])

    env = from_function(greedy, [(0, 1)])
    assert rewards(env, [np.array([0.5]), np.array([0.5])]) == [1.0, 1.0]


class Wrong:
    """Functions that a newcomer may give."""

    @staticmethod
    def several_arguments(x: float, y: float) -> float:
        return x + y

    @staticmethod
    def a_vector(x: np.ndarray) -> np.ndarray:
        return -(x**2)

    @staticmethod
    def nothing(x: np.ndarray) -> None:
        x.sum()

    @staticmethod
    def too_long(x: np.ndarray) -> float:
        return float(x[2])

    @staticmethod
    def not_a_number(x: np.ndarray) -> float:
        return float(x[0] * math.nan)

    @staticmethod
    def noisy(x: np.ndarray) -> float:
        return float(x[0] + np.random.default_rng().normal())


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("several_arguments", TypeError, r"function of one array of 2 values, .* raised TypeError: .*'y'"),
        ("a_vector", TypeError, r"f: expected a number at \[5.0, 0.0\], got array\("),
        ("nothing", TypeError, r"f: expected a number at \[5.0, 0.0\], got None"),
        ("too_long", TypeError, r"function of one array of 2 values, .* raised IndexError: index 2"),
        ("not_a_number", ValueError, r"f: expected a finite number at \[5.0, 0.0\], got nan"),
        ("noisy", ValueError, r"f: expected the same value at the same point, got .* the noise as noise_std="),
    ],
)
def test_wrong_functions(name: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        from_function(getattr(Wrong, name), BOUNDS)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"bounds": (0, 1)},
            TypeError,
            r"expected a pair for each coordinate, got \(0, 1\); for one, write \[\(0, 1\)\]",
        ),
        ({"bounds": [(1, 0), (0, 1)]}, ValueError, r"bounds\[0\]: expected finite numbers low < high, got \(1, 0\)"),
        ({"bounds": {"a": (0, 1), "b": (0, np.inf)}}, ValueError, r"bounds\['b'\]: expected finite numbers low < high"),
        (
            {"bounds": [(0, 1, 2)]},
            TypeError,
            r"bounds\[0\]: expected a pair \(low, high\) of numbers, .* got \(0, 1, 2\)",
        ),
        ({"bounds": []}, ValueError, "bounds: expected at least one pair"),
        ({"bounds": [(0, 1), (-1e300, 1e300)]}, ValueError, r"bounds\[1\]: expected numbers up to 1e\+50 in size, got"),
        ({"bounds": "ab"}, TypeError, "bounds: expected a pair"),
        ({"bounds": 3}, TypeError, "bounds: expected a pair"),
        ({"optimum": -100.0}, ValueError, r"got -100.0, and f is -9.0 at the middle; give minimise=True if"),
        ({"optimum": -1, "minimise": True}, ValueError, r"got -1.0, and f is -9.0 at the middle$"),
        ({"optimum": math.inf}, ValueError, "optimum: expected a finite number or None, got inf"),
        ({"optimum": 10**400}, ValueError, "optimum: expected a finite number or None, got"),
        ({"optimum": "best"}, TypeError, "optimum: expected a finite number or None, got 'best'"),
        ({"noise_std": -1.0}, ValueError, "noise_std: expected a finite number >= 0, got -1.0"),
        ({"noise_std": "1"}, TypeError, "noise_std: expected a finite number >= 0, got '1'"),
        ({"grid": 0}, ValueError, "grid: expected an integer >= 1"),
        ({"grid": 3163}, ValueError, "grid: expected at most 3162 points per axis in 2 dimensions, of 10,000,000 arms"),
        ({"grid": 20000.0}, ValueError, "grid: expected at most 3162 points per axis in 2 dimensions"),
    ],
)
def test_wrong_options(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        from_function(bowl, **{"bounds": BOUNDS, **options})


def test_what_is_no_function() -> None:
    with pytest.raises(TypeError, match="f: expected a function of one array, got 3"):
        from_function(3, BOUNDS)


def test_a_function_that_fails_later_says_where() -> None:
    env = from_function(lambda x: math.nan if 9.4 < x[0] < 9.6 else 0.0, [(0, 10)])
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"f: expected a finite number at \[9.5\], got nan"):
        env.step(np.array([0.95]))


def test_a_function_edited_in_a_notebook_is_another_environment() -> None:
    from_function(lambda x: x[0], [(0, 1)], name="f")
    first: Any = pinned("Own/f-v0", {})
    from_function(lambda x: x[0], [(0, 1)], name="f")
    assert pinned("Own/f-v0", {}) == first, "run again, not edited"
    from_function(lambda x: x[0] ** 2, [(0, 1)], name="f")
    with pytest.raises(ValueError, match="definition: the function was defined anew since, with another code"):
        gym.make(first.id, **first.kwargs)
    from_function(bowl, BOUNDS, name="f")
    imported: Any = pinned("Own/f-v0", {"noise_std": 0.5})
    assert imported.kwargs["definition"]["code"] is None, "known by its name, as everything that can be imported"
    assert imported.kwargs["noise_std"] == 0.5


EQUAL = FRAME.drop_duplicates([name for name in FRAME if name != "yield"])


@pytest.mark.parametrize(
    "again", [EQUAL, EQUAL[:1], EQUAL.assign(**{"yield": EQUAL["yield"] * (1 + 1e-15)})], ids=["all", "one", "rounding"]
)
@pytest.mark.parametrize("replicates", ["resample", "average"])
def test_replicates_that_are_equal_say_nothing_of_the_noise(again: pd.DataFrame, replicates: Any) -> None:
    with pytest.warns(UserWarning, match="candidates are equal, which says nothing of the noise; 1 % of the target's"):
        env = from_table(pd.concat([EQUAL, again]), "yield", replicates=replicates)
    assert problem_of(env).noise_std == 0.01
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert problem_of(from_table(pd.concat([EQUAL, again]), "yield", noise_std=1.0)).noise_std is not None
    assert not said, "nothing to say where it is stated"


class Furnace:
    """A function in an object, which it reads and counts in."""

    def __init__(self, best: float) -> None:
        self.best, self.calls = best, 0

    def output(self, x: np.ndarray) -> float:
        return -((x[0] - self.best) ** 2)

    def counted(self, x: np.ndarray) -> float:
        self.calls += 1
        return self.output(x)


def named(f: Any, **options: Any) -> Any:
    from_function(f, [(0.0, 10.0)], name="f", **options)
    return pinned("Own/f-v0", {})


def test_a_function_that_returns_other_values_is_another_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert named(Furnace(1.0).output) == named(Furnace(1.0).output) != named(Furnace(7.0).output)
    counting = Furnace(1.0)
    assert named(counting.counted) == named(counting.counted), "what calls change is no part of it"
    this = sys.modules[__name__]
    for grid in (None, 21, 1_000):
        monkeypatch.setattr(this, "BEST", 1.0)
        before = named(importable, grid=grid)
        assert named(importable, grid=grid) == before
        monkeypatch.setattr(this, "BEST", 7.0)
        assert named(importable, grid=grid).kwargs["definition"]["code"] is None
        assert named(importable, grid=grid) != before
    assert named(lambda x: 1 / (x[0] > 2)), "where it raises is said where a run meets it"


BEST = 1.0


def importable(x: np.ndarray) -> float:
    return float(BEST - x[0])


def test_an_object_that_changed_in_place_is_refused() -> None:
    furnace = Furnace(1.0)
    named(furnace.output)
    furnace.best = 7.0
    with pytest.raises(ValueError, match="Own/f-v0: its function returns other values than when from_function took it"):
        pinned("Own/f-v0", {})


def test_copies_and_pickles(file: Path) -> None:
    box = [np.array([0.2, 0.9]), np.array([0.5, 0.5])]
    for env, actions in ((from_table(FRAME, "yield"), [0, 3]), (from_function(bowl, BOUNDS, noise_std=0.3), box)):
        expected = rewards(env, actions)
        for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
            assert rewards(twin, actions) == expected
    local = from_function(lambda x: x[0], [(0, 1)])
    twin = pickle.loads(cloudpickle.dumps(local))
    assert rewards(twin, [np.array([0.25])]) == [0.25]


def test_pictures_without_an_optimum() -> None:
    env = from_function(bowl, BOUNDS)
    drawn: Any = gym.make(env.spec.id, render_mode="rgb_array")
    rewards(drawn, [np.array([0.3, 0.3]), np.array([0.9, 0.1])])
    assert drawn.render().shape == (400, 960, 3)
    text = gym.make(env.spec.id, render_mode="ansi")
    rewards(text, [np.array([0.3, 0.3])])
    assert "best mean -1" in str(text.render())


def test_the_package_offers_them_and_nothing_else() -> None:
    assert {"from_function", "from_table"} <= set(gpbandit_envs.__all__)
    with pytest.raises(AttributeError, match="no attribute 'from_nothing'"):
        _ = gpbandit_envs.from_nothing


def test_a_module_that_names_a_function_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a suite names it, so that other processes can build it."""
    (tmp_path / "my_reactor.py").write_text(
        "import gpbandit_envs\n\n\ndef reactor(x):\n    return -x[0] ** 2\n\n\n"
        "gpbandit_envs.from_function(reactor, [(0, 2)], noise_std=0.1)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    env = gym.make("my_reactor:Own/reactor-v0")
    env.reset(seed=0)
    assert env.step(np.array([0.5]))[4]["oracle"]["mean"] == -1.0
    found: Any = pinned("my_reactor:Own/reactor-v0", {})
    assert (found.id, found.name) == ("my_reactor:Own/reactor-v0", "reactor")
    assert found.kwargs["noise_std"] == 0.1
    assert rewards(gym.make(found.id, **found.kwargs), [np.array([0.5])]) == rewards(env, [np.array([0.5])])


def test_two_columns_of_one_name_are_refused_in_a_file_too(tmp_path: Path) -> None:
    path = tmp_path / "twice.csv"
    for header in ("x,yield,yield", "x,yield, yield "):
        path.write_text(f"{header}\n1,2,3\n2,3,5\n")
        with pytest.raises(ValueError, match=r"file: expected different names of columns, got 'yield' twice in .*csv"):
            from_table(path, "yield")


def test_names_in_a_file_are_those_that_it_has(tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    path.write_text("catalyst ,y\n1.1,10\n1.10,90\n007,50\n7,20\n")
    env: Any = from_table(path, "y", categorical=["catalyst"]).unwrapped
    assert env.problem.notes["features"] == tuple(f"catalyst={name}" for name in ("007", "1.1", "1.10", "7"))
    env.reset(seed=0)
    assert env.mean(range(4)) == pytest.approx([0.0, 1.0, 0.5, 0.125])


def test_a_column_of_objects_that_are_numbers_is_one_of_numbers() -> None:
    frame = pd.DataFrame({"x": np.array([1, 2.5, Decimal("4")], dtype=object), "y": [1.0, 2.0, 3.0]})
    env: Any = from_table(frame, "y").unwrapped
    assert env.problem.arms.tolist() == [[0.0], [0.5], [1.0]]


@pytest.mark.wrong_arguments
def test_minimise_is_no_word(file: Path) -> None:
    match = "minimise: expected True or False, got 'false'"
    with pytest.raises(TypeError, match=match):
        from_table(file, "yield", minimise="false")
    with pytest.raises(TypeError, match=match):
        from_function(lambda x: x[0], [(0, 1)], minimise="false")
    with pytest.raises(TypeError, match=match):
        gym.make("GPBandit/Table-v0", file=str(file), target="yield", minimise="false")


@pytest.mark.wrong_arguments
@pytest.mark.parametrize(
    ("certify", "error", "message"),
    [
        (2.0, TypeError, r"certify: expected True, False or norms such as \[1.0, 2.0\], got 2.0"),
        ("yes", TypeError, "certify: expected True, False or norms"),
        ([1.0, -1.0], ValueError, "certify: expected a finite number > 0, got -1.0"),
    ],
)
def test_wrong_norms_register_nothing(certify: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        from_table(FRAME, "yield", certify=certify, name="wrong")
    assert "Own/wrong-v0" not in gym.registry


@pytest.mark.wrong_arguments
def test_a_grid_may_be_a_whole_number_of_another_type() -> None:
    for grid in (11.0, np.int64(11)):
        assert from_function(bowl, BOUNDS, grid=grid).action_space == gym.spaces.Discrete(121)


def test_arms_of_a_grid_stand_for_different_values() -> None:
    domain = Domain(
        (
            Dimension(choices=("a", "b", "c")),
            Dimension(0, 2, integer=True),
            Dimension(1, 1_000, integer=True, log=True),
            Dimension(-1, 1),
        )
    )
    env: Any = from_function(lambda x: x.sum(), domain, grid=5).unwrapped
    values = domain.values(env.problem.arms)
    assert env.problem.n_arms == 3 * 3 * 5 * 5 == len(np.unique(values, axis=0))
    assert np.array_equal(domain.snap(env.problem.arms), env.problem.arms)
    assert [sorted(set(column)) for column in values.T] == [
        [0, 1, 2],
        [0, 1, 2],
        [1, 3, 22, 150, 1000],  # the rounded powers of .5 * 2001 ** (k / 4)
        [-1, -0.5, 0, 0.5, 1],
    ]
    assert env.problem.n_arms == gym.make(env.spec.id).action_space.n  # type: ignore[attr-defined]
    two: Any = from_function(lambda x: x.sum(), [(0, 1), (0, 2)], grid=3).unwrapped
    assert np.array_equal(two.problem.arms, lattice(3, 2))


def test_a_grid_counts_the_arms_that_it_has() -> None:
    switches = Domain((Dimension(choices=("a", "b")),) * 12)
    assert from_function(lambda x: x.sum(), switches, grid=50).unwrapped.problem.n_arms == 4_096
    with pytest.raises(ValueError, match="grid: expected None, as choices alone make too many arms in 40 dimensions"):
        from_function(lambda x: x.sum(), Domain((Dimension(choices=("a", "b")),) * 40), grid=2)


def test_dimensions_have_different_names() -> None:
    domain = Domain((Dimension(name="a"), Dimension(), Dimension(name="a")))
    with pytest.raises(ValueError, match="bounds: expected different names of dimensions, got 'a' twice"):
        from_function(lambda x: x[0], domain)


def test_sleeping_arms_of_a_certified_table_say_what_to_do() -> None:
    x = np.arange(12.0)
    from_table(pd.DataFrame({"x": x, "y": np.sin(x)}), "y", certify=[1.0], name="proven")
    with pytest.raises(ValueError, match="of: expected an environment without a certificate, got 'Own/proven-v0'"):
        gym.make("GPBandit/SleepingArms-v0", of="Own/proven-v0")
    plain: Any = gym.make("GPBandit/SleepingArms-v0", of="Own/proven-v0", settings={"certified": False})
    assert plain.unwrapped.problem.n_arms == 12
    with pytest.raises(TypeError, match="settings: unknown argument 'n_arm' of GPBandit/RKHS-v0; it takes n_arms, "):
        gym.make("GPBandit/SleepingArms-v0", settings={"n_arm": 5})


@pytest.mark.wrong_arguments
def test_minimise_may_be_a_truth_value_of_numpy(file: Path) -> None:
    for env in (
        from_table(file, "yield", minimise=np.bool_(True)),
        from_table(FRAME, "yield", minimise=np.bool_(True)),
        from_function(lambda x: x[0], [(0, 1)], minimise=np.bool_(True)),
    ):
        assert json.loads(json.dumps(env.spec.kwargs)) == env.spec.kwargs
        assert env.unwrapped.problem.notes["minimise"] is True
