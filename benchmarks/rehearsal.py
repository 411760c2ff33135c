"""How often `Experiment.rehearse` was right: intervals of the gap left after further plates, on lab-v1's tasks.

A campaign is `agents.Experiment` as it comes, in plates of 8. After 24 evaluations three further plates are rehearsed
50 times; the statement is the middle 80 % of the gaps after the last. Then the campaign goes on, and its gap is known.
It was decided before that the command is offered if the interval holds the truth in 72 to 88 % of 200 campaigns, on
families that chose nothing.

A gap cannot be negative and is often nil. Where more than a tenth of the rehearsed gaps are nil, so is the lower end,
and right intervals hold the truth in more than 80 %. *Fair* is the share where equal gaps are in a random order: that
of truths with a rank between 10 and 90 %. Called as

    python -m benchmarks.rehearsal 35 --kept rehearsal.csv    # 35 campaigns a family; goes on where the file ends
    python -m benchmarks.rehearsal 6 --kept tuning.csv --half tuning
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.statements import PLATE, campaigns, keep, limits, plates
from leaderboards.play.spec import RunSpec

START, END, REHEARSALS = 24, 48, 50
LOW, HIGH = 0.1, 0.9


def campaign(spec: RunSpec) -> list[dict[str, Any]]:
    """The rehearsed gaps, and the true one after the plates that were rehearsed."""
    gaps, after = np.zeros(0), 0.0
    for n, lab, short, _ in plates(spec, END):
        if n == START:
            gaps = lab.rehearse((END - START) // PLATE, PLATE, rehearsals=REHEARSALS).gaps[:, -1]
        after = short(lab.recommend())
    return [{"gap": gap, "true gap": after} for gap in gaps]


def statements(found: pd.DataFrame) -> pd.DataFrame:
    """A row a campaign: the width of the interval, the truth, where it lies, and its share in a fair count."""
    rows = []
    for key, each in found.groupby(["half", "family", "task", "repetition"], sort=False):
        gaps, truth = each["gap"].to_numpy(), float(each["true gap"].iloc[0])
        low, high = np.quantile(gaps, [LOW, HIGH])
        # The truth among the gaps: its rank is anywhere between these two shares.
        less, most = np.sum(gaps < truth) / (len(gaps) + 1), (np.sum(gaps <= truth) + 1) / (len(gaps) + 1)
        fair = max(0.0, min(most, HIGH) - max(less, LOW)) / (most - less)
        where = {"held": low <= truth <= high, "above": truth > high, "below": truth < low, "fair": fair}
        middle = {"width": high - low, "middle": np.median(gaps), "truth": truth}
        rows.append({"half": key[0], "family": key[1]} | middle | where)
    return pd.DataFrame(rows)


def table(found: pd.DataFrame) -> str:
    """A line a family, and one for all of a half."""
    names = ("half", "family", "campaigns", "held", "above", "below", "fair", "width", "gap", "true gap")
    lines = [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    said = statements(found)
    for part in (said, said.assign(family="all")):
        for (half, family), rows in part.groupby(["half", "family"], sort=False):
            shares = [limits(int(rows["held"].sum()), len(rows))]
            shares += [f"{rows[name].mean():.2f}" for name in ("above", "below", "fair")]
            medians = [f"{rows[name].median():.2f}" for name in ("width", "middle", "truth")]
            lines.append(f"| {' | '.join(map(str, (half, family, len(rows), *shares, *medians)))} |")
    return "\n".join(lines)


def main() -> None:
    """Play what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repetitions", type=int, nargs="?", default=35, help="campaigns a family")
    parser.add_argument("--kept", type=Path, default=Path("rehearsal.csv"))
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--half", choices=["tuning", "held out"], default="held out")
    given = parser.parse_args()
    for same, spec in campaigns(given.repetitions, given.half, given.seed, given.kept):
        keep([same | row for row in campaign(spec)], given.kept)
    print(table(pd.read_csv(given.kept)))


if __name__ == "__main__":
    main()
