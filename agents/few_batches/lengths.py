"""Batch lengths of BPE, known in advance."""

from __future__ import annotations

from math import ceil, sqrt

__all__ = ["constant_number", "equal", "growing"]


def growing(horizon: int) -> list[int]:
    """`N_i = ceil(sqrt(T N_{i-1}))` with `N_0 = 1`, the last cut so that all add up to T.

    Reference: Li and Scarlett (2022), Algorithm 1; Proposition 1 bounds their number by `ceil(log2 log2 T) + 1`.
    """
    lengths: list[int] = []
    previous = 1
    while sum(lengths) < horizon:
        previous = ceil(sqrt(horizon * previous))
        lengths.append(min(previous, horizon - sum(lengths)))
    return lengths


def constant_number(horizon: int, n_batches: int, eta: float, rescaled: bool = True) -> list[int]:
    """`N_i = T^((1 - eta^i) / (1 - eta^B))` for a constant number B of batches.

    The theorem takes what is left for the last batch; the experiments extend the formula to it and rescale all lengths
    to add up to T, which also works where the first B - 1 alone exceed T.

    Args:
        horizon: Number of evaluations T.
        n_batches: Number of batches B >= 1.
        eta: 1/2 for the SE kernel, `nu / (2 nu + d)` for a Matern kernel.
        rescaled: As in the experiments; else as in the theorem.

    Raises:
        ValueError: if there are fewer evaluations than batches, or nothing is left for the last batch.

    Reference: Li and Scarlett (2022), Theorem 2 without its logarithms, and section 5.
    """
    _check(horizon, n_batches)
    raw = [horizon ** ((1 - eta**i) / (1 - eta**n_batches)) for i in range(1, n_batches + 1)]
    if rescaled:
        return _rounded([x * horizon / sum(raw) for x in raw], horizon)
    lengths = [ceil(x) for x in raw[:-1]]
    if sum(lengths) >= horizon:
        raise ValueError(f"n_batches: nothing of {horizon} evaluations is left for batch {n_batches}; rescale instead")
    return [*lengths, horizon - sum(lengths)]


def equal(horizon: int, n_batches: int) -> list[int]:
    """B batches of equal length, up to one (Fixed-BPE)."""
    _check(horizon, n_batches)
    return _rounded([horizon / n_batches] * n_batches, horizon)


def _check(horizon: int, n_batches: int) -> None:
    if not 1 <= n_batches <= horizon:
        raise ValueError(f"n_batches: expected 1 to {horizon}, the number of evaluations, got {n_batches!r}")


def _rounded(lengths: list[float], horizon: int) -> list[int]:
    """Whole lengths of at least 1 with the same running sums up to rounding."""
    ends: list[int] = []
    total = 0.0
    for i, length in enumerate(lengths):
        total += length
        least, most = (ends[-1] if ends else 0) + 1, horizon - (len(lengths) - 1 - i)
        ends.append(min(max(round(total), least), most))
    return [end - start for start, end in zip([0, *ends[:-1]], ends, strict=True)]
