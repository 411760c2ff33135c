"""The site, built once."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The site, built as `make site` does but in one process; a warning of the build is an error here."""
    shared = tmp_path_factory.getbasetemp()
    if worker_id != "master":
        shared = shared.parent  # one build for all workers of pytest-xdist
    out = shared / "site"
    with FileLock(shared / "site.lock"):
        if not (out / "index.html").exists():
            # A copy, since the build writes the API's pages beside the sources.
            docs = shutil.copytree(ROOT / "docs", shared / "project" / "docs", dirs_exist_ok=True)
            for name in ("CHANGELOG.md", "CONTRIBUTING.md"):
                shutil.copy(ROOT / name, docs.parent)
            # A process of its own, in which a warning of a library is a warning, and one of Sphinx an error.
            options = ["--quiet", "--fail-on-warning", "--keep-going", "--builder", "html"]
            options += ["--html-define", "boards=../index.html"]
            build = [sys.executable, "-m", "sphinx", *options, str(docs), str(out)]
            ended = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
            assert ended.returncode == 0, ended.stderr
    return out
