from __future__ import annotations

from pathlib import Path

import pytest

from gpbandit_envs.atomic import TEMPORARY, written_whole


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
