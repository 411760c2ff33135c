"""A board whose runs the wheel leaves out is fetched by its manifest, and then read as any other."""

from __future__ import annotations

import io
import shutil
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

import pytest

from gpbandit_envs.version import __version__
from leaderboards.cli.app import execute
from leaderboards.cli.errors import UserError
from leaderboards.publish import boards, fetch
from leaderboards.publish.boards import board, is_here, pack_board
from leaderboards.store.intact import StoreError
from leaderboards.store.provenance import MANIFEST
from tests.leaderboards.publish.boards import small_suite

Shipped = tuple[str, Path]


@pytest.fixture
def shipped(made: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Shipped:
    """The name of a board of which the package has the manifest alone, and the packed board."""
    _, found = made
    archive = tmp_path / "packed.zip"
    pack_board(found, archive)
    name = small_suite().name
    package = tmp_path / "boards" / name
    package.mkdir(parents=True)
    shutil.copy(found.directory / MANIFEST, package)
    monkeypatch.setattr(boards, "_BOARDS", package.parent)
    monkeypatch.setenv("GPBANDIT_DATA", str(tmp_path / "cache"))
    return name, archive


def test_it_is_named_until_it_is_fetched_from_a_file(shipped: Shipped, capsys: pytest.CaptureFixture[str]) -> None:
    name, archive = shipped
    assert not is_here(name)
    said = rf"the runs of '{name}' do not come with the package; `gpbandit board fetch {name}` gets them"
    with pytest.raises(ValueError, match=said):
        board(name)
    with pytest.raises(ValueError, match=said):
        boards.board_of("board", small_suite())
    with pytest.raises(UserError, match=r"no public address is stated yet; give the packed board .* with --file"):
        execute(["board", "fetch", name])
    assert execute(["board", "fetch", name, "--file", str(archive)]) == 0
    assert execute(["board", "fetch", name]) == 0  # is kept
    assert is_here(name)
    found = board(name)
    assert found.done_keys()
    assert capsys.readouterr().out.splitlines() == [f"{name} is in {found.directory}"] * 2


@pytest.mark.parametrize("wrong", ["another file", "a file less", "no archive", "bits"])
def test_what_is_not_the_board_is_refused_and_leaves_nothing(shipped: Shipped, wrong: str, tmp_path: Path) -> None:
    name, archive = shipped
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(other, "w") as new:
        names = [each for each in old.namelist() if each.startswith("runs/")]
        for each in names[1:] if wrong == "a file less" else names:
            content = old.read(each)
            new.writestr(each, content[:-1] + b"x" if wrong == "bits" else content)
        new.writestr("../outside", b"x")
    if wrong == "no archive":
        other.write_bytes(b"no zip")
    if wrong == "another file":
        fetch.fetch_board(boards.board_folder(name), other)  # which is left where it is
        assert not list(tmp_path.rglob("outside"))
        return
    with pytest.raises(StoreError, match=r"is not that of the board|expected the packed board"):
        fetch.fetch_board(boards.board_folder(name), other)
    assert not is_here(name)
    assert not list((tmp_path / "cache" / "boards").iterdir())
    with pytest.raises(ValueError, match="expected the name of a board of the package, got 'nothing'"):
        fetch.fetch_board(tmp_path / "nothing")


def test_it_is_downloaded_from_the_address(shipped: Shipped, monkeypatch: pytest.MonkeyPatch) -> None:
    name, archive = shipped
    asked: list[str] = []

    def opened(url: str, timeout: float) -> Any:
        asked.append(url)
        if len(asked) == 1:
            raise urllib.error.URLError("no route to host")
        return io.BytesIO(archive.read_bytes())

    monkeypatch.setattr(fetch, "ADDRESS", "https://code.example.org/gpbandit-envs")
    monkeypatch.setattr(urllib.request, "urlopen", opened)
    package = boards.board_folder(name)
    with pytest.raises(OSError, match=r"could not be fetched \(no route to host\); --file takes it by hand"):
        fetch.fetch_board(package)
    assert board(fetch.fetch_board(package)).done_keys()
    assert set(asked) == {f"https://code.example.org/gpbandit-envs/releases/download/v{__version__}/{name}.zip"}


def test_a_board_that_is_there_is_not_fetched(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["board", "fetch", "core-v2"]) == 0
    assert capsys.readouterr().out == "core-v2 comes with the package\n"
