"""Real data: cards, sources, a cache, and tables of arms with measured values."""

from gpbandit_envs.datasets.archive import PinnedArchive, PinnedMember
from gpbandit_envs.datasets.card import Card, DataFile, WebAddress
from gpbandit_envs.datasets.download import asked_once, cached_only
from gpbandit_envs.datasets.errors import DataError, FetchError, IntegrityError
from gpbandit_envs.datasets.loading import cards, fetch, load
from gpbandit_envs.datasets.table import Table, standardise, unit_interval

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
    "asked_once",
    "cached_only",
    "cards",
    "fetch",
    "load",
    "standardise",
    "unit_interval",
]
