"""Tables on disk and in memory."""

from __future__ import annotations

import copy
import io
import os
import pickle
import struct
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from gpbandit_envs.datasets import DataError, Table, cache, download, fetch, load
from gpbandit_envs.datasets.archive import open_member
from gpbandit_envs.datasets.cache import copy_checked
from gpbandit_envs.datasets.errors import IntegrityError
from gpbandit_envs.datasets.readers import masked_crc32c, message_fields, read_plain_pickle, read_tfrecords
from tests.datasets.records import write_records


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


# ---- archives that nobody should open ----


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


# ---- readers: records and messages against published check values, pickles that must be refused ----


def unmask(masked: int) -> int:
    rotated = (masked - 0xA282EAD8) % 2**32
    return (rotated << 15 | rotated >> 17) % 2**32


def bitwise_crc32c(data: bytes) -> int:
    """The definition, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def test_check_values_of_rfc_3720() -> None:
    blocks = [bytes(32), b"\xff" * 32, bytes(range(32)), bytes(range(31, -1, -1)), b"123456789", b""]
    expected = [0x8A9136AA, 0x62A8AB43, 0x46DD794E, 0x113FDB5C, 0xE3069283, 0]
    assert [unmask(int(crc)) for crc in masked_crc32c(blocks)] == expected


def test_blocks_of_any_lengths_agree_with_the_definition() -> None:
    rng = np.random.default_rng(0)
    blocks = [rng.bytes(int(length)) for length in rng.integers(0, 200, size=60)]
    assert [unmask(int(crc)) for crc in masked_crc32c(blocks)] == [bitwise_crc32c(block) for block in blocks]


def test_records_come_back_in_order_over_batches(tmp_path: Path) -> None:
    records = [f"record {i}".encode() * (i % 5) for i in range(5_000)]
    path = write_records(tmp_path / "a.tfrecord", records)
    assert list(read_tfrecords(path)) == records


@pytest.mark.parametrize("position", [0, 9, 14, 30])
def test_a_flipped_bit_anywhere_is_noticed(tmp_path: Path, position: int) -> None:
    path = write_records(tmp_path / "a.tfrecord", [b"0123456789" * 3] * 3)
    content = bytearray(path.read_bytes())
    record = len(content) // 3
    content[record + position] ^= 0x10
    path.write_bytes(content)
    with pytest.raises(IntegrityError, match=r"record 1|record 2 is"):
        list(read_tfrecords(path))


@pytest.mark.parametrize("missing", [1, 4, 10, 35, 45])
def test_a_cut_file_is_noticed(tmp_path: Path, missing: int) -> None:
    path = write_records(tmp_path / "a.tfrecord", [b"0123456789" * 3] * 3)
    path.write_bytes(path.read_bytes()[:-missing])
    with pytest.raises(IntegrityError, match=r"record 2 is (damaged or )?cut off"):
        list(read_tfrecords(path))


def test_a_message_of_every_wire_type() -> None:
    message = b"\x08\xac\x02" + b"\x11" + struct.pack("<d", 2.5) + b"\x1a\x03abc" + b"\x25" + b"\x01\x02\x03\x04"
    assert list(message_fields(message)) == [(1, 300), (2, 2.5), (3, b"abc"), (4, b"\x01\x02\x03\x04")]


@pytest.mark.parametrize("message", [b"\x08", b"\x08" + b"\xff" * 10, b"\x11abc", b"\x1a\x05abc", b"\x0b", b"\xff"])
def test_damaged_messages_are_refused(message: bytes) -> None:
    with pytest.raises(ValueError, match=r"^message: "):
        list(message_fields(message))


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch evil",)


@pytest.mark.parametrize("content", [Evil(), {"a": [Evil()]}, np.float64(1.0), Path("x"), len, complex(1, 2)])
def test_pickles_that_name_code_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: object) -> None:
    monkeypatch.chdir(tmp_path)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        path = tmp_path / "a.pkl"
        path.write_bytes(pickle.dumps(content, protocol=protocol))
        with pytest.raises(IntegrityError, match="only plain containers and numbers are allowed"):
            read_plain_pickle(path)
    assert not (tmp_path / "evil").exists()


def test_plain_pickles_are_read_and_damaged_ones_refused(tmp_path: Path) -> None:
    plain = {"a": [1, 2.5, None, True, "x", b"y"], (1, 2): {"b": {3, 4}}}
    path = tmp_path / "a.pkl"
    path.write_bytes(pickle.dumps(plain))
    assert read_plain_pickle(path) == plain
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(IntegrityError, match="refused pickle"):
            read_plain_pickle(path)
