"""What benchmarks are made of: a row with a ratio, two sides timed in turn, and what the machine can do.

Times are CPU times of this process with one BLAS thread, so that other work on the machine disturbs little. A ratio
above 1 is in our favour, and it is ratios that are kept: they hold across machines far better than seconds do.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        case: What is done.
        reference: What it is held against.
        ours: Seconds that we take.
        theirs: Seconds that the reference takes, or would take.
    """

    case: str
    reference: str
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        """How many times as fast we are."""
        return self.theirs / self.ours


@dataclass(frozen=True)
class Machine:
    """What one thread can do.

    Attributes:
        flops: Floating-point operations a second in a dense 2000 x 2000 x 2000 float64 product.
        bandwidth: Bytes a second that a product of a row with a matrix of 128 MB reads.
    """

    flops: float
    bandwidth: float


def seconds(call: Callable[[], object], repeat: int = 1) -> float:
    """CPU seconds of one call, the mean over `repeat` of them."""
    start = time.process_time()
    for _ in range(repeat):
        call()
    return (time.process_time() - start) / repeat


@cache
def machine() -> Machine:
    """Measured once, best of five: other work on the machine only ever slows it."""
    A, M, x = np.ones((2000, 2000)), np.ones((4000, 4000)), np.ones(4000)
    product = min(seconds(lambda: A @ A) for _ in range(5))
    read = min(seconds(lambda: x @ M, repeat=5) for _ in range(5))
    return Machine(flops=2 * 2000.0**3 / product, bandwidth=M.nbytes / read)


def against(case: str, reference: str, ours: Callable[[], float], theirs: Callable[[], float], rounds: int = 3) -> Row:
    """Both sides in turn, `rounds` times; the round of median ratio. Either side returns its own seconds."""
    pairs = sorted(((ours(), theirs()) for _ in range(rounds)), key=lambda pair: pair[1] / pair[0])
    fast, slow = pairs[len(pairs) // 2]
    return Row(case, reference, fast, slow)
