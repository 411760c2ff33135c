from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gpbandit_envs.atomic import TEMPORARY, locked, written_whole


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file.txt"
    with written_whole(path) as temporary:
        temporary.write_text("new")
        assert temporary.parent == path.parent
        assert temporary.name.endswith(TEMPORARY)
        assert not path.exists()
    assert path.read_text() == "new"
    assert [each.name for each in path.parent.iterdir()] == ["file.txt"]


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")

    def fail() -> None:
        with written_whole(path) as temporary:
            temporary.write_text("ne")
            raise RuntimeError("half")

    with pytest.raises(RuntimeError, match="half"):
        fail()
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["file.txt"]


def test_two_writers_do_not_share_a_temporary_file(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    with written_whole(path) as one, written_whole(path) as other:
        assert one != other
        one.write_text("one")
        other.write_text("other")
    assert path.read_text() == "one"


@pytest.mark.parametrize("lasting", [True, False])
def test_the_content_is_on_the_disk_before_the_name_is(
    tmp_path: Path, lasting: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def synced(number: int) -> None:
        done.append(f"{os.fstat(number).st_size} bytes")
        fsync(number)

    def replaced(*names: Path) -> None:
        done.append("name")
        replace(*names)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    with written_whole(tmp_path / "file.txt", lasting) as temporary:
        temporary.write_text("new")
    assert done == (["3 bytes", "name"] if lasting else ["name"])


def test_one_at_a_time_is_in_a_locked_folder(tmp_path: Path) -> None:
    (tmp_path / "n").write_text("0")

    def count(_: int) -> None:
        with locked(tmp_path):
            n = int((tmp_path / "n").read_text())
            with written_whole(tmp_path / "n", lasting=False) as temporary:
                temporary.write_text(str(n + 1))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(count, range(80)))
    assert (tmp_path / "n").read_text() == "80"
    assert [path.name for path in tmp_path.iterdir()] == ["n"], "nothing is left behind"
