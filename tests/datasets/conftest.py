from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from gpbandit_envs.datasets.cache import ENVIRONMENT_VARIABLE

REPOSITORY = Path(__file__).parents[2]
TEST_DATA = "GPBANDIT_TEST_DATA"


@pytest.fixture
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the test's own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(folder))
    return folder


@pytest.fixture(scope="session")
def shared_cache() -> Path:
    """The user's cache, or the one that the environment names: each archive is fetched once on a machine."""
    from gpbandit_envs.datasets import cache

    return cache.root()


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> object:
    """Sets several environment variables for the length of a test."""

    def set_all(values: Mapping[str, str]) -> None:
        for name, value in values.items():
            monkeypatch.setenv(name, value)

    return set_all


@pytest.fixture
def test_data() -> object:
    """Path of a file beside the repository with data that cannot be fetched everywhere; skips where it is absent."""

    def path(name: str) -> Path:
        folder = Path(os.environ.get(TEST_DATA, REPOSITORY.parent / "shared" / "data"))
        if not (folder / name).exists():
            pytest.skip(f"{name} is not in {folder}; set {TEST_DATA} to the folder that holds it")
        return folder / name

    return path
