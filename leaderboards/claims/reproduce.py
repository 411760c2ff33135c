"""The suite of an experiment, and the paper's claims on its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from leaderboards.claims.claim import Checked
from leaderboards.claims.experiments import Experiment
from leaderboards.claims.paper_figures import curves_of
from leaderboards.claims.runs import Runs, rows_of
from leaderboards.play.spec import RunSpec
from leaderboards.play.suite import Suite, load_suite
from leaderboards.score.statistics import mean_interval
from leaderboards.store.store import Store


@dataclass(frozen=True)
class Reproduction:
    """An experiment with its verdicts.

    Attributes:
        experiment: What was reproduced.
        quick: Whether in its short form.
        horizon: Evaluations of a run; None for a study.
        planned: Repetitions that the experiment has.
        played: Most repetitions that every row has; fewer than planned where the runs were cut.
        complete: Whether all the repetitions that were asked for are there.
        checked: The claims with their verdicts.
        table: A row an agent: `agent`, `repetitions`, `regret`, `regret_low`, `regret_high`, `simple_regret`,
            `batches`, `policy_seconds`; the columns' means for a study.
        curves: Those of the paper's figures, see `leaderboards.claims.paper_figures`.
    """

    experiment: Experiment
    quick: bool
    horizon: int | None
    planned: int
    played: int
    complete: bool
    checked: tuple[Checked, ...]
    table: pd.DataFrame
    curves: pd.DataFrame


def suite_of(experiment: Experiment, quick: bool = False, repetitions: int | None = None) -> Suite:
    """The suite of an experiment that is no study, optionally in its short form or with fewer repetitions."""
    suite = load_suite(experiment.name)
    changed: dict[str, Any] = {}
    if quick:
        short = experiment.quick
        changed = {"name": f"{suite.name}-quick", "repetitions": short.repetitions}
        changed |= {"horizon": suite.horizon if short.horizon is None else short.horizon}
        for part, labels in (("agents", short.agents), ("environments", short.environments)):
            entries = getattr(suite, part)
            changed[part] = tuple(entry for entry in entries if not labels or entry.ref.label in labels)
    if repetitions is not None:
        changed["repetitions"] = repetitions
    return suite.model_copy(update={**changed, "source": ""}) if changed else suite


def check(
    experiment: Experiment,
    store: Store | None,
    quick: bool = False,
    repetitions: int | None = None,
    looked: Mapping[str, Sequence[int]] | None = None,
) -> Reproduction:
    """Check the claims on the runs in `store`, or on the study.

    Args:
        experiment: What to reproduce.
        store: Where its runs are; a study has none.
        quick: The short form, whose claims are those that are stable there.
        repetitions: Only so many.
        looked: By name of the claim, at how many repetitions it was judged before, see `Claim.check`.
    """
    horizon: int | None = None
    if experiment.study is not None:
        planned = experiment.quick.repetitions if quick else experiment.repetitions
        played = planned if repetitions is None else repetitions
        runs = experiment.study(played)
        table = _means(runs)
    else:
        assert store is not None
        suite = suite_of(experiment, quick, repetitions)
        planned, horizon = suite_of(experiment, quick).repetitions, suite.horizon
        specs: Sequence[RunSpec] = list(suite.specs())
        # A short form may have one environment of several: its rows are called as in the full form.
        rows = rows_of(specs, len(load_suite(experiment.name).environments) > 1)
        runs = Runs.read(store, rows, specs, experiment.columns)
        played = min((runs.count(row) for row in rows.values()), default=0)
        table = scores(runs)
    claims = [claim for claim in experiment.claims if claim.quick or not quick]
    checked = tuple(claim.check(runs, (looked or {}).get(claim.name, ())) for claim in claims)
    complete = played >= (planned if repetitions is None else repetitions)
    curves = curves_of(experiment.name, runs)
    return Reproduction(experiment, quick, horizon, planned, played, complete, checked, table, curves)


def scores(runs: Runs) -> pd.DataFrame:
    """A row an agent, as in `Reproduction.table`."""
    made = []
    for agent in runs.agents:
        repetitions = runs.together(agent)
        regret = runs.column(agent, "regret", repetitions)
        total = mean_interval(regret.sum(axis=1))
        seconds = runs.column(agent, "policy_seconds", repetitions).sum(axis=1)
        made.append(
            {
                "agent": agent,
                "repetitions": len(repetitions),
                "regret": total.estimate,
                "regret_low": total.low,
                "regret_high": total.high,
                "simple_regret": float(regret.min(axis=1).mean()),
                "batches": float(runs.column(agent, "batch", repetitions).max(axis=1).mean()),
                "policy_seconds": float(seconds.mean()),
            }
        )
    return pd.DataFrame(made)


def _means(runs: Runs) -> pd.DataFrame:
    made: list[dict[str, object]] = []
    for name in runs.agents:
        repetitions = runs.together(name)
        means = {column: float(runs.column(name, column, repetitions).mean()) for column in runs.columns(name)}
        made.append({"row": name, "repetitions": len(repetitions), **means})
    return pd.DataFrame(made)
