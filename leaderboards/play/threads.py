"""One BLAS thread for a run: small products are faster so, runs in parallel do not fight, and sums do not reorder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController

__all__ = ["one_blas_thread"]

_depth = 0


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Pin BLAS to one thread; inside another such block it costs nothing."""
    global _depth
    if _depth:
        yield
        return
    _depth += 1
    try:
        # SciPy brings a BLAS of its own, which is pinned only if it is loaded by now.
        import scipy.linalg  # noqa: F401

        with ThreadpoolController().limit(limits=1, user_api="blas"):
            yield
    finally:
        _depth -= 1
