"""Which rows of boards the authors of their papers have confirmed, from `sign_offs.toml`."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from leaderboards.play.suite import Suite

__all__ = ["SignOff", "confirmed_rows", "sign_off", "sign_offs"]


@dataclass(frozen=True)
class SignOff:
    """That implementation and settings of a row are what its paper means.

    Attributes:
        by: Who says so, as "the authors of Li and Scarlett (2022)".
        link: Where they do, a public `https` address.
    """

    by: str
    link: str

    def __post_init__(self) -> None:
        if not self.by:
            raise ValueError(f"by: expected who has confirmed the row, got {self.by!r}")
        if not self.link.startswith("https://"):
            raise ValueError(f"link: expected a public address that begins with https://, got {self.link!r}")


@functools.cache
def sign_offs() -> Mapping[str, Mapping[str, SignOff]]:
    """All that there are, by board and label of the row."""
    text = (resources.files("leaderboards.publish") / "sign_offs.toml").read_text(encoding="utf-8")
    return {name: {row: SignOff(**entry) for row, entry in rows.items()} for name, rows in tomllib.loads(text).items()}


def sign_off(board: str, agent: str) -> SignOff | None:
    """That of a row, by the name of its board and its label; None if nobody has confirmed it."""
    return sign_offs().get(board, {}).get(agent)


def confirmed_rows(suite: Suite | None) -> dict[str, tuple[str, str]]:
    """Who has confirmed a row of the board of a suite, and where, by its label."""
    rows = {} if suite is None else sign_offs().get(suite.part_of or suite.name, {})
    return {agent: (found.by, found.link) for agent, found in rows.items()}
