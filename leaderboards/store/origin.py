"""What played a run: versions, commit and machine."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict, field_validator

from gpbandit_envs.version import __version__
from leaderboards.play.processor import loops
from leaderboards.play.record import Text

_ROOT = Path(__file__).resolve().parents[2]
_LIBRARIES = ("numpy", "scipy", "gymnasium", "pandas", "pyarrow")
# What policies and environments of extras compute with.
_OF_EXTRAS = ("botorch", "gpytorch", "optuna", "scikit-learn", "torch", "xgboost", "xgboost-cpu")


class Stored(BaseModel):
    """A record in a file: its types are exact, and it does not change."""

    model_config = ConfigDict(frozen=True, strict=True, ser_json_inf_nan="constants")


class Machine(Stored):
    """The computer on which a run was played.

    Attributes:
        system: Its operating system.
        arch: Its architecture.
        cpu: Its processor.
        cores: How many it has.
        loops: What the process computed with, see `leaderboards.play.processor`; None where nobody noted it.
    """

    system: Text
    arch: Text
    cpu: Text
    cores: int | None = None
    loops: list[Text] | None = None


class Origin(Stored):
    """Versions, commit and machine of the process that wrote a file.

    Attributes:
        gpbandit_envs: Version of this package.
        commit: Commit of the checkout, with `+` if files differ from it; None for an installed package.
        python: Version of Python.
        libraries: Versions of libraries, NumPy and SciPy among them, and of those of extras that are installed.
        machine: The computer.
    """

    gpbandit_envs: Text
    commit: Text | None
    python: Text
    libraries: dict[Text, Text]
    machine: Machine

    @field_validator("libraries")
    @classmethod
    def _complete(cls, libraries: dict[str, str]) -> dict[str, str]:
        missing = [name for name in ("numpy", "scipy") if name not in libraries]
        if missing:
            raise ValueError(f"expected the version of {missing[0]}")
        return libraries

    def rounds_as(self, other: Origin) -> bool:
        """Whether sums round alike, bit for bit, in the two: the same loops of the same libraries, on one kind of CPU.

        False where one of them did not note its loops, as records of earlier versions: two processors may be of one
        name and choose others. A library of an extra counts where both had it: what a run used is not known.
        """
        both = self.libraries.keys() & other.libraries.keys() & set(_OF_EXTRAS)
        mine, theirs = (
            (
                each.machine.model_copy(update={"cores": None}),
                [each.libraries[name] for name in ("numpy", "scipy", *both)],
            )
            for each in (self, other)
        )
        return self.machine.loops is not None and mine == theirs


@functools.cache
def origin() -> Origin:
    """Versions, commit and machine of this process; found once."""
    machine = Machine(
        system=platform.system(), arch=platform.machine(), cpu=_cpu(), cores=os.cpu_count(), loops=list(loops())
    )
    return Origin(
        gpbandit_envs=__version__,
        commit=_commit(),
        python=platform.python_version(),
        libraries=dict(_versions()),
        machine=machine,
    )


def _versions() -> Iterator[tuple[str, str]]:
    for name in (*_LIBRARIES, *_OF_EXTRAS):
        with suppress(importlib.metadata.PackageNotFoundError):
            yield name, importlib.metadata.version(name)


def _commit() -> str | None:
    """Commit of the checkout this package runs from, with `+` if files differ from it; None for an installed wheel."""
    if not (_ROOT / ".git").exists():
        return None
    try:
        head = git("rev-parse", "--short=12", "HEAD")
        return head + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return None  # git is no dependency: a machine without it has no commit to state


def git(*arguments: str) -> str:
    """What Git says of the checkout that this package runs from; `OSError` or `SubprocessError` if it cannot."""
    words = ["git", "-C", str(_ROOT), *arguments]
    return subprocess.run(words, capture_output=True, text=True, timeout=10, check=True).stdout.strip()


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"
