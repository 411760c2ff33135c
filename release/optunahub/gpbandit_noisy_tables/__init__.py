"""Noisy tables of real measurements, as a benchmark of OptunaHub."""

from ._noisy_tables import Problem

__all__ = ["Problem"]
