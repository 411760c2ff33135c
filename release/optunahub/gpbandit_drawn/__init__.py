"""Functions drawn by a seed, as a benchmark of OptunaHub."""

from ._drawn import Problem

__all__ = ["Problem"]
