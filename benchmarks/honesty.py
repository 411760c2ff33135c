"""Who is sure with reason: statements of common surrogates, and stopping rules, along campaigns on lab-v1's tasks.

The campaigns are those of `benchmarks.statements`, of the families held out: `agents.Experiment` as it comes, in plates
of 8. After 24 and after 48 evaluations each surrogate is fitted to the same outcomes, and says at 90 %: *S1*, the
evaluated candidate of its largest mean has a true value in this interval; *S2*, no candidate is better than that one by
more than its gap, the largest upper end less that mean. After each plate from 16 evaluations on each rule is asked
whether to stop; a stop is *false* if a candidate is better than the recommended one by more than the wish, a share of
the range of posterior means at evaluated points. Called as

    python -m benchmarks.honesty 40 --kept honesty.csv       # 40 campaigns a family; goes on where the file ends
    python -m benchmarks.honesty 80 --kept rules.csv --wishes 0.05 0.1 0.2

With `--show` what is counted goes onto the page of lab-v1.

Both need the extra `botorch` for its two rows, and scikit-learn. Left out: fully Bayesian models (SAAS), a minute a
fit; Optuna's process, which is not public; bounds that are told the norm, which no table has; and Ishibashi et al.
(2023), *A stopping criterion for Bayesian optimization by the gap of expected minimum simple regrets*, unread.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

import agents
from agents.experiment import outlook
from benchmarks.statements import AT, FIRST, LEVEL, PLATE, campaigns, keep, limits, plates
from gpbandit_envs.gp.threads import one_blas_thread
from leaderboards.play.spec import RunSpec
from leaderboards.play.suite import suite_folder
from leaderboards.show.honesty import STATEMENTS

S = ("S1", "S2")
WIDER = outlook._WIDER  # as it comes
Z = float(norm.ppf((1 + LEVEL) / 2))
Said = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Mean, lower and upper end at all candidates."""


@dataclass
class Told:
    """What a surrogate is told: candidates, also in [0, 1]^d, the places of those evaluated, their outcomes."""

    lab: agents.Experiment
    points: list[agents.Point]
    X: np.ndarray
    rows: np.ndarray
    y: np.ndarray
    seed: int

    @classmethod
    def of(cls, lab: agents.Experiment, seed: int) -> Told:
        """Of an experiment on candidates, all of whose outcomes are there."""
        assert lab.candidates is not None
        rows = np.array([int(each.action) for each in lab._history.own])
        return cls(
            lab, lab.candidates.points, lab.candidates.arms, rows, lab.results()["outcome"].to_numpy(float), seed
        )


def normal(mean: np.ndarray, sd: np.ndarray) -> Said:
    """The ends of a normal distribution."""
    return mean, mean - Z * sd, mean + Z * sd


def by_map(told: Told) -> Said:
    """The policy's own model, MAP hyperparameters."""
    found, width = told.lab.predict(told.points), told.lab._informed().width  # type: ignore[union-attr]
    return normal(found["mean"].to_numpy(), found["half_width"].to_numpy() / width)


def by_mixture(told: Told, wider: float) -> Said:
    """The model of `outlook`, so many times as wide."""
    outlook._WIDER = wider
    return tuple(told.lab._beliefs().band(0, LEVEL, told.X))


def by_sklearn(told: Told) -> Said:
    """scikit-learn as tutorials have it: Matern 5/2 with a lengthscale a column, white noise, normalised outcomes."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    kernel = ConstantKernel() * Matern(np.ones(told.X.shape[1]), nu=2.5) + WhiteKernel()
    model = GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=2, random_state=told.seed)
    mean, sd = model.fit(told.X[told.rows], told.y).predict(told.X, return_std=True)
    noise = np.exp(model.kernel_.theta[-1]) * told.y.var()  # `predict` has it in
    return normal(mean, np.sqrt(np.maximum(sd**2 - noise, 0.0)))


def by_botorch(told: Told, old: bool) -> Said:
    """BoTorch's SingleTaskGP with its own priors, or those it had before 0.12."""
    import botorch
    import gpytorch
    import torch

    X, y = torch.tensor(told.X[told.rows]), torch.tensor(told.y)[:, None]
    kernel = None
    if old:
        kernel = gpytorch.kernels.ScaleKernel(
            gpytorch.kernels.MaternKernel(
                nu=2.5, ard_num_dims=X.shape[1], lengthscale_prior=gpytorch.priors.GammaPrior(3.0, 6.0)
            ),
            outputscale_prior=gpytorch.priors.GammaPrior(2.0, 0.15),
        )
    model = botorch.models.SingleTaskGP(X, y, covar_module=kernel)
    botorch.fit.fit_gpytorch_mll(gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model))
    with torch.no_grad():
        found = model.posterior(torch.tensor(told.X))
    return normal(found.mean.numpy()[:, 0], found.variance.sqrt().numpy()[:, 0])


def by_forest(told: Told) -> Said:
    """A random forest of 300 trees: their mean, and the quantiles between them."""
    from sklearn.ensemble import RandomForestRegressor

    model = RandomForestRegressor(300, min_samples_leaf=3, random_state=told.seed).fit(told.X[told.rows], told.y)
    trees = np.array([tree.predict(told.X) for tree in model.estimators_])
    low, high = np.quantile(trees, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return trees.mean(axis=0), low, high


def by_jackknife(told: Told) -> Said:
    """Jackknife+ around the policy's model, whose hyperparameters stay: an interval for an outcome, noise included.

    Reference: Barber, Candes, Ramdas and Tibshirani (2021), Predictive inference with the jackknife+, eq. 1.3.
    """
    kernel, lam = kernel_of(told)
    inverse = np.linalg.inv(kernel(told.X[told.rows], told.X[told.rows]) + lam * np.eye(len(told.y)))
    k, centre = kernel(told.X, told.X[told.rows]), told.y.mean()
    weights = inverse @ (told.y - centre)
    residual = weights / np.diag(inverse)  # of each outcome, given all others
    mean = k @ weights + centre
    without = mean[:, None] - (k @ inverse) * residual  # the mean without the i-th outcome
    at = min(int(np.ceil(LEVEL * (len(told.y) + 1))), len(told.y)) - 1
    high = np.sort(without + np.abs(residual), axis=1)[:, at]
    low = np.sort(without - np.abs(residual), axis=1)[:, len(told.y) - 1 - at]
    return mean, low, high


def kernel_of(told: Told) -> tuple[Callable[..., np.ndarray], float]:
    """The policy's MAP kernel and noise variance, unit of the outcome squared."""
    posterior = told.lab._informed().posterior  # type: ignore[union-attr]
    return posterior.kernel, posterior.lam


OURS = "Experiment.outlook"
SURROGATES: dict[str, Callable[[Told], Said]] = {
    "mixture, as it is": lambda told: by_mixture(told, 1.0),
    "MAP, the policy's own": by_map,
    "scikit-learn": by_sklearn,
    "BoTorch SingleTaskGP": lambda told: by_botorch(told, False),
    "BoTorch, priors before 0.12": lambda told: by_botorch(told, True),
    "random forest": by_forest,
    "jackknife+ on MAP": by_jackknife,
}


def statements(spec: RunSpec) -> list[dict[str, Any]]:
    """What every surrogate says after 24 and 48 evaluations, and what is true."""
    rows = []
    for n, lab, short, best in plates(spec, max(AT)):
        if n in AT:
            rows += stated(lab, spec.repetition, short, best)
    return rows


def stated(
    lab: agents.Experiment, seed: int, short: Callable[[agents.Point], float], best: float
) -> list[dict[str, Any]]:
    """What every surrogate says now; ours of the point that the experiment recommends."""
    told, own, rows = Told.of(lab, seed), lab.outlook(LEVEL), []
    found = {OURS: (own.recommended, own.low, own.high, own.gap)}
    for name, fit in SURROGATES.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fits that did not converge
            mean, low, high = fit(told)
        at = told.rows[int(np.argmax(mean[told.rows]))]
        found[name] = told.points[at], low[at], high[at], max(0.0, float(high.max() - mean[at]))
    for name, (point, a, b, gap) in found.items():
        regret = short(point)
        said = {"S1": a <= best - regret <= b, "S2": regret <= gap, "width": b - a}
        rows.append({"n": len(told.y), "surrogate": name, **said, "gap": gap, "true gap": regret})
    return rows


def rules(told: Told, wishes: Sequence[float]) -> Iterator[tuple[str, float, float, bool]]:
    """Each rule, each wish, the wish in units of the outcome, and whether the rule says stop."""
    mean, low, high = by_map(told)
    at = told.rows[int(np.argmax(mean[told.rows]))]
    sd = (high - low) / (2 * Z)
    middle, _, upper = by_mixture(told, WIDER)
    u = (mean - mean[at]) / np.maximum(sd, 1e-12)
    improvement = float((sd * (u * norm.cdf(u) + norm.pdf(u))).max())
    kernel, lam = kernel_of(told)
    k = kernel(told.X, told.X[told.rows])
    K = kernel(told.X[told.rows], told.X[told.rows]) + lam * np.eye(len(told.rows))
    values, vectors = np.linalg.eigh(kernel(told.X, told.X) - k @ np.linalg.solve(K, k.T))
    noise = np.random.default_rng(told.seed).standard_normal((len(mean), 1_000))
    paths = mean[:, None] + vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * noise)
    above = paths.max(axis=0) - paths[at]
    best = np.maximum.accumulate(told.y)
    stale = len(best) > 24 and best[-1] == best[-25]
    for wish in wishes:
        within = wish * float(np.ptp(mean[told.rows]))
        said = {
            "gap of Experiment.outlook": upper.max() - middle[at] <= within,
            "gap of MAP": high.max() - mean[at] <= within,
            "Makarova et al. (2022), with the wish": high.max() - low[told.rows].max() <= within,
            "expected improvement below a tenth": improvement <= within / 10,
            "probability of regret, Wilson (2024)": (above <= within).mean() >= LEVEL,
            "nothing better in three plates": stale,
            "after 48 evaluations": len(told.y) >= 48,
        }
        yield from ((rule, wish, within, bool(stop)) for rule, stop in said.items())


def stops(spec: RunSpec, wishes: Sequence[float]) -> list[dict[str, Any]]:
    """When each rule first says stop to each wish, NaN for never before the horizon, and whether that is false."""
    found: dict[tuple[str, float], dict[str, Any]] = {}
    for n, lab, short, _ in plates(spec, spec.horizon - PLATE):
        if n < FIRST:
            continue
        regret = short(lab.recommend())
        for rule, wish, within, stop in rules(Told.of(lab, spec.repetition), wishes):
            never = {"rule": rule, "wish": wish, "stopped": np.nan, "false": False, "regret": np.nan}
            row = found.setdefault((rule, wish), never)
            if stop and np.isnan(row["stopped"]):
                row |= {"stopped": n, "false": regret > within, "regret": regret}
    return list(found.values())


def models(found: pd.DataFrame) -> list[dict[str, Any]]:
    """A record a model and number of evaluations: counts by family, and medians."""
    records = []
    for (name, n), rows in found.groupby(["surrogate", "n"], sort=False):
        of = {str(family): [len(them), *(int(them[s].sum()) for s in S)] for family, them in rows.groupby("family")}
        width, gap, true = (round(float(rows[column].median()), 4) for column in ("width", "gap", "true gap"))
        records.append({"model": name, "n": n, "families": of, "width": width, "gap": gap, "true": true})
    return records


def stopped(found: pd.DataFrame) -> list[dict[str, Any]]:
    """A record a rule and wish: how many stopped before the horizon, after how many evaluations, and how falsely."""
    records = []
    for (rule, wish), rows in found.groupby(["rule", "wish"], sort=False):
        done = rows[rows["stopped"].notna()]
        n, regret = (
            round(float(x), 4) if len(done) else None for x in (done["stopped"].median(), done["regret"].mean())
        )
        counts = {"campaigns": len(rows), "stopped": len(done), "false": int(done["false"].sum())}
        records.append({"rule": rule, "wish": wish, **counts, "n": n, "regret": regret})
    return records


def table(records: list[dict[str, Any]]) -> str:
    """A line a model; the least rate of a family beside the rates."""
    lines = ["| model | n | S1 | least | S2 | least | width | gap | true |", "|" + "---|" * 9]
    for each in records:
        counts = np.array([*each["families"].values()])
        cells = [
            f"{limits(int(hits), int(counts[:, 0].sum()))} | {(counts[:, i] / counts[:, 0]).min():.2f}"
            for i, hits in enumerate(counts.sum(axis=0))
        ][1:]
        medians = [f"{each[name]:.2f}" for name in ("width", "gap", "true")]
        lines.append(f"| {' | '.join([str(each['model']), str(each['n']), *cells, *medians])} |")
    return "\n".join(lines)


def table_of_rules(records: list[dict[str, Any]]) -> str:
    """A line a rule and wish."""
    lines = ["| rule | wish | campaigns | stopped | median n | false of these | regret then |", "|" + "---|" * 7]
    for each in records:
        wrong = limits(each["false"], each["stopped"]) if each["stopped"] else "-"
        when, then = (
            "-" if each[name] is None else f"{each[name]:{of}}" for name, of in (("n", ".0f"), ("regret", ".2f"))
        )
        cells = [each["rule"], f"{each['wish']:g}", each["campaigns"], each["stopped"], when, wrong, then]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def show(kind: str, records: list[dict[str, Any]]) -> None:
    """Write the records into the file that the page of the board reads; `kind` is one of its two lists."""
    path = suite_folder("lab-v1") / STATEMENTS.format("lab-v1")
    there = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    lines = [
        f' "{name}": [\n' + ",\n".join(f"  {json.dumps(one)}" for one in each) + "\n ]"
        for name, each in sorted((there | {kind: records}).items())
    ]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def main() -> None:
    """Play what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repetitions", type=int, nargs="?", default=12, help="campaigns a family")
    parser.add_argument("--kept", type=Path, default=Path("honesty.csv"))
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--wishes", type=float, nargs="+", help="judge rules at these, in place of surrogates")
    parser.add_argument("--show", action="store_true", help="put the counts on the page of lab-v1")
    given = parser.parse_args()
    with one_blas_thread():
        for same, spec in campaigns(given.repetitions, "held out", given.seed, given.kept):
            said = statements(spec) if given.wishes is None else stops(spec, given.wishes)
            keep([same | row for row in said], given.kept)
    found = pd.read_csv(given.kept)
    kind, records = ("models", models(found)) if given.wishes is None else ("rules", stopped(found))
    print(table(records) if kind == "models" else table_of_rules(records))
    if given.show:
        show(kind, records)


if __name__ == "__main__":
    main()
