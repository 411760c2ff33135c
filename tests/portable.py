"""Tests with the compiled loops of other processors: `python -m tests.portable [--loops A,B] [what pytest takes]`.

Prints a row of Markdown for each setting: what was found, and how long it took. OpenBLAS is told a core type, NumPy is
told to leave out every extension that it would choose at run time. Ends with 1 if a test fails anywhere. As many
settings are played at a time as `--jobs` says; where they are fewer, each has workers, which all collect the tests.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

ALL = ("Nehalem", "Sandybridge", "Haswell", "Zen", "SkylakeX", "NumPy-baseline")
_NEEDS = {
    "Nehalem": {"sse4_2"},
    "Sandybridge": {"avx"},
    "Haswell": {"avx2", "fma"},
    "Zen": {"avx2", "fma"},
    "SkylakeX": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
}
_LOADED = "from leaderboards.play.processor import loops; print(*loops(), sep='; ')"


def environment(name: str) -> dict[str, str]:
    """Variables with which a new process computes with the loops `name`, of which `+` joins OpenBLAS's and NumPy's."""
    variables = {}
    for part in name.split("+"):
        if part == "NumPy-baseline":
            found = np.show_config(mode="dicts")["SIMD Extensions"].get("found", ())
            variables["NPY_DISABLE_CPU_FEATURES"] = " ".join(found)
        else:
            variables["OPENBLAS_CORETYPE"] = part
    return variables


def fits(name: str) -> bool:
    """Whether this processor has what the loops `name` are made of."""
    try:
        with open("/proc/cpuinfo") as cpuinfo:
            flags = next((set(line.split()) for line in cpuinfo if line.startswith("flags")), set[str]())
    except OSError:
        return False
    return all(_NEEDS.get(part, set[str]()) <= flags for part in name.split("+"))


def row(name: str, arguments: list[str]) -> tuple[str, bool]:
    """The row of the loops `name`, and whether all tests passed."""
    if not fits(name):
        return f"| {name} | not on this processor | – | – |", True
    env = os.environ | environment(name)
    loaded = subprocess.run([sys.executable, "-c", _LOADED], env=env, capture_output=True, text=True, check=True)
    started = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=short", *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    found = re.findall(r"^=*\s*((?:\d+ \w+(?:, )?)+) in ", done.stdout, re.MULTILINE)
    if done.returncode:
        sys.stderr.write(done.stdout + done.stderr)
    said = found[-1] if found else f"pytest ended with {done.returncode}"
    return f"| {name} | {loaded.stdout.strip()} | {said} | {time.monotonic() - started:.0f} |", done.returncode == 0


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    known = f"Names with commas between them, of {', '.join(ALL)}; A+B for both at once."
    parser.add_argument("--loops", default=",".join(ALL), help=known)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="Settings at a time; by default one per core.")
    own, arguments = parser.parse_known_args()
    names = own.loops.split(",")
    if unknown := [part for name in names for part in name.split("+") if part not in ALL]:
        parser.error(f"--loops: expected some of {', '.join(ALL)}, got {unknown[0]!r}")
    if (workers := own.jobs // len(names)) > 1:
        arguments += ["-n", str(workers), "--dist", "worksteal"]
    passed = True
    sys.stdout.write("| loops | loaded | tests | seconds |\n|---|---|---|---:|\n")
    with ThreadPoolExecutor(own.jobs) as pool:
        for text, good in pool.map(lambda name: row(name, arguments), names):
            sys.stdout.write(f"{text}\n")
            sys.stdout.flush()
            passed &= good
    return 0 if passed else 1


if __name__ == "__main__":
    raise SystemExit(main())
