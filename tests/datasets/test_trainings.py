"""Tables of trainings: NAS-Bench-201, FC-Net, HPOBench, and the full grids that they are recorded on."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path

import numpy as np
import pytest

from gpbandit_envs import datasets
from gpbandit_envs.datasets.errors import IntegrityError
from gpbandit_envs.datasets.readers import read_plain_pickle
from gpbandit_envs.datasets.trainings import Factor, grid_features, grid_neighbours, read_trainings
from tests.datasets.conftest import Load

# Largest means over seeds on the three data sets.
BEST = {"cifar10": 91.607, "cifar100": 73.493, "imagenet16-120": 46.733}


FACTORS = (Factor("a", (0.0, 1.0)), Factor("b", (1.0, 3.0, 9.0)), Factor("c", (0.0, 1.0, 2.0, 3.0), ordered=False))


@pytest.mark.network
@pytest.mark.parametrize("dataset", BEST)
def test_best_cells_of_nasbench201(real: Load, dataset: str) -> None:
    table = real("NASBench201", dataset=dataset)
    assert table.mean.max() == pytest.approx(BEST[dataset], abs=5e-4)
    assert np.bincount(table.n_replicates).tolist() == [0, 0, 7_456, 8_169]
    assert table.costs is not None
    assert (table.costs > 0).all()


@pytest.mark.network
def test_the_edges_of_nasbench201_are_in_the_stated_order(real: Load) -> None:
    table = real("NASBench201")
    assert table.labels is not None
    none = np.array([[digit == "0" for digit in label] for label in table.labels])
    edge = {name: none[:, i] for i, name in enumerate(("0-1", "0-2", "1-2", "0-3", "1-3", "2-3"))}
    to_1 = ~edge["0-1"]
    to_2 = ~edge["0-2"] | (to_1 & ~edge["1-2"])
    to_3 = ~edge["0-3"] | (to_1 & ~edge["1-3"]) | (to_2 & ~edge["2-3"])
    # A cell whose output is cut off from its input cannot do better than chance, one in ten.
    assert table.mean[~to_3].max() < 10
    assert (table.mean[to_3] > 20).mean() > 0.9
    np.testing.assert_array_equal(table.features.reshape(-1, 6, 5)[:, :, 0], none)


@pytest.mark.network
@pytest.mark.parametrize(
    ("name", "dataset", "file"),
    [("FCNet", "protein-structure", "protein_structure.pkl"), ("HPOBenchMLP", "credit-g", "credit_g.pkl")],
)
def test_rows_stand_for_their_records(real: Load, name: str, dataset: str, file: str) -> None:
    table = real(name, dataset=dataset)
    records = read_plain_pickle(datasets.fetch(name) / file)
    keys = sorted(records)
    assert len(keys) == table.n_arms
    levels = [np.unique(column) for column in table.features.T]
    assert table.costs is not None
    for i in np.random.default_rng(0).choice(table.n_arms, 200, replace=False):
        digits = [int(np.searchsorted(level, x)) for level, x in zip(levels, table.features[i])]
        record = records["".join(map(str, digits))]
        if name == "FCNet":
            np.testing.assert_allclose(np.exp(-table.values[i]), record["val_loss"], rtol=1e-12)
        else:
            np.testing.assert_array_equal(table.values[i], record["val_acc"])
        assert table.costs[i] == pytest.approx(np.mean(record["train_time"]), rel=1e-12)


@pytest.mark.network
def test_hyperparameters_are_those_of_the_benchmarks(real: Load) -> None:
    net, perceptron = real("FCNet"), real("HPOBenchMLP")
    rates = 10 ** np.unique(net.features[:, 5])
    np.testing.assert_allclose(rates, [5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 1e-1], rtol=1e-12)
    np.testing.assert_array_equal(2 ** np.unique(net.features[:, 7]), [16, 32, 64, 128, 256, 512])
    np.testing.assert_allclose(10 ** np.unique(perceptron.features[:, 0])[1], 7.742637e-8, rtol=1e-6)
    np.testing.assert_allclose(2 ** np.unique(perceptron.features[:, 4])[-2], 645, rtol=1e-12)
    # Larger networks take longer to train; a mix-up of columns would break this.
    for table, column in ((net, 7), (perceptron, 2)):
        assert table.costs is not None
        small, large = (table.features[:, column] == edge(table.features[:, column]) for edge in (np.min, np.max))
        assert table.costs[large].mean() > table.costs[small].mean()


def test_records_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.pkl"
    good = {"0": {"loss": [1.0, 2.0], "train_time": [3.0, 5.0]}, "1": {"loss": [4.0], "train_time": [6.0]}}
    path.write_bytes(pickle.dumps(good))
    values, costs = read_trainings(path, "loss", ["0", "1"])
    np.testing.assert_array_equal(values, [[1, 2], [4, np.nan]])
    assert costs.tolist() == [4, 6]
    with pytest.raises(IntegrityError, match="a record for each of 3 configurations"):
        read_trainings(path, "loss", ["0", "1", "2"])
    with pytest.raises(IntegrityError, match="lacks accuracy"):
        read_trainings(path, "accuracy", ["0", "1"])


def test_points_are_all_combinations_with_the_last_factor_fastest() -> None:
    expected = list(itertools.product(*(factor.levels for factor in FACTORS)))
    np.testing.assert_array_equal(grid_features(FACTORS), expected)


def test_neighbours_are_those_of_a_search_over_all_pairs() -> None:
    digits = list(itertools.product(*(range(len(factor.levels)) for factor in FACTORS)))

    def adjacent(p: tuple[int, ...], q: tuple[int, ...]) -> bool:
        moved = [i for i in range(len(FACTORS)) if p[i] != q[i]]
        return len(moved) == 1 and (not FACTORS[moved[0]].ordered or abs(p[moved[0]] - q[moved[0]]) == 1)

    found = grid_neighbours(FACTORS)
    for i, p in enumerate(digits):
        expected = [j for j, q in enumerate(digits) if adjacent(p, q)]
        assert found[i].tolist() == expected + [-1] * (found.shape[1] - len(expected))
