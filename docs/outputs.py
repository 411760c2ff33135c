"""Writes below every block of code in the documentation and the README what it prints, by running it.

python docs/outputs.py [PAGE ...]   # all pages with code, or those that are named

Every page is run by a process of its own in an empty folder, as `tests/docs` runs it, which also compares.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from docs.blocks import pages, run, with_outputs  # noqa: E402 - after the path to it


def printed(page: Path) -> list[str]:
    """What the blocks of `page` print."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        sys.path.insert(0, folder)
        try:
            return [output for _, output in run(page)]
        finally:
            os.chdir(ROOT)


def main() -> None:
    """Write the pages whose outputs have changed."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    chosen = [Path(name).resolve() for name in sys.argv[1:]] or pages(ROOT)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=context, max_tasks_per_child=1) as pool:
        for page, outputs in zip(chosen, pool.map(printed, chosen), strict=True):
            text = with_outputs(page, outputs)
            if text != page.read_text(encoding="utf-8"):
                page.write_text(text, encoding="utf-8")
                sys.stdout.write(f"{page.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
