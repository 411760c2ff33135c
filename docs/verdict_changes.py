"""The page that compares the verdicts of today with those of an earlier commit, each change with its reason.

`docs/verdicts_before.json` has, by experiment and claim, the verdict of that commit;
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

_FOLDER = Path(__file__).resolve().parent
_ABSENT = "–"


@dataclass(frozen=True)
class Change:
    """A claim, before and after; `_ABSENT` stands for the verdict of one that is not there."""

    experiment: str
    name: str
    before: str
    after: str
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
            before = old.get(claim, _ABSENT)
            after = new[claim]["verdict"] if claim in new else _ABSENT
            reason = "" if before == after else _reason(reasons, name, claim, before, after)
            found.append(Change(name, claim, before, after, reason))
    return found


def _earlier() -> dict[str, Any]:
    values: dict[str, Any] = json.loads((_FOLDER / "verdicts_before.json").read_text(encoding="utf-8"))
    return values


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
    return "\n".join([*_tally(changes), *_changed(changes)]) + "\n"


def _tally(changes: Sequence[Change]) -> Iterator[str]:
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
    yield "| verdict | before | after |"
    yield "|---|---|---|"
    before, after = (Counter(getattr(change, when) for change in changes) for when in ("before", "after"))
    for verdict in get_args(Verdict):
        yield f"| {verdict} | {before[verdict]} | {after[verdict]} |"


def _changed(changes: Sequence[Change]) -> Iterator[str]:
    by_reason: dict[str, dict[tuple[str, str, str], list[str]]] = {}
    for one in changes:
        if one.differs:
            alike = by_reason.setdefault(one.reason, {})
            alike.setdefault((one.experiment, one.before, one.after), []).append(f"`{one.name}`")
    for reason, alike in by_reason.items():
        yield ""
        yield f"{reason[0].upper()}{reason[1:]}"
        yield ""
        for (experiment, before, after), names in alike.items():
            yield f"- {experiment}, {before} → {after}: {', '.join(names)}"
