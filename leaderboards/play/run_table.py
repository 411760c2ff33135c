"""One row a run: what the index of a results folder says, as a table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd

from leaderboards.play.provenance import Provenance
from leaderboards.play.spec import Ref, canonical_json

__all__ = ["run_table"]

_COLUMNS = (
    "env",
    "agent",
    "repetition",
    "horizon",
    "status",
    "reason",
    "seconds",
    "env_id",
    "agent_id",
    "seed",
    "feedback",
    "evaluations",
    "tries",
    "finished",
    "error",
    "standing",
)


def run_table(
    entries: Mapping[str, Mapping[str, Any]], labels: Mapping[str, str], provenance: Provenance
) -> pd.DataFrame:
    """The table that `leaderboards.play.store.Store.runs` describes.

    Args:
        entries: What is known of every run, by key.
        labels: Labels of the suite, see `leaderboards.play.spec.labels_of`.
        provenance: Where each run comes from.
    """
    label = _Labels(labels)
    rows = {}
    for key, run in entries.items():
        spec = run["spec"]
        known = {
            **run,
            **spec,
            "env": label(spec["env"], spec["feedback"]),
            "agent": label(spec["agent"]),
            "env_id": spec["env"]["id"],
            "agent_id": spec["agent"]["id"],
            "evaluations": run["stop"] - run["start"],
            "standing": provenance.standing(key),
        }
        rows[key] = [known[name] for name in _COLUMNS]
    if not rows:
        return pd.DataFrame(columns=list(_COLUMNS), index=pd.Index([], name="key", dtype=object))
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=list(_COLUMNS)).rename_axis("key")
    return frame.sort_values(["env", "agent", "repetition", "horizon"], kind="stable")


class _Labels:
    """Labels of environments and agents: those of the suite, else those they were written with."""

    def __init__(self, labels: Mapping[str, str]) -> None:
        self._labels = labels
        self._found: dict[str, str] = {}  # thousands of runs share a few environments and agents

    def __call__(self, ref: Mapping[str, Any], feedback: str | None = None) -> str:
        text = f"{feedback} {json.dumps(ref)}"
        if text not in self._found:
            identity = Ref(ref["id"], ref["kwargs"]).identity
            key = canonical_json(identity if feedback is None else [identity, feedback])
            self._found[text] = self._labels.get(key, ref["label"])
        return self._found[text]
