"""Tables on disk and in memory."""

from __future__ import annotations

import copy
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from gpbandit_envs.datasets import DataError, Table, cache, download, fetch, load
from gpbandit_envs.datasets.errors import IntegrityError


def table(**changes: object) -> Table:
    fields: dict[str, object] = {
        "name": "Toy",
        "features": np.arange(6.0).reshape(3, 2),
        "feature_names": ("a", "b"),
        "values": np.array([[1.0, 2.0], [3.0, np.nan], [0.5, 0.25]]),
        "costs": np.array([1.0, 2.0, 3.0]),
        "labels": ("x", "ÿ", "zz"),
        "neighbours": np.array([[1, -1], [0, 2], [1, -1]]),
        "notes": {"unit": "mm", "count": 3},
    }
    return Table(**{**fields, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("without", [(), ("costs",), ("labels", "neighbours"), ("costs", "labels", "neighbours")])
def test_what_is_stored_is_what_is_read(tmp_path: Path, without: tuple[str, ...]) -> None:
    stored = table(**dict.fromkeys(without))
    cache.write_table(tmp_path / "t.npz", stored)
    found = cache.read_table(tmp_path / "t.npz")
    for name in ("name", "feature_names", "labels", "notes"):
        assert getattr(found, name) == getattr(stored, name)
    for name in ("features", "values", "costs", "neighbours"):
        a, b = getattr(found, name), getattr(stored, name)
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_array_equal(a, b)
            assert not a.flags.writeable
    assert [p.name for p in tmp_path.iterdir()] == ["t.npz"]


def test_any_damage_to_a_stored_table_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    cache.write_table(path, table())
    whole = path.read_bytes()
    for length in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(IntegrityError, match="Delete it"):
            cache.read_table(path)
    start = whole.index(np.arange(6.0).tobytes())
    path.write_bytes(whole[: start + 9] + b"\x01" + whole[start + 10 :])
    with pytest.raises(IntegrityError, match="Delete it"):
        cache.read_table(path)


def test_stored_objects_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    np.savez(path, facts=np.array([{"format": 1}], dtype=object))
    with pytest.raises(IntegrityError, match="Delete it"):
        cache.read_table(path)


@pytest.mark.parametrize(
    "header",
    [
        "(",  # tokenize.TokenError
        "{[1]: 2}",  # TypeError
        "{'descr': ',,', 'fortran_order': False, 'shape': (9,), }",  # SyntaxError
        "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }",  # valid, but the facts are a list: TypeError
    ],
)
def test_whatever_numpy_raises_the_file_is_named(tmp_path: Path, header: str) -> None:
    path = tmp_path / "t.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("facts.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + b"[]")
    with pytest.raises(IntegrityError, match=r"t\.npz: damaged .* Delete it"):
        cache.read_table(path)


def test_the_path_tells_options_and_pins_apart() -> None:
    paths = {
        cache.table_path("Toy", options, identity)
        for options in ({}, {"dataset": "a"}, {"dataset": "b"}, {"dataset": "a/../.."})
        for identity in ({"revision": 1}, {"revision": 2})
    }
    assert len(paths) == 8
    assert {path.parent for path in paths} == {cache.root() / "tables"}


def test_the_cache_folder_can_be_moved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GPBANDIT_DATA", str(tmp_path))
    assert cache.root() == tmp_path
    monkeypatch.setenv("GPBANDIT_DATA", "")
    assert cache.root().name == "gpbandit-envs"


def test_a_cache_folder_that_cannot_be_written_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("GPBANDIT_DATA", str(tmp_path / "file"))
    monkeypatch.delenv(download.OFFLINE, raising=False)
    for attempt in (lambda: load("Abalone"), lambda: fetch("Abalone", file=tmp_path / "file")):
        with pytest.raises(DataError, match=r"file cannot be written .* GPBANDIT_DATA"):
            attempt()


def test_means_ignore_missing_replicates() -> None:
    np.testing.assert_allclose(table().mean, [1.5, 3.0, 0.375])
    np.testing.assert_array_equal(table().n_replicates, [2, 1, 2])


def test_tables_are_read_only_and_can_be_copied() -> None:
    given = np.arange(6.0).reshape(3, 2)
    original = table(features=given)
    given[0, 0] = 99.0
    assert original.features[0, 0] == 0.0
    for twin in (original, pickle.loads(pickle.dumps(original)), copy.deepcopy(original)):
        np.testing.assert_array_equal(twin.features, original.features)
        with pytest.raises(ValueError, match="read-only"):
            twin.features[0, 0] = 1.0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("features", np.zeros(3)),
        ("features", np.zeros((0, 2))),
        ("features", np.full((3, 2), np.nan)),
        ("feature_names", ("a",)),
        ("values", np.zeros((2, 1))),
        ("values", np.array([[np.nan, 1.0], [1.0, 1.0], [1.0, 1.0]])),
        ("values", np.array([[np.inf], [1.0], [1.0]])),
        ("costs", np.array([1.0, np.nan, 1.0])),
        ("costs", np.array([1.0, -1.0, 1.0])),
        ("labels", ("a", "b")),
        ("neighbours", np.array([[3], [0], [1]])),
    ],
)
def test_contradictions_are_named(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"^{field}: expected"):
        table(**{field: value})
