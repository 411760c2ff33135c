"""Writers of record files in NAS-Bench-101's form."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Sequence
from pathlib import Path

from gpbandit_envs.datasets.readers import masked_crc32c


def write_records(path: Path, records: Sequence[bytes]) -> Path:
    heads = [struct.pack("<Q", len(record)) for record in records]
    parts = zip(heads, masked_crc32c(heads), records, masked_crc32c(records))
    with path.open("wb") as out:
        for head, head_crc, record, record_crc in parts:
            out.write(head + struct.pack("<I", int(head_crc)) + record + struct.pack("<I", int(record_crc)))
    return path


def run_record(name: str, adjacency: str, operations: str, accuracy: float, seconds: float, epochs: int = 108) -> bytes:
    """One training run: evaluations at the start, half-way and at the end, then two fixed metrics."""
    evaluations = b"".join(
        _delimited(1, _double(1, epochs * part) + _double(2, seconds * part) + _double(3, 1.0) + _double(4, found))
        for part, found in ((0.0, 0.1), (0.5, accuracy / 2), (1.0, accuracy))
    )
    metrics = evaluations + b"\x10\x80\x01" + _double(3, 2 * seconds)
    return json.dumps([name, epochs, adjacency, operations, base64.b64encode(metrics).decode()]).encode()


def _double(number: int, value: float) -> bytes:
    return bytes([number << 3 | 1]) + struct.pack("<d", value)


def _delimited(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2, len(content)]) + content
