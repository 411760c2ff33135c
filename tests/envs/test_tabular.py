"""Environments over real data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from gpbandit_envs import datasets
from gpbandit_envs.datasets.nasbench101 import enumerate_cells
from gpbandit_envs.envs.tabular import fit_linear_ard
from gpbandit_envs.gp import SE
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
