"""A share of the faults, or with GPBANDIT_FAULTS=all each one; and what the disk that fails does itself."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from gpbandit_envs.atomic import written_whole
from tests.faults.commands import COMMANDS, Command, disturb, operations
from tests.faults.disk import FAULTS, Died, Disk

_, EIO, _, CUT = FAULTS


def write_and_read(folder: Path) -> None:
    with written_whole(folder / "a" / "x.txt") as temporary:
        temporary.write_bytes(b"12345678")
    assert (folder / "a" / "x.txt").read_text() == "12345678"
    shutil.copyfile(folder / "a" / "x.txt", folder / "y.txt")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_disk_fails_at_the_operation_that_was_chosen(tmp_path: Path, fault: object) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    with Disk(inside).in_force() as disk:
        write_and_read(inside)
    at = next(i for i, (name, _) in enumerate(disk.operations) if name.startswith("write"))
    for path in list(inside.iterdir()):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    disk = Disk(inside, at=at, fault=fault)  # type: ignore[arg-type]
    with pytest.raises((OSError, Died)), disk.in_force():
        write_and_read(inside)
    assert disk.failed.startswith("write ")
    left = list((inside / "a").iterdir())
    # A process that lives cleans up; one that died leaves half of its bytes, under another name.
    assert [path.read_bytes() for path in left] == ([b"1234"] if fault is CUT else [])
    assert not (inside / "a" / "x.txt").exists()


@pytest.mark.chaos
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_what_was_done_is_kept_and_the_same_command_goes_on(tmp_path: Path, command: Command) -> None:
    steps, expected = operations(command, tmp_path / "work")
    cases = [(at, fault) for fault in FAULTS for at, (_, writes) in enumerate(steps) if writes or not fault.writing]
    share = 4 if command.name.startswith("page") else 16
    if os.environ.get("GPBANDIT_FAULTS") != "all":
        cases = [cases[i] for i in np.random.default_rng(0).choice(len(cases), share, replace=False)]
    for at, fault in cases:
        assert disturb(command, tmp_path / "work", at, fault, expected) == ""
