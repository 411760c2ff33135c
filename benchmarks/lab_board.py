"""What the tasks of lab-v1 are worth to its ranking, from the runs that come with the package.

    python -m benchmarks.lab_board
    python -m benchmarks.lab_board lab-outside

Of each task: *reliability*, how the order of rows by the regret of the recommendation correlates with that of as many
other repetitions, by halves (Spearman and Brown); *draws*, how many repetitions could have no row of the table in
common, members of the family times floor(rows / rows of a draw), nothing for drawn functions; *of the draw*, the share
of the variance of a row's regret between repetitions that other rows on the same draw have in common with it; *flat*,
rows of the board whose regret is 0 in all repetitions at the end; *doubles*, pairs of rows that choose alike in all
repetitions. Then by how much a row's regret is above that of the default of `agents.Experiment`, on each half of the
tasks, in the headline and at the end: mean and standard error of the repetitions' means. Last the seconds of a core.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from itertools import combinations

import gymnasium
import numpy as np
import pandas as pd

import leaderboards
from gpbandit_envs import problem_of
from gpbandit_envs.datasets import DataError
from leaderboards.play.suite import EnvironmentEntry
from leaderboards.score.reliability import reliability

AT = (24, 48, 96)
DEFAULT = "MAP-BUCB, width 2"


def regrets(name: str) -> tuple[pd.DataFrame, dict[str, float]]:
    """Regret of the recommendation by task, row and repetition, at the end and as a mean of three; seconds by row."""
    found, rows = leaderboards.board(name), []
    seconds: dict[str, float] = defaultdict(float)
    for key, run in found.entries().items():
        kept, spec = found.kept(key), run.spec
        if kept is None:
            continue
        curve = dict(zip(kept.t.tolist(), kept.curves["inference_regret"].tolist(), strict=True))
        values = [curve[t] for t in AT]
        rows.append((spec.env.label, spec.agent.label, spec.repetition, np.mean(values), values[-1], kept.digest))
        seconds[spec.agent.label] += run.seconds
    return pd.DataFrame(rows, columns=["task", "row", "repetition", "mean", "last", "digest"]), dict(seconds)


def draws(entry: EnvironmentEntry) -> str:
    """How many draws of a task have no row in common; "-" of drawn functions, "?" where the data are not here."""
    if "rows" not in entry.kwargs:
        return "-"
    given = {name: value for name, value in entry.kwargs.items() if name != "rows"}
    members = [{name: each} for name, values in entry.members.items() for each in values] or [{}]
    found = 0
    for member in members:
        try:
            with gymnasium.make(entry.id, **given, **member) as env:
                found += problem_of(env).n_arms // entry.kwargs["rows"]
        except DataError:
            return "?"
    return str(found)


def of_the_draw(values: pd.DataFrame) -> float:
    """Mean correlation of two rows over repetitions, which have the draw in common; columns are rows of the board."""
    between = values.corr().to_numpy()
    return float(np.nanmean(between[np.triu_indices(len(between), 1)]))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", default="lab-v1", help="name of a board of campaigns")
    name = parser.parse_args().name
    (found, seconds), environments = regrets(name), leaderboards.board(name).suite().environments
    print("| task | half | reliability | draws | of the draw | flat | doubles |\n|---|---|---|---|---|---|---|")
    for entry in environments:
        of_task = found[found["task"] == entry.ref.label]
        strata = of_task.pivot(index="repetition", columns="row", values="mean").dropna()
        R = reliability([strata.to_numpy()], [""])
        flat = int((of_task.groupby("row")["last"].max() == 0).sum())
        digests = of_task.pivot(index="repetition", columns="row", values="digest")
        doubles = sum(digests[one].equals(digests[other]) for one, other in combinations(digests, 2))
        text = "-" if R is None else f"{R.full.estimate:.2f}"
        cells = (entry.ref.label, entry.half, text, draws(entry), f"{of_the_draw(strata):.2f}", flat, doubles)
        print("| " + " | ".join(map(str, cells)) + " |")
    halves = {entry.ref.label: entry.half for entry in environments}
    print("\n| row | half | headline | after 96 |\n|---|---|---|---|")
    for half, part in found.groupby(found["task"].map(halves)):
        means = part.groupby(["row", "repetition"])[["mean", "last"]].mean()
        for row in means.index.unique("row").drop(DEFAULT):
            less = means.loc[row] - means.loc[DEFAULT]
            cells = [f"{less[by].mean():+.3f} +- {less[by].sem():.3f}" for by in less]
            print(f"| {row} | {half} | {' | '.join(cells)} |")
    print("\n| row | core hours | seconds a campaign |\n|---|---|---|")
    for row, total in sorted(seconds.items(), key=lambda each: each[1]):
        print(f"| {row} | {total / 3600:.2f} | {total / (found['row'] == row).sum():.2f} |")


if __name__ == "__main__":
    main()
