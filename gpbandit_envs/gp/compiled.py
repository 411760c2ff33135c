"""Machine code by numba for innermost loops, where it is installed: `pip install 'gpbandit-envs[fast]'`.

numba is imported when such a loop first runs, and its code is kept on disk for later processes. Without numba, or with
`GPBANDIT_COMPILED=0` in the environment, the same numbers come from NumPy and Python, but for the last bits of sums.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from functools import cache, update_wrapper
from time import process_time
from types import FunctionType
from typing import Any

import numpy as np
from jaxtyping import Float, Int

_BLOCK = 2**16  # numbers of the matrix that are read once and then used from the processor's cache: 512 KB


@cache
def _compiler() -> Callable[..., Callable[[Callable[..., Any]], Callable[..., Any]]] | None:
    if os.environ.get("GPBANDIT_COMPILED", "1") == "0":
        return None
    with _LOADING:
        try:
            from numba import njit
        except ImportError:
            return None
        return njit


class _Stopwatch:
    """Adds up the processor time of the blocks that it is the context of."""

    seconds = 0.0
    _begun = 0.0

    def __enter__(self) -> None:
        self._begun = process_time()

    def __exit__(self, *_: object) -> None:
        self.seconds += process_time() - self._begun


_LOADING = _Stopwatch()


def has_compiler() -> bool:
    """Whether there is numba, and use of it."""
    return _compiler() is not None


def loading_seconds() -> float:
    """Processor time that this process has spent on making loops ready: numba's import, and the first call of each.

    A second where their code is on disk and ten where it is not, once a process: whoever times policies subtracts it.
    """
    return _LOADING.seconds


class _Loop:
    """Machine code whose first call, in which it is compiled or read from disk, is timed."""

    def __init__(self, code: Callable[..., Any]) -> None:
        self._code = code
        self._is_ready = False

    def __call__(self, *args: Any) -> Any:
        if self._is_ready:
            return self._code(*args)
        with _LOADING:
            result = self._code(*args)
        self._is_ready = True
        return result


@cache
def compiled(
    function: Callable[..., Any], *called: Callable[..., Any], any_order: bool = False
) -> Callable[..., Any] | None:
    """Machine code of a function of numbers and arrays; None without numba.

    Args:
        function: The function, defined in a module.
        called: Functions of the same module that it calls.
        any_order: Whether sums may be taken in another order, several terms at once, as BLAS does.
    """
    compiler = _compiler()
    return None if compiler is None else _Loop(_code(compiler, function, called, any_order))


@cache
def _code(
    compiler: Callable[..., Any], function: Callable[..., Any], called: tuple[Callable[..., Any], ...], any_order: bool
) -> Callable[..., Any]:
    plain = inspect.unwrap(function)  # tests wrap functions, to enforce annotations
    names = {**plain.__globals__, **{each.__name__: _code(compiler, each, (), any_order) for each in called}}
    # "contract": one rounding for a product and its addition.
    fastmath = {"contract", "reassoc", "nsz"} if any_order else {"contract"}
    return compiler(cache=True, fastmath=fastmath)(
        update_wrapper(FunctionType(plain.__code__, names, plain.__name__), plain)
    )


def few_combinations(
    C: Float[np.ndarray, "p s"], K: Float[np.ndarray, "n b"], rows: Int[np.ndarray, " s"], columns: slice
) -> Float[np.ndarray, "p w"]:
    """`C @ K[rows, columns]` for a few rows of coefficients, where `has_compiler`.

    BLAS packs the matrix for a product of matrices, which takes longer than to read it, and reads it once for each row
    in products of vectors with it. Here a block of columns is read once, two rows of coefficients and four of the
    matrix at a time: twice the speed with 2 to 6 rows of coefficients, no gain from some 10 on.
    """
    combine = compiled(_combine)
    assert combine is not None
    out = np.empty((len(C), columns.stop - columns.start))
    block = max(_BLOCK // max(len(rows), 1), 128)
    combine(np.ascontiguousarray(C), K, rows, columns.start, min(block, 2048), out)
    return out


def _combine(C: Any, K: Any, rows: Any, start: int, block: int, out: Any) -> None:
    p, s = C.shape
    spare = np.empty(block)
    for first in range(0, out.shape[1], block):
        size = min(block, out.shape[1] - first)
        begin, end = start + first, start + first + size
        for i in range(0, p, 2):
            # An odd row is combined twice, which takes no longer than once: reading takes the time.
            c, d = C[i], C[min(i + 1, p - 1)]
            g = out[i, first : first + size]
            h = out[i + 1, first : first + size] if i + 1 < p else spare[:size]
            g[:] = 0.0
            h[:] = 0.0
            whole = s - s % 4
            for r in range(0, whole, 4):
                k0, k1 = K[rows[r], begin:end], K[rows[r + 1], begin:end]
                k2, k3 = K[rows[r + 2], begin:end], K[rows[r + 3], begin:end]
                c0, c1, c2, c3 = c[r], c[r + 1], c[r + 2], c[r + 3]
                d0, d1, d2, d3 = d[r], d[r + 1], d[r + 2], d[r + 3]
                for j in range(size):
                    x0, x1, x2, x3 = k0[j], k1[j], k2[j], k3[j]
                    g[j] = g[j] + c0 * x0 + c1 * x1 + c2 * x2 + c3 * x3
                    h[j] = h[j] + d0 * x0 + d1 * x1 + d2 * x2 + d3 * x3
            for r in range(whole, s):
                k0, c0, d0 = K[rows[r], begin:end], c[r], d[r]
                for j in range(size):
                    g[j] += c0 * k0[j]
                    h[j] += d0 * k0[j]
