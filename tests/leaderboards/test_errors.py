"""What the command line makes of errors of the system: what it says must be what happened."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from leaderboards.cli.errors import UserError, user_errors


def said(directory: Path, number: int, *arguments: object) -> str:
    with pytest.raises(UserError) as raised, user_errors(directory):
        raise OSError(number, os.strerror(number), *arguments)
    return str(raised.value)


@pytest.mark.parametrize("name", ["ENOSPC", "EDQUOT", "EFBIG"])
def test_a_full_disk(tmp_path: Path, name: str) -> None:
    text = said(tmp_path, getattr(errno, name))
    assert text.startswith(f"cannot write to {tmp_path} (")
    assert "what was done before is kept; make room, then give the same command again" in text


@pytest.mark.parametrize("name", ["EACCES", "EPERM", "EROFS"])
def test_a_folder_that_may_not_be_written(tmp_path: Path, name: str) -> None:
    text = said(tmp_path, getattr(errno, name), str(tmp_path / "runs"))
    assert text.startswith(f"cannot write to {tmp_path / 'runs'} (")
    assert "make it writable, or give another folder" in text
    assert "room" not in text


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.parquet").touch()
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may read everything
    assert said(tmp_path, errno.EACCES, str(tmp_path / "x.parquet")).startswith(f"cannot read {tmp_path / 'x.parquet'}")


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for out in (tmp_path / "file" / "out", Path("/proc/gpbandit")):
        with pytest.raises(UserError) as raised, user_errors(out):
            (out / "runs").mkdir(parents=True)
        assert str(raised.value).startswith(f"cannot write to {out}, which cannot be made (")
        assert str(raised.value).endswith("): give another folder with --out")


def test_a_file_in_the_place_of_a_folder(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.touch()
    with pytest.raises(UserError) as raised, user_errors(out):
        (out / "suite.json").read_text()
    assert str(raised.value).startswith(f"cannot write to {out}: {out} is in the way (Not a directory)")
    out.unlink()
    out.mkdir()
    (out / "runs").touch()
    with pytest.raises(UserError) as raised, user_errors(out):
        (out / "runs").mkdir(parents=True, exist_ok=True)
    assert str(raised.value).startswith(f"cannot write to {out}: {out / 'runs'} is in the way (File exists)")


def test_a_folder_is_named_as_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    out, runs = Path("out"), str(tmp_path / "out" / "runs")
    assert said(out, errno.EACCES, runs).startswith("cannot write to out/runs (")
    assert said(out, errno.ENOTDIR, runs).startswith("cannot write to out, which cannot be made (")


def test_a_name_that_no_file_can_have(tmp_path: Path) -> None:
    def make(out: Path) -> None:
        str(out).encode()
        out.mkdir()

    for name, says in (("x" * 300, "File name too long"), ("\udcff", "surrogates not allowed")):
        with pytest.raises(UserError, match=says), user_errors(tmp_path / name):
            make(tmp_path / name)


@pytest.mark.parametrize(
    ("error", "begins"),
    [
        (OSError(errno.EMFILE, "Too many open files", "x"), "OSError: Too many open files (x)"),
        (OSError("Couldn't deserialize thrift"), "OSError: Couldn't deserialize thrift"),
        (ConnectionResetError(errno.ECONNRESET, "Connection reset"), "ConnectionResetError: Connection reset"),
    ],
)
def test_all_else_says_what_it_is(tmp_path: Path, error: OSError, begins: str) -> None:
    with pytest.raises(UserError) as raised, user_errors(tmp_path):
        raise error
    expected = f"{begins}; what was done before is kept in {tmp_path}, and the same command goes on from there"
    assert str(raised.value) == expected
