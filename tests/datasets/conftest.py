from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from gpbandit_envs.datasets import FetchError, Table, cache, cached_only, download, fetch, load

REPOSITORY = Path(__file__).parents[2]
TEST_DATA = "GPBANDIT_TEST_DATA"

BESIDE = {
    "Neurostimulation": "neurostimulation",
    "OERPlates": "oer_plates",
    "CrossedBarrel": "crossed_barrel",
    "DirectArylation": "direct_arylation",
}
"""Data sets whose public addresses a test machine may not reach, and the folder of test data with their files."""

Load = Callable[..., Table]


def folder_of_data() -> Path:
    """The folder of test data, whether or not it exists."""
    return Path(os.environ.get(TEST_DATA, REPOSITORY.parent / "shared" / "data"))


def beside(name: str) -> Path:
    """A file or folder of test data; skips the test where it is absent."""
    folder = folder_of_data()
    if not (folder / name).exists():
        pytest.skip(f"{name} is not in {folder}; set {TEST_DATA} to the folder that holds it")
    return folder / name


def at_hand(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes a data set loadable by its name, in other processes too; skips the test where it cannot be had.

    It is taken from the user's cache, from the files beside the repository, by way of a cache in `folder`, or from its
    public address.
    """
    with contextlib.suppress(FetchError), cached_only():
        fetch(name)
        return
    data = folder_of_data()
    if name in BESIDE and (data / BESIDE[name]).exists():
        monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(folder))
        fetch(name, file=data / BESIDE[name])
        return
    try:
        fetch(name)
    except FetchError as error:
        pytest.skip(error.reason)


@pytest.fixture
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the test's own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(folder))
    monkeypatch.delenv(download.OFFLINE, raising=False)
    return folder


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fetches are tried again at once."""
    monkeypatch.setattr(download, "_FIRST_WAIT_S", 0.01)


@pytest.fixture(scope="session")
def shared_cache() -> Path:
    """The user's cache, or the one that the environment names: each archive is fetched once on a machine."""
    return cache.root()


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[str, str]], None]:
    """Sets several environment variables for the length of a test."""

    def set_all(values: Mapping[str, str]) -> None:
        for name, value in values.items():
            monkeypatch.setenv(name, value)

    return set_all


@pytest.fixture
def real(shared_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Loads a real table: from the package index and the shared cache, or from the files beside the repository."""

    def load_real(name: str, **options: Any) -> Table:
        if name not in BESIDE:
            return load(name, **options)
        folder = beside(BESIDE[name])
        monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(tmp_path / "cache"))
        return load(name, file=folder, **options)

    return load_real
