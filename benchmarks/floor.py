"""How far policies are from what the machine could do: their time against the floor of their products with kernel rows.

    python -m benchmarks.floor [--case NAME]

Every policy on a sketched posterior ends in products of a few rows of coefficients with kernel rows over all arms. At
best such a product takes as long as its floating-point operations at the rate of a large dense product, or as reading
the rows once, whichever is longer. What is above this floor is passes over vectors of all arms, small matrices, the
agent's own bookkeeping and Python. The exact posterior keeps rows of its own; `posteriors/step-roofline` of
`benchmarks.run` is about those.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.bench_policies import CASES
from benchmarks.measure import Machine, machine
from gpbandit_envs.gp.kernel_rows import KernelRows

NAMES = ("bkb-17.5", "bkb-5", "bbkb-17.5", "bbkb-5", "local-5", "bbkb-20640")


@dataclass
class Products:
    """Products counted so far.

    Attributes:
        calls: How many.
        arithmetic: Seconds of their operations at the machine's rate.
        reading: Seconds of reading their kernel rows once at its bandwidth.
        floor: Seconds of the longer of the two, call by call.
        taken: CPU seconds that they took, with those that compute rows for the first time.
    """

    calls: int = 0
    arithmetic: float = 0.0
    reading: float = 0.0
    floor: float = 0.0
    taken: float = 0.0

    def add(self, p: int, s: int, n_arms: int, what: Machine) -> None:
        """Count a product of (p, s) coefficients with s rows of `n_arms` entries."""
        arithmetic, reading = 2.0 * p * s * n_arms / what.flops, 8.0 * s * n_arms / what.bandwidth
        self.calls += 1
        self.arithmetic += arithmetic
        self.reading += reading
        self.floor += max(arithmetic, reading)


@contextmanager
def counted(what: Machine) -> Iterator[Products]:
    """Counts the products with kernel rows that are made inside."""
    total, products = Products(), KernelRows.products

    def counting(self: KernelRows, C: np.ndarray, positions: np.ndarray | None = None) -> Iterator[Any]:
        total.add(len(C), int(C.any(axis=0).sum()), len(self.X), what)
        blocks = products(self, C, positions)
        while True:
            start = time.process_time()
            block = next(blocks, None)
            total.taken += time.process_time() - start
            if block is None:
                return
            yield block

    KernelRows.products = counting  # type: ignore[method-assign]
    try:
        yield total
    finally:
        KernelRows.products = products  # type: ignore[method-assign]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", choices=sorted(CASES), action="append", help="only these")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        what = machine()
        print("| case | seconds | products | their time, s | their floor, s | floor of the whole |")
        print("|---|---|---|---|---|---|")
        for name in arguments.case or NAMES:
            case = CASES[name]()
            case.fast()  # compiles
            with counted(what) as total:
                start = time.process_time()
                case.fast()
                seconds = time.process_time() - start
            print(
                f"| {case.name.partition(', over ')[0]} | {seconds:.3g} | {total.calls:,} | {total.taken:.3g} "
                f"| {total.floor:.3g} | {total.floor / seconds:.0%} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
