"""The page that compares the verdicts of today with those of an earlier commit, each change with its reason.

`docs/verdicts_before.json` has, by experiment and claim, the verdict, the statement and the reading of that commit;
`docs/verdict_reasons.toml` has the reasons, of which the first that fits a change is given. A change without a reason
is an error.
"""

from __future__ import annotations

import fnmatch
import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from leaderboards.claims.claim import Verdict

__all__ = ["Change", "compared", "page"]

_FOLDER = Path(__file__).resolve().parent
_VERDICTS: tuple[str, ...] = get_args(Verdict)
_ABSENT = "–"


@dataclass(frozen=True)
class Change:
    """A claim, before and after; `_ABSENT` stands for the verdict of one that is not there."""

    experiment: str
    name: str
    text: str
    before: str
    after: str
    part: str
    reason: str

    @property
    def differs(self) -> bool:
        """Whether the verdict is another one."""
        return self.before != self.after


def compared(kept: Sequence[Mapping[str, Any]]) -> list[Change]:
    """All claims of the earlier commit and of today, in the order of the experiments.

    Raises:
        ValueError: if the verdict of one is another, and there is no reason for it.
    """
    earlier = _earlier()["experiments"]
    reasons = tomllib.loads((_FOLDER / "verdict_reasons.toml").read_text(encoding="utf-8"))["reason"]
    found = []
    for values in kept:
        name = values["experiment"]
        old, new = earlier.get(name, {}), {claim["name"]: claim for claim in values["claims"]}
        for claim in dict.fromkeys([*new, *old]):
            before = old[claim][0] if claim in old else _ABSENT
            after = new[claim]["verdict"] if claim in new else _ABSENT
            said = (new[claim]["statement"], new[claim]["reading"]) if claim in new else old[claim][1:]
            reason = "" if before == after else _reason(reasons, name, claim, before, after)
            text = said[0] + (f" *({said[1]})*" if said[1] else "")
            found.append(Change(name, claim, text, before, after, _part(new.get(claim)), reason))
    return found


def _earlier() -> dict[str, Any]:
    values: dict[str, Any] = json.loads((_FOLDER / "verdicts_before.json").read_text(encoding="utf-8"))
    return values


def _part(claim: Mapping[str, Any] | None) -> str:
    if claim is None:
        return _ABSENT
    return "reading" if claim["scope"] == "experiment" and claim["reading"] else str(claim["scope"])


def _reason(reasons: Sequence[Mapping[str, Any]], experiment: str, claim: str, before: str, after: str) -> str:
    for reason in reasons:
        fits = all(
            any(fnmatch.fnmatchcase(value, pattern) for pattern in reason.get(key, ["*"]))
            for key, value in (("experiments", experiment), ("claims", claim), ("before", before), ("after", after))
        )
        if fits:
            return str(reason["text"])
    raise ValueError(f"docs/verdict_reasons.toml: no reason for {experiment} {claim}, {before!r} to {after!r}")


def page(kept: Sequence[Mapping[str, Any]]) -> str:
    """The page, from the JSON forms of the kept results."""
    changes = compared(kept)
    return "\n".join([*_head(changes), *_changed(changes), *_all(changes)]) + "\n"


def _head(changes: Sequence[Change]) -> Iterator[str]:
    differing = [change for change in changes if change.differs]
    there = [change for change in changes if _ABSENT not in (change.before, change.after)]
    yield "# What changed in the verdicts"
    yield ""
    yield f"Verdicts at commit {_earlier()['commit']}, before the [rules](../guides/verdicts.md), and of today."
    yield (
        f"Of {len(there)} claims that are in both, {sum(change.differs for change in there)} have another verdict; "
        f"{sum(change.before == _ABSENT for change in differing)} are new and "
        f"{sum(change.after == _ABSENT for change in differing)} are gone. A bar means that there is no such claim."
    )
    yield ""
    parts = ("experiment", "reading", "theorem", "ours")
    yield f"| verdict | before, all | after, all | {' | '.join(f'after: {part}' for part in parts)} |"
    yield "|---|" + "---|" * (2 + len(parts))
    before, after = (Counter(getattr(change, when) for change in changes) for when in ("before", "after"))
    by_part = Counter((change.part, change.after) for change in changes)
    for verdict in _VERDICTS:
        yield (
            f"| {verdict} | {before[verdict]} | {after[verdict]} | "
            f"{' | '.join(str(by_part[part, verdict]) for part in parts)} |"
        )
    yield ""


def _changed(changes: Sequence[Change]) -> Iterator[str]:
    yield "## Changed, new or gone, and why"
    yield ""
    by_reason: dict[tuple[str, str], list[Change]] = {}
    for change in changes:
        if change.differs:
            by_reason.setdefault((change.experiment, change.reason), []).append(change)
    for (experiment, reason), members in by_reason.items():
        yield f"**{experiment}**: {reason}"
        yield ""
        yield "| claim | before | after | is of |"
        yield "|---|---|---|---|"
        for change in members:
            yield f"| {change.text} | {change.before} | {change.after} | {change.part} |"
        yield ""


def _all(changes: Sequence[Change]) -> Iterator[str]:
    yield "## All verdicts"
    yield ""
    yield "| experiment | claim | before | after | is of |"
    yield "|---|---|---|---|---|"
    for change in changes:
        yield f"| {change.experiment} | {change.text} | {change.before} | {change.after} | {change.part} |"
