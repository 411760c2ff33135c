"""Readers of raw files: delimited text, pickles of plain values, TensorFlow records.

A TensorFlow record is `length (8 bytes), checksum of the length (4), data, checksum of the data (4)`, little endian,
where a checksum is a masked CRC-32C. Its data may be a protocol-buffer message.
"""

from __future__ import annotations

import csv
import pickle
import struct
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
from jaxtyping import Float, UInt32

from gpbandit_envs.datasets.errors import IntegrityError

_POLYNOMIAL = 0x82F63B78
_MASK = 0xA282EAD8
_BATCH = 4_096
_LONGEST = 1 << 24


def read_numbers(path: Path, *, header: tuple[str, ...] | None) -> Float[np.ndarray, "n k"]:
    """A table of numbers, separated by commas.

    Args:
        path: File.
        header: Names that the first line must hold; None if the file has no header.

    Raises:
        IntegrityError: if the header differs or a cell is no number.
    """
    try:
        with path.open(encoding="utf-8") as lines:
            if header is not None:
                found = tuple(next(csv.reader([next(lines)])))
                if found != header:
                    raise ValueError(f"expected the columns {', '.join(header)}, got {', '.join(found)}")
            return np.loadtxt(lines, delimiter=",", ndmin=2, dtype=np.float64)
    except (ValueError, StopIteration) as fault:
        raise IntegrityError(f"{path.name}: not the expected table ({fault})") from fault


def read_columns(path: Path, names: tuple[str, ...]) -> dict[str, list[str]]:
    """Some columns of a comma-separated file with a header, as text.

    Raises:
        IntegrityError: if a column is missing or a line is too short.
    """
    with path.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines)
        absent = [name for name in names if name not in (rows.fieldnames or ())]
        if absent:
            raise IntegrityError(f"{path.name}: expected the column {absent[0]}, got {rows.fieldnames}")
        columns: dict[str, list[str]] = {name: [] for name in names}
        for row in rows:
            for name in names:
                cell = row[name]
                if cell is None:
                    raise IntegrityError(f"{path.name}: line {rows.line_num} has no {name}")
                columns[name].append(cell)
    return columns


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"it refers to {module}.{name}, and only plain containers and numbers are allowed")

    def persistent_load(self, pid: Any) -> NoReturn:
        raise pickle.UnpicklingError("it refers to an object outside the file")


def read_plain_pickle(path: Path) -> Any:
    """Read a pickle made of dict, list, tuple, set, str, bytes, numbers, booleans and None.

    Raises:
        IntegrityError: if it names any class or function, or is damaged. Nothing of it has been run.
    """
    try:
        with path.open("rb") as stream:
            return _PlainUnpickler(stream).load()
    except (pickle.UnpicklingError, EOFError, ValueError, IndexError, KeyError, AttributeError, TypeError) as refusal:
        raise IntegrityError(f"{path.name}: refused pickle: {refusal}") from refusal


def masked_crc32c(blocks: Sequence[bytes]) -> UInt32[np.ndarray, " n"]:
    """The format's checksum of each block, computed for all of them byte position by byte position.

    `rotate_right(crc, 15) + 0xa282ead8` with the CRC of the Castagnoli polynomial.
    """
    lengths = np.array([len(block) for block in blocks])
    longest = int(lengths.max(initial=0))
    padded = np.zeros((len(blocks), longest), dtype=np.uint8)
    for row, block in zip(padded, blocks):
        row[: len(block)] = np.frombuffer(block, dtype=np.uint8)
    columns = np.ascontiguousarray(padded.T)
    crc = np.full(len(blocks), 0xFFFFFFFF, dtype=np.uint32)
    for position in range(longest):
        stepped = _TABLE[(crc ^ columns[position]) & 0xFF] ^ (crc >> 8)
        crc = np.where(position < lengths, stepped, crc)
    crc = ~crc
    return ((crc >> 15) | (crc << 17)) + np.uint32(_MASK)


def read_tfrecords(path: Path) -> Iterator[bytes]:
    """The data of every record, each checked.

    Raises:
        IntegrityError: if the file is cut off or a checksum is wrong; the message says at which record.
    """
    with path.open("rb") as stream:
        framed, done = _framed_records(path, stream), 0
        while batch := list(islice(framed, _BATCH)):
            _check_crcs(path, done, "length", [head[:8] for head, _, _ in batch], [head[8:] for head, _, _ in batch])
            _check_crcs(path, done, "data", [data for _, data, _ in batch], [foot for _, _, foot in batch])
            done += len(batch)
            yield from (data for _, data, _ in batch)


def message_fields(message: bytes) -> Iterator[tuple[int, bytes | float | int]]:
    """The fields of a protocol-buffer message as (number, value), in order.

    Eight-byte fields are read as double precision numbers, length-delimited ones as bytes.

    Raises:
        ValueError: if the message is cut off or holds a wire type that is not known.
    """
    position = 0
    while position < len(message):
        key, position = _varint(message, position)
        number, wire_type = key >> 3, key & 7
        if wire_type == 0:
            value, position = _varint(message, position)
            yield number, value
            continue
        if wire_type == 2:
            size, position = _varint(message, position)
        elif wire_type in (1, 5):
            size = 8 if wire_type == 1 else 4
        else:
            raise ValueError(f"message: unknown wire type {wire_type} of field {number}")
        part = message[position : position + size]
        if len(part) != size:
            raise ValueError(f"message: cut off in field {number}")
        position += size
        yield number, struct.unpack("<d", part)[0] if wire_type == 1 else part


def _framed_records(path: Path, stream: IO[bytes]) -> Iterator[tuple[bytes, bytes, bytes]]:
    count = 0
    while head := stream.read(12):
        length = struct.unpack("<Q", head[:8])[0] if len(head) == 12 else _LONGEST + 1
        if length > _LONGEST:
            raise IntegrityError(f"{path.name}: record {count} is damaged or cut off")
        data, foot = stream.read(length), stream.read(4)
        if len(data) != length or len(foot) != 4:
            raise IntegrityError(f"{path.name}: record {count} is cut off")
        count += 1
        yield head, data, foot


def _check_crcs(path: Path, start: int, what: str, blocks: list[bytes], stored: list[bytes]) -> None:
    expected = np.frombuffer(b"".join(stored), dtype="<u4")
    wrong = np.flatnonzero(masked_crc32c(blocks) != expected)
    if wrong.size:
        raise IntegrityError(f"{path.name}: the {what} of record {start + int(wrong[0])} differs from its checksum")


def _varint(message: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(message):
            raise ValueError("message: cut off in a number")
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise ValueError("message: a number of more than ten bytes")


def _table() -> UInt32[np.ndarray, "256"]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(_POLYNOMIAL), table >> 1)
    return table


_TABLE = _table()
