"""Environments over real data."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import gpbandit_envs  # noqa: F401 - registers the ids
from gpbandit_envs import datasets
from gpbandit_envs.datasets.nasbench101 import enumerate_cells
from gpbandit_envs.datasets.table import Table, neighbours_among
from gpbandit_envs.envs.bandit import FiniteArmEnv
from gpbandit_envs.envs.recipe import EnvRecipe, composed
from gpbandit_envs.envs.tabular import fit_linear_ard
from gpbandit_envs.functions.base import FixedArms, Rows, set_apart
from gpbandit_envs.functions.closed_forms import MOST_SHIFT
from gpbandit_envs.gp import SE
from gpbandit_envs.noise import ArmNoise, GaussianNoise, TableNoise
from tests.envs.catalogue import CASES


def table(name: str) -> datasets.Table:
    next(case for case in CASES if case.id == f"GPBandit/{name}-v0").require()
    return datasets.load(name)


@pytest.mark.network
def test_abalone() -> None:
    raw = table("Abalone")
    env = gym.make("GPBandit/Abalone-v0")
    env.reset(seed=0)
    problem = env.unwrapped.problem  # type: ignore[attr-defined]
    assert problem.arms.shape == (4_177, 8)
    np.testing.assert_allclose(problem.arms.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(problem.arms.std(axis=0), 1, rtol=1e-12)
    rings = raw.values[:, 0]
    expected = (rings - 1) / 28
    mean = env.unwrapped.mean(np.arange(4_177))  # type: ignore[attr-defined]
    np.testing.assert_allclose(mean, expected, atol=1e-15)
    assert env.unwrapped.certificate.optimum == 1.0  # type: ignore[attr-defined]
    assert (problem.noise_std, problem.norm_bound, problem.knowledge, problem.horizon) == (
        0.01,
        None,
        "learned",
        10_000,
    )
    assert problem.kernel == SE(17.5)
    chosen = gym.make("GPBandit/Abalone-v0", kernel={"name": "se", "lengthscale": 5.0}).unwrapped
    assert chosen.problem.kernel == SE(5.0)  # type: ignore[attr-defined]


@pytest.mark.network
@pytest.mark.parametrize("name", ["Abalone", "Cadata"])
def test_features_can_be_scaled_in_three_ways(name: str) -> None:
    raw = table(name).features
    found = {}
    for scaling in ("standard", "minmax", "unit-norm"):
        env = gym.make(f"GPBandit/{name}-v0", scaling=scaling).unwrapped
        found[scaling] = env.problem.arms  # type: ignore[attr-defined]
    np.testing.assert_allclose(found["standard"] * raw.std(axis=0) + raw.mean(axis=0), raw, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found["minmax"] * np.ptp(raw, axis=0) + raw.min(axis=0), raw, rtol=1e-9, atol=1e-9)
    assert (found["minmax"].min(), found["minmax"].max()) == (0.0, 1.0)
    norms = np.linalg.norm(found["standard"], axis=1)
    assert np.linalg.norm(found["unit-norm"], axis=1).max() == pytest.approx(1.0)
    np.testing.assert_allclose(found["unit-norm"] * norms.max(), found["standard"], atol=1e-9)
    with pytest.raises(ValueError, match="scaling: expected 'standard', 'minmax' or 'unit-norm', got 'raw'"):
        gym.make(f"GPBandit/{name}-v0", scaling="raw")


@pytest.mark.network
def test_environments_of_one_table_share_its_arrays() -> None:
    table("Abalone")
    one, other = (gym.make("GPBandit/Abalone-v0").unwrapped for _ in range(2))
    assert one.problem.arms is other.problem.arms  # type: ignore[attr-defined]


@pytest.mark.network
@pytest.mark.parametrize("name", ["NASBench201", "FCNet", "HPOBenchMLP", "CrossedBarrel"])
def test_feedback_is_a_real_replicate_and_the_mean_is_theirs(name: str) -> None:
    raw = table(name)
    low, high = np.nanmin(raw.values), np.nanmax(raw.values)
    env = gym.make(f"GPBandit/{name}-v0")
    env.reset(seed=0)
    assert env.unwrapped.problem.notes["target_range"] == (low, high)  # type: ignore[attr-defined]
    for arm in np.random.default_rng(0).integers(0, raw.n_arms, 20).tolist():
        replicates = (raw.values[arm][~np.isnan(raw.values[arm])] - low) / (high - low)
        _, reward, _, _, info = env.step(arm)
        assert np.abs(replicates - float(reward)).min() < 1e-12
        assert info["oracle"]["mean"] == pytest.approx(replicates.mean())
        assert info["cost"] == (1.0 if raw.costs is None else raw.costs[arm])
    best = env.unwrapped.certificate.optimal_action  # type: ignore[attr-defined]
    assert best == int(np.argmax(raw.mean))


@pytest.mark.network
def test_neighbours_reach_the_card() -> None:
    raw = table("NASBench201")
    problem = gym.make("GPBandit/NASBench201-v0").unwrapped.problem  # type: ignore[attr-defined]
    np.testing.assert_array_equal(problem.neighbours, raw.neighbours)
    assert np.linalg.norm(problem.arms, axis=1) == pytest.approx(1.0)


def test_partial_nasbench101() -> None:
    case = next(case for case in CASES if case.id == "GPBandit/NASBench101-v0")
    env = case.make()
    problem = env.unwrapped.problem
    assert problem.notes["n_with_values"] == problem.n_arms == 914
    assert problem.notes["n_candidates"] == 12_416
    edges, operations = np.linalg.norm(problem.arms[:, :15], axis=1), np.linalg.norm(problem.arms[:, 15:], axis=1)
    assert edges.max() == pytest.approx(1.0)
    assert operations.max() == pytest.approx(1.0)
    assert problem.arms.shape[1] == 19
    # Constant, as the page says: they are what appendix D.2 of the BBKB paper removes.
    assert (np.ptp(problem.arms[:, [0, 14]], axis=0) == 0).all()
    assert (problem.arms[:, [0, 14]] > 0).all()
    assert problem.neighbours is not None


def test_without_its_file_nasbench101_says_how_to_give_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPBANDIT_DATA", str(tmp_path))
    with pytest.raises(datasets.FetchError, match=r"nasbench_only108\.tfrecord"):
        gym.make("GPBandit/NASBench101-v0")


def test_a_file_that_was_edited_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPBANDIT_DATA", str(tmp_path / "cache"))
    file = tmp_path / "cells.csv"

    def n_arms(cells: int) -> int:
        lines = [f"{name},{0.9 + row / 1_000},100.0" for row, name in enumerate(enumerate_cells().hashes[:cells])]
        file.write_text("\n".join(["nb101_hash,val108,train_time_s", *lines]) + "\n", encoding="utf-8")
        env: Any = gym.make("GPBandit/NASBench101-v0", file=str(file), partial=True, noise="gaussian").unwrapped
        return int(env.problem.n_arms)

    assert [n_arms(5), n_arms(8)] == [5, 8]
    file.unlink()
    with pytest.raises(FileNotFoundError, match="file: expected an existing file"):
        gym.make("GPBandit/NASBench101-v0", file=str(file), partial=True, noise="gaussian")


@pytest.mark.network
def test_an_unknown_context_of_vaccine_is_named() -> None:
    table("Vaccine")
    with pytest.raises(ValueError, match=r"^context: expected one of 164 alleles, got 'HLA-X'"):
        gym.make("GPBandit/Vaccine-v0", context="HLA-X")


@pytest.mark.network
def test_vaccine_kernel_comes_from_the_context_alone() -> None:
    table("Vaccine")
    one = gym.make("GPBandit/Vaccine-v0").unwrapped.problem  # type: ignore[attr-defined]
    other = gym.make("GPBandit/Vaccine-v0", allele="HLA-A*02:06").unwrapped.problem  # type: ignore[attr-defined]
    elsewhere = gym.make("GPBandit/Vaccine-v0", context="HLA-A*68:02").unwrapped.problem  # type: ignore[attr-defined]
    assert one.kernel == other.kernel
    assert one.kernel != elsewhere.kernel
    # Residues 2 and 9 anchor a peptide to A*02 molecules: their factors must matter more than those of residue 4.
    weights = np.array(one.kernel.lengthscale).reshape(9, 5) ** -2.0
    by_position = weights.sum(axis=1)
    assert min(by_position[1], by_position[8]) > by_position[3]


def test_linear_ard_finds_the_weights_that_matter() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 6))
    y = 0.7 + X @ np.array([2.0, 0.0, -1.0, 0.0, 0.5, 0.0]) + 0.1 * rng.standard_normal(800)
    kernel = fit_linear_ard(X, y)
    variances = np.array(kernel.lengthscale) ** -2.0  # type: ignore[attr-defined]
    # The evidence of one strong weight is largest at its square.
    np.testing.assert_allclose(variances[[0, 2, 4]], [4.0, 1.0, 0.25], rtol=0.05)
    assert (variances[[1, 3, 5]] < 1e-3).all()
    assert kernel.offset == pytest.approx(0.49, rel=0.05)  # type: ignore[attr-defined]


def test_linear_ard_maximises_the_evidence() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 3))
    y = X @ np.array([1.0, -0.5, 0.3]) + 0.3 * rng.standard_normal(60)
    kernel = fit_linear_ard(X, y)
    residual = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]

    def evidence(scales: np.ndarray, offset: float, s2: float) -> float:
        K = offset + (X / scales) @ (X / scales).T + s2 * np.eye(60)
        return float(-0.5 * y @ np.linalg.solve(K, y) - 0.5 * np.linalg.slogdet(K)[1])

    scales, offset = np.array(kernel.lengthscale), kernel.offset  # type: ignore[attr-defined]
    noise = np.linspace(0.5, 2.0, 31) * residual.var()
    best = max(evidence(scales, offset, s2) for s2 in noise)
    for j in range(3):
        for factor in (0.7, 1.4):
            moved = scales.copy()
            moved[j] *= factor
            assert max(evidence(moved, offset, s2) for s2 in noise) < best


@pytest.mark.network
def test_the_noise_that_a_card_states_is_accepted() -> None:
    table("CrossedBarrel")
    problem = gym.make("GPBandit/CrossedBarrel-v0").unwrapped.problem  # type: ignore[attr-defined]
    again = gym.make("GPBandit/CrossedBarrel-v0", noise=problem.notes["noise"]).unwrapped
    assert again.problem.notes["noise"] == {"name": "table"}  # type: ignore[attr-defined]
    assert again.problem.noise_std == problem.noise_std  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match=r"noise: expected one of .*, table, got 'tabel'"):
        gym.make("GPBandit/CrossedBarrel-v0", noise="tabel")


@pytest.mark.network
def test_a_noise_that_is_not_stated_cannot_be_wrong() -> None:
    table("Abalone")
    assert gym.make("GPBandit/Abalone-v0", noise="table").unwrapped.problem.noise_std is None  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="misspecification: there is no noise_std in the problem"):
        gym.make("GPBandit/Abalone-v0", noise="table", misspecification={"noise": 2.0})


@pytest.mark.network
def test_options_are_checked_whatever_was_read_before() -> None:
    table("Neurostimulation")
    gym.make("GPBandit/Neurostimulation-v0", rat=11)
    for rat in (11.0, [11], True, "11"):
        with pytest.raises(TypeError, match=r"rat: expected a value of type int, got"):
            gym.make("GPBandit/Neurostimulation-v0", rat=rat)
    with pytest.raises(ValueError, match="rat: expected one of"):
        gym.make("GPBandit/Neurostimulation-v0", rat=3)


@pytest.mark.parametrize(("name", "option"), [("Vaccine", "context"), ("Vaccine", "allele"), ("XGBoost", "program")])
def test_a_list_is_no_option(name: str, option: str) -> None:
    # With a kernel of its own Vaccine fits none, and asks no data before it looks at the allele.
    kwargs: dict[str, Any] = {"kernel": None if option == "context" else {"name": "se"}, option: ["HLA-A*02:01"]}
    with pytest.raises(TypeError, match=f"{option}: expected"):
        gym.make(f"GPBandit/{name}-v0", **kwargs)


@pytest.mark.network
def test_a_deviation_beside_replicates_is_refused() -> None:
    table("HPLC")
    words = "noise_std: expected None with noise='table', where replicates are the noise, got 0.5; noise='gaussian'"
    with pytest.raises(ValueError, match=words):
        gym.make("GPBandit/HPLC-v0", noise="table", noise_std=0.5)


# ---- rows of a table that an episode draws, values in a stated unit, and known functions that are translated ----


A = 50


def on_table(rows: Any, **parts: Any) -> Any:
    rng = np.random.default_rng(3)
    arms, replicates = rng.random((A, 2)), rng.random((A, 3))
    neighbours = np.stack([np.arange(A) - 1, np.append(np.arange(1, A), -1)], axis=1)
    given: dict[str, Any] = {
        "noise": TableNoise(replicates),
        "costs": np.arange(A) + 1.0,
        "neighbours": neighbours,
    } | parts
    family = FixedArms(arms, replicates.mean(axis=1))
    recipe = EnvRecipe(family=family, kernel=SE(0.3), norm_bound=None, knowledge="learned", **given)
    return FiniteArmEnv(composed(recipe, rows=rows))


def made(id: str, **settings: Any) -> Any:
    return gym.make(f"GPBandit/{id}-v0", **settings).unwrapped


def rows_of(env: Any) -> np.ndarray:
    """Which rows of the whole table the episode has, found by their features."""
    whole = on_table(None).recipe.family.arms
    return np.array([int(np.flatnonzero((whole == arm).all(axis=1))[0]) for arm in env.problem.arms])


def test_an_episode_has_some_of_the_rows_with_all_that_belongs_to_them() -> None:
    env, whole = on_table(12), on_table(None)
    env.reset(seed=5)
    whole.reset(seed=5)
    rows = rows_of(env)
    assert env.action_space.n == len(rows) == len(set(rows)) == 12
    assert np.array_equal(env.mean(np.arange(12)), whole.mean(rows))
    assert env.optimum == whole.mean(rows).max()
    for i, row in enumerate(rows):
        reward, info = env.step(i)[1], env.step(i)[4]
        assert reward in whole.recipe.noise._values[row]  # a replicate of that very row
        assert info["cost"] == row + 1.0
        near = {int(rows[j]) for j in env.problem.neighbours[i] if j >= 0}
        assert near == {row - 1, row + 1} & set(rows.tolist())
    assert env.problem.notes["rows"] == "12 of 50, drawn anew in each episode"


def test_rows_go_with_the_function_drawn_anew_kept_or_pinned() -> None:
    env = on_table(12)
    env.reset(seed=5)
    first = rows_of(env)
    env.reset()
    second = rows_of(env)
    assert not np.array_equal(first, second)
    env.reset(options={"keep_function": True})
    assert np.array_equal(rows_of(env), second)
    env.reset(seed=5)
    assert np.array_equal(rows_of(env), first)
    pinned = FiniteArmEnv(composed(on_table(None).recipe, rows=12), instance_seed=1)
    pinned.reset(seed=5)
    there = rows_of(pinned)
    pinned.reset(seed=6)
    assert np.array_equal(rows_of(pinned), there)


def test_at_most_four_fifths_and_none_that_is_set_apart() -> None:
    env = on_table({"most": 1_000, "apart": 0.2})
    apart = set(np.flatnonzero(set_apart(A, 0.2)).tolist())
    assert len(apart) == 10
    met: set[int] = set()
    for seed in range(30):
        env.reset(seed=seed)
        assert env.action_space.n == 32  # four fifths of 40
        met |= set(rows_of(env).tolist())
    assert met == set(range(A)) - apart
    assert np.array_equal(set_apart(A, 0.2), set_apart(A, 0.2))


def test_the_noise_of_each_arm_goes_with_its_row() -> None:
    stds = np.linspace(0.1, 1.0, A)
    env = on_table(12, noise=ArmNoise(stds=stds))
    env.reset(seed=2)
    assert np.array_equal(env.problem.noise_stds, stds[rows_of(env)])


def test_what_rows_cannot_be() -> None:
    with pytest.raises(gym.error.ResetNeeded):
        on_table(12).problem  # noqa: B018 - whose arms no reset has drawn
    for wrong, names in ((0, "rows"), ({"most": 5, "share": 1}, "share"), ({"apart": 0.5}, "most")):
        with pytest.raises((TypeError, ValueError), match=names):
            on_table(wrong)
    with pytest.raises(ValueError, match=r"rows\['apart'\].*\[0, 1\).*1"):
        Rows(5, 1.0)
    with pytest.raises(ValueError, match=r"rows.*1 row"):
        Rows(5).number(1)
    with pytest.raises(ValueError, match=r"rows.*box"):
        gym.make("GPBandit/Branin-v0", rows=5)
    with pytest.raises(ValueError, match=r"rows.*changes"):
        gym.make("GPBandit/TVGPSample-v0", n_arms=20, rows=5)
    with pytest.raises(ValueError, match=r"rows.*offer"):
        gym.make("GPBandit/RKHSContext-v0", rows=5)


def test_drawn_functions_have_rows_too_and_the_norm_stays_that_of_the_whole() -> None:
    env = made("RKHS", n_arms=40, norm=2.0, rows=10)
    env.reset(seed=1)
    assert env.problem.arms.shape == (10, 1)
    assert env.problem.norm_bound == 2.0
    assert env.certificate.norm == pytest.approx(2.0)


def test_neighbours_among_renumbers_and_pads_last() -> None:
    neighbours = np.array([[1, 2], [0, 3], [3, -1], [-1, 1]])
    kept = np.array([True, False, True, True])
    assert neighbours_among(neighbours, kept).tolist() == [[1, -1], [2, -1], [-1, -1]]


def test_values_of_a_table_in_a_stated_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpbandit_envs import datasets
    from gpbandit_envs.envs import tabular

    features = np.arange(12.0)[:, None]
    values = np.stack([np.linspace(2, 8, 12), np.linspace(3, 9, 12)], axis=1)
    table = Table(name="HPLC", features=features, feature_names=("x",), values=values)
    tabular._load_scaled.cache_clear()
    monkeypatch.setattr(datasets, "load", lambda *_, **__: table)
    try:
        unit = tabular.TableTask("HPLC")(noise="table")
        stated = tabular.TableTask("HPLC")(noise="table", values={"centre": 0.25, "scale": 0.5})
    finally:
        tabular._load_scaled.cache_clear()
    rng = np.random.default_rng(0)
    families: list[Any] = [unit.family, stated.family]
    mean, other = (family.draw(rng).mean for family in families)
    assert other == pytest.approx((mean - 0.25) / 0.5)
    assert stated.noise.std == pytest.approx(unit.noise.std / 0.5)  # the replicates are in the same unit
    cases: Any = (({"centre": 0.0}, TypeError), ({"centre": 0.0, "scale": 0.0}, ValueError), (3, TypeError))
    for wrong, error in cases:
        with pytest.raises(error, match="values"):
            tabular._centre_and_scale(wrong)


FORMS = ("Branin", "Hartmann3", "Hartmann6", "Deceptive", "H1", "Cosines", "Rosenbrock")


@pytest.mark.parametrize("name", FORMS)
def test_a_shifted_function_has_its_optimum_where_it_says_and_no_larger_value(name: str) -> None:
    still = made(name)
    env = made(name, shift=True)
    still.reset(seed=0)
    best, places = np.array(still.certificate.optimal_action), []
    for seed in range(20):
        env.reset(seed=seed)
        found = env.certificate
        place = np.array(found.optimal_action)
        places.append(place)
        assert ((place >= 0) & (place <= 1)).all()
        assert np.abs(place - best).max() <= MOST_SHIFT + 1e-12
        assert found.optimum == still.optimum
        # A rounding of 2^-53 in a coordinate, times the slope of the steepest form at its maximum (Deceptive, 30).
        assert env.mean(place[None])[0] == pytest.approx(found.optimum, abs=1e-10)
        assert env.mean(np.random.default_rng(seed).random((2_000, len(place)))).max() <= found.optimum + 1e-10
    assert np.ptp(places, axis=0).min() > 0.02  # each coordinate moves
    env.reset(seed=3)
    again = env.certificate.optimal_action
    env.reset(seed=3)
    assert env.certificate.optimal_action == again


def test_inside_its_box_a_shifted_function_is_the_translated_one() -> None:
    still, env = made("Branin"), made("Branin", shift=True)
    still.reset(seed=0)
    env.reset(seed=7)
    s = np.array(still.certificate.optimal_action) - np.array(env.certificate.optimal_action)
    X = 0.2 + 0.6 * np.random.default_rng(0).random((50, 2))
    assert env.mean(X) == pytest.approx(still.mean(X + s))


def test_a_shifted_function_is_saved_while_its_run_goes_on() -> None:
    env = made("H1", shift=True)
    env.reset(seed=2)
    X = np.random.default_rng(0).random((5, 2))
    again = pickle.loads(pickle.dumps(env))
    np.testing.assert_array_equal(again.mean(X), env.mean(X))
    assert again.certificate.optimal_action == env.certificate.optimal_action


def test_what_shift_cannot_be() -> None:
    with pytest.raises(ValueError, match=r"shift.*grid=9"):
        gym.make("GPBandit/Branin-v0", shift=True, grid=9)
    with pytest.raises(TypeError, match=r"shift.*0.1"):
        gym.make("GPBandit/Branin-v0", shift=0.1)


def test_a_wrong_variance_is_stated_and_called_misspecified() -> None:
    true = made("GPSample", n_arms=30)
    wrong = made("GPSample", n_arms=30, misspecification={"variance": 4.0})
    arms = true.problem.arms
    assert wrong.problem.kernel(arms, arms) == pytest.approx(4 * true.problem.kernel(arms, arms))
    assert wrong.problem.knowledge == "misspecified"
    true.reset(seed=1)
    wrong.reset(seed=1)
    assert np.array_equal(true.mean(np.arange(30)), wrong.mean(np.arange(30)))  # the function is what it was
    recipe = EnvRecipe(
        family=FixedArms(np.zeros((2, 1)), np.array([0.0, 1.0])), noise=GaussianNoise(0.1), kernel=None, norm_bound=None
    )
    with pytest.raises(ValueError, match=r"no kernel.*variance"):
        composed(recipe, misspecification={"variance": 2.0})


def test_rows_may_all_be_without_noise() -> None:
    """Of deviations by arm some are above 0; those of an episode need not be."""
    env: Any = gym.make("GPBandit/RKHS-v0", n_arms=6, rows=2, noise={"name": "by_arm", "stds": [0, 0, 0, 0.1, 0.1, 1]})
    seen = set()
    for seed in range(12):
        env.reset(seed=seed)
        stds = env.unwrapped.problem.noise_stds
        arm = int(np.argmin(stds))
        _, reward, _, _, info = env.step(arm)
        assert (reward == info["oracle"]["mean"]) == (stds[arm] == 0)
        seen.add(tuple((stds > 0).tolist()))
    assert (False, False) in seen
    assert len(seen) > 1
