"""Writes below every block of code in the documentation and the README what it prints, by running it.

python docs/outputs.py [PAGE ...]   # all pages with code, or those that are named

Every page is run by a process of its own in an empty folder, with loops that every processor has, since a policy that
learns its kernel from a few values may choose another point where a last bit differs. `tests/docs` compares.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from docs.blocks import pages, run, with_outputs  # noqa: E402 - after the path to it
from leaderboards.play.processor import portable_environment  # noqa: E402

_CHILD = "--write-outputs-to"


def printed(page: Path) -> list[str]:
    """What the blocks of `page` print.

    Raises:
        RuntimeError: if its code fails, with what it said.
    """
    with tempfile.TemporaryDirectory() as folder:
        outputs = Path(folder) / "outputs.json"
        empty = Path(folder) / "page"
        empty.mkdir()
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"} | portable_environment()
        words = [sys.executable, "-W", "error", __file__, _CHILD, str(outputs), str(page)]
        ended = subprocess.run(words, cwd=empty, env=environment, capture_output=True, text=True, check=False)
        if ended.returncode:
            raise RuntimeError(f"{page.name} ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
        found: list[str] = json.loads(outputs.read_text(encoding="utf-8"))
        return found


def main() -> None:
    """Write the pages whose outputs have changed."""
    if sys.argv[1:2] == [_CHILD]:
        outputs, page = map(Path, sys.argv[2:])
        sys.path.insert(0, os.getcwd())
        outputs.write_text(json.dumps([output for _, output in run(page)]), encoding="utf-8")
        gc.freeze()  # a sixth of a second less to end
        return
    chosen = [Path(name).resolve() for name in sys.argv[1:]] or pages(ROOT)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for page, found in zip(chosen, pool.map(printed, chosen), strict=True):
            text = with_outputs(page, found)
            if text != page.read_text(encoding="utf-8"):
                page.write_text(text, encoding="utf-8")
                sys.stdout.write(f"{page.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
