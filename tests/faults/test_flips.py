"""Flipped bits, and the digests that find them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leaderboards.store.intact import SealError, check_parquet, open_json, seal_json
from leaderboards.store.run_file import FileError, open_table, write_table
from leaderboards.store.store import StoreError
from tests.faults.commands import audited, audits_of, gpbandit, played, runs_of, warnings_heard


def flipped(content: bytes, bit: int) -> bytes:
    damaged = bytearray(content)
    damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


def table() -> pa.Table:
    return pa.table({"x": [0.5, 1.5, 2.5]}).replace_schema_metadata({b"about": b"three numbers"})


def test_every_bit_of_a_parquet_file_counts(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    write_table(path, table())
    whole = path.read_bytes()
    check_parquet(whole)
    with open_table(path) as file:
        assert file.read().equals(table())
    assert pq.read_table(path).column("x").to_pylist() == [0.5, 1.5, 2.5], "other readers skip the digests"
    for bit in range(8 * len(whole)):
        path.write_bytes(flipped(whole, bit))
        with pytest.raises(FileError), open_table(path):
            pass


def test_every_bit_of_a_json_file_counts() -> None:
    values = {"name": "naïve", "number": 0.1, "list": [1, {"a": None}], "zeros": "0" * 64}
    for indent in (None, 2):
        text = seal_json(values, indent)
        assert open_json(text) == values
        assert list(json.loads(text)) == ["sha256", *values]
        for bit in range(8 * len(text)):
            with pytest.raises(SealError):
                open_json(flipped(text, bit))


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[]", b"3", b'{"sha256": 3}', b'{"sha256": "00", "x": 1}', b'{"sha256": "\\ud800"}', b"[" * 100_000],
)
def test_what_is_no_sealed_json_is_named(text: bytes) -> None:
    with pytest.raises(SealError, match=r"no JSON|expected a JSON object|does not match"):
        open_json(text)


def shown(directory: Path) -> dict[str, Any]:
    """What a results folder shows, part by part, to the bit."""
    suite, runs, _ = runs_of(directory)
    return {**runs, "suite": suite, **{f"audit {key}": audit for key, audit in audits_of(directory).items()}}


@pytest.mark.chaos
@pytest.mark.parametrize("name", ["runs/*.parquet", "entries.cache", "suite.json", "audit/*.parquet"])
def test_a_flipped_bit_shows_no_other_number(tmp_path: Path, name: str) -> None:
    """A bit flips as storage flips it, size and times stay: what is shown lacks what the file said, in one line."""
    whole, damaged = tmp_path / "whole", tmp_path / "damaged"
    whole.mkdir()
    with contextlib.chdir(whole):
        audited(whole)
    expected = shown(whole / "r")
    size = min((whole / "r").glob(name)).stat().st_size
    found_out = 0
    for bit in np.random.default_rng(0).choice(8 * size, 40, replace=False).tolist():
        shutil.rmtree(damaged, ignore_errors=True)
        shutil.copytree(whole / "r", damaged)
        path = min(damaged.glob(name))
        times = path.stat()
        path.write_bytes(flipped(path.read_bytes(), bit))
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        with warnings_heard() as said:
            try:
                found = shown(damaged)
            except StoreError as error:
                found, said = {}, [str(error)]
        told = len(said) == 1 and "\n" not in said[0]
        assert found == expected or told, f"bit {bit}: {said}"
        found_out += told
        for part, value in found.items():
            assert expected[part] == value, f"bit {bit}: {part}"
    assert found_out >= 20


def test_a_page_does_not_count_a_run_that_it_has_set_aside(tmp_path: Path) -> None:
    pages = []
    for name in ("damaged", "without"):
        folder = tmp_path / name
        folder.mkdir()
        with contextlib.chdir(folder):
            played(folder)
            path = min((folder / "r" / "runs").iterdir())
            if name == "damaged":
                path.write_bytes(flipped(path.read_bytes(), 400))
            else:
                path.unlink()
            said = gpbandit("page", "r")
        assert said.code == 0
        assert len(said.lines) == (name == "damaged")
        pages.append((folder / "r" / "index.html").read_text())
    for page in pages:
        assert "<dt>Runs done</dt><dd>3</dd>" in page
        assert "<dt>Runs not played</dt><dd>1</dd>" in page
