"""Real data: cards, sources, a cache, and tables of arms with measured values."""

from gpbandit_envs.datasets.card import Card, DataFile, PinnedArchive, PinnedMember, WebAddress
from gpbandit_envs.datasets.errors import DataError, FetchError, IntegrityError
from gpbandit_envs.datasets.loading import cards, fetch, load
from gpbandit_envs.datasets.preprocess import standardise, unit_interval
from gpbandit_envs.datasets.table import Table

__all__ = [
    "Card",
    "DataError",
    "DataFile",
    "FetchError",
    "IntegrityError",
    "PinnedArchive",
    "PinnedMember",
    "Table",
    "WebAddress",
    "cards",
    "fetch",
    "load",
    "standardise",
    "unit_interval",
]
