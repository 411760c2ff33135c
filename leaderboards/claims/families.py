"""Statements that differ in one place, such as in the rival or the environment, said as one."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

__all__ = ["Family", "families", "joint_sentences"]

_WORD = re.compile(r"[\w+./-]*\w")
_IN_BRACKETS = re.compile(r" \(([^()]+)\)(\.?)$")
_GAP = "…"


@dataclass(frozen=True)
class Family:
    """Statements that are the same but for one place; or a single one.

    Attributes:
        left: What all begin with.
        right: What all end with.
        names: What stands between in each; empty for a single statement, which is `left`.
        members: Their positions among the statements.
    """

    left: str
    right: str
    names: tuple[str, ...]
    members: tuple[int, ...]

    @property
    def frame(self) -> str:
        """The statement with a gap for the names; without the brackets where names stand in brackets at the end."""
        if self.left.endswith(" (") and self.right.startswith(")"):
            return self.left.removesuffix(" (") + self.right[1:]
        return f"{self.left}{_GAP}{self.right}".removesuffix(".") if self.names else self.left

    @property
    def sentence(self) -> str:
        """The statement with all names."""
        return f"{self.left}{_listed(self.names, self.left)}{self.right}"

    def without_names(self, texts: Sequence[str]) -> str | None:
        """A text about each member, with a gap where its name comes first; None if they differ beyond the names."""
        names = self.names or ("",) * len(texts)
        common = {
            re.sub(rf"(?<![\w.-]){re.escape(n)}(?![\w-])", _GAP, t, count=1) if n else t for n, t in zip(names, texts)
        }
        return common.pop() if len(common) == 1 else None


def families(statements: Sequence[str]) -> list[Family]:
    """Put together what differs in one name or number, or in brackets at the end; the largest families first.

    Returns:
        The families in the order of their first members. Every statement is in one.
    """
    places: dict[tuple[str, str], dict[int, str]] = {}
    for i, statement in enumerate(statements):
        for left, name, right in _names(statement):
            places.setdefault((left, right), {})[i] = name
    found: list[Family] = []
    left_over = set(range(len(statements)))
    while left_over:
        here = {place: [i for i in names if i in left_over] for place, names in places.items()}
        place = max(here, key=lambda one: len({places[one][i] for i in here[one]}), default=None)
        members = [] if place is None else here[place]
        if place is None or len({places[place][i] for i in members}) < 2:
            found += [Family(statements[i], "", (), (i,)) for i in left_over]
            break
        found.append(Family(*place, tuple(places[place][i] for i in members), tuple(members)))
        left_over -= set(members)
    return sorted(found, key=lambda one: one.members[0])


def joint_sentences(statements: Sequence[str]) -> list[tuple[str, tuple[int, ...]]]:
    """As few sentences as say all statements, with the positions of those that each says.

    Families with the same names are put together once more: "A beats X and Y on f and g".
    """
    alike: dict[Hashable, list[Family]] = {}
    for one in families(statements):
        alike.setdefault(one.names or one.members, []).append(one)
    found = []
    for group in alike.values():
        for outer in families([f"{one.left}\0{one.right}" for one in group]):
            inner = [group[i] for i in outer.members]
            names = _listed(inner[0].names, outer.sentence.partition("\0")[0])
            members = tuple(i for one in inner for i in one.members)
            found.append((outer.sentence.replace("\0", names), members))
    return sorted(found, key=lambda one: one[1][0])


def _names(statement: str) -> Iterator[tuple[str, str, str]]:
    """The places in which a statement may differ from others: brackets at its end, names and numbers."""
    if brackets := _IN_BRACKETS.search(statement):
        yield statement[: brackets.start(1)], brackets[1], statement[brackets.end(1) :]
    for word in _WORD.finditer(statement):
        # Two subjects would need another form of the verb.
        is_subject = re.match(r"\s[a-z]+s\b", statement[word.end() :])
        if re.search(r"[A-Z0-9]", word[0]) and not is_subject:
            yield statement[: word.start()], word[0], statement[word.end() :]


def _listed(names: Sequence[str], before: str) -> str:
    """Names as "a, b and c" where that stands behind `before`; those in brackets as "a; b; c"."""
    distinct = list(dict.fromkeys(names))
    if before.endswith("("):
        return "; ".join(distinct)
    text = " and ".join(filter(None, (", ".join(distinct[:-1]), *distinct[-1:])))
    return f"each of {text}" if before.endswith("and ") and len(distinct) > 1 else text
