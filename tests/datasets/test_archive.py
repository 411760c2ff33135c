"""Archives that nobody should open."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from gpbandit_envs.datasets.archive import open_member
from gpbandit_envs.datasets.cache import copy_checked
from gpbandit_envs.datasets.errors import IntegrityError

UNSAFE = ["../evil", "a/../../evil", "/etc/evil", "C:/evil", "C:evil", "..\\evil", "\\\\host\\share\\evil"]


def read(archive: Path, member: str = "data.csv") -> bytes:
    with open_member(archive, member) as stream:
        return stream.read()


def make_zip(path: Path, *names: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, b"1,2\n" * 500)
    return path


def make_tar(path: Path, *entries: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for entry in entries:
            content = os.urandom(entry.size)
            archive.addfile(entry, io.BytesIO(content) if entry.isreg() else None)
    return path


def entry(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, target, 4_000 if kind == tarfile.REGTYPE else 0
    return info


def test_a_sound_member_is_read_from_zip_and_tar(tmp_path: Path) -> None:
    assert read(make_zip(tmp_path / "a.zip", "data.csv")) == b"1,2\n" * 500
    assert len(read(make_tar(tmp_path / "a.tar.gz", entry("data.csv")))) == 4_000


@pytest.mark.parametrize("name", UNSAFE)
def test_paths_that_leave_the_archive_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(IntegrityError, match="leaves the archive"):
        read(make_tar(tmp_path / "a.tar.gz", entry("data.csv"), entry(name)))
    with pytest.raises(IntegrityError, match="leaves the archive"):
        read(make_zip(tmp_path / "a.zip", "data.csv", name))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.tar.gz", "a.zip"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE])
def test_a_link_or_device_is_no_member(tmp_path: Path, kind: bytes) -> None:
    with pytest.raises(IntegrityError, match="regular file"):
        read(make_tar(tmp_path / "a.tar.gz", entry("other"), entry("data.csv", kind, "other")))


def test_a_symbolic_link_in_a_zip_is_no_member(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("data.csv")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(IntegrityError, match="regular file"):
        read(tmp_path / "a.zip")


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_a_member_must_be_there_once(tmp_path: Path) -> None:
    with pytest.raises(IntegrityError, match="found it 0 times"):
        read(make_zip(tmp_path / "a.zip", "other.csv"))
    with pytest.raises(IntegrityError, match="found it 2 times"):
        read(make_zip(tmp_path / "b.zip", "data.csv", "data.csv"))


@pytest.mark.parametrize("kept", [0.0, 0.3, 0.9])
def test_truncated_archives_are_refused(tmp_path: Path, kept: float) -> None:
    for path in (make_zip(tmp_path / "a.zip", "data.csv"), make_tar(tmp_path / "a.tar.gz", entry("data.csv"))):
        whole = path.read_bytes()
        path.write_bytes(whole[: int(kept * len(whole))])
        with pytest.raises(IntegrityError, match=r"damaged archive|found it 0 times"):
            read(path)


def test_a_flipped_byte_in_a_member_is_noticed(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "a.zip", "data.csv")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(IntegrityError, match="damaged archive"):
        read(path)


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.csv", bytes(50_000_000))
    to = tmp_path / "out" / "data.csv"
    with (
        open_member(tmp_path / "a.zip", "data.csv") as stream,
        pytest.raises(IntegrityError, match="expected 1000 bytes, got more"),
    ):
        copy_checked(stream, to, sha256="0" * 64, size=1_000, what="bomb")
    assert list(to.parent.iterdir()) == []
