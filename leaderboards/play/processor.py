"""Which compiled loops sums of floating-point numbers are computed with: they decide how results round.

OpenBLAS and NumPy choose their loops by the processor when they are loaded, so that two processors under one model
string may differ in last bits. Loops that every x86-64-v3 processor has (AVX2 and FMA, from 2013 on) can be asked for
in the environment of a process before it loads NumPy; boards are played with these.
"""

from __future__ import annotations

import functools
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
"""Variables with which a new process computes in one thread: sums keep their order, parallel runs do not compete."""

_CORE = "Haswell"  # OpenBLAS's loops for AVX2 and FMA
_SIMD = "NumPy"
_TRIAL = f"""
import json
import scipy.linalg
import numpy as np
from {__name__} import loops
A = np.eye(200) + 1e-3 * np.add.outer(np.arange(200.0), np.arange(200.0))
for of in (np.linalg, scipy.linalg):
    of.cholesky(A @ A.T), of.solve(A @ A, A[0]), np.exp(A)
print(json.dumps(loops()))
"""


@functools.cache
def loops() -> tuple[str, ...]:
    """What this process computes with, one text each: every BLAS with its loops, NumPy's SIMD, the library of C."""
    import scipy.linalg  # noqa: F401 - loads the BLAS that SciPy brings along, before it is looked for

    blas = {
        " ".join(str(found.get(key) or "unknown") for key in ("internal_api", "version", "architecture"))
        for found in threadpool_info()
        if found["user_api"] == "blas"
    }
    simd = _extensions("baseline", "found")
    libm = platform.libc_ver()
    texts = [*sorted(blas), f"{_SIMD} {' '.join(simd) or 'plain'}"]
    if any(libm):
        texts.append(" ".join(libm))
    return tuple(texts)


def are_portable(stated: Iterable[str]) -> bool:
    """Whether loops are those of `portable_environment`."""
    stated = list(stated)
    blas = [text for text in stated if text.startswith("openblas ")]
    simd = [text for text in stated if text.startswith(f"{_SIMD} ")]
    return (
        bool(blas)
        and all(text.endswith(f" {_CORE}") for text in blas)
        and bool(simd)
        and not any(_is_newer(name) for text in simd for name in text.split())
    )


def portable_environment() -> dict[str, str]:
    """Variables with which a new process computes as every x86-64-v3 processor can; empty on another processor.

    There results agree with those of boards within the tolerance of `leaderboards.verify`, and not bit for bit.
    """
    if platform.machine().lower() not in ("x86_64", "amd64") or not _has_avx2():
        return {}
    # NumPy refuses names that it was not built with, and takes those that this processor lacks.
    newer = [name for name in _extensions("found", "not found") if _is_newer(name)]
    return {
        "OPENBLAS_CORETYPE": _CORE,
        "NPY_DISABLE_CPU_FEATURES": " ".join(newer),
        # PyTorch's own loops, those of oneDNN in it, and those of MKL, whose branch for AVX2 is for one maker alone:
        # only COMPATIBLE gives the same bits everywhere. BoTorch-EI plays no slower with it.
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_CBWR": "COMPATIBLE",
    }


@functools.cache
def environment_with(stated: tuple[str, ...]) -> dict[str, str] | None:
    """Variables with which a new process computes with the loops that a record states; None if it cannot here.

    It is tried: a process that says the same, word for word, has them; a processor that lacks one ends it at once.
    """
    if stated == loops():
        return {}
    if are_portable(stated):
        tried = portable_environment()
    else:
        cores = {text.split()[-1] for text in stated if text.startswith("openblas ")}
        if len(cores) != 1 or not (core := cores.pop()).isalnum():
            return None
        simd = {name for text in stated if text.startswith(f"{_SIMD} ") for name in text.split()}
        left_out = [name for name in _extensions("found", "not found") if name not in simd]
        tried = {"OPENBLAS_CORETYPE": core, "NPY_DISABLE_CPU_FEATURES": " ".join(left_out)}
    words = [sys.executable, "-P", "-c", _TRIAL]
    where = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        words, env=os.environ | tried | {"PYTHONPATH": where}, capture_output=True, text=True, check=False
    )
    return tried if done.returncode == 0 and json.loads(done.stdout) == list(stated) else None


def _extensions(*kinds: str) -> list[str]:
    stated: Any = np.show_config(mode="dicts")
    return [name for kind in kinds for name in stated["SIMD Extensions"].get(kind, ())]


def _is_newer(name: str) -> bool:
    """Whether NumPy's name of an extension is one that x86-64-v3 does not have."""
    return name.startswith("AVX512") or name == "X86_V4"


def _has_avx2() -> bool:
    try:
        with open("/proc/cpuinfo") as cpuinfo:
            flags = next((line.split() for line in cpuinfo if line.startswith("flags")), [])
    except OSError:
        return bool({"AVX2", "X86_V3"} & set(_extensions("baseline", "found")))
    return {"avx2", "fma"} <= set(flags)
