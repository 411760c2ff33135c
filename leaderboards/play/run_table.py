"""One row a run: what the index of a results folder says, as a table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd

from leaderboards.play.provenance import Provenance
from leaderboards.play.spec import Ref, canonical_json, task_key

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
        entries: What is known of every run, by key, with its `file`.
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
            "env": label.task(spec),
            "agent": label.agent(spec["agent"]),
            "env_id": spec["env"]["id"],
            "agent_id": spec["agent"]["id"],
            "evaluations": run["stop"] - run["start"],
            "standing": provenance.standing(run),
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

    def task(self, spec: Mapping[str, Any]) -> str:
        env, horizon, feedback = spec["env"], spec["horizon"], spec["feedback"]
        text = f"{horizon} {feedback} {json.dumps(env)}"
        if text not in self._found:
            key = task_key(Ref(env["id"], env["kwargs"]), horizon, feedback)
            self._found[text] = self._labels.get(key, env["label"])
        return self._found[text]

    def agent(self, ref: Mapping[str, Any]) -> str:
        text = json.dumps(ref)
        if text not in self._found:
            key = canonical_json(Ref(ref["id"], ref["kwargs"]).identity)
            self._found[text] = self._labels.get(key, ref["label"])
        return self._found[text]
