"""Whether `Experiment` may rehearse further plates: intervals of the gap that is left after them, on lab-v1's tasks.

A campaign is `agents.Experiment` as it comes, in plates of 8. After 24 evaluations it is rehearsed 50 times: a function
over the candidates is drawn from the model of `outlook` given the outcomes, its hyperparameters being one of the draws
of the mixture, and the next three plates are played on it, with noise of the variance that was drawn. The *gap* is that
of the best candidate over the one recommended after the last plate, under that function. The statement is the 80 %
interval, between the quantiles of the 50 gaps. Then the campaign goes on, and its gap is known. The forms:

- *as it is*: the function that was drawn;
- *widened*: its deviation from the mean of the mixture is as many times as large as `outlook` says;
- *and noise*: so is the noise, as in a process of which all variances are so many times as large: means stay.

A gap cannot be negative and is often nil. Where more than a tenth of the rehearsed gaps are nil, so is the lower end,
and right intervals hold the truth in more than 80 %. *Fair* is the share where equal gaps are in a random order: that
of truths with a rank between 10 and 90 %. *In 8 of 10* is the share of truths up to the 80 % quantile, which is what a
wish asks for; *order* is the rank correlation of the mean rehearsed gap with the truth. Called as

    python -m benchmarks.rehearsal 35 --kept rehearsal.csv    # 35 campaigns a family; goes on where the file ends
    python -m benchmarks.rehearsal 6 --kept tuning.csv --half tuning
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import agents
from agents.experiment import outlook
from agents.learned.base import Mixture
from benchmarks.statements import PLATE, campaigns, keep, limits, plates
from gpbandit_envs.gp.linalg import jittered_cholesky
from gpbandit_envs.gp.regression import GPRegression
from gpbandit_envs.gp.threads import one_blas_thread
from leaderboards.play.spec import RunSpec

START, END, REHEARSALS = 24, 48, 50
LOW, HIGH = 0.1, 0.9
CONSTANT = (0.0, 1.24)  # these quantiles of the truths of the tuning half
FORMS = {"as it is": (1.0, 1.0), "widened": (outlook._WIDER, 1.0), "and noise": (outlook._WIDER, outlook._WIDER)}
"""Factors of the function's deviation and of the noise."""


def copied(lab: agents.Experiment) -> agents.Experiment:
    """An experiment to play on with; the candidates are the same."""
    return copy.deepcopy(lab, {id(each): each for each in (lab._choices, *lab._problems)})


def draws(lab: agents.Experiment, n: int, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
    """Functions given the outcomes: the mixture's mean and the function at all candidates, and the noise's deviation.

    Reference: Wilson et al. (2020), Efficiently sampling functions from Gaussian process posteriors, eq. 6: a draw of
    the prior, and the posterior mean of what the outcomes differ from it.
    """
    assert lab.candidates is not None
    Z, done = lab.candidates.arms, lab._history.done
    rows = np.array([int(each.action) for each in done])
    y = np.array([lab._history.reward(each, lab.goals[0]) for each in done])
    posterior = lab._beliefs().models[0].posterior
    parts = posterior.parts if isinstance(posterior, Mixture) else (posterior,)
    mean = posterior.at(Z)[0]
    roots = [jittered_cholesky(part.kernel(Z, Z))[0] for part in parts]
    for i in range(n):
        part, prior = parts[i % len(parts)], roots[i % len(parts)] @ rng.standard_normal(len(Z))
        left = y - prior[rows] - np.sqrt(part.lam) * rng.standard_normal(len(y))
        given = GPRegression(part.kernel, Z[rows], left, part.lam, part.prior_mean)
        yield mean, prior + given.at(Z)[0], float(np.sqrt(part.lam))


def rehearsed(lab: agents.Experiment, f: np.ndarray, noise: np.ndarray) -> float:
    """The gap after a plate for each row of noise, of which the first may be open; the experiment stays as it is."""
    lab = copied(lab)
    assert lab.candidates is not None
    for row in noise:
        for point, e in zip(lab.open or lab.ask(len(row)), row, strict=True):
            lab.tell(point, float(f[lab.candidates.stated(point)[1]] + e))
    return float(f.max() - f[lab.candidates.stated(lab.recommend())[1]])


@one_blas_thread()
def rehearsals(lab: agents.Experiment, n: int, ahead: int, seed: int) -> list[dict[str, Any]]:
    """The gaps of each form after so many plates, and the seconds of this process that each took."""
    rng = np.random.default_rng([seed, n, ahead])
    start = copied(lab)
    start.ask(PLATE)  # the same in all rehearsals
    rows = []
    for mean, f, sd in draws(lab, n, rng):
        noise = sd * rng.standard_normal((ahead, PLATE))
        for form, (wider, noisier) in FORMS.items():
            begun = time.process_time()
            gap = rehearsed(start, mean + wider * (f - mean), noisier * noise)
            rows.append({"form": form, "gap": gap, "seconds": time.process_time() - begun})
    return rows


def campaign(spec: RunSpec) -> list[dict[str, Any]]:
    """The rehearsed gaps, and the true one after the plates that were rehearsed."""
    rows: list[dict[str, Any]] = []
    for n, lab, short, _ in plates(spec, END):
        if n == START:
            rows = rehearsals(lab, REHEARSALS, (END - START) // PLATE, spec.repetition)
        elif n == END:
            rows = [row | {"true gap": short(lab.recommend())} for row in rows]
    return rows


def statements(found: pd.DataFrame) -> pd.DataFrame:
    """A row a campaign and form: the ends of the interval, the truth, where it lies, and its share in a fair count."""
    rows = []
    for key, each in found.groupby(["half", "family", "task", "repetition", "form"], sort=False):
        gaps, truth = each["gap"].to_numpy(), float(each["true gap"].iloc[0])
        low, high = np.quantile(gaps, [LOW, HIGH])
        # The truth among the gaps: its rank is anywhere between these two shares.
        less, most = np.sum(gaps < truth) / (len(gaps) + 1), (np.sum(gaps <= truth) + 1) / (len(gaps) + 1)
        fair = max(0.0, min(most, HIGH) - max(less, LOW)) / (most - less)
        where = {"held": low <= truth <= high, "above": truth > high, "below": truth < low, "fair": fair}
        where |= {"in 8 of 10": truth <= np.quantile(gaps, 0.8) + 1e-12, "mean": gaps.mean(), "truth": truth}
        rows.append({"half": key[0], "family": key[1], "form": key[4], "width": high - low, **where})
    return pd.DataFrame(rows)


def table(found: pd.DataFrame) -> str:
    """A line a family and form, and one for all families of each half."""
    names = ["half", "family", "form", "campaigns", "held", "above", "below", "fair"]
    names += ["in 8 of 10", "order", "width", "true gap"]
    lines = [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    said = statements(found)
    for part in (said, said.assign(family="all")):
        for (half, family, form), rows in part.groupby(["half", "family", "form"], sort=False):
            shares = [limits(int(rows["held"].sum()), len(rows))]
            shares += [f"{rows[name].mean():.2f}" for name in ("above", "below", "fair", "in 8 of 10")]
            shares.append(f"{rows['mean'].corr(rows['truth'], method='spearman'):.2f}")
            medians = [f"{rows[name].median():.2f}" for name in ("width", "truth")]
            lines.append(f"| {' | '.join(map(str, (half, family, form, len(rows), *shares, *medians)))} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("repetitions", type=int, nargs="?", default=35, help="campaigns a family")
    parser.add_argument("--kept", type=Path, default=Path("rehearsal.csv"))
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--half", choices=["tuning", "held out"], default="held out")
    given = parser.parse_args()
    for same, spec in campaigns(given.repetitions, given.half, given.seed, given.kept):
        keep([same | row for row in campaign(spec)], given.kept)
    found = pd.read_csv(given.kept)
    print(table(found))
    truths = found.drop_duplicates(["task", "repetition"])["true gap"]
    constant = limits(int(truths.between(*CONSTANT).sum()), len(truths))
    print(f"The interval {CONSTANT} holds the truth in {constant}.")
    print(f"A rehearsal took {found['seconds'].median():.2f} s of one core.")


if __name__ == "__main__":
    main()
