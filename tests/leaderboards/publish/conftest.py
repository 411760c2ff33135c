from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from leaderboards.publish import boards
from leaderboards.publish.boards import Board
from leaderboards.store.store import Store
from tests.leaderboards.publish.boards import played


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Board]:
    """A results folder and its board, to be read only."""
    return played(tmp_path_factory.mktemp("small"))


@pytest.fixture
def own(made: tuple[Store, Board], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Board:
    """A copy of the board in a package of its own, to be changed."""
    folder = tmp_path / "package" / "small"
    shutil.copytree(made[1].directory, folder)
    monkeypatch.setattr(boards, "_BOARDS", folder.parent)
    return Board(folder)
