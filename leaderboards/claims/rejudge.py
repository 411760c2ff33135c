"""Judge kept results anew, by the claims of today: `python -m leaderboards.claims.rejudge NAME [RUNS]`.

A claim whose figure is the same keeps the interval that was measured, and has the verdict of today's range. One whose
figure is new is measured on the runs in the folder RUNS, where these may be some of the experiment's: rows that are not
there yet, and those that they are compared with.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from leaderboards.claims.claim import Checked, Claim
from leaderboards.claims.experiments import Experiment, experiment
from leaderboards.claims.pages import claim_as_json
from leaderboards.claims.reproduce import scores
from leaderboards.claims.runs import Runs, rows_of
from leaderboards.play.suite import load_suite
from leaderboards.score.statistics import Interval
from leaderboards.show.format import rounded
from leaderboards.store.store import Store

RESULTS = Path(__file__).resolve().parent.parent / "results"
_MOST = 10_000  # repetitions that are looked for


def rejudged(values: Mapping[str, Any], found: Experiment, runs: Runs | None = None) -> dict[str, Any]:
    """The JSON form of an experiment's kept result, judged by the claims of today.

    Args:
        values: The kept result.
        found: The experiment.
        runs: Where claims with a new figure are measured; rows that are not kept yet are added.

    Raises:
        ValueError: if a claim has a new figure and there are no runs.
    """
    kept = {claim["name"]: claim for claim in values["claims"]}
    claims = [claim_as_json(_judged(claim, kept.get(claim.name), runs), found) for claim in found.claims]
    table, known = list(values["table"]), {row.get("agent") for row in values["table"]}
    for row in [] if runs is None else scores(runs).to_dict(orient="records"):
        if row["agent"] not in known:
            table.append({name: rounded(x) if isinstance(x, float) else x for name, x in row.items()})
    return {**values, "claims": claims, "table": table}


def _judged(claim: Claim, kept: Mapping[str, Any] | None, runs: Runs | None) -> Checked:
    if claim.figure.measure is None:
        return Checked(claim, Interval(math.nan, math.nan, math.nan, 0), "not testable here")
    if kept is None or kept["figure"] != claim.figure.text or (kept["estimate"] is None and kept["n"] == 0):
        if runs is None:
            raise ValueError(f"runs: expected a folder, as {claim.name!r} has a figure that is not kept, got none")
        return claim.check(runs)
    estimate, low, high = (math.nan if kept[end] is None else float(kept[end]) for end in ("estimate", "low", "high"))
    interval = Interval(estimate, low, high, int(kept["n"]), float(kept["level"]))
    return Checked(claim, interval, claim.expected.judge(interval), tuple(kept["looked"][:-1]))


def runs_in(folder: Path, found: Experiment) -> Runs:
    """The runs of an experiment that are in a folder, of whatever repetitions."""
    store = Store(folder)
    most = min(_MOST, 1 + max(store.entry(key).spec.repetition for key in store.done_keys()))
    suite = load_suite(found.name).model_copy(update={"repetitions": most, "source": ""})
    specs = list(suite.specs())
    return Runs.read(store, rows_of(specs, len(suite.environments) > 1), specs, found.columns)


def main(name: str, folder: str = "") -> None:
    """Write `claims.json` and `scores.csv` of a kept result anew."""
    found, path = experiment(name), RESULTS / name
    values = json.loads((path / "claims.json").read_text(encoding="utf-8"))
    runs = runs_in(Path(folder), found) if folder else None
    made = rejudged(values, found, runs)
    (path / "claims.json").write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if runs is not None:
        old, new = pd.read_csv(path / "scores.csv"), scores(runs)
        rows = pd.concat([old, new[~new["agent"].isin(old["agent"])]])
        rows.to_csv(path / "scores.csv", index=False, float_format="%.5g")


if __name__ == "__main__":
    main(*sys.argv[1:])
