"""One thread for the products of matrices."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from threadpoolctl import ThreadpoolController

_depth = 0
_warm = False
_controller: tuple[int, ThreadpoolController] | None = None


def _loaded_libraries() -> ThreadpoolController:
    """The libraries with threads, looked for where modules have come: looking takes 2 ms, a short run 5."""
    global _controller
    if _controller is None or _controller[0] != len(sys.modules):
        _controller = len(sys.modules), ThreadpoolController()
    return _controller[1]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Pin BLAS to one thread; inside another such block it costs nothing.

    Small products are faster so, runs in parallel do not compete for cores, and sums are not reordered.
    """
    global _depth, _warm
    if _depth:
        yield
        return
    _depth += 1
    try:
        # SciPy brings a BLAS of its own, which is pinned only if it is loaded by now.
        import scipy.linalg.blas

        with _loaded_libraries().limit(limits=1, user_api="blas"):
            if not _warm:
                # OpenBLAS takes a buffer at its first product; once memory has run out, it would try for ever.
                A = np.eye(64)
                scipy.linalg.blas.dgemm(1.0, A, np.dot(A, A + 1.0))
                _warm = True
            yield
    finally:
        _depth -= 1
